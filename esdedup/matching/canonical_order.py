"""Which article of a group is its original, and how far apart in time two of a group may be.

The canonical rule (the setting `keep`) is a total order of all documents; the first of a group
leads it. All rules end in (published, else first seen; then id), so that no two documents are
equal:

    earliest   by that alone
    arrival    first seen, then id
    ranking    the place of the source in a list, then as earliest
    longest    the most words first, then as earliest
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from esdedup.model import Document, Order, order_of, place_of
from esdedup.settings import Settings

# Before every other rank: minus the most words that a text can have, and one.
PINNED = -(2**31 - 1)
_MOST_WORDS = 2**31 - 2
_DAY = 86_400_000_000  # microseconds
_SOURCE = "source:"


def order_for(
    document: Document, words: int, first_seen: int, settings: Settings, *, pinned: bool = False
) -> Order:
    """The place of a document among all others; a pinned one comes before all that are not."""
    published = None if is_ordered_by_arrival(document, settings) else document.published
    time, id_ = order_of(published, first_seen, document.id)
    rank = PINNED if pinned else _rank(document, words, settings)
    return place_of(rank, time), id_


def is_ordered_by_arrival(document: Document, settings: Settings) -> bool:
    """Whether its time is when it was first seen, and not when it was published."""
    return settings.keep == "arrival" or document.published is None


def _rank(document: Document, words: int, settings: Settings) -> int:
    if settings.keep == "longest":
        return -min(words, _MOST_WORDS)
    if settings.keep == "ranking":
        ranks = _ranks(settings.keep_sources)
        return ranks.get((document.source or "").casefold(), len(ranks))
    return 0


@lru_cache(maxsize=16)
def _ranks(sources: Sequence[str]) -> Mapping[str, int]:
    return {name: rank for rank, name in enumerate(dict.fromkeys(s.casefold() for s in sources))}


def is_by_time(settings: Settings) -> bool:
    """Whether the order is that of time, but for pinned documents."""
    return settings.keep in ("earliest", "arrival")


# --- windows -----------------------------------------------------------------------------------


def window_of(settings: Settings, lang: str | None = None, source: str | None = None) -> int:
    """How far before or after a document its candidates may lie, in microseconds; 0 is no bound."""
    if settings.candidate_windows:
        windows = _windows(settings.candidate_windows)
        for name in (f"{_SOURCE}{(source or '').casefold()}", (lang or "").casefold()):
            if name in windows:
                return windows[name]
    return round(settings.candidate_window * _DAY)


def widest_window(settings: Settings) -> int:
    """The widest window of any document: as far as one may be looked for from; 0 is no bound."""
    spans = [
        round(settings.candidate_window * _DAY),
        *_windows(settings.candidate_windows).values(),
    ]
    return 0 if 0 in spans else max(spans)


@lru_cache(maxsize=16)
def _windows(entries: Sequence[str]) -> Mapping[str, int]:
    pairs = (entry.rpartition("=") for entry in entries)
    return {name.strip().casefold(): round(float(days) * _DAY) for name, _, days in pairs}
