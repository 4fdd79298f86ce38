"""The sliding window against the definition, read word by word."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esdedup.errors import SettingsError
from esdedup.model import TermVector
from esdedup.settings import Settings
from esdedup.settings.table import EventCount
from esdedup.stories.events import Event, EventDetector, EventItem, replay
from esdedup.stories.events.items import HOUR
from tests.stories.events import naive

FEW = replace(Settings(), event_items=2, event_sources=2, event_lateness=0.0)
PAPER = Settings.load(preset="hu-you", environment={})
MINUTE = HOUR // 60


def topic(*terms: int) -> TermVector:
    found = np.array(sorted(set(terms)), np.uint64)
    return TermVector(found, np.full(len(found), 1 / np.sqrt(max(1, len(found))), np.float32))


def item(n: int, time: int, *terms: int, source: str | None = None, group: str = "") -> EventItem:
    id_ = f"a{n}"
    return EventItem(id_, time, group or id_, group or id_, source or f"s{n}", topic(*terms))


def shown(events: Sequence[Event]) -> list[tuple[str, ...]]:
    return sorted(event.members for event in events)


def judged(items: Sequence[EventItem], chosen: Settings) -> list[tuple[str, ...]]:
    return sorted(members for _, members in naive.events(items, chosen))


@st.composite
def streams(draw: st.DrawFn) -> list[EventItem]:
    count = draw(st.integers(1, 28))
    items: list[EventItem] = []
    for n in range(count):
        time = draw(st.integers(0, 20)) * HOUR // 2
        leaders = [i.id for i in items if not i.is_copy]
        copied = draw(st.sampled_from([None, None, None, *leaders])) if leaders else None
        terms = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
        made = item(n, time, *terms, source=draw(st.sampled_from("vwxyz")), group=copied or "")
        if not copied and leaders and draw(st.integers(0, 5)) == 0:
            made = replace(made, story=draw(st.sampled_from(leaders)))  # an update
        items.append(made)
    return items


@pytest.mark.parametrize("counted", ["groups", "stories", "sources"])
@given(streams())
@settings(max_examples=60, deadline=None)
def test_the_window_finds_what_the_definition_says(
    counted: EventCount, items: list[EventItem]
) -> None:
    chosen = replace(FEW, event_count=counted)
    assert shown(replay(items, chosen)) == judged(items, chosen)


@given(streams(), st.randoms(use_true_random=False), st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_neither_order_nor_batches_matter(
    items: list[EventItem], order: random.Random, size: int
) -> None:
    """With all the lateness that the stream has; the window then holds everything."""
    patient = replace(FEW, event_lateness=24.0)
    mixed = list(items)
    order.shuffle(mixed)
    detector = EventDetector(patient)
    for start in range(0, len(mixed), size):
        detector.add(mixed[start : start + size])
    detector.finish()
    assert detector.events() == replay(items, patient)
    assert shown(detector.events()) == judged(items, FEW)


@given(streams(), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_in_order_the_window_forgets_and_the_events_are_the_same(
    items: list[EventItem], size: int
) -> None:
    ordered = sorted(items, key=lambda i: (i.time, i.id))
    detector = EventDetector(FEW)
    for start in range(0, len(ordered), size):
        detector.add(ordered[start : start + size])
        horizon = detector.latest - 4 * HOUR
        followed = {i.group for i in ordered[: start + size] if i.time >= horizon}
        assert detector.held <= sum(
            i.time >= horizon or i.group in followed or i.id in followed for i in ordered
        )
    detector.finish()
    assert detector.late == 0
    assert shown(detector.events()) == judged(items, FEW)


def test_a_copy_long_before_its_original_leaves_with_it() -> None:
    detector = EventDetector(FEW)
    for one in (item(1, 0, 1, group="a2"), item(2, 9 * HOUR // 2, 1), item(3, 10 * HOUR, 2)):
        detector.add([one])
    assert detector.held == 1


@given(streams(), st.data())
@settings(max_examples=60, deadline=None)
def test_an_article_that_gets_another_place_is_moved(
    items: list[EventItem], data: st.DataObject
) -> None:
    patient = replace(FEW, event_lateness=24.0)
    detector = EventDetector(patient)
    detector.add(items)
    moved = data.draw(st.sampled_from(items))
    leader = data.draw(st.sampled_from([i.id for i in items if not i.is_copy]))
    now = (
        replace(moved, group=leader, story=leader)
        if leader != moved.id
        else replace(moved, group=moved.id, story=moved.id)
    )
    detector.add([now])
    detector.finish()
    after = [now if i.id == moved.id else i for i in items]
    assert shown(detector.events()) == judged(after, FEW)


def fingerprints(count: int, *, apart: int) -> list[int]:
    """Numbers of which any two differ in `apart` bits (even: each has half of them to itself)."""
    return [((1 << apart // 2) - 1) << (apart // 2 * n) for n in range(count)]


def test_paper_001_more_than_15_similar_items_within_4_hours() -> None:
    """Strictly more: the 17th article has 16 before it."""
    marks = fingerprints(17, apart=6)
    items = [
        EventItem(f"a{n}", n * 15 * MINUTE, f"a{n}", f"a{n}", "one source", fingerprint=mark)
        for n, mark in enumerate(marks)
    ]
    assert items[-1].time == 4 * HOUR
    (event,) = replay(items, PAPER)
    assert event.articles == 17
    assert event.detected == 4 * HOUR
    assert replay(items[:16], PAPER) == []
    late = replace(items[-1], time=4 * HOUR + 1)
    assert replay([*items[:16], late], PAPER) == []


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2**10 - 1)), max_size=40))
@settings(max_examples=60, deadline=None)
def test_plain_counting_by_simhash_is_as_defined(pairs: list[tuple[int, int]]) -> None:
    few = replace(PAPER, event_items=3)
    items = [
        EventItem(f"a{n}", time * HOUR // 2, f"a{n}", f"a{n}", "x", fingerprint=mark * 0x9E37)
        for n, (time, mark) in enumerate(pairs)
    ]
    assert shown(replay(items, few)) == judged(items, few)


def test_one_wire_copy_on_forty_sites_is_no_event() -> None:
    wire = [item(n, n * MINUTE, 1, 2, 3, group="" if n == 0 else "a0") for n in range(40)]
    assert replay(wire, Settings()) == []


def told_through_updates() -> list[EventItem]:
    """One story: an original and 23 updates of it in 3.5 hours, each by another source."""
    return [replace(item(n, n * 9 * MINUTE, 1, 2, 3), story="a0") for n in range(24)]


def test_a_breaking_story_told_through_updates_is_an_event() -> None:
    (event,) = replay(told_through_updates(), Settings())
    assert (event.articles, event.stories, event.groups, len(event.sources)) == (24, 1, 24, 24)
    assert (event.why.article, event.why.counted) == ("a16", "groups")
    assert event.why.says == (
        "more than 15 reports of it, originals and updates, came within 4 hours, "
        "from at least 3 sources"
    )


def test_stories_and_sources_can_be_counted() -> None:
    by_stories = replace(Settings(), event_count="stories")
    assert replay(told_through_updates(), by_stories) == []
    by_sources = replace(Settings(), event_count="sources")
    (event,) = replay(told_through_updates(), by_sources)
    assert event.why.counted == "sources"
    few = [replace(i, source=f"s{n % 15}") for n, i in enumerate(told_through_updates())]
    assert replay(few, by_sources) == []


def test_a_live_blog_of_one_source_is_no_event() -> None:
    blog = [replace(i, source="blog") for i in told_through_updates()]
    assert replay(blog, Settings()) == []


def test_seventeen_stories_of_one_source_are_none_of_three_are() -> None:
    one = [item(n, n * MINUTE, 1, 2, 3, source="blog") for n in range(17)]
    assert replay(one, Settings()) == []
    three = [replace(i, source=f"s{n % 3}") for n, i in enumerate(one)]
    (event,) = replay(three, Settings())
    assert event.sources == {"s0": 6, "s1": 6, "s2": 5}


def test_an_event_grows_ends_and_keeps_its_id() -> None:
    detector = EventDetector(Settings())
    stream = [item(n, n * 10 * MINUTE, 1, 2, 3) for n in range(40)]
    stream += [item(100, 30 * HOUR, 9)]
    changes = [change for one in stream for change in detector.add([one])]
    assert [c.kind for c in changes] == ["opened", *["grown"] * 23, "ended"]
    assert len({c.event.id for c in changes}) == 1
    last = changes[-1].event
    assert (last.articles, last.ended, last.first_seen) == (40, True, 0)
    assert sum(last.hours.values()) == 40
    assert detector.held == 1


def test_two_events_that_turn_out_one_are_merged() -> None:
    few = replace(FEW, event_sources=0)
    left = [item(n, n * MINUTE, 1, 2) for n in range(4)]
    right = [item(10 + n, n * MINUTE, 3, 4) for n in range(4)]
    both = item(20, 10 * MINUTE, 1, 2, 3, 4)
    detector = EventDetector(few)
    opened = detector.add([*left, *right])
    assert [c.kind for c in opened] == ["opened", "opened"]
    merged = detector.add([both])
    assert sorted(c.kind for c in merged) == ["grown", "merged"]
    (gone,) = [c for c in merged if c.kind == "merged"]
    (event,) = detector.events()
    assert gone.into == event.id
    assert event.articles == 9


def test_a_clock_that_goes_back_far_is_counted_as_late() -> None:
    detector = EventDetector(Settings())
    detector.add([item(1, 100 * HOUR, 1)])
    detector.add([item(2, 100 * HOUR - HOUR, 1), item(3, 10 * HOUR, 1)])
    assert (detector.held, detector.late) == (2, 1)


def test_ten_thousand_copies_of_one_story_are_not_compared() -> None:
    detector = EventDetector(Settings())
    copies = [item(n, n, 1, 2, 3, group="" if n == 0 else "a0") for n in range(10_000)]
    assert detector.add(copies) == []
    assert detector.held == 10_000
    detector.add([item(20_000, 9 * HOUR, 7)])
    assert detector.held == 1


def test_counting_items_needs_simhash() -> None:
    with pytest.raises(SettingsError, match="backfill --only simhash"):
        EventDetector(Settings(methods=("sketch",), event_count="items"))
