"""Each view shows what the store holds, and leads on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, TimeoutError, expect

from esdedup.model import Document
from esdedup.model.queries import DEFAULT_BY
from esdedup.sample import pages
from tests.service.page.addresses import VIEWS, address
from tests.service.page.conftest import Open
from tests.service.page.site import FERRY, FERRY_COPY, Site, crane_articles, hold_back, serving
from tests.support.articles import SUBJECTS, topical_text
from tests.support.waiting import PATIENCE


def test_a_search_folds_stories_and_their_copies_come_on_demand(
    site: Site, open_page: Open
) -> None:
    page = open_page(site.at(VIEWS["search"]))
    expect(page.locator("#summary")).to_have_text("3 stories from 16 articles")
    expect(page.locator(".hit")).to_have_count(3)
    button = page.locator(".expand").first
    expect(button).to_have_text("+8 copies and updates")
    button.click()
    lines = page.locator(".hit").first.locator(".line")
    expect(lines).to_have_count(8)
    expect(lines.nth(0)).to_contain_text("Meridian News")
    expect(lines.nth(0)).to_contain_text("3 Mar 2026, 06:42 UTC")
    expect(lines.nth(1)).to_contain_text("+23 min")
    expect(button).to_have_attribute("aria-expanded", "true")
    button.click()
    expect(lines.nth(0)).to_be_hidden()


def test_a_search_folds_as_the_command_line_does(site: Site, open_page: Open) -> None:
    page = open_page(site.at(address("search", q="ferry")))
    expect(page.get_by_label("Fold")).to_have_value(DEFAULT_BY)
    asked = {"words": "ferry", "texts": "false"}
    found = httpx.get(site.at("v1/search"), params=asked, timeout=PATIENCE).json()
    assert found["by"] == DEFAULT_BY
    expect(page.locator("#summary")).to_contain_text(f"{found['total']['stories']} results")


def test_filters_order_and_folding_are_in_the_address(site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS["search"]))
    page.get_by_label("Fold").select_option("all")
    expect(page.locator("#summary")).to_have_text("16 articles")
    expect(page.locator(".expand")).to_have_count(0)
    page.get_by_role("link", name="Coastline24").first.click()
    expect(page.locator(".facet.on")).to_have_text("Coastline243")
    assert "fold=all" in page.url
    assert "source=Coastline24" in page.url
    page.reload()
    expect(page.get_by_label("Fold")).to_have_value("all")
    page.go_back()
    expect(page.locator(".facet.on")).to_have_count(0)


def test_pages_of_results(site: Site, open_page: Open) -> None:
    page = open_page(site.at(address("search", fold="story")))
    first = page.locator(".hit h3").all_inner_texts()
    page.get_by_role("link", name="Next →").click()
    expect(page.get_by_text("Page 2 of 3")).to_be_visible()
    assert not set(first) & set(page.locator(".hit h3").all_inner_texts())


def test_a_story_tells_how_counts_changed(site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS["story"]))
    expect(page.locator(".summary")).to_contain_text("9 articles · 3 versions")
    expect(page.locator(".counts dd").first).to_have_text("12→17→23")
    expect(page.locator(".node")).to_have_count(3)
    expect(page.locator(".node").nth(1).locator(".changes li").first).to_contain_text("12→17")
    expect(page.locator(".node").nth(0).locator("summary")).to_contain_text("+3 copies")
    page.locator(".node").nth(0).get_by_role("link", name="Compare").first.click()
    expect(page.locator("h1")).to_have_text("The later article is a copy of the earlier one")


def test_two_articles_side_by_side(site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS["compare"]))
    expect(page.locator("h1")).to_have_text("The later article updates the earlier one")
    earlier, later = page.locator(".passages").nth(0), page.locator(".passages").nth(1)
    expect(earlier.locator("del.changed", has_text="12").first).to_be_visible()
    expect(later.locator("ins.changed", has_text="17").first).to_be_visible()
    expect(later.locator("ins.added").first).to_be_visible()
    expect(page.locator(".evidence")).to_contain_text("of the earlier text is in the later one")
    expect(page.locator(".evidence")).to_contain_text("3 counts changed in the same context")
    expect(page.locator(".legend")).to_contain_text("only in the later one")


_WRAPPED = """The harbour of Lindmouth was closed for a second night while divers
looked for the anchor of a tanker that had drifted across the fairway
in the storm. Two ferries waited outside until the morning came.

