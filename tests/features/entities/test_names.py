"""Names at the beginning of an article, and changes of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.features.numbers import compare_facts, compare_names, extract_facts, extract_names
from esdedup.model import Document

REST = (
    " Teams went from house to house until the evening, and the governor asked people to stay "
    "outside until engineers had looked at the older buildings. Schools are closed tomorrow."
)


def names(text: str, lang: str | None = "en") -> list[str]:
    return [name.value for name in extract_names(text, lang)]


def changes(old: str, new: str, lang: str = "en") -> list[tuple[str, str]]:
    found = compare_names(extract_names(old + REST, lang), extract_names(new + REST, lang))
    return [(change.old, change.new) for change in found]


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", "Rescuers reached Halvik on Monday, said Anna Berg of the coastguard", 2),
        ("en", "A ferry sank. Rescuers came. Nobody was hurt", 0),  # beginnings of sentences
        ("en", "FERRY SANK off HALVIK, U.S. navy says", 0),  # headlines, abbreviations
        ("tr", "AFAD, depremin Van'da ve Muş'ta hissedildiğini bildirdi", 2),
        ("de", "Ein Beben hat am Dienstag die Region um Halvik getroffen", 0),  # all nouns
        ("ru", "Землетрясение произошло вблизи Томска во вторник", 1),
        ("zh", "周二地震袭击伊兹密尔", 0),
        (None, "", 0),
    ],
)
def test_names_are_found(lang: str | None, text: str, expected: int) -> None:
    assert len(names(text, lang)) == expected


def test_only_the_beginning_is_read_and_no_name_is_cut() -> None:
    text = "a " * 140 + "reached Halvik " + "and " * 10 + "Torvald"
    assert names(text) == ["Halvik"]
    assert names("a " * 147 + "to Halvik on foot") == []


@pytest.mark.parametrize(
    ("lang", "old", "new", "expected"),
    [
        (
            "en",
            "A magnitude 5.1 earthquake struck near Izmir on Tuesday, it said.",
            "A magnitude 5.1 earthquake struck near Van on Tuesday, it said.",
            [("Izmir", "Van")],
        ),
        (
            "en",
            "Officials confirmed two cases of cholera in Kano.",
            "Officials confirmed two cases of cholera in Kaduna.",
            [("Kano", "Kaduna")],
        ),
        (
            "en",
            "Police named the man as John Smith of Leeds after the attack.",
            "Police named the man as Peter Miller of Leeds after the attack.",
            [("John Smith", "Peter Miller")],
        ),
        (
            "tr",
            "AFAD, merkez üssü İzmir olan 5,1 büyüklüğünde deprem olduğunu bildirdi.",
            "AFAD, merkez üssü Van olan 5,1 büyüklüğünde deprem olduğunu bildirdi.",
            [("İzmir", "Van")],
        ),
        (
            "fr",
            "Un séisme de magnitude 5,1 a frappé la région de Nice mardi.",
            "Un séisme de magnitude 5,1 a frappé la région de Lyon mardi.",
            [("Nice", "Lyon")],
        ),
    ],
)
def test_another_name_between_the_same_words(
    lang: str, old: str, new: str, expected: list[tuple[str, str]]
) -> None:
    assert changes(old, new, lang) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # a day, a shorter form, an adjective, a title before it, the same name elsewhere
        (
            "The ferry sank off Halvik on Monday night.",
            "The ferry sank off Halvik on Friday night.",
        ),
        ("It was said by Jennifer Strange of Leeds.", "It was said by Jen of Leeds."),
        ("Forces in Iraq moved north.", "Forces in Iraqi towns moved north."),
        ("It was said by Minister Berg on air.", "It was said by Anna Berg on air."),
        ("From Halvik it went to Torvald by sea.", "From Torvald it went to Halvik by sea."),
        ("The office in Halvik said so.", "The harbour of Torvald closed early."),
        ("In the U.S. army nobody knew.", "In the American army nobody knew."),
    ],
)
def test_no_change_of_a_name(old: str, new: str) -> None:
    assert changes(old, new) == []


def test_counts_go_before_names() -> None:
    old = "At least 12 people died in Halvik on Monday."
    new = "At least 17 people died in Torvald on Monday."
    what, found = compare_facts(extract_facts(old, "en"), extract_facts(new, "en"))
    assert (what, [(c.old, c.new) for c in found]) == ("numbers", [("12", "17")])
    assert compare_facts(extract_facts(old, "en"), extract_facts(old, "en")) == ("", ())


@given(st.text(max_size=500), st.sampled_from(["en", "tr", "de", None]))
def test_any_text_is_unchanged_against_itself(text: str, lang: str | None) -> None:
    found = extract_facts(text, lang)
    assert compare_facts(found, found) == ("", ())
    assert all(name.value in text for name in extract_names(text, lang))


def test_the_same_report_about_another_place_is_no_duplicate() -> None:
    def report(id_: str, place: str) -> Document:
        text = f"A magnitude 5.1 earthquake struck near {place} on Tuesday, the observatory said."
        return Document(id_, f"Earthquake near {place}", text + REST, lang="en")

    with Deduplicator.open("sqlite://:memory:") as news:
        first, copy, other = (
            outcome.decision
            for outcome in news.add_many(
                [report("a", "Izmir"), report("b", "Izmir"), report("c", "Van")]
            )
        )
    assert (first.role, copy.role, other.role) == ("original", "duplicate", "update")
    assert other.reason == "names"
    assert [str(change) for change in other.evidence[0].numbers][:1] == [
        "Izmir -> Van tuesday observatory said"
    ]
