"""For everybody: by keyboard, on a phone, in the dark, with enough contrast."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.service.page.addresses import VIEWS, address
from tests.service.page.conftest import Open
from tests.service.page.site import FERRY, FERRY_UPDATE, Site

# Every text that can be seen, against what is behind it: 4.5:1, large letters 3:1 (WCAG, 1.4.3).
_CONTRAST = """() => {
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const parsed = (text) => {
    const parts = text.match(/[\\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return [...parts.slice(0, 3), parts[3] ?? 1];
  };
  const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3]));
  const behind = (element) => {
    if (!element) return parsed(getComputedStyle(document.body).backgroundColor).slice(0, 3);
    const own = parsed(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, behind(element.parentElement));
  };
  const bad = [];
  let seen = 0;
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    const typed = element.matches("input:not([type=checkbox]):not([type=radio]), textarea, select");
    const hidden = element.matches(":disabled, .unseen, .skip, option, title");
    if (!(own || typed) || hidden || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const ink = parsed(element.namespaceURI.endsWith("svg") ? style.fill : style.color);
    const ground = behind(element);
    const [a, b] = [luminance(over(ink, ground)), luminance(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    seen += 1;
    if (ratio < (large ? 3 : 4.5)) {
      bad.push(`${element.tagName}.${element.getAttribute("class")}: ${ratio.toFixed(2)}`);
    }
  }
  return { seen, bad };
}"""
_PHONE = 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_of_everything_that_is_shown(scheme: str, site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS["latest"]), scheme=scheme)
    for name, where in VIEWS.items():
        _go(page, site, where)
        found: dict[str, Any] = page.evaluate(_CONTRAST)
        assert found["seen"] > 8, name
        assert found["bad"] == [], name


def test_the_palette_in_the_dark_is_another_one(site: Site, open_page: Open) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        page = open_page(site.at(VIEWS["latest"]), scheme=scheme)
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(250, 249, 246)", "rgb(20, 23, 26)"]


# Pairs of the palette: letters need 4.5:1, edges of controls 3:1 (WCAG 2.2, 1.4.11).
_PAIRS = (
    *(("--ink", ground, 4.5) for ground in ("--paper", "--card", "--changed", "--removed")),
    *(("--ink", ground, 4.5) for ground in ("--added", "--moved", "--tint")),
    *(("--soft", ground, 4.5) for ground in ("--paper", "--card")),
    *(("--accent", ground, 4.5) for ground in ("--paper", "--card", "--tint")),
    ("--on-accent", "--accent", 4.5),
    ("--bad", "--card", 4.5),
    ("--edge", "--card", 3.0),
    ("--edge", "--paper", 3.0),
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_palette_has_enough_contrast(scheme: str, site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS["latest"]), scheme=scheme)
    colours: dict[str, str] = page.evaluate(
        "names => Object.fromEntries(names.map((n) => "
        "[n, getComputedStyle(document.documentElement).getPropertyValue(n).trim()]))",
        sorted({name for pair in _PAIRS for name in pair[:2]}),
    )
    low = {
        (a, b): round(_ratio(colours[a], colours[b]), 2)
        for a, b, least in _PAIRS
        if _ratio(colours[a], colours[b]) < least
    }
    assert low == {}


def _ratio(one: str, other: str) -> float:
    low, high = sorted(map(_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_ratio_of_black_on_white_is_21() -> None:
    assert _ratio("#000000", "#ffffff") == pytest.approx(21)


def test_no_view_is_wider_than_a_phone(site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS["latest"]), width=_PHONE)
    for name, where in VIEWS.items():
        _go(page, site, where)
        for button in page.locator(".expand").all()[:2]:
            button.click()
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= _PHONE, name
        small = page.evaluate(
            "Array.from(document.querySelectorAll('main p, main a, main li'))"
            ".filter(e => e.checkVisibility() && parseFloat(getComputedStyle(e).fontSize) < 12)"
            ".length"
        )
        assert small == 0, name


def test_every_view_has_one_heading_a_title_and_names_for_its_controls(
    site: Site, open_page: Open
) -> None:
    page = open_page(site.at(VIEWS["latest"]))
    for name, where in VIEWS.items():
        _go(page, site, where)
        expect(page.locator("h1")).to_have_count(1)
        assert page.title() == f"{page.locator('h1').text_content()} · esdedup", name
        nameless = page.evaluate(
            "Array.from(document.querySelectorAll('button, a, input, select, textarea'))"
            ".filter(e => !(e.textContent.trim() || e.ariaLabel || e.labels?.length))"
            ".map(e => e.outerHTML)"
        )
        assert nameless == [], name


def test_a_story_by_keyboard_alone(site: Site, open_page: Open) -> None:
    page = open_page(site.at(address("search", fold="story")))
    page.keyboard.press("/")
    page.keyboard.type("ferry")
    page.keyboard.press("Enter")
    expect(page.locator("#summary")).to_have_text("3 stories from 16 articles")
    page.keyboard.press("j")
    expect(page.locator(".hit a.open").first).to_be_focused()
    page.keyboard.press("x")
    expect(page.locator(".hit").first.locator(".line")).to_have_count(8)
    page.keyboard.press("j")
    expect(page.locator(".hit a.open").nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("s")
    expect(page.locator("#picked")).to_contain_text("1 article selected")
    page.keyboard.press("Enter")
    expect(page.locator(".kicker")).to_have_text("Story")
    expect(page.locator("h1")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator(".node details").first).not_to_have_attribute("open", "")


def test_an_event_by_keyboard_alone(site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS["events"]))
    page.keyboard.press("j")
    expect(page.locator(".hit a.open")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".event-page h1")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator(".tags a").first).to_be_focused()
    stories = page.locator(".hit a.line-title")
    page.keyboard.press("j")
    expect(stories.nth(0)).to_be_focused()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("j")
    expect(stories.nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(stories.nth(0)).to_be_focused()
    title = stories.nth(0).inner_text()
    page.keyboard.press("o")
    expect(page.locator(".kicker")).to_have_text("Story")
    expect(page.locator("h1")).to_have_text(title)


def test_shortcuts_can_be_switched_off(site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS["search"]))
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    page.get_by_label("Shortcuts of a single key").uncheck()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_hidden()


def test_tab_reaches_the_content_first_and_focus_can_be_seen(site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS["search"]))
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#q")).to_be_focused()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_links_lead_to_every_view(site: Site, open_page: Open) -> None:
    titles = {
        address("story", id=FERRY): "Ferry fire killed twenty-three",
        address("article", id=FERRY_UPDATE): "Toll in Eastshire ferry fire rises to 17",
        address("search", q="bridge"): "Results for “bridge”",
        address("events", days="30"): "Breaking events",
        VIEWS["event"]: "Harbour engineers blamed a cracked bolt",
        address("status"): "Status",
    }
    for where, title in titles.items():
        page = open_page(site.at(where))
        expect(page.locator("h1")).to_contain_text(title)


def _go(page: Page, site: Site, where: str) -> None:
    """To another view, and waits until it and what comes after it are there."""
    page.goto(site.at(where))
    expect(page.locator("main")).to_have_attribute("data-shown", where)
    expect(page.get_by_text("Counting …")).to_have_count(0)
