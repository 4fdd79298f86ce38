"""All settings, in their order: those of each concern in a file of its own, each after the last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from esdedup.settings.features import Features
from esdedup.settings.field import setting

EventCount = Literal["stories", "items"]
EventTime = Literal["arrival", "published"]
SimilarBy = Literal["evidence", "simhash"]


@dataclass(frozen=True, slots=True)
class Fields(Features):
    """Every choice esdedup makes; here those about similar news, events and a run."""

    similar_by: SimilarBy = setting(
        "evidence",
        "What makes similar news: `evidence`, all that is stored of two articles together, or "
        "`simhash`, the distance alone as in the paper (needs the method).",
        unit="name",
        source="paper 001, section 2.3.1",
    )
    similar_topic: float = setting(
        0.3,
        "Two articles are about one thing where the cosine of their weightiest terms is at least "
        "this.",
        unit="fraction",
        source="measured: docs/evaluation.md",
        low=0.01,
        high=1.0,
    )
    event_count: EventCount = setting(
        "stories",
        "What is counted for a breaking event: distinct `stories` about one thing, so that one "
        "wire copy on forty sites is none; or `items`, every article similar by simhash, as in "
        "the paper.",
        unit="name",
        source="paper 001, section 2.4.2",
    )
    event_items: int = setting(
        15,
        "An article with more than this many similar ones before it, within the window, makes an "
        "event.",
        unit="articles or stories",
        source="paper 001, section 2.4.2",
        low=0,
    )
    event_window: float = setting(
        4.0,
        "How far apart in time articles of an event may be that count for each other.",
        unit="hours",
        source="paper 001, section 2.4.2",
        low=0.001,
        high=1e6,
    )
    event_sources: int = setting(
        3,
        "An event is told by at least this many sources; articles without a source, and without "
        "a URL that names one, are each a source of their own.",
        unit="sources",
        source="esdedup",
        low=0,
    )
    event_time: EventTime = setting(
        "arrival",
        "Which time of an article counts for events: that of its `arrival`, or when it was "
        "`published` (arrival where there is no date), for archives that were indexed at once.",
        unit="name",
        source="paper 001, section 2.4.2",
    )
    event_lateness: float = setting(
        1.0,
        "How far behind the latest article another may come and still count for events.",
        unit="hours",
        source="esdedup",
        low=0.0,
        high=1e6,
    )
    batch: int = setting(
        1000, "Documents decided and written at once.", unit="documents", source="esdedup", low=1
    )
    page_seconds: float = setting(
        20.0,
        "Time limit for extracting one HTML page; a page over it is quarantined.",
        unit="seconds",
        source="esdedup",
        low=0.1,
    )
    page_megabytes: int = setting(
        10, "Larger HTML pages are quarantined unread.", unit="MB", source="esdedup", low=1
    )
    refuse_notices: bool = setting(
        True,
        "Whether what a site shows instead of an article (a check for robots, a block, a request "
        "for cookies, a form to register) is quarantined: such pages are not copies of one "
        "another.",
        unit="yes/no",
        source="measured: docs/evaluation.md",
    )
    worker_megabytes: int = setting(
        2048,
        "Address space of a worker process beyond what it starts with: a page that needs more "
        "fails alone; 0 is no limit.",
        unit="MB",
        source="esdedup",
        low=0,
    )
