"""`esdedup words`: build, merge, show, from files and from a store; stopped, and on bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from esdedup.cli import app
from tests.support.waiting import PATIENCE
from tests.text.statistics.corpus import FOOTER, corpus_article

SMALL = ("--error", "0.001")


def run(*arguments: str | Path, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def run_json(*arguments: str | Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return read


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    out = []
    for part in range(2):
        file = tmp_path / f"part{part}.ndjson"
        numbers = range(100 * part, 100 * part + 100)
        pages = [corpus_article(i, site="courier", footer=FOOTER).to_json() for i in numbers]
        file.write_text("".join(json.dumps(page) + "\n" for page in pages))
        out.append(file)
    return out


def test_parts_add_up_to_the_whole(files: list[Path], tmp_path: Path) -> None:
    a, b, both, whole = (tmp_path / name for name in ("a", "b", "both", "whole"))
    run("words", "build", files[0], "--out", a, *SMALL)
    run("words", "build", files[1], "--out", b, *SMALL)
    merged = run_json("words", "merge", b, a, "--out", both)
    at_once = run_json("words", "build", *files, "--out", whole, *SMALL)
    again = run_json("words", "build", *files[::-1], "--out", whole, *SMALL, "--workers", "2")
    assert merged["version"] == at_once["version"] == again["version"]
    assert merged["documents"] == 200
    assert both.read_bytes() == whole.read_bytes()


def test_what_is_printed(files: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "words"
    built = run_json(
        "words", "build", files[0], "--out", out, "--error", "0.001", "--doubt", "0.05"
    )
    shown = run_json("words", "show", out)
    assert built == shown
    assert shown["sketch"]["width"] == 4096
    assert shown["sketch"]["depth"] == 3
    assert shown["sketch"]["error"] <= 0.001
    assert shown["languages"]["en"]["documents"] == 100
    assert shown["sites"] == 1
    text = run("words", "show", out).output
    assert f"version {shown['version']}, 100 articles, 1 site" in text
    assert "4,096 x 3 cells: too high by at most 0.00066 of" in text
    assert "phrases counted exactly" in text
    assert "50% 100, 75% 100" in text  # most phrases of two pages are of the footer


def test_a_store_is_counted_like_its_files(files: list[Path], tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/news.db"
    run("index", files[0], "--store", store, "--quiet")
    from_store = run_json("words", "build", "--store", store, "--out", tmp_path / "a", *SMALL)
    from_file = run_json("words", "build", files[0], "--out", tmp_path / "b", *SMALL)
    assert from_store["version"] == from_file["version"]


def test_statistics_are_used_and_their_version_recorded(files: list[Path], tmp_path: Path) -> None:
    words, store = tmp_path / "words", f"sqlite:///{tmp_path}/news.db"
    version = run_json("words", "build", files[0], "--out", words, *SMALL)["version"]
    run("index", files[1], "--store", store, "--preset", "alonso", "--set", f"words_file={words}")
    assert f'"value": "{version}"' in run("settings", "--store", store, "--json").stdout
    other = run_json("words", "build", files[1], "--out", tmp_path / "other", *SMALL)["version"]
    again = ("index", str(files[1]), "--store", store)
    refused = run(*again, "--set", f"words_file={tmp_path / 'other'}", code=2)
    assert version in refused.output
    assert other in refused.output
    assert "100 unchanged" in run(*again).output  # the recorded ones are taken by themselves


def test_a_sketch_too_small_says_so(files: list[Path], tmp_path: Path) -> None:
    crowded = run("words", "build", *files, "--out", tmp_path / "w", "--error", "0.1")
    assert "too small for this corpus" in crowded.output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not one article to count: 1 could not be read"),
        ('{"title": "", "text": ""}\n', "no words"),
        ("no json\n", "not one article to count"),
    ],
)
def test_a_corpus_without_articles(content: str, message: str, tmp_path: Path) -> None:
    file, out = tmp_path / "empty.ndjson", tmp_path / "words"
    file.write_text(content)
    assert message in run("words", "build", file, "--out", out, code=2).output
    assert not out.exists()


def test_bad_arguments(tmp_path: Path, files: list[Path]) -> None:
    out = tmp_path / "words"
    assert "name files" in run("words", "build", "--out", out, code=2).output
    assert "there is no such file" in run("words", "build", "nowhere", "--out", out, code=2).output
    far = run("words", "build", files[0], "--out", tmp_path / "no" / "where", code=2)
    assert "cannot be written" in far.output
    assert "no statistics of" in run("words", "show", files[0], code=2).output
    missing = run(
        "words", "build", "--store", f"sqlite:///{tmp_path}/none.db", "--out", out, code=4
    )
    assert "none.db" in missing.output
    run("words", "build", files[0], "--out", out, *SMALL)
    other = tmp_path / "other"
    run("words", "build", files[0], "--out", other, "--error", "0.01")
    assert "do not add" in run("words", "merge", out, other, "--out", out, code=2).output


def test_a_broken_line_does_not_stop_the_rest(files: list[Path], tmp_path: Path) -> None:
    with files[0].open("a") as lines:
        lines.write("no json\n")
    result = run("words", "build", files[0], "--out", tmp_path / "words", *SMALL)
    assert "part0.ndjson" in result.output
    assert "100 articles" in result.output


def test_ctrl_c_leaves_nothing_half_written(files: list[Path], tmp_path: Path) -> None:
    """The input is a pipe that never ends."""
    out = tmp_path / "words"
    out.write_text("what was there before")
    command = [sys.executable, "-m", "esdedup", "words", "build", "-", "--out", str(out)]
    child = subprocess.Popen(
        [*command, "--set", "batch=10"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    child.stdin.write(20 * files[0].read_text())  # more than a pipe holds: some of it is counted
    child.stdin.flush()
    os.kill(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=PATIENCE)
    assert child.returncode == 130
    assert "stopped" in said
    assert out.read_text() == "what was there before"
    assert not list(tmp_path.glob(".words*"))
