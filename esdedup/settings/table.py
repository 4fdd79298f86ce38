"""The table of settings: one definition each, from which everything else is derived.

A definition has the name and type, a sentence for people, the default with its unit, range and
source, and what it shapes: nothing that is stored (`setting`), every signature (`_all_keys`), or
the keys of one method (`_lengths_keys` and so on). The dataclass, its validation, `--set`, the
environment variables and docs/settings.md all follow from it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal

Measure = Literal["containment", "dice", "jaccard"]
ComparedText = Literal["prose", "all"]
SignedText = Literal["title+body", "body"]
Fingerprint = Literal["mixed", "poly31"]
PhraseWeight = Literal["uniform", "identity", "log", "sqrt", "square", "fourth", "antecedent"]
PhraseFactor = Literal["rare", "idf", "inverse", "none"]
Attract = Literal["originals", "branches", "all"]
Keep = Literal["earliest", "arrival", "ranking", "longest"]
OnDuplicate = Literal["link", "drop"]
SimhashWeights = Literal["tf-idf", "equal"]
BlockPlan = Literal["4x16", "5x13", "8x8"]
SimilarBy = Literal["evidence", "simhash"]
EventCount = Literal["stories", "groups", "sources", "items"]
EventTime = Literal["arrival", "published"]
ExtractorName = Literal["accurate", "fast"]

# Settings that shaped what format 1 stored; format 2 stores nothing of it.
SHAPED_FORMAT_1 = ("compared_part", "short_text", "max_shingles", "number_check")

_UNITS = {bool: "yes/no", str: "name", tuple: "names"}


@dataclass(frozen=True, slots=True)
class Value:
    """A default and what bounds it, inclusively; numbers name their unit."""

    default: Any
    unit: str = ""
    low: float | None = None
    high: float | None = None
    source: str = "esdedup"


def setting(text: str, value: Value, *, shapes: bool = False, method: str | None = None) -> Any:
    """A field of the dataclass with its definition as metadata.

    A setting that `shapes` keys is recorded in the store. With a `method` it is recorded only
    where that method is on.
    """
    about = {**asdict(value), "text": text, "shapes": shapes, "method": method}
    about["unit"] = value.unit or _UNITS[type(value.default)]
    return field(default=value.default, metadata=about)


_all_keys = partial(setting, shapes=True)
_sketch_keys = partial(_all_keys, method="sketch")
_lengths_keys = partial(_all_keys, method="lengths")
_winnowing_keys = partial(_all_keys, method="winnowing")
_phrases_keys = partial(_all_keys, method="phrases")
_spotsigs_keys = partial(_all_keys, method="spotsigs")
_simhash_keys = partial(_all_keys, method="simhash")
_imatch_keys = partial(_all_keys, method="imatch")
_entities_keys = partial(_all_keys, method="entities")


@dataclass(frozen=True, slots=True)
class SettingsTable:
    """Every choice esdedup makes, in the order of docs/settings.md."""

    # Which text is signed, the sketch, and the overlap that makes a copy.
    preset: str = setting(
        "Name of the preset the other values start from.",
        Value("hybrid"),
    )
    format: int = _all_keys(
        "How keys are written (docs/format.md). A store keeps the format it was made with; "
        "`esdedup backfill --upgrade` brings one of format 1 to format 2.",
        Value(2, "number", low=1, high=2),
    )
    reads_format_1: bool = setting(
        "Whether candidate queries use the keys of format 1 as well; `esdedup backfill --upgrade` "
        "sets it while it runs.",
        Value(False),
    )
    methods: tuple[str, ...] = setting(
        "Methods that sign documents; only these cost space and time.",
        Value(("sketch", "simhash", "entities")),
    )
    candidates_by: tuple[str, ...] = setting(
        "Methods whose keys a candidate query uses. Empty: all that sign, except simhash if there "
        "is no candidate window, since chance matches of short blocks grow with the index, and "
        "winnowing, which finds passages; these two only if they sign alone.",
        Value(()),
    )
    signed_text: SignedText = _all_keys(
        "Which text is signed: title and body trimmed and joined, or the body alone.",
        Value("title+body", source="paper 000, section 2.1"),
    )
    fingerprint: Fingerprint = _all_keys(
        "Hash of a shingle: `poly31` is the paper's polynomial over characters, `mixed` the "
        "same with a 64-bit base and a final mix, so that every bit counts.",
        Value("mixed", source="paper 000, footnote 3"),
    )
    shingle_words: int = _all_keys(
        "Length of a shingle (the papers' n).",
        Value(4, "words", low=1, high=32, source="paper 000, Table 2 (3 or 4)"),
    )
    sample_size: int = _all_keys(
        "Shingles sampled for the sketch of a long text (k): the smallest by a second hash.",
        Value(1600, "shingles", low=1, source="paper 000, Table 2"),
    )
    permutations: int = _all_keys(
        "Numbers in a sketch (p).",
        Value(20, "keys", low=1, high=99, source="paper 000, Table 2"),
    )
    seed: int = _all_keys(
        "Seed the permutations are drawn from.",
        Value(31, "number", low=0),
    )
    max_collisions_by_chance: int = setting(
        "A candidate shares more than this many sketch keys (t).",
        Value(
            1,
            "keys",
            low=0,
            source="paper 000, Table 2 (2); 1 finds more, and verification decides",
        ),
    )
    compared_part: float = _all_keys(
        "Share of both texts, from their beginning, that verification compares (f).",
        Value(0.8, "fraction", low=0.05, high=1.0, source="paper 000, Table 2 (.4 to 1.0)"),
    )
    short_text: int = _all_keys(
        "Texts with fewer words are compared whole: f rises to 1.",
        Value(120, "words", low=0, source="paper 000, section 2.2.3"),
    )
    max_shingles: int = _all_keys(
        "At most this many shingles of a text are compared, so that one giant text cannot fill "
        "the memory.",
        Value(20_000, "shingles", low=1),
    )
    compared_text: ComparedText = setting(
        "What verification compares: `prose`, the stretches of a text with at least a quarter of "
        "stop words, without menus and lists (in Catalan, Danish, Dutch, English, French, German, "
        "Italian, Portuguese and Spanish; elsewhere all), or `all` of it.",
        Value("prose", source="paper 002, section 4.4"),
    )
    ignore_boilerplate: bool = setting(
        "Whether two articles of one source are different where their headlines differ and neither "
        "headline's own words are in the passages that both share: forms, appeals, rules for "
        "comments, teasers, a standing background.",
        Value(True),
    )
    measure: Measure = setting(
        "Overlap measure: `dice` 2|A∩B|/(|A|+|B|), `jaccard` |A∩B|/|A∪B|, `containment` "
        "|A∩B|/|A| of the smaller side, with the direction kept in the evidence.",
        Value("containment", source="paper 000, Table 1 (dice)"),
    )
    min_overlap: float = setting(
        "Two documents match where the overlap is above this (r).",
        Value(0.45, "fraction", low=0.0, high=1.0, source="paper 000, Table 2 (.2 to .5)"),
    )

    # Methods that sign passages, and the statistics of a corpus.
    clause_marks: str = _lengths_keys(
        "Marks at which the method `lengths` cuts a text besides those that end a sentence.",
        Value("", "characters", source="paper 003, section 3.1 (Table 6 implies , and ;)"),
    )
    window_sentences: int = _lengths_keys(
        "Sentences in a window of lengths (WS).",
        Value(4, "sentences", low=1, high=64, source="esdedup (paper 003, Table 7: 8)"),
    )
    window_step: int = _lengths_keys(
        "Sentences from one stored window to the next (SW). An article queries with all of "
        "its windows, whatever the step.",
        Value(1, "sentences", low=1, high=64, source="paper 003, Table 7"),
    )
    dynamic_jumping: bool = _lengths_keys(
        "Whether to leave out a window that begins with SW lengths equal to the SW before and "
        "the SW after them.",
        Value(False, source="paper 003, section 3.2"),
    )
    min_windows: int = _lengths_keys(
        "Windows one after the other in both texts that make a copy (t). Texts of fewer than "
        "WS + SW (t - 1) sentences have no windows.",
        Value(5, "windows", low=1, source="paper 003, Table 7"),
    )
    max_windows: int = _lengths_keys(
        "Windows stored of one text, from its beginning: about 15,000 words at the 17 a "
        "sentence of SpotSigs. OpenSearch refuses more than 1,024 clauses in one request.",
        Value(900, "windows", low=1, high=900),
    )
    winnow_words: int = _winnowing_keys(
        "Length of the runs of words that are hashed.",
        Value(8, "words", low=1, high=32),
    )
    winnow_window: int = _winnowing_keys(
        "Runs in a row of which the smallest hash is a key. Two texts share a key for every "
        "winnow_words + winnow_window - 1 equal words in a row.",
        Value(40, "runs", low=1, high=1_000, source="Schleimer, Wilkerson & Aiken 2003"),
    )
    winnow_max_keys: int = _winnowing_keys(
        "Keys of one text, from its beginning: about 18,000 words. OpenSearch refuses more than "
        "1,024 clauses in one request.",
        Value(900, "keys", low=1, high=900),
    )
    phrase_words: int = _phrases_keys(
        "Length of a phrase.",
        Value(7, "words", low=1, high=32, source="paper 002, section 4.4"),
    )
    phrase_weight: PhraseWeight = _phrases_keys(
        "Weight of a phrase: this function of the document frequency of its first word; "
        "`antecedent` is 1 for phrases that begin with one, and 0.",
        Value("fourth", source="paper 002, section 4.4"),
    )
    phrase_factor: PhraseFactor = _phrases_keys(
        "What the statistics (`words_file`) say of the whole phrase: `rare` leaves common "
        "phrases out, `idf` multiplies by the inverse document frequency, `inverse` divides "
        "the weight by the document frequency; without statistics every phrase is rare.",
        Value("rare", source="paper 002, sections 4.3 to 4.5"),
    )
    phrase_rare_percent: float = _phrases_keys(
        "Cut-off of `rare`: a phrase is common where it is in more documents than this share "
        "of the phrases that are in two or more.",
        Value(
            50.0,
            "per cent",
            low=0.0,
            high=100.0,
            source="paper 002, section 4.5 (1 to 99, best 50)",
        ),
    )
    phrase_samples: int = _phrases_keys(
        "Phrases drawn from a text. The weighted Jaccard J is estimated with a standard error "
        "of sqrt(J (1 - J) / samples).",
        Value(64, "keys", low=1, high=99),
    )
    phrase_band: int = _phrases_keys(
        "Samples joined into one key, a supershingle: fewer keys that only close copies share. "
        "1 makes every sample a key.",
        Value(1, "samples", low=1, high=16, source="paper 002, section 3"),
    )
    phrase_threshold: float = setting(
        "Two documents match where the estimate is at least this.",
        Value(0.25, "fraction", low=0.0, high=1.0, source="paper 002, section 4.6 (1/4 to 1/2)"),
    )
    chain_words: int = _spotsigs_keys(
        "Words in a chain of SpotSigs (c).",
        Value(3, "words", low=1, high=16, source="paper 002, section 4.4"),
    )
    chain_distance: int = _spotsigs_keys(
        "From one word of a chain to the next, antecedents not counted (d).",
        Value(2, "words", low=1, high=16, source="paper 002, section 4.4"),
    )
    max_chains: int = _spotsigs_keys(
        "Chains stored of one text, those of the smallest hash.",
        Value(400, "keys", low=1, high=900),
    )
    chain_threshold: float = setting(
        "Two documents match by SpotSigs where the Jaccard of their chains is at least this.",
        Value(0.44, "fraction", low=0.0, high=1.0, source="esdedup (paper 002 names none)"),
    )
    words_file: str = setting(
        "Statistics of your own corpus (`esdedup words build`) for the weights of simhash, "
        "imatch and phrases; empty: fixed tables, and no counts of phrases.",
        Value("", "file", source="paper 002, section 4.3"),
    )
    words_version: str = _all_keys(
        "Version of `words_file` that keys are made with; filled in from the file.",
        Value("", "12 hex digits"),
    )
    boilerplate_share: float = _all_keys(
        "A phrase on more than this share of the pages of its source, counted in `words_file`, "
        "is boilerplate of that source. The method `phrases` does not sample it.",
        Value(0.1, "fraction", low=0.0, high=1.0),
    )
    boilerplate_stories: int = _all_keys(
        "A phrase is boilerplate only if its pages tell at least this many different stories.",
        Value(5, "stories", low=2, high=16),
    )
    leave_out_boilerplate: bool = _all_keys(
        "Whether the words of boilerplate phrases are left out of every method that reads "
        "words (sketch and its verification, simhash, imatch, phrases, spotsigs); needs "
        "`words_file`.",
        Value(False),
    )

    # Which documents may attract a copy, what it becomes, and which article is kept.
    hot_keys: tuple[str, ...] = _sketch_keys(
        "Keys that too many documents share (a site's boilerplate), left out of every "
        "candidate query; `esdedup doctor` finds them. Fixed when a store is made: a list that "
        "changes later would make groups depend on the order of arrival.",
        Value((), "keys"),
    )
    verified_by: str = setting(
        "What decides about a candidate: `overlap` of shingles, or the measure of the method "
        "named here, as in the paper of that method.",
        Value("overlap"),
    )
    verified_candidates: int = setting(
        "How many candidates are verified, best first; 1 is the paper's way.",
        Value(8, "documents", low=1, source="paper 000, section 2.2.2 (1)"),
    )
    attract: Attract = setting(
        "Who attracts copies: `originals` only; `branches`, which are originals and those of "
        "their direct copies that differ clearly (both give the same groups in any order of "
        "arrival); or `all` as in the paper, where a copy of a copy links to its original.",
        Value("branches", source="paper 000, section 2.2"),
    )
    branch_below: float = setting(
        "A direct copy attracts copies of its own where it is less like its closest match than "
        "this (dice of the compared parts).",
        Value(0.9, "share of shingles", low=0.0, high=1.0, source="measured: docs/evaluation.md"),
    )
    keep: Keep = _all_keys(
        "Which article of a group is its original: the `earliest` published (first seen where "
        "there is no date), the first by `arrival` as in the paper, that of the best source "
        "(`ranking`, see `keep_sources`), or the `longest`; of equal ones the earliest. "
        "`esdedup groups reroot` changes it in a store that is full.",
        Value("earliest", source="paper 000, section 2.2"),
    )
    keep_sources: tuple[str, ...] = _all_keys(
        "Sources in the order they are preferred under `keep = ranking`, the best first; all "
        "others come after them. `@FILE` reads them from a file, one a line.",
        Value(()),
    )
    number_check: bool = _all_keys(
        "Whether numbers, and names at the beginning, are compared: a near-identical article "
        "with another number or name in the same context is an update.",
        Value(True, source="paper 000, section 4.2"),
    )
    extended_ratio: float = setting(
        "A new text that contains the old one and is more than this many times as long is an "
        "update (reason `extended`). Where one of two texts is so much longer, `min_overlap` "
        "is at least .5. 0 switches both rules off.",
        Value(1.5, "ratio", low=0.0),
    )
    lead_bonus: float = setting(
        "Where the longer of two texts begins with words of the shorter one, `min_overlap` is "
        "lowered by this, whatever their lengths. 0, or a `min_overlap` above .5, switches the "
        "rule off.",
        Value(0.13, "fraction", low=0.0, high=1.0, source="measured: docs/evaluation.md"),
    )
    candidate_window: float = setting(
        "Only documents published within this many days before or after are candidates; 0 is "
        "no window.",
        Value(0.0, "days", low=0.0, high=1e6),
    )
    candidate_windows: tuple[str, ...] = setting(
        "Other windows for articles of a language or of a source: `tr=7, "
        "source:example.org=30`; 0 is no window, and a source goes before a language.",
        Value((), "days"),
    )
    on_duplicate: OnDuplicate = setting(
        "What happens to a duplicate: `link` stores it linked to its original, `drop` counts "
        "and reports it but does not store it.",
        Value("link", source="paper 001, section 4"),
    )
    revisions: int = setting(
        "Earlier versions that are kept of an article that is written again under its id with "
        "another text; 0 keeps none.",
        Value(10, "versions", low=0, high=100),
    )

    # Methods that sign features of a whole text.
    simhash_weights: SimhashWeights = _simhash_keys(
        "Weight of a stem: `tf-idf` is its count in the text times its rarity in the language, "
        "`equal` is 1 for every stem as in the paper.",
        Value("tf-idf", source="paper 001, section 2.1"),
    )
    simhash_title_weight: int = _simhash_keys(
        "How many times a word of the title counts; 0 leaves titles out.",
        Value(1, "times", low=0, high=100),
    )
    simhash_lead_weight: int = _simhash_keys(
        "How many times a word of the lead, the first words of the body, counts.",
        Value(1, "times", low=0, high=100),
    )
    simhash_lead_words: int = _simhash_keys(
        "Length of the lead.",
        Value(50, "words", low=0),
    )
    simhash_field: str = _simhash_keys(
        "Field of the documents with features of your own, signed instead of the words where "
        "it is there: an object of names and weights, or a vector (list of numbers); empty: "
        "none.",
        Value("", "field", source="paper 001, abstract"),
    )
    simhash_vectors: str = _simhash_keys(
        "Installed spaCy model with word vectors: their sum, weighted as the stems are, is "
        "signed instead of the stems; empty: none.",
        Value("", source="paper 001, section 2.1"),
    )
    block_plan: BlockPlan = _simhash_keys(
        "How the 64 bits are cut into keys: fingerprints that differ in at most 3 (`4x16`), 4 "
        "(`5x13`: 13, 13, 13, 13, 12) or 7 bits (`8x8`) share a block for certain.",
        Value("4x16", source="paper 001, section 2.2.3"),
    )
    near_duplicate_distance: int = setting(
        "Fingerprints that differ in at most this many bits are of near-duplicates; in more, "
        "but fewer than 8, of similar news.",
        Value(3, "bits", low=0, high=64, source="paper 001, section 2.3"),
    )
    imatch_low: int = _imatch_keys(
        "Terms more common than this are left out of the I-Match hash.",
        Value(
            300,
            "centibels: -100 log10 of a word's share of all words",
            low=0,
            source="esdedup (paper 004 has none)",
        ),
    )
    imatch_high: int = _imatch_keys(
        "Terms rarer than this are left out of the I-Match hash; words that the fixed table "
        "does not know have 600.",
        Value(400, "centibels", low=0, source="esdedup (paper 004 has none)"),
    )
    ner: str = _entities_keys(
        "Who finds named entities: `rules`, our own for Turkish, English, French, German and "
        "Spanish, or `spacy:NAME`, any installed spaCy model that has them.",
        Value("rules", source="paper 004, chapter 3"),
    )
    entity_words_before: int = _entities_keys(
        "Words before an entity that are signed with it (the p of pNEs).",
        Value(5, "words", low=0, high=100, source="paper 004, Table 4.1 (1 to 7)"),
    )
    entity_words_after: int = _entities_keys(
        "Words after an entity that are signed with it (the s of pNEs).",
        Value(5, "words", low=0, high=100, source="paper 004, Table 4.1 (1 to 7)"),
    )

    entity_keys: int = _entities_keys(
        "Contexts of entities stored as keys, those of the smallest hash; 0 stores one hash of all "
        "contexts as in the paper, which changes with any edited word.",
        Value(12, "keys", low=0, high=99, source="paper 004, chapter 4 (one hash)"),
    )
    entity_in_sentence: bool = _entities_keys(
        "Whether the words signed with an entity end with its sentence.",
        Value(True, source="paper 004, sample A.9"),
    )

    # Similar news, events, and one run.
    similar_by: SimilarBy = setting(
        "What makes similar news: `evidence`, everything stored of the two articles, or "
        "`simhash`, the distance alone as in the paper (needs the method).",
        Value("evidence", source="paper 001, section 2.3.1"),
    )
    similar_topic: float = setting(
        "Two articles are about one thing where the cosine of their weightiest terms is at "
        "least this.",
        Value(0.3, "fraction", low=0.01, high=1.0, source="measured: docs/evaluation.md"),
    )
    event_count: EventCount = setting(
        "What is counted for a breaking event: distinct `groups` about one thing, originals and "
        "updates, so that one wire copy on forty sites is none; distinct `stories`, all updates "
        "of a story as one; distinct `sources` of originals and updates; or `items`, every "
        "article similar by simhash, as in the paper.",
        Value("groups", source="paper 001, section 2.4.2"),
    )
    event_items: int = setting(
        "An article with more than this many similar ones before it, within the window, makes "
        "an event.",
        Value(15, "of what event_count names", low=0, source="paper 001, section 2.4.2"),
    )
    event_window: float = setting(
        "How far apart in time articles of an event may be that count for each other.",
        Value(4.0, "hours", low=0.001, high=1e6, source="paper 001, section 2.4.2"),
    )
    event_sources: int = setting(
        "An event needs articles of at least this many sources. An article without a source, "
        "and without a URL that names one, counts as a source of its own.",
        Value(3, "sources", low=0),
    )
    event_time: EventTime = setting(
        "Which time of an article counts for events: that of its `arrival`, or when it was "
        "`published` (arrival where there is no date), for archives that were indexed at once.",
        Value("arrival", source="paper 001, section 2.4.2"),
    )
    event_lateness: float = setting(
        "How far behind the latest article another may come and still count for events.",
        Value(1.0, "hours", low=0.0, high=1e6),
    )
    batch: int = setting(
        "Documents decided and written at once.",
        Value(1000, "documents", low=1),
    )
    extractor: ExtractorName = setting(
        "What extracts articles from HTML: `accurate`, trafilatura and its checks, or `fast`, "
        "resiliparse (`pip install resiliparse`), for backfills of many pages: four to ten "
        "times as fast, with more menus and teasers in the texts.",
        Value("accurate", source="measured: docs/how-to/workers.md"),
    )
    page_seconds: float = setting(
        "Time limit for extracting one HTML page; a page over it is quarantined.",
        Value(20.0, "seconds", low=0.1),
    )
    page_megabytes: int = setting(
        "Larger HTML pages are quarantined unread.",
        Value(10, "MB", low=1),
    )
    refuse_notices: bool = setting(
        "Whether error pages, which a site shows instead of an article (a check for robots, a "
        "block, a request for cookies, a form to register), are quarantined. Their texts are "
        "alike, the articles behind them are not.",
        Value(True, source="measured: docs/evaluation.md"),
    )
    worker_megabytes: int = setting(
        "Address space of a worker process beyond what it starts with: a page that needs more "
        "fails alone; 0 is no limit.",
        Value(2048, "MB", low=0),
    )
