"""Two versions of an article: what changed, and the degree."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.matching.revision import compare_versions
from esdedup.model import Document
from esdedup.model.revisions import Revision, has_same_text
from esdedup.settings import Settings

AT = datetime(2026, 3, 1, tzinfo=UTC)
TEXT = (
    "A ferry caught fire off the coast of Tollmere on Tuesday morning. At least 12 people died in "
    "the blaze, officials said. The port authority believes that the engine room burned first. "
    "Small boats brought most of the passengers ashore, and the harbour was closed for the day."
)
LAST = " Small boats brought most of the passengers ashore, and the harbour was closed for the day."


def compare(old: str, new: str, titles: tuple[str, str] = ("Fire", "Fire")) -> Revision | None:
    return compare_versions(
        Document(id="a", title=titles[0], text=old, lang="en"),
        Document(id="a", title=titles[1], text=new, lang="en"),
        AT,
        Settings(),
    )


@pytest.mark.parametrize(
    ("new", "degree"),
    [
        (TEXT.replace("12 people", "17 people"), "numbers"),
        (TEXT.replace("12 people", "17 people").replace(LAST, ""), "numbers"),
        (TEXT.replace("Tollmere", "Marwick"), "names"),
        (TEXT.replace("believes", "beleives"), "typo"),
        (TEXT.replace("morning. At", "morning, at"), "typo"),
        (TEXT.replace(LAST, ""), "cut"),
        (TEXT.replace("Small boats", "Boats"), "cut"),
        (TEXT + " Divers will search the wreck tomorrow.", "extended"),
        (TEXT.replace("believes that", "denied that"), "edited"),
        (TEXT.replace("was closed", "was not closed"), "statement"),
        ("The minister opened a bridge, cut a ribbon and went home by train again.", "rewritten"),
    ],
)
def test_each_degree(new: str, degree: str) -> None:
    revision = compare(TEXT, new)
    assert revision is not None
    assert revision.degree == degree


def test_what_a_revision_says() -> None:
    note = "Correction: An earlier version of this article said that 12 people had died."
    new = TEXT.replace("12 people", "17 people").replace(LAST, "") + f"\n\n{note}"
    revision = compare(TEXT, new, ("Ferry fire", "Ferry fire kills 17"))
    assert revision is not None
    assert [tuple(c)[:2] for c in revision.numbers] == [("12", "17")]
    assert revision.headline == ("Ferry fire", "Ferry fire kills 17")
    assert revision.removed == ("12", LAST.strip())
    assert revision.added == ("kills 17", "17", note)
    assert revision.note == note
    assert str(revision).startswith("revised (numbers): 12 -> 17: At least 17 people died")
    again = compare(new, f"New: {new}")
    assert again is not None
    assert again.note == ""


def test_a_note_that_was_there_before_is_not_new() -> None:
    note = "\n\nCorrection: The ferry is called Marla."
    revision = compare(TEXT + note, TEXT.replace(LAST, "") + note)
    assert revision is not None
    assert (revision.degree, revision.note) == ("cut", "")


def test_passages_are_bounded() -> None:
    odd = " ".join(f"word{n} {'long ' * 4}" for n in range(300))
    even = " ".join(f"other{n} {'long ' * 4}" for n in range(300))
    revision = compare(odd, even)
    assert revision is not None
    assert len(revision.added) <= 20
    assert all(len(passage) <= 500 for passage in revision.added)
    grown = compare("x", "long " * 1000)
    assert grown is not None
    assert max(map(len, grown.added)) <= 500


WORDS = ["a", "b", "c", "12", "17", "The", "ferry,", "Tollmere.", "died"]
_words = st.lists(st.sampled_from(WORDS), max_size=30)


@given(_words, _words)
def test_a_revision_is_there_exactly_if_the_texts_differ(old: list[str], new: list[str]) -> None:
    one, other = (Document(id="a", text=" ".join(words)) for words in (old, new))
    revision = compare_versions(one, other, AT, Settings())
    assert (revision is None) == has_same_text(one, other) == (old == new)
    if revision is not None and not revision.numbers:
        assert revision.degree not in ("numbers", "names")
        if revision.degree == "cut":
            assert not any(word not in one.text for part in revision.added for word in part.split())
