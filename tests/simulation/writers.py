"""Every kind of writer, as a process of the simulated world."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import Contradiction, StoreError, UnknownDocument
from esdedup.gateway import bulk
from esdedup.gateway.session import TenantSession
from esdedup.maintenance import curation
from esdedup.maintenance.backfill import Backfill, BackfillPlan, sweep
from esdedup.maintenance.retention import RetentionRule, expire
from esdedup.matching.constraints import Constraint
from esdedup.model import Document
from esdedup.model.batching import batched
from esdedup.settings import Settings
from esdedup.stores.cluster.connection import Unanswered, path_of
from tests.simulation.world import INDEX, NOW, World
from tests.support.interleaving import Hook, Interleaving, pause


@dataclass(frozen=True)
class Removal:
    """Of the constraints on these documents."""

    ids: tuple[str, ...]


# A text is the id of a document to delete.
Item = Document | str | Constraint | Removal | RetentionRule
Items = tuple[Item, ...]
# The end of an epoch is tried so often, as by the gateway; then it is left to `sweep`.
_TRIES = 5
_CLIENTS = 2
# An operator sweeps from before the first crash on, by a clock of any writer.
BEGAN = NOW - timedelta(minutes=1)


@dataclass(frozen=True)
class Process:
    """Where a writer runs."""

    world: World
    interleaving: Interleaving
    hook: Hook
    settings: Settings
    is_rolled: bool = False  # clients look for a document before they send it again

    def open(self) -> Deduplicator:
        return self.world.open(self.hook, self.settings)


@dataclass(frozen=True)
class Step:
    """The work of one writer, an item after the other."""

    kind: str
    items: Items = ()

    def run(self, process: Process) -> None:
        WRITERS[self.kind](process, self.items)


def documents_of(items: Iterable[Item]) -> list[Document]:
    return [item for item in items if isinstance(item, Document)]


def add_stream(process: Process, items: Items) -> None:
    with process.open() as deduplicator:
        for outcome in deduplicator.add_many(documents_of(items)):
            process.world.acknowledge(outcome.decision.id)


def add_one_by_one(process: Process, items: Items) -> None:
    with process.open() as deduplicator:
        for document in documents_of(items):
            deduplicator.add(document)
            process.world.acknowledge(document.id)


def delete(process: Process, items: Items) -> None:
    with process.open() as deduplicator:
        for item in items:
            deduplicator.delete([str(item)])


def constrain(process: Process, items: Items) -> None:
    with process.open() as deduplicator:
        for item in items:
            try:
                if isinstance(item, Removal):
                    curation.forget(deduplicator, item.ids)
                else:
                    assert isinstance(item, Constraint)
                    curation.set_constraints(deduplicator, [item])
            except (Contradiction, UnknownDocument):  # an article was deleted meanwhile
                continue


def run_sweep(process: Process, items: Items) -> None:
    with process.open() as deduplicator:
        sweep(deduplicator, BEGAN)


def expire_old(process: Process, items: Items) -> None:
    with process.open() as deduplicator:
        for item in items:
            assert isinstance(item, RetentionRule)
            list(expire(deduplicator, item))


def backfill(process: Process, items: Items) -> None:
    with process.open() as deduplicator:
        list(Backfill(deduplicator, BackfillPlan()).run())


def write_without_esdedup(process: Process, items: Items) -> None:
    """Another program, which knows nothing of our fields."""
    connection = process.world.connect(process.hook)
    for document in documents_of(items):
        is_stored = False
        while not is_stored and not _are_stored(process, [document]):
            try:
                where = path_of(INDEX, "_doc", document.id)
                connection.send_once("PUT", where, body=source_of(document))
                is_stored = True
            except Unanswered:
                continue


def _are_stored(process: Process, items: Sequence[Item]) -> bool:
    """Behind a rollover a client looks first: the engine would take an id once more."""
    if not process.is_rolled:
        return False
    connection = process.world.connect(process.hook)
    connection.send("POST", path_of(INDEX, "_refresh"))
    ids = [document.id for document in documents_of(items)]
    body = {"query": {"ids": {"values": ids}}, "size": len(ids)}
    answer = connection.send("POST", path_of(INDEX, "_search"), body=body)
    return len(answer["hits"]["hits"]) == len(ids)


def write_through_gateway(process: Process, items: Items) -> None:
    """One tenant: its session, two clients, and the thread that ends epochs."""
    session = process.world.open_session(process.hook, process.settings)

    def client(number: int) -> Callable[[Hook], None]:
        own = [item for item in items if _number(item) % _CLIENTS == number]
        return lambda hook: _send_all(process, session, own)

    clients = [process.interleaving.spawn(client(n), process.hook) for n in range(_CLIENTS)]
    turns = 0
    while not all(one.dead for one in clients):
        pause()
        turns += 1
        if turns % 16 == 0:
            _end_epoch(session)
    for _ in range(_TRIES):
        if session.waiting:
            _end_epoch(session)
    if session.abandon():
        process.world.injected["abandoned"] += 1


def _number(item: Item) -> int:
    """Of its document: one client after the other would be no client at once."""
    return int(item.id[1:] if isinstance(item, Document) else str(item)[1:])


def _end_epoch(session: TenantSession) -> None:
    try:
        session.end_epoch()
    except StoreError:
        return  # it is tried again with the next epoch


def _send_all(process: Process, session: TenantSession, items: Sequence[Item]) -> None:
    for part in batched(items, 1 if process.is_rolled else 3):
        sent = bulk.parse(_bulk_of(part), INDEX, {})
        while not _are_stored(process, part) and not _send(process, session, sent):
            pause()


def _bulk_of(items: Iterable[Item]) -> bytes:
    lines: list[Any] = []
    for item in items:
        if isinstance(item, Document):
            lines += [{"index": {"_index": INDEX, "_id": item.id}}, source_of(item)]
        else:
            lines.append({"delete": {"_index": INDEX, "_id": item}})
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _send(process: Process, session: TenantSession, sent: bulk.Bulk) -> bool:
    """Whether all of it was written; else the client sends it again."""
    try:
        with session.write(sent.operations) as write:
            results = _post(process, sent, sent.assembled(write.decide()))
            write.confirm(results)
    except Unanswered:
        return False
    except StoreError:  # detection failed: it passes as it came, and is signed after the write
        try:
            results = _post(process, sent, sent.assembled({}))
        except Unanswered:
            results = {}
        arrived = process.world.time.time_ns() // 1000
        session.note_unsigned({op.id or "": (INDEX, arrived) for op in sent.operations})
    return len(results) == len(sent.operations) and all(
        result["status"] in (200, 201, 404) for result in results.values()
    )


def _post(process: Process, sent: bulk.Bulk, body: bytes) -> dict[int, Any]:
    """What became of each action, by its line."""
    transport = process.world.transport(process.hook)
    _, answer = transport("POST", "/_bulk", {}, body)
    lines = [op.action_line for op in sent.operations]
    return dict(zip(lines, bulk.results_of(answer) or (), strict=False))


def source_of(document: Document) -> dict[str, Any]:
    """As another program would write it."""
    return {name: value for name, value in document.to_json().items() if name != "id"}


WRITERS: dict[str, Callable[[Process, Items], None]] = {
    "add": add_stream,
    "add one by one": add_one_by_one,
    "delete": delete,
    "constrain": constrain,
    "sweep": run_sweep,
    "expire": expire_old,
    "backfill": backfill,
    "other program": write_without_esdedup,
    "gateway": write_through_gateway,
}


def is_expired(document: Document, items: Iterable[Item]) -> bool:
    """Whether retention may delete it."""
    rules = [item for item in items if isinstance(item, RetentionRule)]
    return any((document.published or NOW) < rule.before for rule in rules)
