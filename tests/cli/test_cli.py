"""Every command, run in this process."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from typing import Any

import pytest
from typer.testing import CliRunner

from esdedup.cli import app
from esdedup.cli.exit_codes import ExitCode
from tests.support.articles import BRIDGE, FERRY
from tests.support.commands import ARTICLES, Cli, article_json, ndjson
from tests.support.waiting import PATIENCE

# --- index -----------------------------------------------------------------------------------


def test_index_tells_what_it_found(cli: Cli) -> None:
    result = cli("index", cli.file("news.ndjson", ndjson(*ARTICLES)))
    assert result.exit_code == 0
    for line in ("5 articles read", "original 2", "duplicate 2", "update 1", "5 new"):
        assert line in " ".join(result.stdout.split())
    assert "5 unchanged" in cli("index", str(cli.folder / "news.ndjson")).stdout


def test_index_as_json_keeps_the_summary_out_of_the_output(cli: Cli) -> None:
    result = cli("index", cli.file("news.ndjson", ndjson(*ARTICLES)), "--json")
    decisions = {d["id"]: d for d in map(json.loads, result.stdout.splitlines())}
    assert [decisions[a["id"]]["role"] for a in ARTICLES] == [
        "original", "duplicate", "duplicate", "update", "original",
    ]  # fmt: skip
    assert decisions["copy"]["group"] == "first"
    assert decisions["copy"]["status"] == "new"
    assert decisions["update"]["evidence"][0]["numbers"][0][:2] == ["12", "17"]
    assert "5 articles read" in result.stderr


def test_index_tells_of_dates_that_cannot_be_read(cli: Cli) -> None:
    dates = ["01/02/2026", "yesterday", "Stardate 4523", "soon", "3-MAR-1987 11:06:57.66"]
    articles = [article_json(f"d{n}", f"{FERRY} {n}", 1, published=d) for n, d in enumerate(dates)]
    file = cli.file("news.ndjson", ndjson(*articles, article_json("dated", BRIDGE, 3)))
    told = cli("index", file)
    assert "4 articles had a date that cannot be read" in told.stdout
    for example in ("d0: 01/02/2026", "d1: yesterday", "d2: Stardate 4523"):
        assert example in told.stdout
    assert "d3" not in told.stdout  # three are enough
    lines = {line["id"]: line for line in cli.json("index", file)}
    unread = {id_: line.get("unread_date") for id_, line in lines.items()}
    assert unread == {**{f"d{n}": d for n, d in enumerate(dates[:4])}, "d4": None, "dated": None}
    one = cli.file("one.ndjson", ndjson(articles[1]))
    assert cli.json("check", one)[0]["unread_date"] == "yesterday"
    assert "its date cannot be read: yesterday" in cli("check", one).stdout
    shown = cli.json("show", "d4")[0]
    assert "1987-03-03T11:06:57.66" in json.dumps(shown)


def test_index_quietly(cli: Cli) -> None:
    result = cli("index", cli.file("news.ndjson", ndjson(*ARTICLES)), "--quiet")
    assert result.output == ""


def test_index_with_other_field_names(cli: Cli) -> None:
    file = cli.file("news.ndjson", ndjson({"id": "a", "article": {"main": FERRY}}))
    assert cli("index", file, "--field", "text=article.main").exit_code == 0
    assert "12 people died" in cli("show", "a").stdout


def test_dropped_duplicates_are_counted(cli: Cli) -> None:
    file = cli.file("news.ndjson", ndjson(*ARTICLES))
    result = cli("index", file, "--on-duplicate", "drop")
    assert "2 dropped" in result.stdout
    assert cli.json("stats")[0]["documents"] == 3


def test_failed_articles_are_an_error_only_when_asked_for(cli: Cli) -> None:
    lines = [*ndjson(*ARTICLES[:2]).splitlines(), '{"id": "broken', '{"id": "empty", "text": ""}']
    file = cli.file("news.ndjson", "\n".join(lines))
    result = cli("index", file)
    assert result.exit_code == ExitCode.DONE
    assert "2 failed" in result.stdout
    assert cli("index", file, "--strict").exit_code == ExitCode.QUARANTINED
    assert len(cli.json("quarantine")) == 2
    listed = cli("quarantine").stdout
    assert "news.ndjson:3" in listed
    assert "not valid JSON" in listed


def test_nothing_usable_is_an_error(cli: Cli) -> None:
    file = cli.file("news.ndjson", '{"id": "a", "txet": "x"}\n')
    assert cli("index", file).exit_code == ExitCode.QUARANTINED


def test_a_missing_path_makes_no_store(cli: Cli) -> None:
    result = cli("index", "nowhere.ndjson")
    assert result.exit_code == ExitCode.USAGE
    assert result.stderr == "esdedup: nowhere.ndjson: there is no such file or folder\n"
    assert not (cli.folder / "news.db").exists()


@pytest.mark.parametrize(
    "arguments", [("--set", "batch"), ("--field", "text"), ("--workers", "-1"), ("--nonsense",)]
)
def test_wrong_usage(cli: Cli, arguments: tuple[str, ...]) -> None:
    file = cli.file("news.ndjson", ndjson(*ARTICLES))
    assert cli("index", file, *arguments).exit_code == ExitCode.USAGE


# --- settings --------------------------------------------------------------------------------


def value_of(cli: Cli, name: str, *arguments: str, **env: str) -> Any:
    result = cli("settings", "--json", *arguments, **env)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    return next(row["value"] for row in rows if row["name"] == name)


def test_a_store_keeps_its_settings(cli: Cli) -> None:
    file = cli.file("news.ndjson", ndjson(*ARTICLES))
    assert cli("index", file, "--preset", "nrc-gphin").exit_code == 0
    assert cli("index", file).exit_code == 0, "nothing named: the recorded ones"
    assert value_of(cli, "preset") == "nrc-gphin"
    assert value_of(cli, "measure", "--set", "min_overlap=0.3") == "dice"
    assert value_of(cli, "min_overlap", "--set", "min_overlap=0.3") == 0.3
    assert value_of(cli, "min_overlap", ESDEDUP_MIN_OVERLAP="0.35") == 0.35
    assert value_of(cli, "min_overlap") == 0.2


def test_a_preset_that_does_not_fit_is_refused(filled: Cli) -> None:
    result = filled("index", str(filled.folder / "news.ndjson"), "--preset", "nrc-gphin")
    assert result.exit_code == ExitCode.USAGE
    assert "was written with other settings" in result.stderr
    assert "shingle_words" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "nonsense=1"), "unknown setting 'nonsense'"),
        (("--set", "min_overlap=2"), "it must be between"),
        (("--preset", "best"), "unknown preset 'best'"),
        (("--settings", "none.toml"), "none.toml"),
    ],
)
def test_wrong_settings_are_one_line(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    result = cli("settings", *arguments)
    assert result.exit_code == ExitCode.USAGE
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_settings_from_a_file(cli: Cli) -> None:
    file = cli.file("mine.toml", "min_overlap = 0.45\nmethods = ['sketch']\n")
    assert value_of(cli, "min_overlap", "--settings", file) == 0.45


def test_every_setting_is_shown(cli: Cli) -> None:
    from dataclasses import fields

    from esdedup.settings import Settings

    text = cli("settings").stdout
    assert all(f.name in text for f in fields(Settings))
    assert {row["name"] for row in cli.json("settings")} == {f.name for f in fields(Settings)}


# --- check -----------------------------------------------------------------------------------


def test_check_decides_without_writing(filled: Cli) -> None:
    new = [
        article_json("new", FERRY.replace("Helicopters", "Aircraft"), 9),
        article_json("toll", FERRY.replace("12 people", "23 people"), 9),
    ]
    before = filled.json("stats")
    file = filled.file("new.ndjson", ndjson(*new))
    assert [d["role"] for d in filled.json("check", file)] == ["duplicate", "update"]
    text = filled("check", file).stdout
    assert "duplicate of first" in text
    assert "-> 23" in text
    assert filled.json("stats") == before


@pytest.mark.parametrize(
    "piped",
    [
        FERRY,
        f"<html><body><article><h1>Fire</h1><p>{FERRY}</p></article></body></html>",
        ndjson(article_json("piped", FERRY, 9)),
        json.dumps([article_json("piped", FERRY, 9)]),
    ],
    ids=["text", "html", "ndjson", "json"],
)
def test_check_takes_anything_from_a_pipe(filled: Cli, piped: str) -> None:
    process = filled.process(
        "check", "-", "--json",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    out, err = process.communicate(piped, timeout=PATIENCE)
    assert process.returncode == 0, err
    assert json.loads(out)["group"] == "first"


def test_check_of_something_unreadable(filled: Cli) -> None:
    result = filled("check", filled.file("bad.ndjson", "not json\n"))
    assert result.exit_code == ExitCode.QUARANTINED
    assert "not valid JSON" in result.stdout


def test_check_goes_on_behind_a_broken_line(filled: Cli) -> None:
    lines = (
        ndjson(article_json("one", FERRY, 9)) + "not json\n" + ndjson(article_json("two", FERRY, 9))
    )
    result = filled("check", filled.file("mixed.ndjson", lines), "--json")
    assert result.exit_code == ExitCode.QUARANTINED
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert [one.get("group") for one in told] == ["first", None, "first"]
    assert "not valid JSON" in told[1]["reason"]


# --- search, show, groups --------------------------------------------------------------------


def test_search_folds_copies(filled: Cli) -> None:
    text = filled("search", "ferry").stdout
    assert "+2 copies" in text
    assert "2 results, 4 articles (2 copies folded)" in text
    (result,) = filled.json("search", "ferry")
    assert (result["results"], result["articles"], len(result["hits"])) == (2, 4, 2)


def test_search_by_story(filled: Cli) -> None:
    text = filled("search", "ferry", "--by", "story").stdout
    assert "+3 more articles" in text
    assert "1 story, 4 articles" in text


def test_search_everything(filled: Cli) -> None:
    text = filled("search", "ferry", "--all").stdout
    assert "4 articles" in text.splitlines()[-1]
    assert "folded" not in text


def test_search_expanded(filled: Cli) -> None:
    (result,) = filled.json("search", "ferry", "--expand")
    groups = {
        h["group"]: {m["id"] for m in h.get("folded", [])} | {h["id"]} for h in result["hits"]
    }
    assert groups == {"first": {"first", "copy", "another"}, "update": {"update"}}
    assert "Source copy" in filled("search", "ferry", "--expand").stdout


def test_search_page_by_page(filled: Cli) -> None:
    pages = [filled.json("search", "ferry", "-n", "1", "--page", str(p))[0] for p in (1, 2, 3)]
    assert [len(p["hits"]) for p in pages] == [1, 1, 0]
    assert [p["articles"] for p in pages] == [4, 4, 4], "totals are of everything"
    assert pages[0]["hits"][0]["group"] != pages[1]["hits"][0]["group"]


def test_search_without_a_result(filled: Cli) -> None:
    result = filled("search", "zeppelin")
    assert result.exit_code == ExitCode.FOUND
    assert "0 results, 0 articles" in result.stdout


def test_show(filled: Cli) -> None:
    text = filled("show", "copy").stdout
    assert "Headline copy" in text
    assert "duplicate of first" in text
    assert "the story, 4 articles" in text
    (shown,) = filled.json("show", "copy")
    assert shown["document"]["text"].startswith("At least 12")
    assert [m["id"] for m in shown["members"]] == ["first", "copy", "another"]
    assert [m["id"] for m in shown["updates"]] == ["update"]


def test_groups(filled: Cli) -> None:
    assert [(g["group"], g["size"]) for g in filled.json("groups")] == [("first", 3)]
    assert "Headline first" in filled("groups").stdout
    members = filled.json("groups", "another")[0]["members"]
    assert [m["id"] for m in members] == ["first", "copy", "another"]
    assert "Source another" in filled("groups", "copy").stdout


@pytest.mark.parametrize(
    "arguments", [("show",), ("groups",), ("explain",), ("explain", "first"), ("delete",)]
)
def test_an_unknown_id(filled: Cli, arguments: tuple[str, ...]) -> None:
    result = filled(*arguments, "nobody")
    assert result.exit_code == ExitCode.FOUND
    assert "nobody" in result.stderr


def test_text_of_articles_cannot_steer_the_terminal(cli: Cli) -> None:
    text = f"\x1b[2J\x1b]0;owned\x07 [bold]not markup[/bold] :smile: \u202e {FERRY}"
    file = cli.file("bad.ndjson", ndjson(article_json("a", text, 1, source="\x1b[31mred")))
    assert cli("index", file).exit_code == 0
    for command in (("show", "a"), ("search", "ferry"), ("search", "ferry", "--expand")):
        out = cli(*command).stdout
        assert not set(out) & set("\x1b\x07\u202e")
    assert "[bold]not markup[/bold] :smile:" in cli("show", "a").stdout


# --- explain ---------------------------------------------------------------------------------


def test_explain_what_a_copy_was_linked_to(filled: Cli) -> None:
    text = filled("explain", "copy").stdout
    assert "duplicate: containment" in text
    assert "[-Several-] {+Some+}" in text
    assert "words the same" in text
    assert "words the same" not in filled("explain", "copy", "--full").stdout


def test_explain_an_update(filled: Cli) -> None:
    text = filled("explain", "update").stdout
    assert "12 -> 17: " in text
    assert "[-12-] {+17+}" in text
    (out,) = filled.json("explain", "update", "first")
    assert (out["old"], out["new"]) == ("first", "update")
    assert out["evidence"]["verdict"] == "update"
    assert out["keys"]["sketch"]["shared"] >= out["keys"]["sketch"]["needed"]


def test_explain_two_that_have_nothing_in_common(filled: Cli) -> None:
    (out,) = filled.json("explain", "bridge", "first")
    assert out["rule"].startswith("not compared: 0 sketch keys shared")
    result = filled("explain", "bridge")
    assert result.exit_code == ExitCode.FOUND
    assert "no other article shares enough keys" in result.stderr


def test_explain_under_other_settings(filled: Cli) -> None:
    (out,) = filled.json("explain", "copy", "--set", "min_overlap=1")
    assert "is not above min_overlap 1" in out["rule"]


# --- delete, retry, stats, doctor ------------------------------------------------------------


def test_delete_promotes_the_next(filled: Cli) -> None:
    (tried,) = filled.json("delete", "first", "--dry-run")
    assert tried == {"deleted": ["first"], "missing": [], "promoted": ["copy"]}
    assert "dry run, nothing was changed" in filled("delete", "first", "--dry-run").stdout
    assert filled("show", "first").exit_code == 0, "only tried"
    assert "promoted  copy" in filled("delete", "first").stdout
    assert filled("show", "first").exit_code == ExitCode.FOUND
    assert filled.json("show", "another")[0]["decision"]["group"] == "copy"
    assert filled("doctor").exit_code == 0


def test_retry(filled: Cli) -> None:
    from esdedup.model import Document, Failure
    from esdedup.stores import open_store

    store = open_store(filled.store)
    late = Document("late", text=FERRY, html=None)
    never = Failure("never", "x.ndjson:7", "not valid JSON", final=True)
    still = Document("still", html=b"<html><body></body></html>")
    store.quarantine.add(
        [
            Failure("late", "late.html", "it took longer than 20 s", document=late),
            Failure("still", "still.html", "no article text", document=still),
            never,
        ]
    )
    store.close()
    result = filled("retry", "--strict")
    assert result.exit_code == ExitCode.QUARANTINED
    assert "2 articles tried again: 1 succeeded, 1 failed" in result.stdout
    assert filled.json("show", "late")[0]["decision"]["group"] == "first"
    assert {f["id"] for f in filled.json("quarantine")} == {"never", "still"}
    assert filled("retry").exit_code == 0, "failures are an error only when asked for"


def test_stats(filled: Cli) -> None:
    (numbers,) = filled.json("stats")
    assert numbers["documents"] == 5
    assert numbers["roles"] == {"original": 2, "duplicate": 2, "update": 1, "unprocessed": 0}
    assert "duplicate" in filled("stats").stdout


def test_doctor_is_content(filled: Cli) -> None:
    result = filled("doctor")
    assert result.exit_code == 0, result.output
    assert "5 articles" in result.stdout
    assert "FTS5" in result.stdout
    assert filled.json("doctor")[0]["ok"] is True


def test_doctor_finds_a_broken_group(filled: Cli) -> None:
    db = sqlite3.connect(filled.folder / "news.db")
    db.execute("""UPDATE documents SET "group" = 'gone' WHERE id = 'copy'""")
    db.commit()
    db.close()
    result = filled("doctor")
    assert result.exit_code == ExitCode.FOUND
    assert "PROBLEM  store: group without an original: gone" in result.stdout
    assert "`esdedup doctor --fix` repairs it" in result.stdout
    fixed = filled("doctor", "--fix")
    assert fixed.exit_code == ExitCode.DONE
    assert "fixed" in fixed.stdout


def test_doctor_without_a_store(cli: Cli) -> None:
    result = cli("doctor")
    assert result.exit_code == ExitCode.FOUND, "a store was named, and is not there"
    assert "check --store" in result.stdout


def test_doctor_of_the_default_store(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(cli.folder)
    monkeypatch.delenv("ESDEDUP_STORE", raising=False)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0, result.output
    assert "there is none" in result.stdout


@pytest.mark.parametrize(
    "command",
    [("search", "x"), ("show", "x"), ("groups",), ("explain", "x"), ("stats",), ("quarantine",),
     ("retry",), ("delete", "x"), ("check", "news.txt")],
)  # fmt: skip
def test_commands_that_need_a_store_do_not_make_one(cli: Cli, command: tuple[str, ...]) -> None:
    result = cli(*command)
    assert result.exit_code == ExitCode.STORE
    assert "there is no store at" in result.stderr
    assert not (cli.folder / "news.db").exists()


@pytest.mark.parametrize("content", [b"this is no database" * 100, b""], ids=["text", "empty"])
def test_a_file_that_is_no_store(cli: Cli, content: bytes) -> None:
    (cli.folder / "news.db").write_bytes(content)
    result = cli("search", "x")
    assert result.exit_code == ExitCode.STORE
    assert result.stderr.startswith("esdedup: ")
    assert len(result.stderr.splitlines()) == 1
    assert (cli.folder / "news.db").read_bytes() == content
    assert cli("doctor").exit_code == ExitCode.FOUND


def test_an_unexpected_error_keeps_its_traceback(
    filled: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from esdedup.stores.sqlite.maintenance import SQLiteMaintenance

    def fail(_: SQLiteMaintenance) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(SQLiteMaintenance, "stats", fail)
    assert isinstance(filled("stats").exception, RuntimeError)