Nobody was hurt, the port office said, and the first ship is to leave
at noon."""


def test_lines_broken_at_a_width_are_joined_to_paragraphs(own_site: Site, open_page: Open) -> None:
    shorter = _WRAPPED.replace(" while divers\nlooked", " when divers\nlooked")
    for id_, text in (("wrapped", _WRAPPED), ("again", shorter)):
        article = {"id": id_, "title": "Lindmouth harbour closed", "text": text}
        httpx.post(own_site.at("v1/articles"), json=article, timeout=PATIENCE).raise_for_status()
    page = open_page(own_site.at(address("article", id="wrapped")))
    expect(page.locator(".prose p")).to_have_text(
        [" ".join(part.split("\n")) for part in _WRAPPED.split("\n\n")]
    )
    page.goto(own_site.at(address("compare", a="wrapped", b="again")))
    earlier = page.locator(".passages").first
    expect(earlier).to_contain_text("divers looked for")
    assert [line for line in earlier.inner_text().split("\n") if line][1:] == [
        " ".join(part.split("\n")) for part in _WRAPPED.split("\n\n")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Ferry times\nNorth quay 8.30\nSouth quay 9.15, not on Sundays\nIsland 10",
        "The first paragraph of the report is one sentence of a usual length.\n"
        "The second paragraph of it is one sentence of about that length too.\n"
        "A third one ends the report, which is as long as the others, nearly.",
    ],
)
def test_other_lines_stay_apart(site: Site, open_page: Open, text: str) -> None:
    page = open_page(site.at(VIEWS["latest"]))
    found = page.evaluate(
        "async (text) => (await import('/static/paragraphs.js')).paragraphs(text)", text
    )
    assert found == text.split("\n")


@pytest.mark.parametrize(
    ("reason", "of_old", "expected"),
    [
        ("extended", 0.95, "The later article is a longer version of the earlier one"),
        ("extended", 0.12, "The later article is longer, and holds a part of the earlier one"),
        ("names", 0.9, "The later article updates the earlier one"),
    ],
)
def test_the_headline_of_a_comparison_fits_its_figures(
    site: Site, open_page: Open, reason: str, of_old: float, expected: str
) -> None:
    page = open_page(site.at(VIEWS["latest"]))
    evidence = {"verdict": "update", "reason": reason, "of_old": of_old, "of_new": 0.12}
    headline = page.evaluate(
        "async (found) => (await import('/static/views/compare.js')).headline(found)",
        {"rule": "update: …", "evidence": evidence},
    )
    assert headline == expected


def test_on_a_phone_the_first_result_is_on_the_first_screen(site: Site, open_page: Open) -> None:
    page = open_page(site.at(address("search", q="ferry")), width=390)
    box = page.locator(".hit").first.bounding_box()
    assert box is not None
    assert box["y"] + 120 < 844  # its headline and source, on a screen of 390 x 844
    expect(page.get_by_label("Order")).to_be_hidden()
    page.get_by_text("Options").click()
    page.get_by_label("Order").select_option("-published")
    expect(page.get_by_text("Options (1)")).to_be_visible()
    page = open_page(site.at(address("search", q="ferry")))
    expect(page.get_by_label("Order")).to_be_visible()
    expect(page.get_by_text("Options")).to_be_hidden()


def test_a_page_without_a_source_has_the_name_of_its_host(own_site: Site, open_page: Open) -> None:
    for n in range(2):
        article = {
            "id": f"hosted{n}",
            "title": "Lindmouth harbour closed",
            "text": _WRAPPED,
            "url": f"https://www.coast{n}.example/{n}",
        }
        httpx.post(own_site.at("v1/articles"), json=article, timeout=PATIENCE).raise_for_status()
    page = open_page(own_site.at(address("story", id="hosted0")))
    expect(page.locator(".source").first).to_have_text("coast0.example")
    expect(page.locator(".summary")).to_contain_text("2 sources")


def test_moved_passages_stand_at_both_places(own_site: Site, open_page: Open) -> None:
    parts = [
        "The lighthouse at Farrow Point went dark on Sunday after ninety years of service.",
        "Its keeper handed the key to the mayor and walked home along the beach in the rain.",
        "A museum of knots, lamps and letters opens in the tower when the summer begins.",
        "Fishermen said that they will miss the beam more than they will ever admit in public.",
    ]
    moved = [parts[0], parts[2], parts[3], parts[1]]
    for id_, told in (("still", parts), ("moved", moved)):
        article = {"id": id_, "title": "Farrow Point goes dark", "text": "\n".join(told)}
        httpx.post(own_site.at("v1/articles"), json=article, timeout=PATIENCE).raise_for_status()
    page = open_page(own_site.at(address("compare", a="still", b="moved")))
    old, new = page.locator(".passages").nth(0), page.locator(".passages").nth(1)
    for side in (old, new):
        expect(side.locator(".moved")).to_have_count(1)
    place = old.inner_text().index(parts[1].split()[4])
    assert place < old.inner_text().index("museum")
    assert new.inner_text().index(parts[1].split()[4]) > new.inner_text().index("museum")


def test_events_with_a_time_line_and_their_stories(site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS["events"]))
    expect(page.locator(".hit")).to_have_count(1)
    expect(page.locator(".lanes .lane")).to_have_count(1)
    expect(page.locator(".hit .spark")).to_be_visible()
    expect(page.locator(".hit")).to_contain_text("10 articles")
    expect(page.locator(".hit")).to_contain_text("An event because more than 5 reports of it")
    page.locator(".hit a.open").click()
    expect(page.locator(".kicker")).to_have_text("Events")
    expect(page.locator(".hit .line")).to_have_count(len(crane_articles()))
    assert page.url == site.at(VIEWS["event"])
    page.goto(site.at(VIEWS["unknown event"]))
    expect(page.locator(".failed")).to_contain_text("There is no such event in this time")


def test_an_event_appears_while_one_looks(own_site: Site, open_page: Open) -> None:
    """The list just shown is remembered by the service; what happens since is told all the same."""
    page = open_page(own_site.at(address("events", days="1")), wait=".live:not([hidden])")
    expect(page.locator(".empty")).to_be_visible()
    page.wait_for_timeout(6_000)  # for the first look, which tells nothing
    under_way = page.locator(".hit .role", has_text="under way").first
    for subject in SUBJECTS:  # the first one is told, unless that look is late
        store_all(own_site, stories_about(subject))
        try:
            under_way.wait_for(timeout=60_000)
        except TimeoutError:
            continue
        return
    pytest.fail("no event appeared")


def stories_about(subject: str) -> list[Document]:
    start = datetime.now(UTC) - timedelta(hours=2)
    return [
        Document(
            id=f"{subject}{n}",
            title=f"News of the {subject} ({n})",
            text=topical_text(subject, n),
            source=f"Paper {n}",
            lang="en",
            published=start + timedelta(minutes=5 * n),
        )
        for n in range(20)
    ]


def store_all(site: Site, articles: Sequence[Document]) -> None:
    lines = "".join(json.dumps(article.to_json()) + "\n" for article in articles)
    kind = {"Content-Type": "application/x-ndjson"}
    at = site.at("v1/articles/bulk")
    httpx.post(at, content=lines, headers=kind, timeout=PATIENCE).raise_for_status()


def test_no_event_is_an_answer(site: Site, open_page: Open) -> None:
    page = open_page(site.at(address("events", days="1")))
    expect(page.locator(".empty")).to_contain_text("No breaking events")


def test_check_tells_copies_updates_and_news(site: Site, open_page: Open) -> None:
    shown = httpx.get(site.at("v1/articles"), params={"id": FERRY}, timeout=PATIENCE).json()
    text = shown["document"]["text"]
    page = open_page(site.at(VIEWS["check"]))
    _check(page, text)
    expect(page.locator(".panel h2")).to_contain_text("Copy of ")
    expect(page.locator(".marked mark").first).to_contain_text("ferry")
    _check(page, text.replace("12 ", "31 ").replace("twelve", "thirty-one"))
    expect(page.locator(".panel h2")).to_contain_text("Update of ")
    expect(page.locator(".panel .changes")).to_contain_text("31")
    _check(page, "A heron stood in the fountain of a small town until somebody brought it a fish.")
    expect(page.locator(".panel h2")).to_have_text("New")


def test_check_tells_passages_of_others(site: Site, open_page: Open) -> None:
    """A stored article inside a text four times as long: as a whole it is none's copy."""
    shown = httpx.get(site.at("v1/articles"), params={"id": FERRY}, timeout=PATIENCE).json()
    text = shown["document"]["text"]
    own = " ".join(f"heron{n} pond{n * n}" for n in range(2 * len(text.split())))
    page = open_page(site.at(VIEWS["check"]))
    _check(page, f"{own}. {text}")
    expect(page.locator(".panel h2")).to_have_text("New, with passages of others in it")
    expect(page.locator("h2", has_text="Contains")).to_be_visible()
    expect(page.locator(".line").first).to_contain_text("of the article")
    expect(page.locator(".marked mark").last).to_contain_text("ferry")


