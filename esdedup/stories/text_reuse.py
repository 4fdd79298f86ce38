"""Who copied what, how much, where: passages that two texts share, found in a whole archive.

Windows of sentence lengths find a passage wherever it stands (paper 003), the other methods find
texts that are alike as wholes; the words themselves verify. `links` asks for every article of a
store what `copies` asks for one text: the implicit links of section 4.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

import numpy as np

from esdedup.ingest.sign import Signed, prepare
from esdedup.methods import METHODS, lengths
from esdedup.methods.lengths import runs
from esdedup.model import JSON, Document, Failure, Order
from esdedup.settings import Settings
from esdedup.stores import Probe, Record, Store
from esdedup.text.batch import signed_text
from esdedup.text.sentences import split
from esdedup.text.tokens import code_points, fold, word_edges

# Equal words in a row that a passage grows from: fewer are phrases of the trade.
_SEED = 6
# Runs with at most this many other words between them are one passage with a change in it.
_GAP = 4
# A passage has at least this many equal words: a sentence, not a quotation of a title.
_LEAST = 12
# Windows asked for in one request, and how many the next one asks for again, so that no t windows
# in a row are cut apart.
_ASKED = 800
# After everything that is stored; far below the largest number that a store holds.
_END: Order = (1 << 61, "")
_MANY = 200


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that two texts share: from and to which character of each, and how many words.

    `words` counts those that are equal; a changed word inside belongs to the passage, not to them.
    """

    here: tuple[int, int]
    there: tuple[int, int]
    words: int

    def to_json(self) -> JSON:
        return {"here": list(self.here), "there": list(self.there), "words": self.words}


@dataclass(frozen=True, slots=True)
class Shared:
    """What two texts have in common, and which share of the words of each that is."""

    passages: tuple[Passage, ...]
    of_here: float
    of_there: float

    @property
    def words(self) -> int:
        return sum(passage.words for passage in self.passages)


@dataclass(frozen=True, slots=True)
class Copy:
    """A stored article that shares passages with a text. Offsets are those of both bodies."""

    document: Document
    found_by: Mapping[str, int]
    shared: Shared

    def to_json(self) -> JSON:
        document = self.document
        return {
            "id": document.id,
            "title": document.title,
            "url": document.url,
            "source": document.source,
            "found_by": dict(self.found_by),
            "words": self.shared.words,
            "of_here": round(self.shared.of_here, 4),
            "of_there": round(self.shared.of_there, 4),
            "passages": [passage.to_json() for passage in self.shared.passages],
        }


@dataclass(frozen=True, slots=True)
class Checked:
    """A text and everything found of it, most words first."""

    document: Document
    sentences: int
    copies: tuple[Copy, ...]

    def to_json(self) -> JSON:
        return {
            "id": self.document.id,
            "sentences": self.sentences,
            "copies": [copy.to_json() for copy in self.copies],
        }


# --- two texts ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text, folded, where each stands, and every run of `_SEED` of them."""

    words: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[int]
    runs: Sequence[tuple[str, ...]]

    @classmethod
    def of(cls, text: str) -> Words:
        starts, ends = word_edges(code_points(f"\n{text}\n"))
        places = list(zip((starts - 1).tolist(), (ends - 1).tolist(), strict=True))
        folded = [fold(text[start:end]) for start, end in places]
        seeds = list(zip(*(folded[i:] for i in range(_SEED)), strict=False))
        return cls(folded, [start for start, _ in places], [end for _, end in places], seeds)


def shared(here: Words, there: Words) -> Shared:
    """The passages of two texts, in the order of the first; linear in their lengths."""
    equal = [(r.a, r.b, r.windows + _SEED - 1) for r in runs(here.runs, there.runs)]
    kept = [group for group in _joined(equal) if _count(group) >= _LEAST]
    passages = tuple(_passage(group, here, there) for group in kept)
    flat = [run for group in kept for run in group]
    of_here = _covered([(a, a + n) for a, _, n in flat], len(here.words))
    of_there = _covered([(b, b + n) for _, b, n in flat], len(there.words))
    return Shared(passages, of_here, of_there)


_Run = tuple[int, int, int]


def _joined(equal: Iterable[_Run]) -> Iterator[list[_Run]]:
    """Runs that follow each other closely in both texts, together."""
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


