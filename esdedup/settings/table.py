"""The table of settings: every field with its default, bounds, unit, source and reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Measure = Literal["containment", "dice", "jaccard"]
SignedText = Literal["title+body", "body"]
Fingerprint = Literal["mixed", "poly31"]
Attract = Literal["originals", "branches", "all"]
Keep = Literal["earliest", "arrival", "ranking", "longest"]
OnDuplicate = Literal["link", "drop"]
PhraseWeight = Literal["uniform", "identity", "log", "sqrt", "square", "fourth", "antecedent"]
PhraseFactor = Literal["rare", "idf", "inverse", "none"]
SimhashWeights = Literal["tf-idf", "equal"]
BlockPlan = Literal["4x16", "5x13", "8x8"]
EventCount = Literal["stories", "items"]
EventTime = Literal["arrival", "published"]
SimilarBy = Literal["evidence", "simhash"]


def setting(
    default: Any,
    text: str,
    *,
    unit: str,
    source: str,
    shapes: bool = False,
    method: str | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Any:
    """A field with its documentation beside it; `low` and `high` bound it inclusively.

    A field with a `method` concerns only that one: it shapes what is stored where the method is on.
    """
    return field(
        default=default,
        metadata={
            "text": text,
            "unit": unit,
            "source": source,
            "shapes": shapes,
            "method": method,
            "low": low,
            "high": high,
        },
    )


@dataclass(frozen=True, slots=True)
class Fields:
    """Every choice esdedup makes, with its default, unit, source and reason."""

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
    similar_by: SimilarBy = setting(
        "evidence",
        "What makes similar news: `evidence`, all that is stored of two articles together, or "
        "`simhash`, the distance alone as in the paper (needs the method).",
        unit="name",
        source="paper 001, section 2.3.1",
    )
    similar_topic: float = setting(
        0.3,
        "Two articles are about one thing where the cosine of their weightiest terms is at least "
        "this.",
        unit="fraction",
        source="measured: docs/evaluation.md",
        low=0.01,
        high=1.0,
    )
    event_count: EventCount = setting(
        "stories",
        "What is counted for a breaking event: distinct `stories` about one thing, so that one "
        "wire copy on forty sites is none; or `items`, every article similar by simhash, as in "
        "the paper.",
        unit="name",
        source="paper 001, section 2.4.2",
    )
    event_items: int = setting(
        15,
        "An article with more than this many similar ones before it, within the window, makes an "
        "event.",
        unit="articles or stories",
        source="paper 001, section 2.4.2",
        low=0,
    )
    event_window: float = setting(
        4.0,
        "How far apart in time articles of an event may be that count for each other.",
        unit="hours",
        source="paper 001, section 2.4.2",
        low=0.001,
    )
    event_sources: int = setting(
        3,
        "An event is told by at least this many sources; articles without a source, and without "
        "a URL that names one, are each a source of their own.",
        unit="sources",
        source="esdedup",
        low=0,
    )
    event_time: EventTime = setting(
        "arrival",
        "Which time of an article counts for events: that of its `arrival`, or when it was "
        "`published` (arrival where there is no date), for archives that were indexed at once.",
        unit="name",
        source="paper 001, section 2.4.2",
    )
    event_lateness: float = setting(
        1.0,
        "How far behind the latest article another may come and still count for events.",
        unit="hours",
        source="esdedup",
        low=0.0,
    )
    batch: int = setting(
        1000, "Documents decided and written at once.", unit="documents", source="esdedup", low=1
    )
    page_seconds: float = setting(
        20.0,
        "Time limit for extracting one HTML page; a page over it is quarantined.",
        unit="seconds",
        source="esdedup",
        low=0.1,
    )
    page_megabytes: int = setting(
        10, "Larger HTML pages are quarantined unread.", unit="MB", source="esdedup", low=1
    )
    refuse_notices: bool = setting(
        True,
        "Whether what a site shows instead of an article (a check for robots, a block, a request "
        "for cookies, a form to register) is quarantined: such pages are not copies of one "
        "another.",
        unit="yes/no",
        source="measured: docs/evaluation.md",
    )
    worker_megabytes: int = setting(
        2048,
        "Address space of a worker process beyond what it starts with: a page that needs more "
        "fails alone; 0 is no limit.",
        unit="MB",
        source="esdedup",
        low=0,
    )
