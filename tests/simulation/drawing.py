"""Draws schedules: a few articles, and up to ten writers of any kind that run at once.

What is left out, since no client of an engine can do better: an id is unique in one index, not
behind an alias. Behind a rollover every article therefore has one writer, which looks for it before
it sends it again, and nobody replaces or deletes through the alias but esdedup itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Literal

from esdedup.maintenance.retention import RetentionRule
from esdedup.matching.constraints import Constraint
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.settings.table import Keep
from tests.simulation.scenarios import Event, Scenario
from tests.simulation.world import NO_FAULTS, SOME_FAULTS
from tests.simulation.writers import Item, Removal, Step
from tests.support.articles import DAY_ONE, WHOLE, StoryVariant

_WRITERS = ["add", "add one by one", "gateway", "gateway", "other program"]
_KEPT: list[Keep] = ["earliest", "earliest", "earliest", "longest"]
_EVENTS: list[Event] = ["", "rollover", "recreated"]


def draw(seed: int) -> Scenario:
    chance = random.Random(f"scenario {seed}")
    documents = list(_articles(seed, chance))
    chance.shuffle(documents)
    cut = chance.randrange(len(documents))
    first, rest = documents[:cut], documents[cut:]
    (event,) = chance.choices(_EVENTS, [8, 1, 1])
    steps = dict(_writers(seed, first, rest, event, chance))
    if chance.random() < 0.2:  # where nobody else writes, decisions hold without a second look
        kept = chance.sample(sorted(steps), min(2, len(steps)))
        steps = {name: step for name, step in steps.items() if name in kept}
    crash_at = _crashes(sorted(steps), chance) if chance.random() < 0.4 else {}
    return Scenario(
        seed=seed,
        settings=Settings(batch=chance.choice([1, 3, 8, 12]), keep=chance.choice(_KEPT)),
        is_lazy=chance.random() < 0.3,
        faults=chance.choice([NO_FAULTS, SOME_FAULTS]),
        first=tuple(first),
        steps=steps,
        crash_at=crash_at,
        crash_again_at=_crashes([*sorted(crash_at), "sweep"], chance) if crash_at else {},
        event=event,
        event_at=chance.randrange(1, 80),
    )


def _crashes(names: Sequence[str], chance: random.Random) -> dict[str, int]:
    """One or two writers, and the moment at which each dies: mostly early, as most are short."""
    killed = chance.sample(names, min(len(names), chance.choice([1, 1, 2])))
    return {name: chance.randrange(1, chance.choice([20, 60, 200])) for name in killed}


def _writers(
    seed: int,
    first: Sequence[Document],
    rest: Sequence[Document],
    event: Event,
    chance: random.Random,
) -> Iterator[tuple[str, Step]]:
    is_rolled = event == "rollover"
    for number in range(chance.randrange(1, 4)):
        kind = chance.choice(_WRITERS) if number or is_rolled else "add"
        part = list(rest) if number == 0 else chance.sample(rest, chance.randrange(len(rest) + 1))
        if is_rolled:
            part = list(rest[number::3])
        yield f"{kind} {number}", Step(kind, tuple(part))
        if kind == "other program" and chance.random() < 0.5:
            yield f"backfill {number}", Step("backfill")
    changed = chance.sample(first, len(first) // 2)
    third = len(changed) // 3
    if chance.random() < 0.6:
        yield "delete", Step("delete", tuple(d.id for d in changed[:third]))
        replaced = _other_texts(seed, changed[third : 2 * third], chance)
        kind = "other program" if chance.random() < 0.15 and not is_rolled else "add"
        yield "replace", Step(kind, tuple(replaced))
    if not is_rolled and chance.random() < 0.4:
        yield "tenant", Step("gateway", tuple(_changes(seed, changed[2 * third :], chance)))
    if len(first) > 2 and chance.random() < 0.3:
        yield "constrain", Step("constrain", tuple(_constraints(first, chance)))
    if chance.random() < 0.2:
        yield "sweep", Step("sweep")
    if chance.random() < 0.2:
        before = DAY_ONE + timedelta(days=chance.choice([1, 2]))
        by: Literal["story", "group"] | None = chance.choice(["story", "group", None])
        yield "expire", Step("expire", (RetentionRule(before, by=by),))


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
    """Versions of a few stories: whole, cut anywhere, with another count, of the same days."""
    headlines = random.Random(f"headlines {seed}")
    for story in range(chance.randrange(1, 4)):
        for number in range(chance.randrange(2, 9)):
            first, last = sorted(chance.sample(range(len(WHOLE) + 1), 2))
            article = StoryVariant(
                story=_pool(seed) + story,
                sentences=chance.choice([WHOLE, WHOLE[first:last] or WHOLE]),
                dead=chance.choice([12, 12, 12, 17]),
                added=chance.choice([0, 0, 0, 9]),
                day=chance.choice([0, 1, 2, 3, None]),
                headline=headlines.choice([None, None, None, 0, 1]),
            )
            yield article.document(f"d{story}{number}")


def _pool(seed: int) -> int:
    """The number of its first story: schedules share them (`cached`)."""
    return 1000 * (seed % 16)


def _other_texts(
    seed: int, documents: Sequence[Document], chance: random.Random
) -> Iterator[Document]:
    """Another text under the same id: a story of its own, or a copy of one that is there."""
    for number, document in enumerate(documents):
        story = _pool(seed) + chance.choice([0, 100 + number])
        yield StoryVariant(story, WHOLE, 12, 0, chance.randrange(6)).document(document.id)


def _constraints(documents: Sequence[Document], chance: random.Random) -> Iterator[Item]:
    """Set, and sometimes removed again."""
    for _ in range(chance.randrange(1, 4)):
        kind: Literal["same", "different", "original"] = chance.choice(
            ["same", "different", "original"]
        )
        named = chance.sample(documents, 1 if kind == "original" else 2)
        ids = tuple(sorted(d.id for d in named))
        yield Constraint(kind, ids, "2026-03-01T00:00:00Z")
        if chance.random() < 0.2:
            yield Removal(ids)
