"""Methods that sign passages (`lengths`, `phrases`, `spotsigs`), and one's own corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from esdedup.settings.field import setting
from esdedup.settings.signing import Signing

PhraseWeight = Literal["uniform", "identity", "log", "sqrt", "square", "fourth", "antecedent"]
PhraseFactor = Literal["rare", "idf", "inverse", "none"]


@dataclass(frozen=True, slots=True)
class Passages(Signing):
    """Windows of sentences, weighted phrases, chains of words, statistics."""

    window_sentences: int = setting(
        8,
        "Sentences in a window of lengths (WS).",
        unit="sentences",
        source="paper 003, Table 7",
        shapes=True,
        method="lengths",
        low=1,
        high=64,
    )
    window_step: int = setting(
        1,
        "Sentences from one stored window to the next (SW). Articles ask with all of their "
        "windows whatever the step.",
        unit="sentences",
        source="paper 003, Table 7",
        shapes=True,
        method="lengths",
        low=1,
        high=64,
    )
    dynamic_jumping: bool = setting(
        False,
        "Whether a window is left out where the lengths before it, at its beginning and after "
        "are the same.",
        unit="yes/no",
        source="paper 003, section 3.2",
        shapes=True,
        method="lengths",
    )
    min_windows: int = setting(
        5,
        "Windows one after the other in both texts that make a copy (t). Texts of fewer than "
        "WS + SW (t - 1) sentences have no windows.",
        unit="windows",
        source="paper 003, Table 7",
        shapes=True,
        method="lengths",
        low=1,
    )
    max_windows: int = setting(
        900,
        "Windows stored of one text, from its beginning: about 15,000 words at the 17 a "
        "sentence of SpotSigs. OpenSearch refuses more than 1,024 clauses in one request.",
        unit="windows",
        source="esdedup",
        shapes=True,
        method="lengths",
        low=1,
        high=900,
    )
    phrase_words: int = setting(
        7,
        "Length of a phrase.",
        unit="words",
        source="paper 002, section 4.4",
        shapes=True,
        method="phrases",
        low=1,
        high=32,
    )
    phrase_weight: PhraseWeight = setting(
        "fourth",
        "Weight of a phrase: this function of the document frequency of its first word; "
        "`antecedent` is 1 for phrases that begin with one, and 0.",
        unit="name",
        source="paper 002, section 4.4",
        shapes=True,
        method="phrases",
    )
    phrase_factor: PhraseFactor = setting(
        "rare",
        "What the statistics (`words_file`) say of the whole phrase: `rare` leaves common phrases "
        "out, `idf` multiplies by the inverse document frequency, `inverse` divides the weight by "
        "the document frequency; without statistics every phrase is rare.",
        unit="name",
        source="paper 002, sections 4.3 to 4.5",
        shapes=True,
        method="phrases",
    )
    phrase_rare_percent: float = setting(
        50.0,
        "Cut-off of `rare`: a phrase is common where it is in more documents than this share of "
        "the phrases that are in two or more.",
        unit="per cent",
        source="paper 002, section 4.5 (1 to 99, best 50)",
        shapes=True,
        method="phrases",
        low=0.0,
        high=100.0,
    )
    phrase_samples: int = setting(
        64,
        "Phrases drawn from a text. The weighted Jaccard J is estimated with a standard error "
        "of sqrt(J (1 - J) / samples).",
        unit="keys",
        source="esdedup",
        shapes=True,
        method="phrases",
        low=1,
        high=99,
    )
    phrase_band: int = setting(
        1,
        "Samples joined into one key, a supershingle: fewer keys that only close copies share. 1 "
        "makes every sample a key.",
        unit="samples",
        source="paper 002, section 3",
        shapes=True,
        method="phrases",
        low=1,
        high=16,
    )
    phrase_threshold: float = setting(
        0.25,
        "Two documents match where the estimate is at least this.",
        unit="fraction",
        source="paper 002, section 4.6 (1/4 to 1/2)",
        low=0.0,
        high=1.0,
    )
    chain_words: int = setting(
        3,
        "Words in a chain of SpotSigs (c).",
        unit="words",
        source="paper 002, section 4.4",
        shapes=True,
        method="spotsigs",
        low=1,
        high=16,
    )
    chain_distance: int = setting(
        2,
        "From one word of a chain to the next, antecedents not counted (d).",
        unit="words",
        source="paper 002, section 4.4",
        shapes=True,
        method="spotsigs",
        low=1,
        high=16,
    )
    max_chains: int = setting(
        400,
        "Chains stored of one text, those of the smallest hash.",
        unit="keys",
        source="esdedup",
        shapes=True,
        method="spotsigs",
        low=1,
        high=900,
    )
    chain_threshold: float = setting(
        0.44,
        "Two documents match by SpotSigs where the Jaccard of their chains is at least this.",
        unit="fraction",
        source="esdedup (paper 002 names none)",
        low=0.0,
        high=1.0,
    )
    words_file: str = setting(
        "",
        "Statistics of your own corpus (`esdedup words build`) for the weights of simhash, imatch "
        "and phrases; empty: fixed tables, and no counts of phrases.",
        unit="file",
        source="paper 002, section 4.3",
    )
    words_version: str = setting(
        "",
        "Version of `words_file` that keys are made with; filled in from the file.",
        unit="12 hex digits",
        source="esdedup",
        shapes=True,
    )
    boilerplate_share: float = setting(
        0.1,
        "A phrase on more than this share of the pages of its source, as the statistics have "
        "them, is boilerplate there, which phrases are not drawn from.",
        unit="fraction",
        source="esdedup",
        shapes=True,
        low=0.0,
        high=1.0,
    )
    boilerplate_stories: int = setting(
        5,
        "It is boilerplate only where these pages tell at least this many different stories.",
        unit="stories",
        source="esdedup",
        shapes=True,
        low=2,
        high=16,
    )
    leave_out_boilerplate: bool = setting(
        False,
        "Whether the words of boilerplate phrases are left out of every method that reads words "
        "(sketch and its verification, simhash, imatch, phrases, spotsigs); needs `words_file`.",
        unit="yes/no",
        source="esdedup",
        shapes=True,
    )
