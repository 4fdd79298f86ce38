"""What writers do in one run, drawn from a seed, and what must be true at its end."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal
from unittest import mock

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import Contradiction, UnknownDocument
from esdedup.maintenance import curation
from esdedup.matching.constraints import Constraint
from esdedup.model import Document, Link
from esdedup.settings import Settings
from tests.simulation.world import NO_FAULTS, SOME_FAULTS, Faults, World
from tests.support.articles import StoryVariant
from tests.support.interleaving import Hook, InlineExecutor, Interleaving, LazyExecutor

_WHOLE = tuple(range(8))


@dataclass(frozen=True)
class Step:
    """The work of one writer, an item after the other."""

    kind: Literal["add", "delete", "sweep", "constrain"]
    items: tuple[Document | str | Constraint, ...] = ()

    def run(self, deduplicator: Deduplicator, began: datetime) -> None:
        if self.kind == "add":
            list(deduplicator.add_many(d for d in self.items if isinstance(d, Document)))
        elif self.kind == "sweep":
            deduplicator.sweep(began)
        for item in self.items:
            if self.kind == "delete":
                deduplicator.delete([str(item)])
            elif isinstance(item, Constraint):
                _constrain(deduplicator, item)


def _constrain(deduplicator: Deduplicator, constraint: Constraint) -> None:
    """An article that was deleted meanwhile cannot be named any more."""
    try:
        curation.set_constraints(deduplicator, [constraint])
    except (Contradiction, UnknownDocument):
        return


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


@dataclass(frozen=True)
class Outcome:
    """What a run cost, and what was wrong at its end."""

    requests: int
    faults: int
    wrong: dict[str, tuple[Link | None, Link | None]]  # id -> its link, the right one
    lost: tuple[str, ...]  # ids without their text, or that should be gone

    @property
    def is_right(self) -> bool:
        return not self.wrong and not self.lost


def draw(seed: int) -> Scenario:
    """A few articles and up to six writers of any kind."""
    chance = random.Random(f"scenario {seed}")
    documents = list(_articles(seed, chance))
    chance.shuffle(documents)
    cut = chance.randrange(len(documents))
    first, rest = documents[:cut], documents[cut:]
    steps = {"add": Step("add", tuple(rest))}
    for number in range(chance.randrange(3)):  # others write the same, or a part of it
        part = chance.sample(rest, chance.randrange(len(rest) + 1))
        steps[f"add {number}"] = Step("add", tuple(part))
    changed = chance.sample(first, len(first) // 3)
    if chance.random() < 0.6:
        half = len(changed) // 2
        steps["delete"] = Step("delete", tuple(d.id for d in changed[:half]))
        steps["replace"] = Step("add", tuple(_other_texts(seed, changed[half:], chance)))
    if len(first) > 2 and chance.random() < 0.3:
        steps["constrain"] = Step("constrain", tuple(_constraints(first, chance)))
    if chance.random() < 0.2:
        steps["sweep"] = Step("sweep")
    crash_at = {}
    if chance.random() < 0.4:
        crash_at[chance.choice(sorted(steps))] = chance.randrange(1, 60)
    return Scenario(
        seed=seed,
        batch=chance.choice([1, 3, 8, 12]),
        is_lazy=chance.random() < 0.3,
        faults=chance.choice([NO_FAULTS, SOME_FAULTS]),
        first=tuple(first),
        steps=steps,
        crash_at=crash_at,
    )


def _articles(seed: int, chance: random.Random) -> Iterator[Document]:
    """Versions of a few stories: whole, cut anywhere, with another count, of the same days.

    Of each story at most as many as a document is compared with (`verified_candidates`, 8).
    """
    for story in range(chance.randrange(1, 4)):
        for number in range(chance.randrange(2, 9)):
            first, last = sorted(chance.sample(range(len(_WHOLE) + 1), 2))
            article = StoryVariant(
                story=seed * 1000 + story,
                sentences=chance.choice([_WHOLE, _WHOLE[first:last] or _WHOLE]),
                dead=chance.choice([12, 12, 12, 17]),
                added=chance.choice([0, 0, 0, 9]),
                day=chance.randrange(4),
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

    def job(step: Step) -> object:
        def work(hook: Hook) -> None:
            with world.open(hook, settings) as deduplicator:
                step.run(deduplicator, began)

        return work

    def run_all(steps: dict[str, Step], crash_at: dict[str, int] | None = None) -> None:
        jobs = {name: job(step) for name, step in steps.items()}
        Interleaving(scenario.seed).run(jobs, crash_at)  # type: ignore[arg-type]  # jobs

    executor = LazyExecutor if scenario.is_lazy else InlineExecutor
    with mock.patch("esdedup.clustering.pipelined.ThreadPoolExecutor", executor):
        run_all({"first": Step("add", scenario.first)})
        world.faults = scenario.faults
        run_all(scenario.steps, scenario.crash_at)
        world.faults = NO_FAULTS
        if scenario.crash_at:  # what an operator does: run it again, then sweep
            run_all({name: scenario.steps[name] for name in scenario.crash_at})
            run_all({"sweep": Step("sweep")})
    return _audit(scenario, world)


def _audit(scenario: Scenario, world: World) -> Outcome:
    """Compare with the groups that one writer makes of the articles and constraints at the end."""
    documents, links = world.documents(), world.links()
    with Deduplicator.open(settings=Settings()) as alone:
        list(alone.add_many(documents))
        curation.set_constraints(alone, world.constraints(), ahead=True)
        records = alone.store.documents.get(links)
    expected = {id_: record.decision.link for id_, record in records.items()}
    wrong = {
        id_: (links.get(id_), expected.get(id_))
        for id_ in links.keys() | expected.keys()
        if links.get(id_) != expected.get(id_)
    }
    texts = {d.id: d.text for d in documents}
    lost = [id_ for id_, text in scenario.final_texts().items() if texts.get(id_) != text]
    return Outcome(world.engine.requests, sum(world.injected.values()), wrong, tuple(lost))


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
