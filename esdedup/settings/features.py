"""Methods that sign features of a whole text: `simhash`, `imatch`, `entities`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from esdedup.settings.deciding import Deciding
from esdedup.settings.field import setting

SimhashWeights = Literal["tf-idf", "equal"]
BlockPlan = Literal["4x16", "5x13", "8x8"]


@dataclass(frozen=True, slots=True)
class Features(Deciding):
    """Bits, rare words and names."""

    simhash_weights: SimhashWeights = setting(
        "tf-idf",
        "Weight of a stem: `tf-idf` is its count in the text times its rarity in the language, "
        "`equal` is 1 for every stem as in the paper.",
        unit="name",
        source="paper 001, section 2.1",
        shapes=True,
        method="simhash",
    )
    simhash_title_weight: int = setting(
        1,
        "How many times a word of the title counts; 0 leaves titles out.",
        unit="times",
        source="esdedup",
        shapes=True,
        method="simhash",
        low=0,
        high=100,
    )
    simhash_lead_weight: int = setting(
        1,
        "How many times a word of the lead, the first words of the body, counts.",
        unit="times",
        source="esdedup",
        shapes=True,
        method="simhash",
        low=0,
        high=100,
    )
    simhash_lead_words: int = setting(
        50,
        "Length of the lead.",
        unit="words",
        source="esdedup",
        shapes=True,
        method="simhash",
        low=0,
    )
    simhash_field: str = setting(
        "",
        "Field of the documents with features of your own, signed instead of the words where it "
        "is there: an object of names and weights, or a vector (list of numbers); empty: none.",
        unit="field",
        source="paper 001, abstract",
        shapes=True,
        method="simhash",
    )
    simhash_vectors: str = setting(
        "",
        "Installed spaCy model with word vectors: their sum, weighted as the stems are, is signed "
        "instead of the stems; empty: none.",
        unit="name",
        source="paper 001, section 2.1",
        shapes=True,
        method="simhash",
    )
    block_plan: BlockPlan = setting(
        "4x16",
        "How the 64 bits are cut into keys: fingerprints that differ in at most 3 (`4x16`), 4 "
        "(`5x13`: 13, 13, 13, 13, 12) or 7 bits (`8x8`) share a block for certain.",
        unit="name",
        source="paper 001, section 2.2.3",
        shapes=True,
        method="simhash",
    )
    near_duplicate_distance: int = setting(
        3,
        "Fingerprints that differ in at most this many bits are of near-duplicates; in more, but "
        "fewer than 8, of similar news.",
        unit="bits",
        source="paper 001, section 2.3",
        low=0,
        high=64,
    )
    imatch_low: int = setting(
        300,
        "Terms more common than this are left out of the I-Match hash.",
        unit="centibels: -100 log10 of a word's share of all words",
        source="esdedup (paper 004 has none)",
        shapes=True,
        method="imatch",
        low=0,
    )
    imatch_high: int = setting(
        400,
        "Terms rarer than this are left out of the I-Match hash; words that the fixed table does "
        "not know have 600.",
        unit="centibels",
        source="esdedup (paper 004 has none)",
        shapes=True,
        method="imatch",
        low=0,
    )
    ner: str = setting(
        "rules",
        "Who finds named entities: `rules`, our own for Turkish, English, French, German and "
        "Spanish, or `spacy:NAME`, any installed spaCy model that has them.",
        unit="name",
        source="paper 004, chapter 3",
        shapes=True,
        method="entities",
    )
    entity_words_before: int = setting(
        5,
        "Words before an entity that are signed with it (the p of pNEs).",
        unit="words",
        source="paper 004, Table 4.1 (1 to 7)",
        shapes=True,
        method="entities",
        low=0,
        high=100,
    )
    entity_words_after: int = setting(
        5,
        "Words after an entity that are signed with it (the s of pNEs).",
        unit="words",
        source="paper 004, Table 4.1 (1 to 7)",
        shapes=True,
        method="entities",
        low=0,
        high=100,
    )
