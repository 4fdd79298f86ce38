"""The sample pages become the stories their labels say; `esdedup demo` shows them."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from esdedup.cli import app
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.ingest.readers import read
from esdedup.sample import pages
from esdedup.stores import Record
from tests.docs.picture import TARGET, picture

Label = dict[str, str]


def labels() -> dict[str, Label]:
    with (pages().parent / "expected.csv").open(encoding="utf-8", newline="") as file:
        return {row["page"]: row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    """Page -> what is stored of it."""
    store = tmp_path_factory.mktemp("demo") / "demo.db"
    with Deduplicator.open(f"sqlite:///{store}") as deduplicator:
        outcomes = list(deduplicator.add_many(read([str(pages())]), workers=os.cpu_count() or 1))
        assert len({o.decision.id for o in outcomes}) == len(labels())
        records = deduplicator.store.documents.get(o.decision.id for o in outcomes)
        found = {
            _page(str(r.document.extra["file"])): r
            for r in records.values()
            if r.decision.role != "unprocessed"
        }
        failed = {_page(failure.where) for failure in deduplicator.store.quarantine.entries()}
    assert failed == {page for page, label in labels().items() if label["role"] == "unprocessed"}
    return found


def _page(file: str) -> str:
    return Path(file).relative_to(pages()).as_posix()


def _differences(indexed: dict[str, Record], name: str) -> list[str]:
    page_of = {record.document.id: page for page, record in indexed.items()}
    out = []
    for page, label in labels().items():
        if label["role"] == "unprocessed":
            continue
        decision = indexed[page].decision
        is_ = decision.role if name == "role" else page_of[decision.group]
        if is_ != label[name]:
            out.append(f"{page}: {is_} instead of {label[name]} ({label['note']})")
    return out


def test_every_page_has_its_role(indexed: dict[str, Record]) -> None:
    assert _differences(indexed, "role") == []


def test_every_page_has_its_original(indexed: dict[str, Record]) -> None:
    assert _differences(indexed, "group") == []


def test_pages_share_a_story_where_the_labels_do(indexed: dict[str, Record]) -> None:
    found: dict[str, set[str]] = {}
    wanted: dict[str, set[str]] = {}
    for page, record in indexed.items():
        found.setdefault(record.decision.story, set()).add(page)
        wanted.setdefault(labels()[page]["story"], set()).add(page)
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, wanted.values()))


def test_the_demo_shows_stories_copies_updates_failures_and_a_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["esdedup"])  # else the path of pytest, however long
    result = CliRunner().invoke(app, ["demo"], env={"COLUMNS": "100"})
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, (line for line in lines if "/sample/" not in line))) <= 100
    text = result.stdout
    assert "73 pages" in text
    assert "12 -> 17: " in text
    assert "2 pages in the quarantine" in text
    assert "binary.html" in text
    assert "$ esdedup search ferry" in text
    assert "copies folded" in text
    assert f" index {pages()}" in lines[-3]
    assert "\x1b" not in text, "no colours where the output is no terminal"


def test_the_picture_of_the_demo_says_what_the_demo_says() -> None:
    """Its words, whatever the version of rich draws around them."""

    def said(svg: str) -> list[str]:
        return re.findall(r">([^<]+)</text>", svg)

    assert said(TARGET.read_text("utf-8")) == said(picture()), "python -m tests.docs.picture"
