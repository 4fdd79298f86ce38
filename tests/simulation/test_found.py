"""Situations that schedules found, each by itself and without chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.maintenance import curation
from esdedup.maintenance.retention import RetentionRule, expire
from esdedup.settings import Settings
from esdedup.stores.cluster.connection import Connection, Unanswered
from esdedup.stores.cluster.store import ClusterStore
from tests.simulation.world import INDEX, TARGET, World
from tests.support.articles import DAY_ONE, WHOLE, StoryVariant, story_article
from tests.support.interleaving import InlineExecutor

# Called before the engine does a request: its method and path.
Before = Callable[[str, str], None]


@pytest.fixture(autouse=True)
def _inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("esdedup.clustering.pipelined.ThreadPoolExecutor", InlineExecutor)


@contextmanager
def opened(
    world: World, before: Before = lambda method, path: None, after: Before | None = None
) -> Iterator[Deduplicator]:
    send = world.transport(lambda request: None)

    def perform(method: str, path: str, params: Mapping[str, Any], body: Any) -> tuple[int, Any]:
        before(method, path)
        answer = send(method, path, params, body)
        if after is not None:
            after(method, path)
        return answer

    connection = Connection("elasticsearch", TARGET, perform, lambda: None, lambda seconds: None)
    with Deduplicator(ClusterStore(TARGET, Settings(), connection=connection)) as deduplicator:
        yield deduplicator


@pytest.mark.parametrize("count", [1, 12], ids=["write", "stream"])
def test_a_bulk_whose_answer_is_lost_before_a_rollover_is_not_written_again(count: int) -> None:
    world = World(0)
    world.engine.request("PUT", f"/{INDEX}-000001", None, {"aliases": {INDEX: {}}})
    bulks = 0

    def roll_over_and_lose(method: str, path: str) -> None:
        nonlocal bulks
        bulks += path == "/_bulk"
        if path == "/_bulk" and bulks == 1:
            world.engine.roll_over(INDEX)
            raise Unanswered("lost")

    articles = [story_article(f"d{n}", n, day=n) for n in range(count)]
    with opened(world, after=roll_over_and_lose) as deduplicator:
        outcomes = list(deduplicator.add_many(articles))
    assert {o.decision.id for o in outcomes} == {d.id for d in articles}
    assert world.records().keys() == {d.id for d in articles}
    assert world.violations == [], "each in one index"


def test_a_replaced_original_is_at_no_moment_a_copy_of_itself() -> None:
    """Its copy, far enough from it to attract others, is found before it is decided again."""
    world = World(0)
    with opened(world) as deduplicator:
        list(deduplicator.add_many([StoryVariant(1, day=0).document("a")]))
        list(deduplicator.add_many([StoryVariant(1, WHOLE[2:], day=1).document("b")]))
        copy = world.records()["b"].decision
        assert (copy.group, copy.branch) == ("a", True)
        list(deduplicator.add_many([StoryVariant(1, day=2).document("a")]))
    assert world.violations == []
    assert world.records()["a"].decision.group == "b"


def test_a_must_linked_article_is_at_no_moment_a_copy_of_itself() -> None:
    world = World(0)
    with opened(world) as deduplicator:
        list(deduplicator.add_many([story_article("a", 1, day=0), story_article("b", 2, day=1)]))
        curation.merge(deduplicator, ["a", "b"])
        assert world.records()["b"].decision.group == "a"
        list(deduplicator.add_many([story_article("a", 3, day=2)]))
    assert world.violations == []
    assert world.records()["a"].decision.group == "b"


def lose_constraints(times: int) -> Before:
    """Lose the answers to the first writes of constraints."""
    left = times

    def lose(method: str, path: str) -> None:
        nonlocal left
        if method == "PUT" and "_doc" in path and left:
            left -= 1
            raise Unanswered("lost")

    return lose


def pinned_world() -> World:
    world = World(0)
    with opened(world) as deduplicator:
        list(deduplicator.add_many([story_article("a", 1, day=0), story_article("b", 1, day=1)]))
        curation.pin(deduplicator, "b")
    assert world.records()["a"].decision.group == "b"
    return world


def test_a_constraint_is_removed_though_the_answer_is_lost() -> None:
    world = pinned_world()
    with opened(world, after=lose_constraints(1)) as deduplicator:
        assert [c.kind for c in curation.forget(deduplicator, ["b"]).corrections] == ["original"]
    assert world.records()["b"].decision.group == "a"


def test_a_killed_removal_of_a_constraint_is_completed_by_running_it_again() -> None:
    world = pinned_world()

    class Killed(BaseException):
        pass

    def die(method: str, path: str) -> None:
        if method == "PUT" and "_doc" in path:
            raise Killed

    with pytest.raises(Killed), opened(world, after=die) as deduplicator:
        curation.forget(deduplicator, ["b"])
    with opened(world) as deduplicator:
        curation.forget(deduplicator, ["b"])
    assert world.records()["b"].decision.group == "a"


def test_retention_keeps_an_article_that_is_replaced_as_it_is_deleted() -> None:
    world = World(0)
    with opened(world) as deduplicator:
        list(deduplicator.add_many([story_article("a", 1, day=0), story_article("b", 2, day=0)]))
    is_replaced = False

    def replace_first(method: str, path: str) -> None:
        nonlocal is_replaced
        if path == "/_bulk" and not is_replaced:
            is_replaced = True
            with opened(world) as other:
                list(other.add_many([story_article("a", 1, day=5)]))

    with opened(world, before=replace_first) as deduplicator:
        (*_, done) = expire(deduplicator, RetentionRule(DAY_ONE + timedelta(days=2)))
    assert world.records().keys() == {"a"}
    assert done.documents == 1
