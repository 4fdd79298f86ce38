"""Groups by hand: what a person says is kept in the store, and the groups follow.

Saying the same again changes nothing, and mends what a run that was killed left half done. What is
taken back leaves the groups that there would be without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.epoch import dependents_of
from esdedup.clustering.reconcile import reconcile
from esdedup.errors import Contradiction, InputError, StoreError, UnknownDocument
from esdedup.matching.canonical_order import order_for
from esdedup.matching.constraints import Correction, Corrections, Kind
from esdedup.model import JSON, Decision, iso
from esdedup.model.encoding import parse_json
from esdedup.stores import Record

# Of people who speak at the same moment each looks again; more than a few tries is a defect.
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Said:
    """What was said, or taken back, and the documents that got another place by it."""

    corrections: tuple[Correction, ...]
    changed: dict[str, Decision]
    refused: dict[str, str] = field(default_factory=dict)  # where -> why, of an import

    def to_json(self) -> JSON:
        return {
            "said": [c.to_json() for c in self.corrections],
            "changed": [
                {"id": d.id, "role": d.role, "group": d.group, "story": d.story}
                for d in self.changed.values()
            ],
            **({"refused": dict(self.refused)} if self.refused else {}),
        }


def merge(deduplicator: Deduplicator, ids: Sequence[str], *, by: str = "", note: str = "") -> Said:
    """All of these are always the same: they, and the groups that they are in, become one group.

    That is kept as a word on the articles, and one on the originals of their groups, unless people
    keep these apart.
    """
    return _pairs(deduplicator, "same", ids, by, note)


def split(deduplicator: Deduplicator, ids: Sequence[str], *, by: str = "", note: str = "") -> Said:
    """The first is never the same as any of the others: they are in no group with it."""
    return _pairs(deduplicator, "different", ids, by, note)


def pin(deduplicator: Deduplicator, id_: str, *, by: str = "", note: str = "") -> Said:
    """This one is the original: it comes before every document that is not pinned."""
    return say(deduplicator, [Correction("original", (id_,), _now(), by, note)])


def forget(deduplicator: Deduplicator, ids: Sequence[str], kind: Kind | None = None) -> Said:
    """Take back what was said of a document, or of two with each other; of that kind, or all."""
    gone: list[Correction] = []

    def without(said: Corrections) -> Corrections:
        gone[:] = (c for c in said.about(*ids) if kind in (None, c.kind))
        return said.without(c.key for c in gone)

    changed = _change(deduplicator, without)
    return Said(tuple(gone), changed)


def say(
    deduplicator: Deduplicator,
    corrections: Sequence[Correction],
    *,
    ahead: bool = False,
    groups: bool = False,
) -> Said:
    """All of it or nothing; `ahead` of documents that the store does not have yet; what is the same
    also of the `groups` of the documents."""
    named = {id_ for c in corrections for id_ in c.ids}
    told = list(corrections)

    def with_all(said: Corrections) -> Corrections:
        there = deduplicator.store.get_many(named)
        if not ahead and (unknown := sorted(named - there.keys())):
            raise UnknownDocument(
                f"there is no article {', '.join(unknown)} in this store; `esdedup search` shows "
                "the ids"
            )
        for correction in corrections:
            _check_pinned(correction, said, there)
            said = said.with_(correction)
        told[:] = corrections
        for following in _of_groups(corrections, there) if groups else ():
            with suppress(Contradiction):
                said = said.with_(following)
                told.append(following)
        return said

    changed = _change(deduplicator, with_all, told)
    return Said(tuple(told), changed)


def import_lines(deduplicator: Deduplicator, lines: Iterable[str], *, ahead: bool = False) -> Said:
    """NDJSON as `export` writes it. A line that cannot be taken is named, and the others are."""
    refused: dict[str, str] = {}
    read: list[tuple[str, Correction]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            read.append((f"line {number}", Correction.from_json(parse_json(line))))
        except (ValueError, InputError) as error:
            refused[f"line {number}"] = str(error)
    taken: list[Correction] = []

    def with_good(said: Corrections) -> Corrections:
        there = deduplicator.store.get_many({id_ for _, c in read for id_ in c.ids})
        taken.clear()
        for where, correction in read:
            unknown = [id_ for id_ in correction.ids if id_ not in there]
            if unknown and not ahead:
                refused[where] = f"there is no article {', '.join(unknown)} in this store"
                continue
            try:
                _check_pinned(correction, said, there)
                said = said.with_(correction)
            except Contradiction as contradiction:
                refused[where] = str(contradiction)
            else:
                taken.append(correction)
        return said

    changed = _change(deduplicator, with_good, taken)
    return Said(tuple(taken), changed, refused)


def _pairs(deduplicator: Deduplicator, kind: Kind, ids: Sequence[str], by: str, note: str) -> Said:
    if len(ids) < 2:
        raise InputError("name two articles or more")
    now = _now()
    others = dict.fromkeys(ids[1:])
    words = [Correction(kind, (ids[0], other), now, by, note) for other in others]
    return say(deduplicator, words, groups=True)


def _of_groups(corrections: Sequence[Correction], there: dict[str, Record]) -> Iterator[Correction]:
    """Without it the later of two articles would leave its group for that of the earlier one."""
    for c in corrections:
        leaders = tuple(sorted({there[id_].decision.group for id_ in c.ids if id_ in there}))
        if c.kind == "same" and len(leaders) == 2 and leaders != c.ids:
            yield Correction("same", leaders, c.at, c.by, c.note, of=c.ids)


def _check_pinned(new: Correction, said: Corrections, there: dict[str, Record]) -> None:
    """Two originals in one group would be one too many."""
    record = there.get(new.ids[0])
    if new.kind != "original" or record is None:
        return
    leader = record.decision.group
    if leader != new.ids[0] and leader in said.pinned:
        (before,) = (c for c in said.about(leader) if c.kind == "original")
        raise Contradiction(new.sentence, before.sentence, " in one group")


def _change(
    deduplicator: Deduplicator,
    wanted: Callable[[Corrections], Corrections],
    again: Sequence[Correction] = (),
) -> dict[str, Decision]:
    """Keep what is wanted and settle the documents it concerns, those said `again` among them."""
    store = deduplicator.store
    if store.settings.attract == "all":
        raise InputError(
            "this store links online, as its preset does, and cannot be corrected by hand; "
            "`esdedup rethreshold --set attract=branches` makes its groups follow"
        )
    with store.transaction():
        for _ in range(_TRIES):
            store.begin()
            was = store.corrections
            now = wanted(was)
            if now.said == was.said or store.correct(now):
                break
        else:
            raise StoreError("others keep changing what is said of groups; run the command again")
        new = {c.key for c in now.said} ^ {c.key for c in was.said} | {c.key for c in again}
        named = {id_ for _, ids, _ in new for id_ in ids}
        dirty = named | was.others(named) | now.others(named)
        dirty |= _move_pinned(deduplicator, named)
        changed = reconcile(store, dirty, forced=dirty)
    store.refresh()
    return changed


def _move_pinned(deduplicator: Deduplicator, ids: set[str]) -> set[str]:
    """Documents that were pinned, or are no longer, get their place; returns whom that touches."""
    store = deduplicator.store
    touched: set[str] = set()
    for _ in range(_TRIES):
        moved = []
        for record in store.get_many(ids).values():
            order = _order(deduplicator, record)
            if order != record.order and record.decision.role != "unprocessed":
                moved.append((record, replace(record, order=order)))
        if not moved:
            return touched
        touched |= dependents_of(store, [record for record, _ in moved])
        store.rewrite_many([record for _, record in moved])
        store.refresh()
    raise StoreError("others keep changing the same articles; run the command again")


def _order(deduplicator: Deduplicator, record: Record) -> tuple[int, str]:
    pinned = record.document.id in deduplicator.store.corrections.pinned
    return order_for(
        record.document,
        record.signature.words,
        record.first_seen,
        deduplicator.settings,
        pinned=pinned,
    )


def _now() -> str:
    return iso(datetime.now(UTC))
