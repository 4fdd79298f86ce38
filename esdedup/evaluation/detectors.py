"""The interface of evaluated methods, our own settings and the baselines: two functions.

replay(items)     documents one by one, as they come: a ruling for each, and the groups
likenesses(items) pairs that the method looks at, with its measure and its verdict
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.place import PendingIndex
from esdedup.clustering.reconcile import QueryBuilder
from esdedup.clustering.records import undecided_record
from esdedup.errors import InputError, SettingsError
from esdedup.ingest.failures import map_documents
from esdedup.ingest.sign import Signed, prepare
from esdedup.matching.verify import verify
from esdedup.model import Document, Failure
from esdedup.model.batching import batched
from esdedup.model.methods import is_distance
from esdedup.settings import Settings
from esdedup.settings.presets import PRESETS

Item = Document | Failure
Progress = Callable[[int, int], None]
IN_MEMORY = "sqlite://:memory:"

# A paper's method by the name of its file: the preset of that paper.
ALIASES = {
    "sketch": "nrc-gphin",
    "simhash": "hu-you",
    "phrases": "alonso",
    "lengths": "chang-wang",
    "entities": "tweezer",
}
# Signing likes batches of about this size best.
_BATCH = 256


def silent(done: int, total: int) -> None:
    del done, total


@dataclass(frozen=True, slots=True)
class Ruling:
    """The decision about a document on arrival: linked to another one, or not."""

    id: str
    other: str | None = None
    is_update: bool = False


@dataclass(frozen=True, slots=True)
class Replay:
    """The rulings in the order of arrival, and the group of each document at the end."""

    rulings: tuple[Ruling, ...]
    groups: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Likeness:
    """A pair by the places of its documents, the earlier first; more `score` is more alike."""

    old: int
    new: int
    score: float
    is_reported: bool


class EvaluatedMethod(Protocol):
    @property
    def name(self) -> str: ...
    def replay(self, items: Sequence[Item], progress: Progress = silent) -> Replay: ...
    def likenesses(self, items: Sequence[Item]) -> Iterator[Likeness]: ...


@dataclass(frozen=True, slots=True)
class Ours:
    """Our own detection under some settings."""

    settings: Settings
    name: str
    store: str = IN_MEMORY

    @property
    def has_update_rules(self) -> bool:
        return self.settings.number_check or self.settings.extended_ratio > 0

    def without_update_rules(self) -> Ours:
        settings = replace(self.settings, number_check=False, extended_ratio=0.0)
        return replace(self, settings=settings, name=f"{self.name}, update rules off")

    def replay(self, items: Sequence[Item], progress: Progress = silent) -> Replay:
        """One document a write: every one is decided with what had come before it."""
        settings = replace(self.settings, keep="arrival", on_duplicate="link")
        rulings = []
        with Deduplicator.open(self.store, settings) as deduplicator:
            store = deduplicator.store
            if self.store != IN_MEMORY and store.maintenance.stats().get("documents"):
                raise InputError("the store has documents already; eval needs an empty one")
            try:
                for place, item in enumerate(sign_items(without_dates(items), settings)):
                    made = deduplicator.write([item])[0].decision
                    is_linked = made.role in ("duplicate", "update")
                    other = made.evidence[0].other if is_linked else None
                    rulings.append(Ruling(made.id, other, made.role == "update"))
                    progress(place + 1, len(items))
                store.concurrency.make_visible()
                there = store.documents.get(item.id for item in items)
            finally:
                if self.store != IN_MEMORY:  # empty again, for the next order or run
                    ids = [ruling.id for ruling in rulings]
                    with store.concurrency.transaction():
                        store.documents.delete(ids)
                        store.quarantine.remove(ids)
                    store.concurrency.make_visible()
        # An update counts as linked; a failure is a group of its own.
        groups = {i.id: there[i.id].decision.story if i.id in there else i.id for i in items}
        return Replay(tuple(rulings), groups)

    def likenesses(self, items: Sequence[Item]) -> Iterator[Likeness]:
        """Pairs that share keys enough to be candidates, verified; every document is a
        representative."""
        settings = replace(self.settings, attract="all", candidate_window=0.0)
        pending, questions = PendingIndex(), QueryBuilder.of(settings)
        places = {item.id: i for i, item in enumerate(items)}
        # A smaller distance is a closer match.
        sign = -1.0 if is_distance(settings.verified_by) else 1.0
        for place, item in enumerate(sign_items(without_dates(items), settings)):
            if isinstance(item, Failure):
                continue
            record = undecided_record(item, (place, item.document.id), place)
            query = questions.build(item, record.order)
            for found in pending.find_with_successors(query)[0]:
                evidence = verify(found, item, settings, found.shared)
                reported = evidence.verdict != "different"
                yield Likeness(places[found.id], place, sign * evidence.overlap, reported)
            pending.put(record)


def resolve(name: str, load: Callable[[str], Settings], store: str = IN_MEMORY) -> EvaluatedMethod:
    """A preset, a method by its file, or a baseline; `load` makes the settings of a preset."""
    from esdedup.evaluation.baselines import BASELINES

    if name in BASELINES:
        if store != IN_MEMORY:
            raise InputError(f"the baseline {name} keeps no store: leave --store out")
        return BASELINES[name]()
    preset = ALIASES.get(name, name)
    if preset not in PRESETS:
        known = ", ".join((*PRESETS, *ALIASES, *BASELINES))
        raise SettingsError(f"unknown method {name!r}; known are: {known}")
    return Ours(load(preset), name, store)


def list_methods() -> list[str]:
    from esdedup.evaluation.baselines import BASELINES

    return [*PRESETS, *BASELINES]


def without_dates(items: Sequence[Item]) -> list[Item]:
    """The items without dates, which would change the order of arrival."""
    return [replace(i, published=None) if isinstance(i, Document) else i for i in items]


def sign_items(items: Iterable[Item], settings: Settings) -> Iterator[Signed | Failure]:
    """In the order of the items, failures in their place."""
    for part in batched(items, _BATCH):
        yield from map_documents(part, lambda documents: prepare(documents, settings))