def test_check_tells_how_many_articles_it_does_not_list(site: Site, open_page: Open) -> None:
    def answer(route: Route) -> None:
        found = route.fetch().json()
        route.fulfill(json={**found, "total": len(found["copies"]) + 1_200})

    page = open_page(site.at(VIEWS["check"]))
    page.route("**/v1/copies?size=20", answer)
    _check(page, crane_articles()[0]["text"])
    expect(page.get_by_text("and 1,200 more")).to_be_visible()


def _check(page: Page, text: str) -> None:
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".loading")).to_have_count(0)


def test_check_takes_a_file(site: Site, open_page: Open, tmp_path: Path) -> None:
    page = open_page(site.at(VIEWS["check"]))
    html = next((pages() / "harbour-courier").glob("*ferry*.html"))
    page.locator("#file").set_input_files(html)
    expect(page.locator(".panel h2")).to_contain_text(" of ")
    plain = tmp_path / "note.txt"
    plain.write_text("Nobody has written about the moss on the north wall of the old mill before.")
    page.locator("#file").set_input_files(plain)
    expect(page.locator(".panel h2")).to_have_text("New")
    expect(page.get_by_label("Text", exact=True)).to_have_value(plain.read_text())


def test_a_dropped_file_is_checked(site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS["check"]))
    transfer = page.evaluate_handle(
        "() => { const all = new DataTransfer(); all.items.add(new File(['A snail won the race of "
        "the year in the garden of a retired judge.'], 'a.txt')); return all; }"
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": transfer})
    expect(page.locator(".panel h2")).to_have_text("New")


def test_status_counts_and_tries_the_quarantine_again(own_site: Site, open_page: Open) -> None:
    page = open_page(own_site.at(VIEWS["status"]))
    expect(page.locator(".figures div", has_text="Articles").locator("dd")).to_have_text("88")
    expect(page.locator(".chart rect").first).to_be_visible()
    expect(page.locator(".shares").first).to_contain_text("Meridian News")
    expect(page.get_by_text("2 articles could not be read.")).to_be_visible()
    page.get_by_role("button", name="Try them again").click()
    expect(page.locator(".toast")).to_contain_text("0 of 2 articles could be read now.")


def try_again(page: Page, *, before: int, after: int) -> None:
    """In the status view, where one article of the quarantine can be read now."""
    entry = page.locator(".line", has_text="late.html")
    figure = page.locator(".figures div", has_text="Quarantine").locator("dd")
    expect(page.get_by_text(f"{before} articles could not be read.")).to_be_visible()
    expect(entry).to_contain_text("it took longer than 20 s")
    expect(figure).to_have_text(str(before))
    page.get_by_role("button", name="Try them again").click()
    expect(page.locator(".toast")).to_contain_text(f"1 of {before} articles could be read now.")
    expect(entry).to_have_count(0)
    expect(page.get_by_text(f"{after} articles could not be read.")).to_be_visible()
    expect(figure).to_have_text(str(after))


def test_what_can_be_read_now_leaves_the_quarantine(
    browser: Browser, filled: Path, tmp_path: Path, open_page: Open
) -> None:
    store = tmp_path / "news.db"
    shutil.copy(filled, store)
    hold_back(f"sqlite:///{store}")
    with serving(store, tmp_path) as site:
        page = open_page(site.at(VIEWS["status"]))
        try_again(page, before=3, after=2)
        failed = httpx.get(site.at("v1/quarantine"), timeout=PATIENCE).json()["failures"]
        given = {"id": [one["id"] for one in failed]}
        httpx.delete(site.at("v1/articles"), params=given, timeout=PATIENCE).raise_for_status()
        page.reload()
        expect(page.get_by_text("Empty: every article could be read.")).to_be_visible()
        expect(page.get_by_role("button", name="Try them again")).to_have_count(0)
        page.goto(site.at(VIEWS["story"]))
        expect(page.locator(".summary")).to_contain_text("10 articles")
        expect(page.locator(".line", has_text="Slow Gazette")).to_have_count(1)


def test_groups_by_hand_with_undo(own_site: Site, open_page: Open) -> None:
    page = open_page(own_site.at(address("story", id=FERRY)))
    expect(page.locator(".summary")).to_contain_text("9 articles")
    page.locator(".node").first.locator(".pick input").first.check()
    copy = page.locator(".line", has_text="Haverford families wait")
    copy.locator(".pick input").check()
    expect(page.locator("#picked")).to_contain_text("2 articles selected")
    page.get_by_role("button", name="Keep apart").click()
    expect(page.locator(".toast")).to_contain_text("Now kept apart.")
    expect(page.locator(".summary")).to_contain_text("8 articles")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".summary")).to_contain_text("9 articles")


