"""A service with keys: the page asks for one, keeps it in its tab, and shows what it may do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.service.page.addresses import VIEWS
from tests.service.page.conftest import Open
from tests.service.page.site import Site, new_key, serving


@pytest.fixture
def locked(browser: Browser, filled: Path, tmp_path: Path) -> Iterator[tuple[Site, str, str]]:
    store, keys = tmp_path / "news.db", tmp_path / "keys.json"
    shutil.copy(filled, store)
    reader, writer = (new_key(keys, scope, scope) for scope in ("read", "write"))
    with serving(store, tmp_path, "--keys", str(keys)) as site:
        yield site, reader, writer


def test_the_page_asks_for_a_key(locked: tuple[Site, str, str], open_page: Open) -> None:
    site, reader, writer = locked
    page = open_page(site.at(VIEWS["story"]))
    expect(page.locator("h1")).to_have_text("A key is needed")
    _enter(page, "esdedup_nobody_wrong")
    expect(page.locator(".key-form")).to_contain_text("The key is not valid")
    _enter(page, reader)
    expect(page.locator(".summary")).to_contain_text("9 articles")
    page.locator(".node .pick input").first.check()
    expect(page.locator("#picked")).to_contain_text("1 article selected")
    expect(page.get_by_role("button", name="Make original")).to_have_count(0)
    page.reload()
    expect(page.locator(".summary")).to_contain_text("9 articles")
    assert reader not in page.evaluate("JSON.stringify(localStorage) + document.cookie")
    page.get_by_role("button", name="Forget key").click()
    expect(page.locator("h1")).to_have_text("A key is needed")
    assert page.evaluate("sessionStorage.length") == 0
    _enter(page, writer)
    page.locator(".node .pick input").first.check()
    expect(page.get_by_role("button", name="Make original")).to_be_visible()
    other = open_page(site.at(VIEWS["story"]))
    expect(other.locator("h1")).to_have_text("A key is needed")


def _enter(page: Page, key: str) -> None:
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Use it").click()
