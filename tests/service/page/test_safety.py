"""Articles are written by others: whatever they hold is shown as text, and nothing of it runs."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

import esdedup.service
from tests.service.page.addresses import VIEWS, address
from tests.service.page.conftest import Open
from tests.service.page.site import HOSTILE, Site, hostile_articles
from tests.support.articles import ferry_articles
from tests.support.waiting import PATIENCE

_PAGE = Path(esdedup.service.__file__).parent / "page"
_HOSTILE_VIEWS = [name for name in VIEWS if name.startswith("hostile")]
# Everything that makes elements or code from text.
_PARSERS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment"
    r"|setHTMLUnsafe|srcdoc|\beval\b|new Function|setTimeout\(\s*[\"'`]"
)


@pytest.mark.parametrize("view", _HOSTILE_VIEWS)
def test_hostile_articles_do_nothing(view: str, site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS[view]))
    expect(page.locator("main")).to_have_attribute("data-shown", VIEWS[view])
    for button in page.locator(".expand").all():
        button.click()
    for one in page.locator("main .meta > :first-child").all()[:20]:
        one.hover()
    _assert_harmless(page)
    assert "<script>" in page.locator("main").inner_text()


def test_a_hostile_event_does_nothing(own_site: Site, open_page: Open) -> None:
    """Its title, its sources, its words and the ids of its stories are written by others too."""
    stories = ferry_articles(20, start=datetime.now(UTC) - timedelta(hours=2), minutes=5)
    lines = ""
    for number, story in enumerate(stories):
        hostile = hostile_articles()[number % len(HOSTILE)]
        own = {name: f"{number}{hostile[name]}" for name in ("id", "source")}
        shown = {"title": hostile["title"], "url": hostile["url"]}
        lines += json.dumps({**story.to_json(), **own, **shown}) + "\n"
    httpx.post(
        own_site.at("v1/articles/bulk"), content=lines, timeout=PATIENCE,
        headers={"Content-Type": "application/x-ndjson"},
    ).raise_for_status()  # fmt: skip
    page = open_page(own_site.at(address("events", days="1")))
    expect(page.locator(".hit")).to_have_count(1)
    _assert_harmless(page)
    page.locator(".hit a.open").click()
    expect(page.locator(".event-page .hit")).to_have_count(len(stories))
    assert page.locator("h1").inner_text() in HOSTILE
    assert "<b onmouseover=" in page.locator(".shares").inner_text()
    _assert_harmless(page)


def _assert_harmless(page: Page) -> None:
    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main img, main iframe, main object").count() == 0
    assert page.locator("main [onerror], main [onload], main [onmouseover]").count() == 0
    links = page.evaluate(
        "Array.from(document.querySelectorAll('a'),"
        " a => new URL(a.href.baseVal ?? a.href, location.href).href)"
    )
    assert not [link for link in links if not link.startswith("http")]


def test_hostile_titles_are_shown_as_they_are(site: Site, open_page: Open) -> None:
    page = open_page(site.at(address("search", q="brackets", fold="all")))
    assert set(page.locator(".hit h3").all_inner_texts()) == set(HOSTILE)


def test_hostile_words_in_the_address_are_words(site: Site, open_page: Open) -> None:
    attack = "<img src=x onerror=window.hacked=1>"
    page = open_page(site.at(address("search", q=attack, source=attack, sort="-published")))
    expect(page.locator("h1")).to_contain_text(attack)
    page.goto(site.at(address("story", id=attack)))
    expect(page.locator(".failed")).to_contain_text("There is no such article")
    assert page.evaluate("window.hacked") is None


def test_a_hostile_text_is_checked(site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS["check"]))
    page.get_by_label("Text", exact=True).fill(str(hostile_articles()[0]["text"]))
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".panel h2")).to_contain_text("Copy of ")
    expect(page.locator(".marked")).to_contain_text("<script>")
    assert page.evaluate("window.hacked") is None


def test_the_policy_stops_what_would_get_through(site: Site, open_page: Open) -> None:
    """Markup and styles that a mistake let in are refused by the browser."""
    page = open_page(site.at(VIEWS["latest"]), complains="TrustedHTML")
    refused = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>'; return false } catch { return true } }"
    )
    assert refused
    policy = httpx.get(site.at("")).headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert "unsafe" not in policy


def test_files_have_nothing_inline_and_load_nothing_from_elsewhere() -> None:
    html = (_PAGE / "index.html").read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)
    for file in _PAGE.rglob("*"):
        if file.suffix in (".js", ".css", ".html", ".svg"):
            text = file.read_text().replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"https?://|@import|url\(", text), file.name
            if file.suffix == ".js":
                assert not _PARSERS.search(text), file.name


def test_every_file_is_served_as_what_it_is(site: Site) -> None:
    types = {".js": "javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    for file in _PAGE.rglob("*"):
        if file.suffix in types:
            answer = httpx.get(site.at(f"static/{file.relative_to(_PAGE).as_posix()}"))
            assert answer.status_code == 200
            assert types[file.suffix] in answer.headers["content-type"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-cache"