def test_articles_of_two_groups_are_joined(own_site: Site, open_page: Open) -> None:
    page = open_page(own_site.at(address("search", q="bridge")))
    before = page.locator("#summary").inner_text()
    for n in range(2):
        page.locator(".hit .pick input").nth(n).check()
    page.get_by_role("button", name="Join as copies").click()
    expect(page.locator(".toast")).to_contain_text("Now one group.")
    expect(page.locator("#summary")).not_to_have_text(before)
    page.goto(own_site.at(VIEWS["corrections"]))
    expect(page.locator(".correction")).to_have_count(1)
    page.goto(own_site.at(address("search", q="bridge")))
    expect(page.locator("#summary")).to_be_visible()
    page.keyboard.press("u")
    expect(page.locator("#summary")).to_have_text(before)
    page.goto(own_site.at(VIEWS["corrections"]))
    expect(page.locator(".empty")).to_be_visible()


def test_a_pin_is_undone_without_losing_what_else_was_said(own_site: Site, open_page: Open) -> None:
    said = {"ids": [FERRY, FERRY_COPY]}
    httpx.post(own_site.at("v1/corrections/merge"), json=said, timeout=PATIENCE).raise_for_status()
    page = open_page(own_site.at(address("story", id=FERRY)))
    page.locator(".line", has_text="Haverford families wait").locator(".pick input").check()
    page.get_by_role("button", name="Make original").click()
    expect(page.locator(".node").first.locator("h2")).to_contain_text("Haverford families wait")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".node").first.locator("h2")).to_contain_text("At least 12 dead")
    page.goto(own_site.at(VIEWS["corrections"]))
    expect(page.locator(".correction")).to_have_count(1)
    expect(page.locator(".correction")).to_contain_text("always the same")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".empty")).to_contain_text("Nothing was corrected")


