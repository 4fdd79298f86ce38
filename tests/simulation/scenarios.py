"""What writers do in one run, and what must be true at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Literal
from unittest import mock

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.records import Clock
from esdedup.errors import StoreError
from esdedup.maintenance import curation
from esdedup.model import Document, Link
from esdedup.model.revisions import earlier_versions
from esdedup.settings import Settings
from esdedup.stores import Record
from esdedup.stores.memory import MemoryStore
from esdedup.stores.memory_data import MemoryData
from tests.simulation import cached
from tests.simulation.world import INDEX, Faults, World
from tests.simulation.writers import Process, Step, is_expired
from tests.support.interleaving import (
    CooperativeCondition,
    CooperativeLock,
    Hook,
    InlineExecutor,
    Interleaving,
    LazyExecutor,
    pause,
)

Event = Literal["", "rollover", "recreated"]
# What reads a clock: nothing but the seed decides what it shows.
_TIMED = (
    "clustering.records",
    "gateway.session",
    "maintenance.backfill",
    "stores.cluster.bulk",
    "stores.cluster.concurrency",
    "stores.cluster.connection",
    "stores.cluster.constraints",
)
_DATED = (
    "clustering.transactional",
    "gateway.enriching",
    "gateway.session",
    "maintenance.backfill",
    "stores.cluster.constraints",
    "stores.cluster.documents",
    "stores.cluster.foreign_index",
)


@dataclass(frozen=True)
class Scenario:
    """Articles that are there, and writers that run at once."""

    seed: int
    settings: Settings
    is_lazy: bool  # a batch lands as late as it can
    faults: Faults
    first: tuple[Document, ...]
    steps: dict[str, Step]
    crash_at: dict[str, int] = field(default_factory=dict)  # writer -> its moment of death
    # The same for what an operator runs after the crash.
    crash_again_at: dict[str, int] = field(default_factory=dict)
    event: Event = ""  # what happens to the index
    event_at: int = 0

    def final_texts(self) -> dict[str, str | None]:
        """Id -> the text that must be there at the end; None where none may be."""
        texts: dict[str, str | None] = {d.id: d.text for d in self.first}
        for step in self.steps.values():
            for item in step.items:
                if isinstance(item, Document):
                    texts[item.id] = item.text
                elif isinstance(item, str):
                    texts[item] = None
        return texts

    @property
    def needs_sweep(self) -> bool:
        """Whether somebody died, or wrote without our fields."""
        is_foreign = any(step.kind == "other program" for step in self.steps.values())
        return bool(self.crash_at) or is_foreign or self.event == "recreated"

    def vanishing(self) -> set[str]:
        """Ids that are gone at some moment, be it before another version is written."""
        if self.event == "recreated":
            return set(self.final_texts())
        items = [item for step in self.steps.values() for item in step.items]
        deleted = {item for item in items if isinstance(item, str)}
        return deleted | {d.id for d in self.first if is_expired(d, items)} | self.expired()

    def expired(self) -> set[str]:
        """Ids that retention may delete, and nobody replaces by a younger version."""
        items = [item for step in self.steps.values() for item in step.items]
        documents = [*self.first, *(item for item in items if isinstance(item, Document))]
        last = {d.id: d for d in documents}
        return {d.id for d in last.values() if is_expired(d, items)}


@dataclass(frozen=True)
class Outcome:
    """What a run cost, and what was wrong at its end."""

    requests: int
    faults: int
    wrong: dict[str, tuple[Link | None, Link | None]]  # id -> its link, the right one
    lost: tuple[str, ...]  # ids without their text, or that should be gone
    violations: tuple[str, ...]  # of what must be true at every moment

    @property
    def is_right(self) -> bool:
        return not self.wrong and not self.lost and not self.violations


def run(scenario: Scenario) -> Outcome:
    """An error of a writer, which no fault explains, is a violation."""
    world = World(scenario.seed, scenario.faults, may_vanish=scenario.vanishing())
    try:
        return _run(scenario, world)
    except Exception as error:  # noqa: BLE001  (whatever a defect raises)
        world.violations.append(f"{type(error).__name__}: {error}")
        return _outcome(world, {}, ())


def _run(scenario: Scenario, world: World) -> Outcome:
    interleaving = Interleaving(scenario.seed)
    is_rolled = scenario.event == "rollover"

    def run_all(steps: dict[str, Step], crash_at: dict[str, int] | None = None) -> None:
        def job(step: Step) -> Callable[[Hook], None]:
            def work(hook: Hook) -> None:
                try:
                    step.run(Process(world, interleaving, hook, scenario.settings, is_rolled))
                except StoreError:
                    if scenario.event != "recreated":
                        raise  # else a command ends with an error, and is run again

            return work

        interleaving.run({name: job(step) for name, step in steps.items()}, crash_at)

    def happen(hook: Hook) -> None:
        for _ in range(scenario.event_at):
            hook("waits")
        world.happen()

    first, sweep = {"first": Step("add", scenario.first)}, {"sweep": Step("sweep")}
    with _simulated(world, LazyExecutor if scenario.is_lazy else InlineExecutor):
        if is_rolled:
            world.engine.request("PUT", f"/{INDEX}-000001", None, {"aliases": {INDEX: {}}})
        run_all(first)
        if is_rolled:
            world.event = lambda: world.engine.roll_over(INDEX)
        elif scenario.event == "recreated":
            world.event = lambda: world.engine.recreate(INDEX)
        interleaving.spawn(happen, lambda request: pause())
        run_all(scenario.steps, scenario.crash_at)
        world.check_acknowledged()
        # What an operator does: run what ended too early again, then sweep; and once more where
        # that was killed, too.
        if scenario.event == "recreated":
            run_all(first)
            run_all(scenario.steps)
        elif scenario.crash_at:
            killed = {name: scenario.steps[name] for name in scenario.crash_at}
            run_all(killed, scenario.crash_again_at)
            run_all({n: step for n, step in killed.items() if n in scenario.crash_again_at})
        if scenario.needs_sweep or world.injected["abandoned"]:
            run_all(sweep, scenario.crash_again_at)
            if "sweep" in scenario.crash_again_at:
                run_all(sweep)
        return _audit(scenario, world)


@contextmanager
def _simulated(world: World, executor: type[Executor]) -> Iterator[None]:
    """Nothing but the seed decides: no threads, no clock."""
    locks = SimpleNamespace(Lock=CooperativeLock, Condition=CooperativeCondition)
    stand_ins = {
        "clustering.pipelined.ThreadPoolExecutor": executor,
        "gateway.session.threading": locks,
        **{f"{module}.time": world.time for module in _TIMED},
        **{f"{module}.datetime": world.time.datetime for module in _DATED},
        **cached.STAND_INS,
    }
    with ExitStack() as stack:
        for name, value in stand_ins.items():
            stack.enter_context(mock.patch(f"esdedup.{name}", value))
        yield


class _Arrivals(Clock):
    """The times at which documents arrived, one after the other."""

    def __init__(self, times: Iterator[int]) -> None:
        super().__init__()
        self._times = times

    def now(self) -> int:
        return next(self._times)


def _audit(scenario: Scenario, world: World) -> Outcome:
    """Compare with the groups that one writer makes of the articles and constraints at the end."""
    records = world.records()
    links = {id_: record.decision.link for id_, record in records.items()}
    arrived = sorted(records.values(), key=lambda record: record.first_seen)
    with Deduplicator(MemoryStore(MemoryData(), scenario.settings)) as alone:
        curation.set_constraints(alone, world.constraints(), ahead=True)
        alone.writer.builder.clock = _Arrivals(iter([record.first_seen for record in arrived]))
        list(alone.add_many(record.document for record in arrived))
        expected = {
            id_: record.decision.link for id_, record in alone.store.documents.get(links).items()
        }
    wrong = {
        id_: (links.get(id_), expected.get(id_))
        for id_ in links.keys() | expected.keys()
        if links.get(id_) != expected.get(id_)
    }
    texts = {id_: record.document.text for id_, record in records.items()}
    gone = scenario.expired() - texts.keys()
    lost = [
        id_
        for id_, text in scenario.final_texts().items()
        if texts.get(id_) != text and id_ not in gone
    ]
    world.violations += _audit_versions(scenario, world, records)
    return _outcome(world, wrong, lost)


def _audit_versions(
    scenario: Scenario, world: World, records: Mapping[str, Record]
) -> Iterator[str]:
    """Earlier versions are texts that the article had, in turn. None is missing of an article that
    only esdedup and its gateway wrote, and nobody deleted."""
    versions = world.versions()
    by_others = {
        item.id
        for step in scenario.steps.values()
        for item in step.items
        if step.kind == "other program" and isinstance(item, Document)
    }
    is_whole = not scenario.event and not scenario.faults.lost and not world.injected["abandoned"]
    for id_, record in records.items():
        kept = versions.get(id_, ())
        order = [version.sequence for version in kept]
        if order != sorted(set(order)):
            yield f"the versions of {id_} are out of order"
        earlier = [v.document.text for v in earlier_versions(kept, record.document)]
        *before, _ = world.texts[id_]
        if not set(earlier) <= {*before}:
            yield f"a version of {id_} is a text that it never had"
        if is_whole and id_ not in by_others | scenario.vanishing() and earlier != before:
            yield f"{id_} has {len(earlier)} of {len(before)} versions"


def _outcome(
    world: World, wrong: dict[str, tuple[Link | None, Link | None]], lost: Sequence[str]
) -> Outcome:
    return Outcome(
        world.engine.requests,
        sum(world.injected.values()),
        wrong,
        tuple(lost),
        tuple(world.violations),
    )
