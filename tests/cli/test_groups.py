"""The command line for groups by hand, the canonical rule and retention."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from esdedup.cli import app
from tests.support.articles import WHOLE, StoryVariant

STORE = ("--store", "news.db")


@pytest.fixture(autouse=True)
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a and its copy b; x, another story, and its shorter copy y from another source."""
    monkeypatch.chdir(tmp_path)
    made = [
        ("a", StoryVariant(0, day=0), "blog"),
        ("b", StoryVariant(0, day=1), "agency"),
        ("x", StoryVariant(1, WHOLE[:7], day=2), "blog"),
        ("y", StoryVariant(1, day=3), "blog"),
    ]
    lines = [{**art.document(i).to_json(), "source": s, "title": f"T {i}"} for i, art, s in made]
    Path("feed.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run("index", "feed.ndjson").exit_code == 0


def run(*arguments: str, input_: str | None = None) -> Result:
    return CliRunner().invoke(app, [*arguments, *STORE], input=input_)


def read(*arguments: str, input_: str | None = None) -> Any:
    result = run(*arguments, "--json", input_=input_)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def groups() -> dict[str, str]:
    found = run("groups", "list", "--json").stdout + run("groups", "--json").stdout
    listed = {
        member["id"]: group["group"]
        for group in map(json.loads, found.splitlines())
        for member in group["members"]
    }
    return {id_: listed.get(id_, id_) for id_ in "abxy"}


def test_merge_split_pin_and_forget() -> None:
    assert groups() == {"a": "a", "b": "a", "x": "x", "y": "x"}
    done = read("groups", "merge", "b", "y", "--by", "desk", "--note", "one report")
    assert groups() == dict.fromkeys("abxy", "a")
    assert done["said"][0] == {**done["said"][0], "kind": "same", "by": "desk"}
    assert "forgotten" in run("groups", "forget", "b", "y").stdout
    assert groups() == {"a": "a", "b": "a", "x": "x", "y": "x"}
    shown = run("groups", "split", "a", "b")
    assert "a and b are never the same" in shown.stdout
    assert "b is now original" in shown.stdout
    assert "said never to be the same" in run("show", "b").stdout
    refused = run("groups", "merge", "a", "b")
    assert refused.exit_code == 2
    assert "a and b are always the same, and a and b are never the same" in refused.stderr
    run("groups", "forget", "a", "b")
    run("groups", "pin", "b")
    assert groups() == {"a": "b", "b": "b", "x": "x", "y": "x"}


def test_groups_lists_as_ever() -> None:
    assert "T a" in run("groups").stdout
    assert "duplicate  blog" in run("groups", "y").stdout
    assert run("groups", "-n", "1").exit_code == 0
    assert run("groups", "nobody").exit_code == 1
    assert "merge" in CliRunner().invoke(app, ["groups", "--help"]).stdout


@pytest.mark.parametrize("verb", ["merge", "split"])
def test_unknown_ids_and_too_few(verb: str) -> None:
    unknown = run("groups", verb, "a", "nobody")
    assert (unknown.exit_code, "no article nobody" in unknown.stderr) == (1, True)
    assert run("groups", verb, "a").exit_code == 2
    assert run("groups", "forget", "a").exit_code == 1


def test_export_and_import() -> None:
    run("groups", "split", "a", "b")
    run("groups", "pin", "y")
    exported = run("groups", "export").stdout
    assert [json.loads(line)["kind"] for line in exported.splitlines()] == [
        "different",
        "original",
    ]
    assert json.loads(run("groups", "export", "y").stdout)["ids"] == ["y"]
    run("groups", "forget", "a")
    run("groups", "forget", "y")
    Path("said.ndjson").write_text(exported + "{broken\n")
    taken = run("groups", "import", "said.ndjson")
    assert taken.exit_code == 3
    assert "said.ndjson, line 3" in taken.stderr
    assert groups() == {"a": "a", "b": "b", "x": "y", "y": "y"}
    word = json.dumps({"kind": "original", "ids": ["later"]})
    assert run("groups", "import", "-", input_=word).exit_code == 3
    assert read("groups", "import", "-", "--ahead", input_=word)["said"][0]["ids"] == ["later"]
    assert run("groups", "import", "nowhere.ndjson").exit_code == 2


def test_reroot() -> None:
    told = read("groups", "reroot", "--keep", "longest", "--dry-run")
    assert told["new_originals"] == ["y"]
    assert groups()["x"] == "x"
    assert "1 are originals that were not" in run("groups", "reroot", "--keep", "longest").stdout
    assert groups() == {"a": "a", "b": "a", "x": "y", "y": "y"}
    Path("sources.txt").write_text("agency\n")
    assert run("groups", "reroot", "--keep", "ranking").exit_code == 2
    read("groups", "reroot", "--keep", "ranking", "--sources", "sources.txt")
    assert groups() == {"a": "b", "b": "b", "x": "x", "y": "x"}
    assert run("index", "feed.ndjson").exit_code == 0
    assert groups() == {"a": "b", "b": "b", "x": "x", "y": "x"}
    assert run("doctor").exit_code == 0


def test_expire() -> None:
    counted = read("expire", "--older-than", "2024-03-03", "--dry-run")
    assert counted == {**counted, "documents": 2, "wholes": 1, "kept": 0}
    partly = read("expire", "--older-than", "2024-03-04", "--dry-run")
    assert partly == {**partly, "documents": 2, "kept": 1}
    frozen = run("expire", "--older-than", "2024-03-03", "--keys-only")
    assert "2 articles (1 story) lost their keys" in frozen.stdout
    assert groups() == {"a": "a", "b": "a", "x": "x", "y": "x"}
    assert run("doctor").exit_code == 0
    alone = read("expire", "--older-than", "2024-03-04", "--by", "article")
    assert alone == {**alone, "documents": 3, "promoted": 1}
    assert "1 article (1 story) deleted" in run("expire", "--older-than", "1d").stdout
    assert run("expire", "--older-than", "soon").exit_code == 2
    assert run("expire", "--older-than", "1d", "--by", "group", "--keys-only").exit_code == 2
