"""Pictures of the page for the documentation: python -m tests.service.page.screenshots docs/img"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from tests.service.page.site import (
    FERRY,
    FERRY_COPY,
    FERRY_UPDATE,
    NO_BROWSER,
    REVISED,
    browsing,
    chromium,
    fill,
    serving,
)

_PICTURES = (
    ("page-search", "#/search?q=ferry", "light", ".expand"),
    ("page-story", "#/story?" + urlencode({"id": FERRY}), "light", None),
    ("page-compare", "#/compare?" + urlencode({"a": FERRY, "b": FERRY_UPDATE}), "light", None),
    ("page-search-dark", "#/search?q=ferry", "dark", None),
)
_MORE = (
    ("events", "#/events?days=all", "light", None),
    ("status", "#/status", "light", None),
    ("check", "#/check", "light", None),
    ("article", "#/article?" + urlencode({"id": FERRY_COPY}), "dark", None),
    ("front", "#/search", "light", None),
    ("revisions", "#/revisions?" + urlencode({"id": REVISED}), "light", None),
    ("revised", "#/article?" + urlencode({"id": REVISED}), "light", None),
    ("revised-story", "#/story?" + urlencode({"id": REVISED}), "dark", None),
    ("corrections", "#/corrections", "light", None),
)


def main(folder: Path, *, every: bool = False) -> None:
    path = chromium()
    if path is None:
        raise SystemExit(NO_BROWSER)
    with tempfile.TemporaryDirectory(prefix="esdedup-page-") as temporary:
        store = Path(temporary) / "news.db"
        fill(store, store.parent)
        with serving(store, store.parent) as site, browsing(path) as browser:
            for name, address, scheme, click in (*_PICTURES, *(_MORE if every else ())):
                for width in (1180, *((390,) if every else ())):
                    page = browser.new_page(
                        viewport={"width": width, "height": 860},
                        color_scheme="dark" if scheme == "dark" else "light",
                    )
                    page.goto(site.at(address))
                    page.locator("main h1").wait_for()
                    if click:
                        page.locator(click).first.click()
                        page.locator(".copies .line").first.wait_for()
                    page.wait_for_timeout(1_500 if "status" in name or every else 300)
                    small = f"{name}-{width}" if every else name
                    page.screenshot(path=folder / f"{small}.png", full_page=every)
                    page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), every="--all" in sys.argv)
