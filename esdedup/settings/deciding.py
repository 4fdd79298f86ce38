"""What may attract a document, what it becomes, and who is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from esdedup.settings.field import setting
from esdedup.settings.passages import Passages

Attract = Literal["originals", "branches", "all"]
Keep = Literal["earliest", "arrival", "ranking", "longest"]
OnDuplicate = Literal["link", "drop"]


@dataclass(frozen=True, slots=True)
class Deciding(Passages):
    """From candidates to groups."""

    hot_keys: tuple[str, ...] = setting(
        (),
        "Keys that too many documents share (a site's boilerplate), left out of every question; "
        "`esdedup doctor` finds them. Fixed when a store is made: a list that changed on the way "
        "would make groups depend on the order of arrival.",
        unit="keys",
        source="esdedup",
        shapes=True,
        method="sketch",
    )
    verified_by: str = setting(
        "overlap",
        "What decides about a candidate: `overlap` of shingles, or the measure of one method by "
        "its name, as the paper of that method has it.",
        unit="name",
        source="esdedup",
    )
    verified_candidates: int = setting(
        8,
        "How many candidates are verified, best first; 1 is the paper's way.",
        unit="documents",
        source="paper 000, section 2.2.2 (1)",
        low=1,
    )
    attract: Attract = setting(
        "branches",
        "Who attracts copies: `originals` only; `branches`, which are originals and those of "
        "their direct copies that differ clearly (both give the same groups in any order of "
        "arrival); or `all` as in the paper, where a copy of a copy links to its original.",
        unit="name",
        source="paper 000, section 2.2",
    )
    branch_below: float = setting(
        0.9,
        "A direct copy attracts copies of its own where it is less like its closest match than "
        "this (dice of the compared parts).",
        unit="share of shingles",
        source="measured: docs/evaluation.md",
        low=0.0,
        high=1.0,
    )
    keep: Keep = setting(
        "earliest",
        "Which article of a group is its original: the `earliest` published (first seen where "
        "there is no date), the first by `arrival` as in the paper, that of the best source "
        "(`ranking`, see `keep_sources`), or the `longest`; of equal ones the earliest. "
        "`esdedup groups reroot` changes it in a store that is full.",
        unit="name",
        source="paper 000, section 2.2",
        shapes=True,
    )
    keep_sources: tuple[str, ...] = setting(
        (),
        "Sources in the order they are preferred under `keep = ranking`, the best first; all "
        "others come after them. `@FILE` reads them from a file, one a line.",
        unit="names",
        source="esdedup",
        shapes=True,
    )
    number_check: bool = setting(
        True,
        "Whether counts, and names at the beginning, are read from every article, and changed ones "
        "in the same context make an update of a near-identical one.",
        unit="yes/no",
        source="paper 000, section 4.2",
        shapes=True,
    )
    extended_ratio: float = setting(
        1.5,
        "A new text that contains the old one and is more than this many times as long is an "
        "update (reason `extended`). Where one of two texts is so much longer, `min_overlap` is at "
        "least .5. 0 switches both rules off.",
        unit="ratio",
        source="esdedup",
        low=0.0,
    )
    lead_bonus: float = setting(
        0.13,
        "Where the longer of two texts begins with what the shorter one has, too, an overlap above "
        "`min_overlap` less this makes a match, however long they are. 0, or a `min_overlap` above "
        ".5, switches the rule off.",
        unit="fraction",
        source="measured: docs/evaluation.md",
        low=0.0,
        high=1.0,
    )
    candidate_window: float = setting(
        0.0,
        "Only documents published within this many days before or after are candidates; 0 is no "
        "window.",
        unit="days",
        source="esdedup",
        low=0.0,
        high=1e6,
    )
    candidate_windows: tuple[str, ...] = setting(
        (),
        "Other windows for articles of a language or of a source: `tr=7, source:example.org=30`; "
        "0 is no window, and a source goes before a language.",
        unit="days",
        source="esdedup",
    )
    on_duplicate: OnDuplicate = setting(
        "link",
        "What happens to a duplicate: `link` stores it linked to its original, `drop` counts and "
        "reports it but does not store it.",
        unit="name",
        source="paper 001, section 4",
    )
