"""Revisions on the command line: index, revisions, show, story, explain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.articles import FERRY
from tests.support.commands import Cli

NOTE = "Correction: An earlier version of this article said that 12 people had died."


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    made = Cli(tmp_path)
    made.environment["ESDEDUP_STORE"] = f"sqlite:///{tmp_path / 'news.db'}"
    texts = [FERRY, FERRY.replace("12", "17"), f"{FERRY.replace('12', '17')}\n\n{NOTE}"]
    for text in texts:
        line = json.dumps({"id": "a", "title": "Ferry fire", "text": text, "lang": "en"})
        made("index", made.file("feed.ndjson", line))
    return made


def test_versions_are_listed_and_the_last_two_compared(cli: Cli) -> None:
    shown = cli("revisions", "a").stdout
    assert "12 -> 17" in shown
    assert "version 2 -> version 3" in shown
    assert f"correction note: {NOTE}" in " ".join(shown.split())
    (history,) = cli.json("revisions", "a", "--old", "1", "--new", "2")
    assert [v["number"] for v in history["versions"]] == [1, 2, 3]
    assert [v["revision"] and v["revision"]["degree"] for v in history["versions"]] == [
        None,
        "numbers",
        "extended",
    ]
    assert [s["old"].strip() for s in history["comparison"]["spans"] if s["kind"] == "changed"] == [
        "12"
    ]


def test_versions_that_are_not_there_are_named(cli: Cli) -> None:
    for options in (("--old", "3"), ("--old", "2", "--new", "2"), ("--new", "9")):
        refused = cli("revisions", "a", *options)
        assert refused.exit_code == 2
        assert "versions 1 to 3" in refused.stderr


def test_an_article_with_one_version_says_so(cli: Cli) -> None:
    cli("index", cli.file("other.ndjson", json.dumps({"id": "b", "text": "Only once."})))
    assert "it has one version" in cli("revisions", "b").stdout
    assert cli.json("revisions", "b")[0]["comparison"] is None


def test_revisions_are_shown_with_the_article_and_its_story(cli: Cli) -> None:
    copy = {"id": "c", "text": FERRY.replace("12", "17"), "published": "2040-01-01T00:00:00Z"}
    cli("index", cli.file("copy.ndjson", json.dumps(copy)))
    for command in (("show", "a"), ("story", "a"), ("explain", "c", "a")):
        assert "(numbers)  12 -> 17" in " ".join(cli(*command).stdout.split(" ")), command
    (shown,) = cli.json("show", "a")
    assert shown["note"] == NOTE
    assert [r["degree"] for r in shown["revisions"]] == ["numbers", "extended"]
    (story,) = cli.json("story", "a")
    assert [r["id"] for r in story["versions"][0]["revisions"]] == ["a", "a"]
