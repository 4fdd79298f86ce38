"""Which text is signed, the sketch, and the overlap that makes a copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from esdedup.settings.field import setting

Measure = Literal["containment", "dice", "jaccard"]
SignedText = Literal["title+body", "body"]
Fingerprint = Literal["mixed", "poly31"]


@dataclass(frozen=True, slots=True)
class Signing:
    """The first settings; each further file adds its own to those before it."""

    preset: str = setting(
        "hybrid", "Name of the preset the other values start from.", unit="name", source="esdedup"
    )
    methods: tuple[str, ...] = setting(
        ("sketch",),
        "Methods that sign documents and find candidates; only these cost space and time.",
        unit="names",
        source="esdedup",
    )
    signed_text: SignedText = setting(
        "title+body",
        "Which text is signed: title and body trimmed and joined, or the body alone.",
        unit="name",
        source="paper 000, section 2.1",
        shapes=True,
    )
    fingerprint: Fingerprint = setting(
        "mixed",
        "Hash of a shingle: `poly31` is the paper's polynomial over characters, `mixed` the same "
        "with a 64-bit base and a final mix, so that every bit counts.",
        unit="name",
        source="paper 000, footnote 3",
        shapes=True,
    )
    shingle_words: int = setting(
        4,
        "Length of a shingle (the papers' n).",
        unit="words",
        source="paper 000, Table 2 (3 or 4)",
        shapes=True,
        low=1,
        high=32,
    )
    sample_size: int = setting(
        1600,
        "Shingles sampled for the sketch of a long text (k): the smallest by a second hash.",
        unit="shingles",
        source="paper 000, Table 2",
        shapes=True,
        low=1,
    )
    permutations: int = setting(
        20,
        "Numbers in a sketch (p).",
        unit="keys",
        source="paper 000, Table 2",
        shapes=True,
        low=1,
        high=99,
    )
    seed: int = setting(
        31,
        "Seed the permutations are drawn from.",
        unit="number",
        source="esdedup",
        shapes=True,
        low=0,
    )
    max_collisions_by_chance: int = setting(
        1,
        "A candidate shares more than this many sketch keys (t).",
        unit="keys",
        source="paper 000, Table 2 (2); 1 finds more, and verification decides",
        low=0,
    )
    compared_part: float = setting(
        0.8,
        "Share of both texts, from their beginning, that verification compares (f).",
        unit="fraction",
        source="paper 000, Table 2 (.4 to 1.0)",
        shapes=True,
        low=0.05,
        high=1.0,
    )
    short_text: int = setting(
        120,
        "Texts with fewer words are compared whole: f rises to 1.",
        unit="words",
        source="paper 000, section 2.2.3",
        shapes=True,
        low=0,
    )
    max_shingles: int = setting(
        20_000,
        "At most this many shingle hashes are stored with a document, so that one giant text "
        "cannot fill the store.",
        unit="shingles",
        source="esdedup",
        shapes=True,
        low=1,
    )
    measure: Measure = setting(
        "containment",
        "Overlap measure: `dice` 2|A∩B|/(|A|+|B|), `jaccard` |A∩B|/|A∪B|, `containment` "
        "|A∩B|/|A| of the smaller side, with the direction kept in the evidence.",
        unit="name",
        source="paper 000, Table 1 (dice)",
    )
    min_overlap: float = setting(
        0.45,
        "Two documents match where the overlap is above this (r).",
        unit="fraction",
        source="paper 000, Table 2 (.2 to .5)",
        low=0.0,
        high=1.0,
    )
