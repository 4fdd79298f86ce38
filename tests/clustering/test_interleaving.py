"""Every driver of the write path, on a store with delayed visibility and several writers."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document, Link
from esdedup.settings import Settings
from esdedup.stores import Record, WriteReport
from esdedup.stores.memory import MemoryStore
from esdedup.stores.memory_data import MemoryData
from tests.clustering.test_fixed_point import arrivals, links_when_indexed
from tests.soak import of_one_writer, stream
from tests.support.articles import StoryVariant
from tests.support.interleaving import Hook, InlineExecutor, Interleaving, Job, LazyExecutor

ONE_BY_ONE = Settings(batch=1)  # `write`, batch after batch
STREAMED = Settings(batch=12)  # `Stream`, which decides a batch while the one before is written
SEEDS = range(12)


@pytest.fixture(autouse=True)
def _inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("esdedup.clustering.pipelined.ThreadPoolExecutor", InlineExecutor)


def writer(memory: MemoryData, settings: Settings, work: Callable[[Deduplicator], object]) -> Job:
    def job(hook: Hook) -> None:
        with Deduplicator(MemoryStore(memory, settings, on_request=hook)) as deduplicator:
            work(deduplicator)

    return job


def adding(documents: Sequence[Document]) -> Callable[[Deduplicator], object]:
    return lambda deduplicator: list(deduplicator.add_many(documents))


def links_in(memory: MemoryData) -> dict[str, Link]:
    store = MemoryStore(memory)
    assert store.maintenance.find_problems() == []
    return {id_: record.decision.link for id_, record in memory.documents.items()}


def shares(documents: Sequence[Document], seed: int, writers: int = 3) -> dict[str, list[Document]]:
    """Each writer its share, or by turns everybody everything."""
    chance = random.Random(seed)
    whole = [chance.sample(documents, len(documents)) for _ in range(writers)]
    parts = whole if seed % 2 else [whole[0][n::writers] for n in range(writers)]
    return {f"w{n}": part for n, part in enumerate(parts)}


@pytest.mark.parametrize("settings", [ONE_BY_ONE, STREAMED], ids=["write", "stream"])
@given(arrivals())
@hypothesis_settings(max_examples=25)
def test_one_writer(settings: Settings, arrival: tuple[list[Document], list[list[int]]]) -> None:
    documents, batches = arrival
    memory = MemoryData(delayed=True)
    for batch in batches:
        with Deduplicator(MemoryStore(memory, settings)) as deduplicator:
            list(deduplicator.add_many([documents[i] for i in batch]))
    assert links_in(memory) == links_when_indexed(documents)


@pytest.mark.parametrize("settings", [ONE_BY_ONE, STREAMED], ids=["write", "stream"])
@pytest.mark.parametrize("seed", SEEDS)
def test_several_writers(settings: Settings, seed: int) -> None:
    documents, memory = stream(seed)[:40], MemoryData(delayed=True)
    jobs = {
        name: writer(memory, settings, adding(part))
        for name, part in shares(documents, seed).items()
    }
    Interleaving(seed).run(jobs)
    assert links_in(memory) == of_one_writer(documents)


@pytest.mark.parametrize("seed", SEEDS)
def test_writes_that_land_late(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refresh that ends an epoch comes before the batch that begins the next is written."""
    monkeypatch.setattr("esdedup.clustering.pipelined.ThreadPoolExecutor", LazyExecutor)
    documents, memory = stream(seed), MemoryData(delayed=True)
    jobs = {
        name: writer(memory, Settings(batch=8), adding(part))
        for name, part in shares(documents, seed, writers=1 + seed % 3).items()
    }
    Interleaving(seed).run(jobs)
    assert links_in(memory) == of_one_writer(documents)


class Refusing(MemoryStore):
    """Takes no document whose number is divisible by seven, as a server refuses by its mapping."""

    def put(self, records: Sequence[Record]) -> WriteReport:
        refused = {
            r.document.id: "refused"
            for r in records
            if int(r.document.id[1:]) % 7 == 0 and r.decision.role != "unprocessed"
        }
        report = super().put([r for r in records if r.document.id not in refused])
        return WriteReport(report.conflicts, refused)


