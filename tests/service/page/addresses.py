"""Every view by its address."""

from __future__ import annotations

from urllib.parse import urlencode

from tests.service.page.site import (
    CRANE_EVENT,
    FERRY,
    FERRY_UPDATE,
    REVISED,
    hostile_articles,
)

_HOSTILE = [str(article["id"]) for article in hostile_articles()]


def address(view: str, **params: str) -> str:
    return f"#/{view}?{urlencode(params)}" if params else f"#/{view}"


VIEWS = {
    "latest": address("search"),
    "search": address("search", q="ferry", fold="story"),
    "nothing found": address("search", q="zeppelinwurst"),
    "story": address("story", id=FERRY),
    "article": address("article", id=FERRY_UPDATE),
    "compare": address("compare", a=FERRY, b=FERRY_UPDATE),
    "compare form": address("compare"),
    "revisions": address("revisions", id=REVISED),
    "revised article": address("article", id=REVISED),
    "events": address("events", days="all"),
    "event": address("event", id=CRANE_EVENT, days="all"),
    "check": address("check"),
    "status": address("status"),
    "corrections": address("corrections"),
    "unknown": address("story", id="nobody"),
    "unknown event": address("event", id="nobody"),
    "no view": address("nowhere"),
    "hostile search": address("search", q="brackets"),
    "hostile story": address("story", id=_HOSTILE[0]),
    "hostile article": address("article", id=_HOSTILE[1]),
    "hostile revisions": address("revisions", id=_HOSTILE[0]),
    "hostile compare": address("compare", a=_HOSTILE[0], b=_HOSTILE[2]),
}
