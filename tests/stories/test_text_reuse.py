"""Passages of one text in another, and of a text in a whole archive."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from esdedup.cli import app
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.stories.text_reuse import (
    TextReuse,
    TextWords,
    find_links,
    find_passages,
    find_text_reuse,
)
from tests.servers import Server
from tests.support.backends import drop_index, new_index

WITH_WINDOWS = Settings.load(environment={}, flags={"methods": "sketch,lengths"})


def sentences(seed: int, words: int, *, most: int = 24) -> list[str]:
    """Made-up sentences of together exactly this many words."""
    rng = random.Random(seed)
    out = []
    while words:
        size = min(words, rng.randint(3, most))
        made = ["".join(rng.choices("abdeiklmnorstu", k=rng.randint(2, 9))) for _ in range(size)]
        out.append(" ".join(made).capitalize() + ".")
        words -= size
    return out


ARTICLE = " ".join(sentences(1, 176, most=20))
_before, _after = sentences(2, 9_000), sentences(3, 3_824)
PAGE = " ".join([*_before, ARTICLE, *_after])


def archive(*documents: Document, settings: Settings = WITH_WINDOWS) -> Deduplicator:
    deduplicator = Deduplicator.open("sqlite://:memory:", settings)
    for document in documents:
        deduplicator.add(document)
    return deduplicator


def checked(document: Document, deduplicator: Deduplicator) -> TextReuse:
    found = find_text_reuse(document, deduplicator.store)
    assert isinstance(found, TextReuse)
    return found


# --- two texts ---------------------------------------------------------------------------------


def test_a_passage_has_its_place_in_both_texts() -> None:
    passage = " ".join(sentences(4, 30))
    here, there = f"Before it.\n\n{passage} After.", f"“{passage.upper()}” he said"
    found = find_passages(TextWords.of(here), TextWords.of(there))
    (one,) = found.passages
    assert here[slice(*one.here)] == passage.rstrip(".")
    assert there[slice(*one.there)] == passage.upper().rstrip(".")
    assert (one.words, found.of_here, found.of_there) == (30, 30 / 33, 30 / 32)


def test_a_changed_word_does_not_cut_a_passage() -> None:
    words = " ".join(sentences(5, 40)).split()
    changed = [*words[:20], "other", "words", *words[21:]]
    (one,) = find_passages(TextWords.of(" ".join(words)), TextWords.of(" ".join(changed))).passages
    assert one.words == 39


def test_passages_in_another_order() -> None:
    a, b = " ".join(sentences(6, 20)), " ".join(sentences(7, 20))
    found = find_passages(TextWords.of(f"{a} {b}"), TextWords.of(f"{b} {a}"))
    assert [p.words for p in found.passages] == [20, 20]
    assert (found.of_here, found.of_there) == (1, 1)


words = st.lists(st.sampled_from("abc"), max_size=40)


@given(words, words)
@hypothesis_settings(max_examples=200, deadline=None)
def test_what_is_shared_is_in_both(a: list[str], b: list[str]) -> None:
    here, there = TextWords.of(" ".join(a)), TextWords.of(" ".join(b))
    found = find_passages(here, there)
    assert 0 <= found.of_here <= 1
    assert 0 <= found.of_there <= 1
    for passage in found.passages:
        assert passage.words >= 12
        assert 0 <= passage.here[0] < passage.here[1] <= 2 * len(a)
        assert 0 <= passage.there[0] < passage.there[1] <= 2 * len(b)
    if a == b and len(a) >= 12:
        assert found.of_here == 1


# --- an archive --------------------------------------------------------------------------------


def test_a_176_word_article_inside_a_page_of_13000_words() -> None:
    assert (len(ARTICLE.split()), len(PAGE.split())) == (176, 13_000)
    with archive(Document(id="article", text=ARTICLE), Document(id="other", text=_after[0])) as d:
        (copy,) = checked(Document(id="page", text=PAGE), d).copies
    assert copy.document.id == "article"
    assert (copy.shared.words, copy.shared.of_there) == (176, 1.0)
    (passage,) = copy.shared.passages
    assert PAGE[slice(*passage.here)] == ARTICLE[slice(*passage.there)] == ARTICLE.rstrip(".")


def test_a_13000_word_page_around_a_176_word_article() -> None:
    with archive(Document(id="page", text=PAGE)) as d:
        (copy,) = checked(Document(id="article", text=ARTICLE), d).copies
        # The share of the page is so small that no sketch tells it.
        assert copy.found_by == {"lengths": copy.found_by["lengths"]}
    assert copy.shared.of_here == 1.0
    assert copy.shared.of_there == pytest.approx(176 / 13_000)


@pytest.mark.parametrize("methods", ["sketch,lengths", "sketch,winnowing"])
def test_a_page_of_more_keys_than_one_request_takes(methods: str) -> None:
    settings = Settings.load(environment={}, flags={"methods": methods})
    book = " ".join([*sentences(8, 40_000), ARTICLE])
    with archive(Document(id="article", text=ARTICLE), settings=settings) as d:
        assert [c.document.id for c in checked(Document(id="b", text=book), d).copies] == [
            "article"
        ]


@pytest.mark.parametrize("flags", [{"window_step": 2, "min_windows": 2}, {"dynamic_jumping": True}])
def test_jumping_windows_are_asked_for_one_by_one(flags: dict[str, int]) -> None:
    settings = Settings.load(environment={}, flags={"methods": "sketch,lengths", **flags})
    for shift in range(3):
        page = " ".join([*_before[:shift], PAGE])
        with archive(Document(id="page", text=page), settings=settings) as d:
            assert checked(Document(id="a", text=ARTICLE), d).copies, shift


@pytest.mark.parametrize("methods", ["sketch,lengths", "sketch,winnowing"])
def test_eight_sentences_copied_from_one_article_into_another(methods: str) -> None:
    """30 pairs of articles of 40 sentences, as the store has one and `copies` is asked for the
    other."""
    settings = Settings.load(environment={}, flags={"methods": methods})
    found = 0
    for seed in range(30):
        passage = sentences(seed, 2_000)[:8]
        old = [*sentences(100 + seed, 2_000)[:16], *passage, *sentences(200 + seed, 2_000)[:16]]
        new = [*sentences(300 + seed, 2_000)[:16], *passage, *sentences(400 + seed, 2_000)[:16]]
        with archive(Document("old", text=" ".join(old)), settings=settings) as d:
            found += len(checked(Document("new", text=" ".join(new)), d).copies)
    assert found == 30


def test_copies_of_what_was_found_are_found() -> None:
    with archive(Document(id="a", text=ARTICLE), Document(id="b", text=ARTICLE + " More.")) as d:
        found = checked(Document(id="c", text=ARTICLE), d)
    assert {copy.document.id for copy in found.copies} == {"a", "b"}


def test_lengths_by_chance_are_no_copy() -> None:
    same_lengths = " ".join(f"{'x ' * (len(s.split()) - 1)}y." for s in sentences(1, 176, most=20))
    with archive(Document(id="a", text=same_lengths)) as d:
        assert checked(Document(id="c", text=ARTICLE), d).copies == ()


def test_what_was_found_is_ranked_by_the_words_of_its_matches() -> None:
    """A match weighs what it covers: few long sentences before many short ones."""
    long, short = sentences(11, 300, most=30), sentences(12, 120, most=6)
    assert len(long) < len(short)
    text = " ".join([*long, *short])
    found = [
        Document("short", text=" ".join([*sentences(13, 400), *short])),
        Document("long", text=" ".join([*sentences(14, 400), *long])),
    ]
    with archive(*found) as d:
        ranked = checked(Document("c", text=text), d).copies
    assert [c.document.id for c in ranked] == ["long", "short"]
    assert ranked[0].found_by["lengths"] < ranked[1].found_by["lengths"]


@pytest.mark.parametrize(
    ("alphabet", "joint", "end"),
    [("雨城人水山火木金土日月年", "", "。"), ("çğıöşüabdeklmnr", " ", ". ")],
    ids=["Chinese", "Turkish"],
)
def test_passages_in_any_language(alphabet: str, joint: str, end: str) -> None:
    def text(seed: int, count: int) -> str:
        rng = random.Random(seed)
        size = (1, 1) if not joint else (3, 9)
        return "".join(
            joint.join(
                "".join(rng.choices(alphabet, k=rng.randint(*size)))
                for _ in range(rng.randint(6, 25))
            )
            + end
            for _ in range(count)
        ).strip()

    shared = text(1, 14)
    old, new = f"{text(2, 20)} {shared}", f"{shared} {text(3, 30)}"
    with archive(Document("old", text=old)) as d:
        (copy,) = checked(Document("new", text=new), d).copies
    (passage,) = copy.shared.passages
    mark = end.strip()
    assert old[slice(*passage.there)] == new[slice(*passage.here)] == shared.rstrip(mark)
    assert 0 < copy.shared.of_there < 1
    assert copy.found_by["lengths"] >= 5


def test_links_of_a_store() -> None:
    with archive(Document(id="page", text=PAGE), Document(id="article", text=ARTICLE)) as d:
        d.add(Document(id="apart", text=" ".join(sentences(9, 300))))
        (edge,) = find_links(d.store)
    assert (edge.source, edge.target) == ("article", "page")
    assert edge.to_json()["of_from"] == 1.0


# --- the commands ------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/news.db"
    with Deduplicator.open(url, WITH_WINDOWS) as deduplicator:
        deduplicator.add(Document(id="page", title="A page", text=PAGE))
        deduplicator.add(Document(id="article", title="An article", text=ARTICLE))
    return url


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), prog_name="esdedup")


def test_copies_of_a_file(store: str, tmp_path: Path) -> None:
    file = tmp_path / "post.txt"
    file.write_text(f"My own words. {ARTICLE}")
    result = run("copies", str(file), "--store", store, "--json")
    assert result.exit_code == 0
    found = {c["id"]: c for c in json.loads(result.stdout)["copies"]}
    assert set(found) == {"page", "article"}
    (start, end) = found["page"]["passages"][0]["here"]
    assert file.read_text()[start:end] == ARTICLE.rstrip(".")
    shown = run("copies", str(file), "--store", store).stdout
    assert "98% of this text, 100% of that one" in shown


def test_nothing_copied(store: str, tmp_path: Path) -> None:
    file = tmp_path / "post.txt"
    file.write_text("All my own. Every word.")
    result = run("copies", str(file), "--store", store)
    assert result.exit_code == 1
    assert "has 2 sentences, fewer than 4: no windows" in result.stderr


def test_links_on_the_command_line(store: str) -> None:
    (line,) = run("links", "--store", store, "--json").stdout.splitlines()
    edge = json.loads(line)
    assert (edge["from"], edge["to"], edge["words"]) == ("article", "page", 176)
    assert PAGE[slice(*edge["spans"][0]["to"])] == ARTICLE.rstrip(".")
    assert "article -> page: 176 words, 100% of the first" in run("links", "--store", store).stdout


@pytest.mark.servers
@pytest.mark.parametrize("product", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize(
    "flags", [{}, {"window_step": 3, "min_windows": 2}, {"methods": "sketch,winnowing"}]
)
def test_on_real_servers(
    product: str, flags: dict[str, Any], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue(f"{product}_server")
    index = new_index()
    url = f"{product}+{server.url}/{index}"
    settings = Settings.load(environment={}, flags={"methods": "sketch,lengths", **flags})
    with Deduplicator.open(url, settings) as deduplicator:
        deduplicator.add(Document(id="page", text=PAGE))
        deduplicator.add(Document(id="article", text=ARTICLE))
    file = tmp_path / "post.txt"
    file.write_text(f"My own words. {ARTICLE}")
    try:
        found = run("copies", str(file), "--archive", url, "--json")
        assert {c["id"] for c in json.loads(found.stdout)["copies"]} == {"page", "article"}
        (line,) = run("links", "--store", url, "--json").stdout.splitlines()
        edge = json.loads(line)
        assert (edge["from"], edge["to"], edge["words"]) == ("article", "page", 176)
        assert PAGE[slice(*edge["spans"][0]["to"])] == ARTICLE.rstrip(".")
    finally:
        drop_index(server, index)


def test_a_store_without_windows_says_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/news.db"
    with Deduplicator.open(url) as deduplicator:
        deduplicator.add(Document(id="article", text=ARTICLE))
    result = run("links", "--store", url)
    assert result.exit_code == 1
    assert "no keys of passages" in result.stderr
