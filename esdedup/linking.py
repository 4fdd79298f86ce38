"""Groups as a fixed point: the same documents give the same groups in any order of arrival.

With `before` the total order of documents, and likeness a property of two signatures,

    leaders(d) = leaders n before d that d is a duplicate of
    right(d)   = duplicate, in the group of the closest of them     if there are any
                 leader of its own group (an update, or an original)  otherwise

Only leaders attract. `settle` computes right(d) for every document that may be wrong and hands on
what a change touches, until nothing is left: when a document becomes a leader or ceases to be
one, later documents that share keys with it are looked at again, and its members when it ceases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from esdedup.decide import decide
from esdedup.errors import StoreError
from esdedup.methods import METHODS
from esdedup.model import Candidate, Decision, Order, Signature
from esdedup.settings import Settings
from esdedup.stores import Probe, Record, Store

# Chains of consequences are short (at most 7 rounds were seen with four writers in conflict);
# a loop far beyond that is a defect and must not run for ever.
_MAX_ROUNDS = 1000

_DAY = 86_400_000_000  # microseconds


@dataclass(slots=True)
class Window:
    """Documents decided but not yet visible in the store: copies inside one batch find each other.

    Only a saving on a cluster, where `settle` would find them too; exact on a serial store.
    """

    settings: Settings
    _by_key: dict[str, tuple[Candidate, ...]] = field(default_factory=dict)

    def add(self, id_: str, signature: Signature, order: Order, decision: Decision) -> None:
        if self.settings.attract == "originals" and not decision.link.canonical:
            return
        candidate = Candidate(id_, {}, signature, order, decision.link)
        for keys in signature.keys.values():
            for key in keys:
                others = self._by_key.get(key)
                self._by_key[key] = (candidate,) if others is None else (*others, candidate)

    def candidates(self, keys: Mapping[str, tuple[str, ...]], order: Order) -> list[Candidate]:
        found: dict[str, Candidate] = {}
        shared: dict[str, Counter[str]] = {}
        for method, own in keys.items():
            for key in own:
                if key not in self._by_key:  # nearly always
                    continue
                for candidate in self._by_key[key]:
                    found[candidate.id] = candidate
                    shared.setdefault(candidate.id, Counter())[method] += 1
        if not shared:
            return []
        span = window_of(self.settings)
        return [
            Candidate(c.id, dict(counts), c.signature, c.order, c.link)
            for id_, counts in shared.items()
            if (c := found[id_]).order < order
            and (not span or order[0] - c.order[0] <= span)
            and enough(counts, self.settings)
        ]


def enough(shared: Counter[str], settings: Settings) -> bool:
    """Whether any method counts enough shared keys to make a candidate."""
    return any(n >= METHODS[m].needed(settings) for m, n in shared.items())


def asked_keys(signature: Signature, settings: Settings) -> Mapping[str, tuple[str, ...]]:
    """The keys of a document without those that are known to be everywhere."""
    if not settings.hot_keys:
        return signature.keys
    hot = frozenset(settings.hot_keys)
    kept = {m: tuple(k for k in keys if k not in hot) for m, keys in signature.keys.items()}
    return {method: keys for method, keys in kept.items() if keys}


def window_of(settings: Settings) -> int:
    """How far apart in time two documents may be, in microseconds; 0 is no bound."""
    return round(settings.candidate_window * _DAY)


def probe(id_: str, signature: Signature, order: Order, settings: Settings) -> Probe:
    """The question for what may attract a document, or be attracted by it."""
    return Probe(
        id=id_,
        keys=asked_keys(signature, settings),
        needed={method: METHODS[method].needed(settings) for method in signature.keys},
        order=order,
        window=window_of(settings),
        leaders_only=settings.attract == "originals",
    )


def settle(store: Store, dirty: Iterable[str], forced: Iterable[str] = ()) -> dict[str, Decision]:
    """Bring every dirty document, and what its change touches, to its right place.

    `forced` documents hand on to their neighbours although their link did not change: they were
    just written, or may have been left half done. Returns the decisions that changed.
    """
    changed: dict[str, Decision] = {}
    dirty, forced = set(dirty), set(forced)
    for _ in range(_MAX_ROUNDS):
        if not dirty:
            return changed
        store.refresh()
        changes, records = _wrong(store, dirty)
        report = store.link_many(changes)
        written = [(r, d) for r, d in changes if r.document.id not in report.conflicts]
        changed.update({r.document.id: d for r, d in written})
        touched = set(report.conflicts)
        if not store.serial:
            touched |= {r.document.id for r, _ in written}
            store.refresh()
        now = {record.document.id: decision for record, decision in written}
        touched |= _touched(store, records, now, forced - report.conflicts)
        dirty, forced = touched, forced & report.conflicts
    raise StoreError("groups did not settle: run `esdedup doctor` and report its output")


def _wrong(
    store: Store, dirty: set[str]
) -> tuple[list[tuple[Record, Decision]], dict[str, Record]]:
    """The dirty documents whose link differs from the right one, with the right one."""
    records = {
        id_: record
        for id_, record in store.get_many(dirty).items()
        if record.decision.role != "unprocessed"
    }
    ordered = sorted(records.values(), key=lambda r: r.order)
    found = store.candidates_many(
        [probe(r.document.id, r.signature, r.order, store.settings) for r in ordered]
    )
    changes = []
    for record, candidates in zip(ordered, found, strict=True):
        right = decide(record.document.id, record.signature, candidates, store.settings)
        if right.link != record.decision.link:
            changes.append((record, right))
    return changes, records


def _touched(
    store: Store,
    records: dict[str, Record],
    written: dict[str, Decision],
    forced: set[str],
) -> set[str]:
    """Whose right place may be another after these changes."""
    leading, ceased = [], set()
    for id_, record in records.items():
        was, now = record.decision.link, written.get(id_, record.decision).link
        is_forced = id_ in forced
        if now.canonical != was.canonical or (now.canonical and is_forced):
            # Also of one that ceased: where more leaders share keys than are verified, it may
            # have kept a better one out of sight.
            leading.append(record)
        if (not now.canonical and (is_forced or was.canonical)) or now.story != was.story:
            ceased.add(id_)
    probes = [probe(r.document.id, r.signature, r.order, store.settings) for r in leading]
    return store.followers(ceased) | store.later(probes)