@pytest.mark.parametrize("settings", [ONE_BY_ONE, STREAMED], ids=["write", "stream"])
@pytest.mark.parametrize("seed", SEEDS)
def test_refused_documents_leave_no_trace_in_groups(settings: Settings, seed: int) -> None:
    documents, memory = stream(seed)[:40], MemoryData(delayed=True)
    with Deduplicator(Refusing(memory, settings)) as deduplicator:
        list(deduplicator.add_many(documents))
    taken = [d for d in documents if int(d.id[1:]) % 7]
    links = {id_: link for id_, link in links_in(memory).items() if link.role != "unprocessed"}
    assert links == of_one_writer(taken)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crash_anywhere_and_what_an_operator_does(seed: int) -> None:
    """Run again what was killed, then sweep."""
    documents, memory = stream(seed)[:40], MemoryData(delayed=True)
    began = datetime.now(UTC) - timedelta(minutes=1)
    parts = shares(documents, seed, writers=2)
    jobs = {name: writer(memory, STREAMED, adding(part)) for name, part in parts.items()}
    chance = random.Random(seed)
    Interleaving(seed).run(jobs, crash_at={"w0": chance.randrange(1, 30)})
    Interleaving(seed).run({"w0": jobs["w0"]})
    Interleaving(seed).run({"sweep": writer(memory, STREAMED, lambda d: d.sweep(began))})
    assert links_in(memory) == of_one_writer(documents)


@pytest.mark.parametrize("seed", SEEDS)
def test_deletes_while_others_add(seed: int) -> None:
    documents, memory = stream(seed)[:40], MemoryData(delayed=True)
    first, second = documents[::2], documents[1::2]
    Interleaving(seed).run({"first": writer(memory, STREAMED, adding(first))})
    gone = [d.id for d in random.Random(seed).sample(first, len(first) // 2)]
    jobs = {
        "adds": writer(memory, STREAMED, adding(second)),
        "deletes": writer(memory, STREAMED, lambda d: [d.delete([id_]) for id_ in gone]),
    }
    Interleaving(seed).run(jobs)
    assert links_in(memory) == of_one_writer([d for d in documents if d.id not in gone])


@pytest.mark.parametrize("settings", [ONE_BY_ONE, STREAMED], ids=["write", "stream"])
@pytest.mark.parametrize("seed", SEEDS)
def test_replacements_while_others_add(settings: Settings, seed: int) -> None:
    """A replaced article says something else: who was its copy is one no more."""
    documents, memory = stream(seed)[:40], MemoryData(delayed=True)
    first, second = documents[::2], documents[1::2]
    Interleaving(seed).run({"first": writer(memory, settings, adding(first))})
    chance = random.Random(seed)
    replaced = {
        d.id: StoryVariant(10_000 + n, day=chance.randrange(6)).document(d.id)
        for n, d in enumerate(chance.sample(first, len(first) // 2))
    }
    jobs = {
        "adds": writer(memory, settings, adding(second)),
        "replaces": writer(memory, settings, adding(list(replaced.values()))),
    }
    Interleaving(seed).run(jobs)
    assert links_in(memory) == of_one_writer([replaced.get(d.id, d) for d in documents])


@pytest.mark.parametrize("change", ["delete", "put"])
def test_a_copy_that_lands_just_before_its_original_changes(change: str) -> None:
    """The other writer is done before the request, so that only this one can reconcile its copy."""
    memory = MemoryData(delayed=True)
    original, copy = (StoryVariant(0, day=day).document(f"d{day}") for day in (0, 1))
    other = StoryVariant(1, day=0).document("d0")

    def meanwhile(request: str) -> None:
        if request == change and copy.id not in memory.documents:
            writer(memory, STREAMED, adding([copy]))(lambda name: None)

    writer(memory, STREAMED, adding([original]))(lambda name: None)
    with Deduplicator(MemoryStore(memory, STREAMED, on_request=meanwhile)) as deduplicator:
        if change == "delete":
            deduplicator.delete([original.id])
        else:
            list(deduplicator.add_many([other]))
    assert links_in(memory)[copy.id] == Link("original", copy.id, copy.id)
