"""Text reuse: passages that two texts share, found in a whole archive.

Fingerprints (`winnowing`) and windows of sentence lengths (paper 003) find a passage wherever it
stands. The other methods find texts that are similar as wholes. The words themselves verify both.
`copies` searches for one text, `links` for every article of a store: the implicit links of section
4.3 of the paper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import Annotated

import numpy as np

from esdedup.ingest.sign import Signed, prepare
from esdedup.methods import METHODS, lengths, winnowing
from esdedup.methods.lengths import find_equal_runs
from esdedup.model import JSON, Document, Failure, Order
from esdedup.model.batching import batched
from esdedup.model.json_form import JsonField, Result, Rounded, in_json
from esdedup.model.results import MentionedDocument, id_of_document
from esdedup.settings import Settings
from esdedup.stores import CandidateQuery, Record, Store
from esdedup.text.batch import signed_text
from esdedup.text.sentences import split
from esdedup.text.tokens import code_points, fold, word_edges

# Equal words in a row that a passage grows from: fewer are common phrases.
_SEED = 6
# Runs with at most this many other words between them are one passage with a change in it.
_GAP = 4
# A passage has at least this many equal words: a sentence, not a quotation of a title.
_LEAST = 12
# Keys of one query; OpenSearch refuses more than 1,024 clauses.
_KEYS_PER_QUERY = 800
# Methods whose keys find passages, each with the function that makes all keys of a text.
_ALL_KEYS = {"winnowing": winnowing.all_keys, "lengths": lengths.all_keys}
# After everything that is stored; far below the largest number that a store holds.
_END: Order = (1 << 61, "")
_ARTICLES_PER_QUERY = 200


@dataclass(frozen=True, slots=True)
class SharedPassage(Result):
    """A passage that two texts share: from and to which character of each, and how many words.

    `words` counts those that are equal; a changed word inside belongs to the passage, not to them.
    """

    here: tuple[int, int]
    there: tuple[int, int]
    words: int


@dataclass(frozen=True, slots=True)
class Shared(Result):
    """The passages of two texts, and their share of the words of each."""

    passages: tuple[SharedPassage, ...]
    of_here: Rounded
    of_there: Rounded

    @property
    @in_json()
    def words(self) -> int:
        return sum(passage.words for passage in self.passages)


@dataclass(frozen=True, slots=True)
class Copy(Result):
    """A stored article that shares passages with a text. Offsets are those of both bodies."""

    document: MentionedDocument
    found_by: Mapping[str, int]
    shared: Annotated[Shared, JsonField(flat=True)]


@dataclass(frozen=True, slots=True)
class TextReuse(Result):
    """A text and the articles that share passages with it, most words first."""

    document: Annotated[Document, JsonField("id", convert=id_of_document)]
    sentences: int
    copies: tuple[Copy, ...]


# --- two texts ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextWords:
    """The words of a text, folded, where each stands, and every run of `_SEED` of them."""

    words: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[int]
    runs: Sequence[tuple[str, ...]]

    @classmethod
    def of(cls, text: str) -> TextWords:
        starts, ends = word_edges(code_points(f"\n{text}\n"))
        places = list(zip((starts - 1).tolist(), (ends - 1).tolist(), strict=True))
        folded = [fold(text[start:end]) for start, end in places]
        seeds = list(zip(*(folded[i:] for i in range(_SEED)), strict=False))
        return cls(folded, [start for start, _ in places], [end for _, end in places], seeds)


def find_passages(here: TextWords, there: TextWords) -> Shared:
    """The passages of two texts, in the order of the first; linear in their lengths."""
    equal = [(r.a, r.b, r.windows + _SEED - 1) for r in find_equal_runs(here.runs, there.runs)]
    long = [group for group in _join_runs(equal) if _count_words(group) >= _LEAST]
    passages = tuple(_as_passage(group, here, there) for group in long)
    flat = [run for group in long for run in group]
    of_here = _covered_share([(a, a + n) for a, _, n in flat], len(here.words))
    of_there = _covered_share([(b, b + n) for _, b, n in flat], len(there.words))
    return Shared(passages, of_here, of_there)


_Run = tuple[int, int, int]


def _join_runs(equal: Iterable[_Run]) -> Iterator[list[_Run]]:
    """Groups of runs that follow each other closely in both texts."""
    group: list[_Run] = []
    for a, b, n in equal:
        if group:
            last_a, last_b, size = group[-1]
            gaps = (a - last_a - size, b - last_b - size)
            if b < last_b or max(gaps) > _GAP:
                yield group
                group = []
        group.append((a, b, n))
    if group:
        yield group


def _count_words(group: Sequence[_Run]) -> int:
    """Words of the first text in any of the runs, which may overlap."""
    return len({i for a, _, n in group for i in range(a, a + n)})


def _as_passage(group: Sequence[_Run], here: TextWords, there: TextWords) -> SharedPassage:
    end_a, end_b = max(a + n for a, _, n in group), max(b + n for _, b, n in group)
    return SharedPassage(
        (here.starts[group[0][0]], here.ends[end_a - 1]),
        (there.starts[group[0][1]], there.ends[end_b - 1]),
        _count_words(group),
    )


def _covered_share(places: Sequence[tuple[int, int]], words: int) -> float:
    inside = np.zeros(words, np.bool_)
    for start, end in places:
        inside[start:end] = True
    return float(np.count_nonzero(inside) / max(1, words))


# --- an archive --------------------------------------------------------------------------------


def find_text_reuse(document: Document, store: Store) -> TextReuse | Failure:
    """The stored articles that share passages with a text."""
    (item,) = prepare([document], store.settings)
    if isinstance(item, Failure):
        return item
    document = item.document
    store.concurrency.snapshot()
    (found,) = _find_candidates([(item, _END)], store)
    records = _add_group_members(found, store)
    own = TextWords.of(document.text)
    verified = [
        Copy(
            record.document,
            found.get(id_, {}),
            find_passages(own, TextWords.of(record.document.text)),
        )
        for id_, record in records.items()
        if id_ != document.id
    ]
    verified.sort(key=lambda copy: (-copy.shared.words, copy.document.id))
    sentences = split([signed_text(document, store.settings)], store.settings.clause_marks).count(0)
    return TextReuse(document, sentences, tuple(copy for copy in verified if copy.shared.passages))


@dataclass(frozen=True, slots=True)
class Edge(Result):
    """A link from an article to an earlier one that it shares passages with."""

    source: str
    target: str
    shared: Shared

    def to_json(self) -> JSON:
        return {
            "from": self.source,
            "to": self.target,
            "words": self.shared.words,
            "of_from": round(self.shared.of_here, 4),
            "of_to": round(self.shared.of_there, 4),
            "spans": [
                {"from": p.here, "to": p.there, "words": p.words} for p in self.shared.passages
            ],
        }


def find_links(store: Store) -> Iterator[Edge]:
    """All links of a store, article by article in the order of ids."""
    store.concurrency.snapshot()
    ids = sorted(store.documents.changed_ids(datetime.fromtimestamp(0, UTC)))
    for some in batched(ids, _ARTICLES_PER_QUERY):
        part = store.documents.get(some)
        records = [part[id_] for id_ in sorted(part)]
        items = [(Signed(r.document, r.signature), r.order) for r in records]
        found = _find_candidates(items, store)
        others = store.documents.get({id_ for own in found for id_ in own} - set(part)) | part
        words = cache(lambda id_, records=others: TextWords.of(records[id_].document.text))
        for record, own in zip(records, found, strict=True):
            id_ = record.document.id
            edges = (
                Edge(id_, other, find_passages(words(id_), words(other))) for other in sorted(own)
            )
            yield from (edge for edge in edges if edge.shared.passages)


def _find_candidates(
    items: Sequence[tuple[Signed, Order]], store: Store
) -> list[dict[str, Counter[str]]]:
    """For each item the ids of earlier articles that share keys, with their number by method."""
    queries = [list(_make_queries(item, order, store.settings)) for item, order in items]
    answers = iter(store.candidates.find([query for own in queries for query in own]))
    out = []
    for own in queries:
        found: dict[str, Counter[str]] = {}
        for _ in own:
            for candidate in next(answers):
                found.setdefault(candidate.id, Counter()).update(candidate.shared)
        out.append(found)
    return out


def _make_queries(item: Signed, order: Order, settings: Settings) -> Iterator[CandidateQuery]:
    """One query for texts that are similar as wholes, then those for passages.

    One key in common is enough for a passage: candidates come with the most shared keys first, and
    the words decide.
    """
    by_whole = {*settings.candidate_methods, "exact"} - _ALL_KEYS.keys()
    whole = {m: keys for m, keys in item.signature.keys.items() if m in by_whole}
    enough = {method: METHODS[method].min_shared_keys(settings) for method in whole}
    find = partial(CandidateQuery, item.document.id, order=order, representatives_only=False)
    if whole:
        yield find(whole, enough)
    for method in passage_methods(settings):
        for keys in batched(_ALL_KEYS[method](item.document, settings), _KEYS_PER_QUERY):
            yield find({method: tuple(keys)}, {method: 1})


def passage_methods(settings: Settings) -> list[str]:
    """The methods of a store that find a passage wherever it stands."""
    return [method for method in _ALL_KEYS if method in settings.methods]


def _add_group_members(found: Mapping[str, object], store: Store) -> dict[str, Record]:
    """The articles found and all other members of their groups, which hold the passage as well."""
    records = store.documents.get(found)
    for group in {record.decision.group for record in records.values()}:
        records |= {record.document.id: record for record in store.documents.members(group)}
    return records