def _count(group: Sequence[_Run]) -> int:
    """Words of the first text in any of the runs, which may overlap."""
    return len({i for a, _, n in group for i in range(a, a + n)})


def _passage(group: Sequence[_Run], here: Words, there: Words) -> Passage:
    end_a, end_b = max(a + n for a, _, n in group), max(b + n for _, b, n in group)
    return Passage(
        (here.starts[group[0][0]], here.ends[end_a - 1]),
        (there.starts[group[0][1]], there.ends[end_b - 1]),
        _count(group),
    )


def _covered(places: Sequence[tuple[int, int]], words: int) -> float:
    inside = np.zeros(words, np.bool_)
    for start, end in places:
        inside[start:end] = True
    return float(np.count_nonzero(inside) / max(1, words))


# --- an archive --------------------------------------------------------------------------------


def copies(document: Document, store: Store) -> Checked | Failure:
    """What of a text is in the archive, and what of the archive is in the text."""
    (item,) = prepare([document], store.settings)
    if isinstance(item, Failure):
        return item
    document = item.document
    store.begin()
    (found,) = _found([(item, _END)], store)
    records = _with_groups(found, store)
    own = Words.of(document.text)
    verified = [
        Copy(record.document, found.get(id_, {}), shared(own, Words.of(record.document.text)))
        for id_, record in records.items()
        if id_ != document.id
    ]
    verified.sort(key=lambda copy: (-copy.shared.words, copy.document.id))
    sentences = split([signed_text(document, store.settings)]).count(0)
    return Checked(document, sentences, tuple(copy for copy in verified if copy.shared.passages))


@dataclass(frozen=True, slots=True)
class Edge:
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


def links(store: Store) -> Iterator[Edge]:
    """All links of a store, article by article in the order of ids."""
    store.begin()
    ids = sorted(store.changed_since(datetime.fromtimestamp(0, UTC)))
    for start in range(0, len(ids), _MANY):
        part = store.get_many(ids[start : start + _MANY])
        records = [part[id_] for id_ in sorted(part)]
        items = [(Signed(r.document, r.signature), r.order) for r in records]
        found = _found(items, store)
        others = store.get_many({id_ for own in found for id_ in own} - set(part)) | part
        words = cache(lambda id_, records=others: Words.of(records[id_].document.text))
        for record, own in zip(records, found, strict=True):
            id_ = record.document.id
            edges = (Edge(id_, other, shared(words(id_), words(other))) for other in sorted(own))
            yield from (edge for edge in edges if edge.shared.passages)


def _found(items: Sequence[tuple[Signed, Order]], store: Store) -> list[dict[str, Counter[str]]]:
    """For each item the ids of earlier articles that share keys, and how many by method."""
    probes = [list(_probes(item, order, store.settings)) for item, order in items]
    answers = iter(store.candidates_many([probe for own in probes for probe in own]))
    out = []
    for own in probes:
        found: dict[str, Counter[str]] = {}
        for _ in own:
            for candidate in next(answers):
                found.setdefault(candidate.id, Counter()).update(candidate.shared)
        out.append(found)
    return out


def _probes(item: Signed, order: Order, settings: Settings) -> Iterator[Probe]:
    """One question for texts alike as wholes, then one for each stretch of windows."""
    whole = {m: keys for m, keys in item.signature.keys.items() if m != "lengths"}
    asked = [whole] if whole else []
    if "lengths" in settings.methods:
        text = signed_text(item.document, settings)
        windows = lengths.all_windows(text, settings)
        again = settings.min_windows * settings.window_step
        asked += [
            {"lengths": windows[i : i + _ASKED + again]} for i in range(0, len(windows), _ASKED)
        ]
    for keys in asked:
        needed = {method: METHODS[method].needed(settings) for method in keys}
        yield Probe(item.document.id, keys, needed, order, attracting_only=False)


def _with_groups(found: Mapping[str, object], store: Store) -> dict[str, Record]:
    """What was found, and all other members of their groups: copies of copies copied, too."""
    records = store.get_many(found)
    for group in {record.decision.group for record in records.values()}:
        records |= {record.document.id: record for record in store.members(group)}
    return records
