"""What a service keeps of its store for a while."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime

from esdedup.model import JSON
from esdedup.stories.events import Event


@dataclass(slots=True)
class StoreCache:
    """Numbers and events of the store, each with its age."""

    stats: JSON | None = None
    hot: dict[str, int] | None = None
    looking: asyncio.Future[dict[str, int]] | None = None  # for hot keys
    stats_at: float = 0.0
    hot_at: float = 0.0
    # By the beginning that was asked for.
    events: dict[datetime | None, tuple[float, list[Event]]] = field(default_factory=dict)
