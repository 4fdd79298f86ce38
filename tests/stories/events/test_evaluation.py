"""The figures of the evaluation, and that they do not fall."""

from __future__ import annotations

from dataclasses import replace

from esdedup.settings import Settings
from esdedup.stories.events import Event
from esdedup.stories.events.items import Trigger
from tests.eval.events import labelled_set, measure, scored
from tests.support.data import labelled


def event(*members: str) -> Event:
    return Event(
        id=members[0],
        first_seen=0,
        detected=0,
        last_seen=0,
        articles=len(members),
        stories=0,
        groups=0,
        sources={},
        hours={0: 1},
        representative=members[0],
        why=Trigger.of(members[0], Settings()),
        members=members,
    )


def test_figures_of_a_perfect_and_of_a_wrong_answer() -> None:
    labels = {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b", "c1": "c"}
    right = scored(labels, [event("a1", "a2", "a3"), event("b1", "b2")])
    assert (right.homogeneity, right.completeness) == (1.0, 1.0)
    assert (right.found, right.labelled, right.false) == (1, 1, 0)
    wrong = scored(labels, [event("a1", "b1", "c1")])
    assert (wrong.found, wrong.false) == (0, 1)
    assert wrong.homogeneity < 1
    nothing = scored(labels, [])
    assert nothing.homogeneity == 1.0
    assert (nothing.found, nothing.events) == (0, 0)


def test_events_of_wikinews() -> None:
    """Floors below what was measured; docs/evaluation.md has the figures."""
    documents, labels = labelled_set(labelled("wikinews-events"))
    chosen = replace(
        Settings(), event_time="published", event_sources=0, event_items=0, event_window=24.0
    )
    figures = measure(documents, labels, chosen)
    assert figures.v > 0.915
    assert figures.found >= 33
    assert figures.false <= 12
