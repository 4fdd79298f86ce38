"""Groups by hand: constraints are stored, and the groups follow.

Setting a constraint again changes nothing, and reconciles what a killed run left half done.
Removing it leaves the groups that there would be without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.epoch import dependents_of
from esdedup.clustering.reconcile import reconcile
from esdedup.errors import Contradiction, InputError, StoreError, UnknownDocument
from esdedup.matching.constraints import Constraint, Constraints, Key, Kind
from esdedup.model import Decision, Role, iso
from esdedup.model.encoding import parse_json
from esdedup.model.json_form import JsonField, Result
from esdedup.stores import Record

# Attempts of a compare-and-set, if other writers change the constraints at the same time.
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Relinked(Result):
    """An article that got another role, group or story."""

    id: str
    role: Role
    group: str
    story: str


def _links(changed: dict[str, Decision]) -> list[Relinked]:
    return [Relinked(d.id, d.role, d.group, d.story) for d in changed.values()]


@dataclass(frozen=True, slots=True)
class CurationResult(Result):
    """The constraints that were set or removed, and the documents they moved."""

    corrections: Annotated[tuple[Constraint, ...], JsonField("said")]
    changed: Annotated[dict[str, Decision], JsonField(convert=_links)]
    # Of an import: line -> reason.
    refused: Annotated[dict[str, str], JsonField(omit_empty=True)] = field(default_factory=dict)


def merge(
    deduplicator: Deduplicator, ids: Sequence[str], *, by: str = "", note: str = ""
) -> CurationResult:
    """Must-link: these articles and their groups become one group.

    The constraint is stored for the articles and for the originals of their groups, unless another
    constraint keeps these apart.
    """
    return _pairs(deduplicator, "same", ids, by, note)


def split(
    deduplicator: Deduplicator, ids: Sequence[str], *, by: str = "", note: str = ""
) -> CurationResult:
    """Cannot-link: the first article is never in a group with any of the others."""
    return _pairs(deduplicator, "different", ids, by, note)


def pin(deduplicator: Deduplicator, id_: str, *, by: str = "", note: str = "") -> CurationResult:
    """Pinned original: the article precedes every article that is not pinned."""
    return set_constraints(deduplicator, [Constraint("original", (id_,), _now(), by, note)])


def forget(
    deduplicator: Deduplicator, ids: Sequence[str], kind: Kind | None = None
) -> CurationResult:
    """Remove the constraints on a document, or on two together; of that kind, or all."""
    gone: dict[Key, Constraint] = {}

    def remove(constraints: Constraints) -> Constraints:
        found = [c for c in constraints.find_naming(*ids) if kind in (None, c.kind)]
        gone.update((c.key, c) for c in found)  # of an earlier try, too: its answer may be lost
        return constraints.without_constraints(c.key for c in found)

    changed = _change(deduplicator, remove, lambda: ids)
    return CurationResult(tuple(gone.values()), changed)


def set_constraints(
    deduplicator: Deduplicator,
    corrections: Sequence[Constraint],
    *,
    ahead: bool = False,
    groups: bool = False,
) -> CurationResult:
    """Set all of these constraints or none.

    With `ahead` they may name documents that the store does not have yet. With `groups` the
    originals of two linked articles are linked as well.
    """
    named = _ids_of(corrections)
    accepted = list(corrections)

    def with_all(constraints: Constraints) -> Constraints:
        stored = deduplicator.store.documents.get(named)
        if not ahead and (unknown := sorted(named - stored.keys())):
            raise UnknownDocument(
                f"there is no article {', '.join(unknown)} in this store; a search shows ids"
            )
        for correction in corrections:
            _check_pinned(correction, constraints, stored)
            constraints = constraints.with_constraint(correction)
        accepted[:] = corrections
        for following in _of_groups(corrections, stored) if groups else ():
            with suppress(Contradiction):
                constraints = constraints.with_constraint(following)
                accepted.append(following)
        return constraints

    changed = _change(deduplicator, with_all, lambda: _ids_of(accepted))
    return CurationResult(tuple(accepted), changed)


def import_lines(
    deduplicator: Deduplicator, lines: Iterable[str], *, ahead: bool = False
) -> CurationResult:
    """NDJSON as `export` writes it. A line that cannot be taken is named, and the others are."""
    refused: dict[str, str] = {}
    read: list[tuple[str, Constraint]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            read.append((f"line {number}", Constraint.from_json(parse_json(line))))
        except (ValueError, InputError) as error:
            refused[f"line {number}"] = str(error)
    taken: list[Constraint] = []

    def with_good(constraints: Constraints) -> Constraints:
        stored = deduplicator.store.documents.get({id_ for _, c in read for id_ in c.ids})
        taken.clear()
        for where, correction in read:
            unknown = [id_ for id_ in correction.ids if id_ not in stored]
            if unknown and not ahead:
                refused[where] = f"there is no article {', '.join(unknown)} in this store"
                continue
            try:
                _check_pinned(correction, constraints, stored)
                constraints = constraints.with_constraint(correction)
            except Contradiction as contradiction:
                refused[where] = str(contradiction)
            else:
                taken.append(correction)
        return constraints

    changed = _change(deduplicator, with_good, lambda: _ids_of(taken))
    return CurationResult(tuple(taken), changed, refused)


def _pairs(
    deduplicator: Deduplicator, kind: Kind, ids: Sequence[str], by: str, note: str
) -> CurationResult:
    if len(ids) < 2:
        raise InputError("name two articles or more")
    now = _now()
    others = dict.fromkeys(ids[1:])
    links = [Constraint(kind, (ids[0], other), now, by, note) for other in others]
    return set_constraints(deduplicator, links, groups=True)


def _of_groups(
    corrections: Sequence[Constraint], stored: dict[str, Record]
) -> Iterator[Constraint]:
    """Link the originals too: otherwise only one article would leave its group for the other."""
    for c in corrections:
        leaders = tuple(sorted({stored[id_].decision.group for id_ in c.ids if id_ in stored}))
        if c.kind == "same" and len(leaders) == 2 and leaders != c.ids:
            yield Constraint("same", leaders, c.at, c.by, c.note, of=c.ids)


def _check_pinned(new: Constraint, constraints: Constraints, stored: dict[str, Record]) -> None:
    """Refuse a second pinned original in one group."""
    record = stored.get(new.ids[0])
    if new.kind != "original" or record is None:
        return
    leader = record.decision.group
    if leader != new.ids[0] and leader in constraints.pinned:
        (before,) = (c for c in constraints.find_naming(leader) if c.kind == "original")
        raise Contradiction(new.sentence, before.sentence, " in one group")


def _change(
    deduplicator: Deduplicator,
    wanted: Callable[[Constraints], Constraints],
    find_named: Callable[[], Iterable[str]],
) -> dict[str, Decision]:
    """Replace the constraints, and reconcile the documents that they name.

    Documents of `find_named` are reconciled even if nothing changes: an earlier run may have been
    killed, or the answer to an earlier try lost.
    """
    store = deduplicator.store
    if store.settings.attract == "all":
        raise InputError(
            "this store links online, as its preset does, and cannot be corrected by hand; "
            "`esdedup rethreshold --set attract=branches` makes its groups follow"
        )
    named: set[str] = set()
    affected: set[str] = set()
    with store.concurrency.transaction():
        for _ in range(_TRIES):
            store.concurrency.snapshot()
            read = store.constraints.read()
            was, now = read.value, wanted(read.value)
            named |= _ids_of(set(now.items) ^ set(was.items)) | set(find_named())
            affected |= named | was.related_to(named) | now.related_to(named)
            if now.items == was.items or store.constraints.replace(now, read.version):
                break
        else:
            raise StoreError("other writers keep changing the constraints; run the command again")
        affected |= _move_pinned(deduplicator, named)
        changed = reconcile(store, affected, forced=affected)
    store.concurrency.make_visible()
    return changed


def _ids_of(constraints: Iterable[Constraint]) -> set[str]:
    return {id_ for c in constraints for id_ in c.ids}


def _move_pinned(deduplicator: Deduplicator, ids: set[str]) -> set[str]:
    """Write the new sort keys of documents whose pin changed; return the affected documents."""
    store = deduplicator.store
    affected: set[str] = set()
    for _ in range(_TRIES):
        moved = []
        for record in store.documents.get(ids).values():
            order = deduplicator.writer.builder.order_of(record)
            if order != record.order and record.decision.role != "unprocessed":
                moved.append((record, replace(record, order=order)))
        if not moved:
            return affected
        affected |= dependents_of(store, [record for record, _ in moved])
        store.documents.rewrite([record for _, record in moved])
        store.concurrency.make_visible()
    raise StoreError("other writers keep changing the same articles; run the command again")


def _now() -> str:
    return iso(datetime.now(UTC))