def test_all_pages_of_a_list_are_shown_as_one(site: Site, open_page: Open) -> None:
    said = [{"kind": "original", "ids": [f"article-{n}"]} for n in range(2_003)]

    def answer(route: Route) -> None:
        asked = parse_qs(urlsplit(route.request.url).query)
        start, size = (int(asked.get(name, ["0"])[0]) for name in ("offset", "size"))
        route.fulfill(json={"total": len(said), "said": said[start : start + size]})

    page = open_page(site.at(VIEWS["latest"]))
    page.route("**/v1/corrections?*", answer)
    page.goto(site.at(VIEWS["corrections"]))
    expect(page.locator(".corrections .meta").first).to_have_text("2,003 corrections")


def test_what_does_not_exist_says_so(site: Site, open_page: Open) -> None:
    """In a sentence for people, and without a button that cannot help."""
    page = open_page(site.at(VIEWS["unknown"]), wait=".failed")
    expect(page.locator(".failed")).to_contain_text("There is no such article")
    expect(page.locator(".failed")).not_to_contain_text("/v1/")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    page.get_by_role("link", name="Show the latest stories").click()
    expect(page.locator(".hit").first).to_be_visible()
    page.goto(site.at(VIEWS["nothing found"]))
    expect(page.locator(".empty")).to_contain_text("Nothing found")


