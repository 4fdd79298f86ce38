"""Groups as a fixed point: the same documents give the same groups in any order of arrival.

With `before` the total order of documents, and likeness a property of two signatures,

    matches(d) = documents n before d that attract and that d is a duplicate of
    right(d)   = duplicate, in the group of the closest of them     if there are any
                 leader of its own group (an update, or an original)  otherwise

Leaders attract, and branches: copies of a leader that are far from it (`decide`). Since right(d)
rests on earlier documents alone, there is one answer. `settle` computes it for every document
that may be wrong and hands on what a change touches, until nothing is left: when a document that
attracts, or did, gets another place, later documents that share keys with it are looked at again,
and its members when it ceases to lead. What people said (`constraints`) comes in the same way: it
rests on earlier documents, and who it names together with a document is looked at with it.

A document without any keys keeps the place it has (`retention` takes keys of old groups away, as
wholes): there is nothing left to compare. Where its original is gone the first of those left leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from esdedup.clustering.place import place
from esdedup.errors import StoreError
from esdedup.matching.canonical_order import reach_of, window_of
from esdedup.matching.constraints import SAID, Heard, Places
from esdedup.methods import METHODS
from esdedup.model import Decision, Evidence, Order, Signature
from esdedup.settings import Settings
from esdedup.stores import Probe, Record, Store

# Chains of consequences are short (at most 7 rounds were seen with four writers in conflict);
# a loop far beyond that is a defect and must not run for ever.
_MAX_ROUNDS = 1000


@dataclass(frozen=True, slots=True)
class Questions:
    """What documents ask a store; what rests on its settings alone is worked out once for many."""

    settings: Settings
    asking: frozenset[str]  # methods
    hot: frozenset[str]
    needed: Mapping[str, int]
    widest: int

    @classmethod
    def of(cls, settings: Settings) -> Questions:
        # Not the keys of a method that is off: `backfill --only` may be adding them just now.
        asking = frozenset([*settings.methods, "exact"])
        needed = {name: METHODS[name].needed(settings) for name in asking}
        return cls(settings, asking, frozenset(settings.hot_keys), needed, reach_of(settings))

    def keys(self, signature: Signature) -> Mapping[str, tuple[str, ...]]:
        """Those that a document asks with, without those that are known to be everywhere."""
        asked = signature.keys
        if not self.asking.issuperset(asked):
            asked = {name: keys for name, keys in asked.items() if name in self.asking}
        if signature.kept:
            asked = {**asked, **self._made_of(signature.kept)}
        if self.hot:
            asked = {m: tuple(k for k in keys if k not in self.hot) for m, keys in asked.items()}
        return asked if all(asked.values()) else {m: keys for m, keys in asked.items() if keys}

    def _made_of(self, kept: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """The keys of methods that store fewer than a document asks with."""
        return {
            name: METHODS[name].asked(text, self.settings)
            for name, text in kept.items()
            if name in self.settings.methods
        }

    def probe(
        self, id_: str, signature: Signature, order: Order, source: str | None = None
    ) -> Probe:
        """The question for what may attract a document, or be attracted by it."""
        return Probe(
            id=id_,
            keys=self.keys(signature),
            needed=self.needed,
            order=order,
            window=window_of(self.settings, signature.lang, source),
            widest=self.widest,
            attracting_only=self.settings.attract != "all",
        )


def probes_of(records: Iterable[Record], settings: Settings) -> list[Probe]:
    questions = Questions.of(settings)
    return [
        questions.probe(r.document.id, r.signature, r.order, r.document.source) for r in records
    ]


def reconcile(
    store: Store, dirty: Iterable[str], forced: Iterable[str] = ()
) -> dict[str, Decision]:
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
    queries, constraints = probes_of(ordered, store.settings), store.corrections
    placement = place(
        ordered,
        queries,
        store.candidates_many(queries),
        store.settings,
        constraints=constraints,
        positions=dict(places_of(store, constraints.others(records))),
        decide_keyless=_Keyless.of(store, ordered).decide,
    )
    changes = [
        (record, placed.decision)
        for record, placed in zip(ordered, placement.records, strict=True)
        if placed.decision.link != record.decision.link
    ]
    return changes, records


def places_of(store: Store, ids: Iterable[str]) -> Places:
    """Where documents stand now; those that could not be processed stand nowhere."""
    wanted = set(ids)
    return {
        id_: (record.order, record.decision.link)
        for id_, record in (store.get_many(wanted).items() if wanted else ())
        if record.decision.role != "unprocessed"
    }


def is_keyless(record: Record) -> bool:
    return not any(record.signature.keys.values()) and not record.signature.kept


@dataclass(frozen=True, slots=True)
class _Keyless:
    """Where those stand that documents without keys lean on, and who leads where one is gone."""

    places: Places
    first: Mapping[str, str]  # a group whose original is gone -> the first of those that are left

    @classmethod
    def of(cls, store: Store, ordered: Iterable[Record]) -> _Keyless:
        """Of records in their order."""
        records = [r for r in ordered if is_keyless(r)]
        links = [r.decision.link for r in records]
        places = places_of(store, {x for k in links for x in (k.group, k.parent) if x})
        first: dict[str, str] = {}
        for record in records:
            if record.decision.group not in places:
                first.setdefault(record.decision.group, record.document.id)
        return cls(places, first)

    def decide(self, record: Record, said: Heard) -> Decision | None:
        """As it is, along with what it leans on; None of a record that has keys, or that somebody
        joined with another."""
        if not is_keyless(record) or said.joins:
            return None
        id_, was = record.document.id, record.decision
        alone = Decision(id_, "original", id_, id_)
        if was.role == "update":
            parent = self.places.get(was.link.parent or "")
            return replace(was, story=parent[1].story) if parent else alone
        # Joined by a word, and nobody says so any more; or taken out by one.
        if was.role == "original" or was.method == SAID or was.group in said.apart:
            return alone if was.link != alone.link else was
        if leader := self.places.get(was.group):
            return replace(was, group=leader[1].group, story=leader[1].story)
        leading = self.first.get(was.group, id_)
        if leading == id_:
            return alone
        reason = "its original is gone"
        moved = Evidence(leading, measure="group", verdict="duplicate", reason=reason)
        return Decision(id_, "duplicate", leading, leading, reason=reason, evidence=(moved,))


def _touched(
    store: Store,
    records: dict[str, Record],
    written: dict[str, Decision],
    forced: set[str],
) -> set[str]:
    """Whose right place may be another after these changes."""
    attracting, ceased, moved = [], set(), set()
    for id_, record in records.items():
        was, now = record.decision.link, written.get(id_, record.decision).link
        is_forced = id_ in forced
        if now.attracts != was.attracts or (
            now.attracts and (is_forced or (now.group, now.story) != (was.group, was.story))
        ):
            # Also of one that ceased: where more share keys than are verified, it may have kept
            # a better one out of sight.
            attracting.append(record)
        # Of a forced one in any case: somebody may have leaned on what it said before.
        if is_forced or (was.canonical and not now.canonical) or now.story != was.story:
            ceased.add(id_)
        if is_forced or (now.group, now.story) != (was.group, was.story):
            moved.add(id_)
    later = store.later(probes_of(attracting, store.settings))
    return store.followers(ceased) | later | store.corrections.others(moved)
