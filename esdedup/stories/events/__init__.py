"""Breaking events: many articles about one thing within a few hours (paper 001)."""

from __future__ import annotations

from esdedup.stories.events.detector import EventDetector, replay
from esdedup.stories.events.items import Event, EventChange, EventItem

__all__ = ["Event", "EventChange", "EventDetector", "EventItem", "replay"]
