"""Groups as a fixed point: the same documents give the same groups in any order of arrival.

With `before` the canonical order of documents, and likeness a property of two signatures,

    matches(d) = representatives n before d that d is a duplicate of
    right(d)   = duplicate, in the group of the closest of them        if there are any
                 leader of its own group (an update, or an original)   otherwise

Leaders are representatives, and so are copies of a leader that are far from it (`decide`). Since
right(d) depends on earlier documents only, there is one answer. `reconcile` computes it for every
affected document, and then for the documents that a change affects, until there are none. If a
representative moves, or a document becomes or ceases to be one, its successors are decided again;
if a document ceases to lead, its dependents are. Constraints enter in the same way: they depend on
earlier documents, and the documents that they name together are decided again together.

A document without any keys keeps its place, since there is nothing left to compare (`retention`
takes keys away from whole stories). If its original is gone, the first of those left leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from esdedup.clustering.place import place
from esdedup.errors import StoreError
from esdedup.matching.canonical_order import widest_window, window_of
from esdedup.matching.constraints import BY_CONSTRAINT, DocumentConstraints, Positions
from esdedup.matching.content import content_of
from esdedup.matching.verify import SignedDocument
from esdedup.methods import METHODS
from esdedup.methods.key_text import translate_key
from esdedup.model import Decision, Evidence, Order, Signature
from esdedup.settings import Settings
from esdedup.stores import CandidateQuery, Record, Store

# Chains of consequences are short (at most 7 rounds were seen with four writers in conflict);
# a loop far beyond that is a defect and must not run for ever.
_MAX_ROUNDS = 1000


@dataclass(frozen=True, slots=True)
class QueryBuilder:
    """Builds candidate queries; what depends on settings alone is computed once."""

    settings: Settings
    methods: frozenset[str]
    over_frequent: frozenset[str]
    min_shared_keys: Mapping[str, int]
    widest: int

    @classmethod
    def of(cls, settings: Settings) -> QueryBuilder:
        # Not the keys of other methods: `backfill --only` may be adding them just now.
        methods = frozenset([*settings.candidate_methods, "exact"])
        min_shared = {name: METHODS[name].min_shared_keys(settings) for name in methods}
        return cls(
            settings, methods, frozenset(settings.hot_keys), min_shared, widest_window(settings)
        )

    def keys(self, signature: Signature) -> Mapping[str, tuple[str, ...]]:
        """The query keys of a document, without over-frequent keys."""
        found = signature.keys
        if not self.methods.issuperset(found):
            found = {name: keys for name, keys in found.items() if name in self.methods}
        if signature.query_seed:
            found = {
                **found,
                **{
                    name: METHODS[name].query_keys(seed, self.settings)
                    for name, seed in signature.query_seed.items()
                    if name in self.methods
                },
            }
        if self.settings.reads_format_1:
            found = {m: _in_both_formats(keys) for m, keys in found.items()}
        if self.over_frequent:
            found = {
                m: tuple(k for k in keys if k not in self.over_frequent)
                for m, keys in found.items()
            }
        return found if all(found.values()) else {m: keys for m, keys in found.items() if keys}

    def build(self, signed: SignedDocument, order: Order, id_: str | None = None) -> CandidateQuery:
        """The query for the candidates and for the successors of a document.

        With an `id_` of "" a stored version of the document is found as well.
        """
        document = signed.document
        has_windows = bool(self.settings.candidate_windows)
        lang = content_of(document, self.settings).lang if has_windows else None
        return CandidateQuery(
            id=document.id if id_ is None else id_,
            keys=self.keys(signed.signature),
            min_shared_keys=self.min_shared_keys,
            order=order,
            window=window_of(self.settings, lang, document.source),
            widest=self.widest,
            representatives_only=self.settings.attract != "all",
        )


def _in_both_formats(keys: tuple[str, ...]) -> tuple[str, ...]:
    translated = filter(None, map(translate_key, keys))
    return tuple(dict.fromkeys([*keys, *translated]))


def queries_of(records: Iterable[Record], settings: Settings) -> list[CandidateQuery]:
    builder = QueryBuilder.of(settings)
    return [builder.build(record, record.order) for record in records]


def reconcile(
    store: Store, affected: Iterable[str], forced: Iterable[str] = ()
) -> dict[str, Decision]:
    """Link every affected document, and what its change affects, to its right group.

    `forced` documents affect others although their own link did not change: they were just
    written, or a run was killed before it reconciled them. Returns the decisions that changed.
    """
    changed: dict[str, Decision] = {}
    affected, forced = set(affected), set(forced)
    for _ in range(_MAX_ROUNDS):
        if not affected:
            return changed
        store.concurrency.make_visible()
        changes, records = _find_wrong(store, affected)
        report = store.documents.relink(changes)
        written = [(r, d) for r, d in changes if r.document.id not in report.conflicts]
        changed.update({r.document.id: d for r, d in written})
        affected = set(report.conflicts)
        if not store.concurrency.consistency.exclusive:
            affected |= {r.document.id for r, _ in written}
            store.concurrency.make_visible()
        now = {record.document.id: decision for record, decision in written}
        affected |= _find_affected(store, records, now, forced - report.conflicts)
        # A conflict may be with this very write, sent again after its answer was lost: then the
        # document is right by now, and what its change affects is still to be found.
        forced = set(report.conflicts)
    raise StoreError(
        "groups did not reach a fixed point: run `esdedup doctor` and report its output"
    )


def _find_wrong(
    store: Store, affected: set[str]
) -> tuple[list[tuple[Record, Decision]], dict[str, Record]]:
    """The affected documents whose link is wrong, each with the right decision; and all of them."""
    records = {
        id_: record
        for id_, record in store.documents.get(affected).items()
        if record.decision.role != "unprocessed"
    }
    ordered = sorted(records.values(), key=lambda r: r.order)
    queries = queries_of(ordered, store.settings)
    # Read after the documents: whoever set a constraint and then linked one of them by it is seen.
    constraints = store.constraints.read().value
    placement = place(
        ordered,
        queries,
        store.candidates.find(queries),
        store.settings,
        constraints=constraints,
        positions=dict(positions_of(store, constraints.related_to(records))),
        decide_keyless=_Keyless.of(store, ordered).decide,
    )
    changes = [
        (record, placed.decision)
        for record, placed in zip(ordered, placement.records, strict=True)
        if placed.decision.link != record.decision.link
    ]
    return changes, records


def positions_of(store: Store, ids: Iterable[str]) -> Positions:
    """Where documents stand now; those that could not be processed stand nowhere."""
    wanted = set(ids)
    return {
        id_: (record.order, record.decision.link)
        for id_, record in (store.documents.get(wanted).items() if wanted else ())
        if record.decision.role != "unprocessed"
    }


def is_keyless(record: Record) -> bool:
    return not any(record.signature.keys.values()) and not record.signature.query_seed


@dataclass(frozen=True, slots=True)
class _Keyless:
    """Decides about documents without keys from the positions of their originals and parents."""

    positions: Positions
    first: Mapping[str, str]  # a group whose original is gone -> the first of those that are left

    @classmethod
    def of(cls, store: Store, ordered: Iterable[Record]) -> _Keyless:
        """`ordered` are records in canonical order."""
        records = [r for r in ordered if is_keyless(r)]
        links = [r.decision.link for r in records]
        positions = positions_of(store, {x for k in links for x in (k.group, k.parent) if x})
        first: dict[str, str] = {}
        for record in records:
            if record.decision.group not in positions:
                first.setdefault(record.decision.group, record.document.id)
        return cls(positions, first)

    def decide(self, record: Record, constraints: DocumentConstraints) -> Decision | None:
        """The stored decision, with the group and story that its original or parent has now. None
        for a record with keys or with a must-link constraint."""
        if not is_keyless(record) or constraints.joins:
            return None
        id_, was = record.document.id, record.decision
        alone = Decision(id_, "original", id_, id_)
        if was.role == "update":
            parent = self.positions.get(was.link.parent or "")
            return replace(was, story=parent[1].story) if parent else alone
        # Linked by a constraint that is gone, or taken out of its group by one.
        is_freed = was.method == BY_CONSTRAINT or was.group in constraints.forbidden
        if was.role == "original" or is_freed:
            return alone if was.link != alone.link else was
        if leader := self.positions.get(was.group):
            evidence = was.evidence
            if was.link.parent not in self.positions:  # gone; it is a copy of its original, too
                evidence = (Evidence(was.group, verdict="duplicate", reason=was.reason),)
            return replace(was, group=leader[1].group, story=leader[1].story, evidence=evidence)
        leading = self.first.get(was.group, id_)
        if leading == id_:
            return alone
        reason = "its original is gone"
        moved = Evidence(leading, measure="group", verdict="duplicate", reason=reason)
        return Decision(id_, "duplicate", leading, leading, reason=reason, evidence=(moved,))


def _find_affected(
    store: Store,
    records: dict[str, Record],
    written: dict[str, Decision],
    forced: set[str],
) -> set[str]:
    """Documents whose right decision may have changed with these."""
    attracting, ceased, moved = [], set(), set()
    for id_, record in records.items():
        was, now = record.decision.link, written.get(id_, record.decision).link
        is_forced = id_ in forced
        if now.is_representative != was.is_representative or (
            now.is_representative
            and (is_forced or (now.group, now.story) != (was.group, was.story))
        ):
            # Also one that ceased to be a representative: if more documents share keys than are
            # verified, it may have hidden a closer one.
            attracting.append(record)
        # A forced document in any case: others may depend on its earlier decision.
        if is_forced or (was.canonical and not now.canonical) or now.story != was.story:
            ceased.add(id_)
        if is_forced or (now.group, now.story) != (was.group, was.story):
            moved.add(id_)
    later = store.candidates.successors(queries_of(attracting, store.settings))
    return (
        store.candidates.dependents(ceased) | later | store.constraints.recent().related_to(moved)
    )
