"""The same page in front of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.servers import Server
from tests.service.page.addresses import VIEWS
from tests.service.page.conftest import Open
from tests.service.page.site import Site, crane_articles, fill, hold_back, serving
from tests.service.page.test_views import try_again
from tests.support.backends import drop_index, new_index


@pytest.fixture
def cluster_site(browser: Browser, server: Server, tmp_path: Path) -> Iterator[Site]:
    index = new_index()
    store = f"{server.product}+{server.url}/{index}"
    fill(store, tmp_path)
    hold_back(store)
    with serving(store, tmp_path) as site:
        yield site
    drop_index(server, index)


@pytest.mark.servers
def test_the_views_on_a_cluster(cluster_site: Site, open_page: Open) -> None:
    page = open_page(cluster_site.at(VIEWS["latest"]))
    expect(page.locator(".hit")).to_have_count(10)
    expect(page.locator(".hit .role").first).to_have_text("original")
    expect(page.locator(".facet").first).to_be_visible()
    page = open_page(cluster_site.at(VIEWS["search"]))
    page.locator(".expand").first.click()
    expect(page.locator(".hit").first.locator(".line")).to_have_count(8)
    page = open_page(cluster_site.at(VIEWS["story"]))
    expect(page.locator(".counts dd").first).to_have_text("12→17→23")
    page = open_page(cluster_site.at(VIEWS["compare"]))
    expect(page.locator("ins.changed", has_text="17").first).to_be_visible()
    page = open_page(cluster_site.at(VIEWS["events"]))
    expect(page.locator(".lanes .lane")).to_have_count(1)
    page = open_page(cluster_site.at(VIEWS["event"]))
    expect(page.locator(".hit .line")).to_have_count(len(crane_articles()))
    page = open_page(cluster_site.at(VIEWS["status"]))
    expect(page.locator(".chart .bar-update").first).to_be_visible()
    expect(page.locator(".shares").first).to_contain_text("Meridian News")
    try_again(page, before=3, after=2)