def test_loading_and_a_service_that_went_away(site: Site, open_page: Open) -> None:
    page = open_page(site.at(VIEWS["latest"]))
    page.route("**/v1/search", lambda route: None)
    page.get_by_label("Search the news").fill("ferry")
    page.keyboard.press("Enter")
    expect(page.locator(".loading")).to_be_visible()
    page.unroute("**/v1/search")
    page.route("**/v1/search", lambda route: route.abort())
    page.goto(site.at(address("search", q="bridge")))
    expect(page.locator(".failed")).to_contain_text("The service cannot be reached")
    page.unroute("**/v1/search")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".hit").first).to_be_visible()


def test_revisions_of_an_article(open_page: Open, site: Site) -> None:
    """The versions, the last two in one text, and any other two."""
    page = open_page(site.at(VIEWS["revised article"]))
    page.get_by_role("link", name="Show the versions").first.click()
    page.locator(".revisions").wait_for()
    versions = page.locator(".version")
    expect(versions).to_have_count(3)
    expect(versions.nth(0)).to_contain_text("counts changed")
    expect(versions.nth(0)).to_contain_text("Version 3")
    expect(versions.nth(1)).to_contain_text("Correction: The port lies in Lindmouth.")
    expect(page.locator(".passages del").first).to_have_text("seven")
    expect(page.locator(".passages ins").first).to_have_text("nine")
    page.get_by_label("Earlier version").select_option("1")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="Version 1 compared with version 3")).to_be_visible()
    expect(page.locator(".passages ins").first).not_to_have_text("nine")
    page.get_by_role("link", name="Show the article").click()
    page.locator(".article").wait_for()


def test_an_article_that_never_changed_has_one_version(open_page: Open, site: Site) -> None:
    page = open_page(site.at(address("revisions", id=FERRY)))
    expect(page.locator(".summary")).to_contain_text("One version")
    expect(page.locator(".version")).to_have_count(0)
