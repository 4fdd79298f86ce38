"""Services and a browser. Everything that a page complains of in its console fails its test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.service.page.site import NO_BROWSER, Site, browsing, chromium, fill, serving
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

Open = Callable[..., "Page"]
# The browser tells of every answer that is no success; what the page makes of it is tested.
_ANSWERS = "Failed to load resource"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "page" in Path(item.path).parent.parts:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("page") / "news.db"
    fill(store, store.parent)
    return store


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        pytest.skip(NO_BROWSER)
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE * 1000)
    with browsing(path) as found:
        yield found


@pytest.fixture(scope="package")
def site(browser: Browser, filled: Path) -> Iterator[Site]:
    """For tests that only look."""
    with serving(filled, filled.parent) as found:
        yield found


@pytest.fixture
def own_site(browser: Browser, filled: Path, tmp_path: Path) -> Iterator[Site]:
    """For tests that change the store."""
    store = tmp_path / "news.db"
    shutil.copy(filled, store)
    with serving(store, tmp_path) as found:
        yield found


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens an address and waits for its view; nothing may be wrong in the console at the end."""
    complaints: list[str] = []
    expected = [_ANSWERS]

    def listen(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(e in message.text for e in expected):
            complaints.append(message.text)

    with ExitStack() as stack:

        def begin(
            address: str,
            *,
            width: int = 1180,
            scheme: str = "light",
            wait: str = "main h1",
            complains: str | None = None,
        ) -> Page:
            expected.extend([complains] if complains else [])
            context = browser.new_context(
                viewport={"width": width, "height": 860},
                color_scheme="dark" if scheme == "dark" else "light",
                has_touch=width < 500,
            )
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(PATIENCE * 1000)
            page.on("console", listen)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(address)
            page.locator(wait).first.wait_for()
            return page

        yield begin
    assert complaints == []
