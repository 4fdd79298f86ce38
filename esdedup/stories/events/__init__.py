"""Breaking events: many articles about one thing within a few hours (paper 001)."""

from __future__ import annotations

from esdedup.stories.events.detector import Detector, replay
from esdedup.stories.events.items import Change, Event, Item

__all__ = ["Change", "Detector", "Event", "Item", "replay"]
