"""Names that changed between two texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.features.numbers import compare_facts, read_quantities
from esdedup.model import Document

REST = (
    " Teams went from house to house until the evening, and the governor asked people to stay "
    "outside until engineers had looked at the older buildings. Schools are closed tomorrow."
)


def changes(old: str, new: str, lang: str = "en") -> list[tuple[str, str]]:
    what, found = compare_facts(*(read_quantities(text + REST, lang) for text in (old, new)))
    return [(change.old, change.new) for change in found if what == "names"]


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
        ("In the U.S. army nobody knew.", "In the American army nobody knew."),
    ],
)
def test_no_change_of_a_name(old: str, new: str) -> None:
    assert changes(old, new) == []


def test_counts_go_before_names() -> None:
    old = read_quantities("At least 12 people died in Halvik on Monday.", "en")
    new = read_quantities("At least 17 people died in Torvald on Monday.", "en")
    what, found = compare_facts(old, new)
    assert (what, [(c.old, c.new) for c in found]) == ("numbers", [("12", "17")])


@given(st.text(max_size=500), st.sampled_from(["en", "tr", "de", None]))
def test_any_text_is_unchanged_against_itself(text: str, lang: str | None) -> None:
    assert compare_facts(read_quantities(text, lang), read_quantities(text, lang)) == ("", ())


def test_the_same_report_about_another_place_is_another_event() -> None:
    def report(id_: str, place: str) -> Document:
        text = f"A magnitude 5.1 earthquake struck near {place} on Tuesday, the observatory said."
        return Document(id_, f"Earthquake near {place}", text + REST, lang="en")

    with Deduplicator.open("sqlite://:memory:") as news:
        documents = [report("a", "Izmir"), report("b", "Izmir"), report("c", "Van")]
        roles = [outcome.decision.role for outcome in news.add_many(documents)]
    assert roles == ["original", "duplicate", "original"]
