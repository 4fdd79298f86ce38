"""What writers do in one run, drawn from a seed, and what must be true at its end."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Literal
from unittest import mock

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.records import Clock
from esdedup.errors import StoreError
from esdedup.maintenance import curation
from esdedup.maintenance.retention import RetentionRule
from esdedup.matching.constraints import Constraint
from esdedup.model import Document, Link
from esdedup.model.revisions import earlier_versions
from esdedup.settings import Settings
from esdedup.stores import Record
from esdedup.stores.memory import MemoryData, MemoryStore
from tests.simulation.world import INDEX, NO_FAULTS, SOME_FAULTS, Faults, World
from tests.simulation.writers import Process, Step, is_expired
from tests.support.articles import DAY_ONE, StoryVariant
from tests.support.interleaving import (
    CooperativeCondition,
    CooperativeLock,
    Hook,
    InlineExecutor,
    Interleaving,
    LazyExecutor,
    pause,
)

_WHOLE = tuple(range(8))
# Last digits of seeds with pages of one source that share boilerplate; `mutations.py` has others.
_WITH_BOILERPLATE = (1, 2, 4, 8)
Event = Literal["", "rollover", "recreated"]
# A bulk that is sent again because its answer was lost goes to the index behind the rollover, where
# its ids are new: docs/failures.md.
_FAULTS: dict[Event, Faults] = {
    "": SOME_FAULTS,
    "rollover": replace(SOME_FAULTS, lost=0.0, repeated=0.0),
    "recreated": SOME_FAULTS,
}


@dataclass(frozen=True)
class Scenario:
    """Articles that are there, and writers that run at once."""

    seed: int
    batch: int
    is_lazy: bool  # a batch lands as late as it can
    faults: Faults
    first: tuple[Document, ...]
    steps: dict[str, Step]
    crash_at: dict[str, int] = field(default_factory=dict)  # writer -> its moment of death
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

    def expired(self) -> set[str]:
        """Ids that retention may delete."""
        items = [item for step in self.steps.values() for item in step.items]
        documents = [*self.first, *(item for item in items if isinstance(item, Document))]
        return {d.id for d in documents if is_expired(d, items)}


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


def draw(seed: int) -> Scenario:
    """A few articles and up to ten writers of any kind."""
    chance = random.Random(f"scenario {seed}")
    documents = list(_articles(seed, chance))
    chance.shuffle(documents)
    cut = chance.randrange(len(documents))
    first, rest = documents[:cut], documents[cut:]
    (event,) = chance.choices(list(_FAULTS), [8, 1, 1])
    steps = dict(_writers(seed, first, rest, event, chance))
    if seed % 11 in (1, 3):  # where nobody else writes, decisions hold without a second look
        kept = random.Random(f"kept {seed}").sample(sorted(steps), min(2, len(steps)))
        steps = {name: step for name, step in steps.items() if name in kept}
    crash_at = {}
    if chance.random() < 0.4:
        crash_at[chance.choice(sorted(steps))] = chance.randrange(1, 60)
    return Scenario(
        seed=seed,
        batch=chance.choice([1, 3, 8, 12]),
        is_lazy=chance.random() < 0.3,
        faults=chance.choice([NO_FAULTS, _FAULTS[event]]),
        first=tuple(first),
        steps=steps,
        crash_at=crash_at,
        event=event,
        event_at=chance.randrange(1, 80),
    )


def _writers(
    seed: int,
    first: Sequence[Document],
    rest: Sequence[Document],
    event: Event,
    chance: random.Random,
) -> Iterator[tuple[str, Step]]:
    """Behind a rollover the engines take an id once more, so there every document has one writer,
    and one that looks for it first."""
    is_rolled = event == "rollover"
    kinds = ["add", "add one by one", "gateway", "gateway", "other program"][
        : 2 if is_rolled else 5
    ]
    shares = [list(rest[n::3]) for n in range(3)] if is_rolled else []
    for number in range(3 if is_rolled else chance.randrange(1, 4)):
        part = shares[number] if is_rolled else chance.sample(rest, chance.randrange(len(rest) + 1))
        kind = chance.choice(kinds) if number or is_rolled else "add"
        yield f"{kind} {number}", Step(kind, tuple(part if number or is_rolled else rest))
        if kind == "other program" and chance.random() < 0.5:
            yield f"backfill {number}", Step("backfill")
    changed = chance.sample(first, len(first) // 2)
    third = len(changed) // 3
    if chance.random() < 0.6:
        yield "delete", Step("delete", tuple(d.id for d in changed[:third]))
        replaced = _other_texts(seed, changed[third : 2 * third], chance)
        kind = "other program" if seed % 7 == 1 and not is_rolled else "add"
        yield "replace", Step(kind, tuple(replaced))
    if not is_rolled and chance.random() < 0.4:
        yield "tenant", Step("gateway", tuple(_changes(seed, changed[2 * third :], chance)))
    if len(first) > 2 and chance.random() < 0.3:
        yield "constrain", Step("constrain", tuple(_constraints(first, chance)))
    if chance.random() < 0.2:
        yield "sweep", Step("sweep")
    if chance.random() < 0.2:
        before = DAY_ONE + timedelta(days=chance.choice([1, 2]))
        yield "expire", Step("expire", (RetentionRule(before, by=chance.choice(["story", None])),))


def _changes(
    seed: int, documents: Sequence[Document], chance: random.Random
) -> Iterator[Document | str]:
    """What a client of the gateway does to documents: delete, replace, or one after the other."""
    for new in _other_texts(seed, documents, chance):
        kind = chance.choice(["delete", "replace", "both"])
        if kind != "replace":
            yield new.id
        if kind != "delete":
            yield new


def _articles(seed: int, chance: random.Random) -> Iterator[Document]:
    """Versions of a few stories: whole, cut anywhere, with another count, of the same days.

    Of each story at most as many as a document is compared with (`verified_candidates`, 8).
    """
    headlines = random.Random(f"headlines {seed}")
    has_boilerplate = seed % 10 in _WITH_BOILERPLATE
    for story in range(chance.randrange(1, 4)):
        for number in range(chance.randrange(2, 9)):
            first, last = sorted(chance.sample(range(len(_WHOLE) + 1), 2))
            article = StoryVariant(
                story=seed * 1000 + story,
                sentences=chance.choice([_WHOLE, _WHOLE[first:last] or _WHOLE]),
                dead=chance.choice([12, 12, 12, 17]),
                added=chance.choice([0, 0, 0, 9]),
                day=chance.choice([0, 1, 2, 3, None]),
                headline=headlines.choice([None, None, None, 0, 1]) if has_boilerplate else None,
            )
            yield article.document(f"d{story}{number}")


def _other_texts(
    seed: int, documents: Sequence[Document], chance: random.Random
) -> Iterator[Document]:
    """Another text under the same id: a story of its own, or a copy of one that is there."""
    for number, document in enumerate(documents):
        story = seed * 1000 + chance.choice([0, 100 + number])
        yield StoryVariant(story, _WHOLE, 12, 0, chance.randrange(6)).document(document.id)


def _constraints(documents: Sequence[Document], chance: random.Random) -> Iterator[Constraint]:
    for _ in range(chance.randrange(1, 3)):
        a, b = sorted(d.id for d in chance.sample(documents, 2))
        kind: Literal["same", "different"] = chance.choice(["same", "different"])
        yield Constraint(kind, (a, b), "2026-03-01T00:00:00Z")


def run(scenario: Scenario) -> Outcome:
    world, settings = World(scenario.seed), Settings(batch=scenario.batch)
    began = datetime.now(UTC) - timedelta(minutes=1)
    interleaving = Interleaving(scenario.seed)

    def run_all(steps: dict[str, Step], crash_at: dict[str, int] | None = None) -> None:
        def job(step: Step) -> Callable[[Hook], None]:
            def work(hook: Hook) -> None:
                try:
                    step.run(Process(world, interleaving, hook, settings, began))
                except StoreError:
                    if scenario.event != "recreated":
                        raise  # else a command ends with an error, and is run again

            return work

        interleaving.run({name: job(step) for name, step in steps.items()}, crash_at)

    def happen(hook: Hook) -> None:
        for _ in range(scenario.event_at):
            hook("waits")
        if scenario.event == "rollover":
            world.engine.roll_over(INDEX)
        elif scenario.event == "recreated":
            world.engine.recreate(INDEX)

    first = {"first": Step("add", scenario.first)}
    with _simulated(world, LazyExecutor if scenario.is_lazy else InlineExecutor):
        if scenario.event == "rollover":
            world.engine.request("PUT", f"/{INDEX}-000001", None, {"aliases": {INDEX: {}}})
        run_all(first)
        world.faults = scenario.faults
        interleaving.spawn(happen, lambda request: pause())
        run_all(scenario.steps, scenario.crash_at)
        world.faults = NO_FAULTS
        # What an operator does: run what ended too early again, then sweep.
        if scenario.event == "recreated":
            run_all(first)
            run_all(scenario.steps)
        elif scenario.crash_at:
            run_all({name: scenario.steps[name] for name in scenario.crash_at})
        if scenario.needs_sweep or world.injected["abandoned"]:
            run_all({"sweep": Step("sweep")})
        return _audit(scenario, world)


@contextmanager
def _simulated(world: World, executor: type[Executor]) -> Iterator[None]:
    """Nothing but the seed decides: no threads, no clock."""
    locks = SimpleNamespace(Lock=CooperativeLock, Condition=CooperativeCondition)
    with ExitStack() as stack:
        for name, value in {
            "clustering.pipelined.ThreadPoolExecutor": executor,
            "clustering.records.time": world.time,
            "maintenance.backfill.time": world.time,
            "gateway.session.time": world.time,
            "gateway.session.threading": locks,
        }.items():
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
    with Deduplicator(MemoryStore(MemoryData())) as alone:
        alone.writer.builder.clock = _Arrivals(iter([record.first_seen for record in arrived]))
        list(alone.add_many(record.document for record in arrived))
        curation.set_constraints(alone, world.constraints(), ahead=True)
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
    return Outcome(
        world.engine.requests,
        sum(world.injected.values()),
        wrong,
        tuple(lost),
        tuple(world.violations),
    )


def _audit_versions(
    scenario: Scenario, world: World, records: Mapping[str, Record]
) -> Iterator[str]:
    """Earlier versions are texts that the article had, in turn. None is missing of an article that
    only esdedup and its gateway wrote, and nobody deleted."""
    versions = world.versions()
    items = [item for step in scenario.steps.values() for item in step.items]
    by_others = {
        item.id
        for step in scenario.steps.values()
        for item in step.items
        if step.kind == "other program" and isinstance(item, Document)
    }
    deleted = {item for item in items if isinstance(item, str)} | scenario.expired()
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
        if is_whole and id_ not in by_others | deleted and earlier != before:
            yield f"{id_} has {len(earlier)} of {len(before)} versions"


def minimise(scenario: Scenario) -> Scenario:
    """The smallest scenario found that still goes wrong: items, writers, crashes and faults are
    left out one at a time, for as long as it does."""
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in _smaller(scenario):
            if not run(candidate).is_right:
                scenario, is_smaller = candidate, True
                break
    return scenario


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    if scenario.faults != NO_FAULTS:
        yield replace(scenario, faults=NO_FAULTS)
    if scenario.crash_at:
        yield replace(scenario, crash_at={})
    if scenario.event:
        yield replace(scenario, event="")
    for name in scenario.steps:
        if name not in scenario.crash_at:
            left = {n: step for n, step in scenario.steps.items() if n != name}
            yield replace(scenario, steps=left)
    for place in range(len(scenario.first)):
        yield replace(scenario, first=_without(scenario.first, place))
    for name, step in scenario.steps.items():
        for place in range(len(step.items)):
            shorter = replace(step, items=_without(step.items, place))
            yield replace(scenario, steps={**scenario.steps, name: shorter})


def _without(items: tuple, place: int) -> tuple:  # type: ignore[type-arg]  # of anything
    return items[:place] + items[place + 1 :]
