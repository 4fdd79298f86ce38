"""Menus and lists are not compared, sentences are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from esdedup.ingest.sign import sign_many
from esdedup.matching.content import content_of
from esdedup.matching.prose import find_prose
from esdedup.matching.verify import verify
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.text.batch import Batch

SETTINGS = Settings()
WHOLE = replace(SETTINGS, compared_text="all")

MENU = " ".join(
    f"Home {name} Sports Weather Traffic Video Photos Jobs Cars Homes Classifieds Obituaries "
    f"{name} Politics Education Crime Food Travel Style Calendar Comics Puzzles Contests"
    for name in ("Metro", "Valley", "Coast", "Lakes", "Hills", "Harbour")
)
FERRY = (
    "The ferry between the two islands will not run until the end of the week, because the "
    "captain found a crack in the hull when it was lifted out of the water on Monday. A spokesman "
    "for the harbour said that the passengers would be taken to the mainland by bus, and that "
    "all of the tickets which were sold before the weekend could be returned at any of the desks. "
    "It is the third time this year that the old ship has had to be taken out of service."
)
BAKERY = (
    "A bakery in the old town has been selling bread to the same families for a hundred years, "
    "and the owner says that she will not change the recipe of her grandfather. On Saturday the "
    "street was closed for a party at which each of the guests was given a loaf that had been "
    "baked in the first oven of the house. The mayor, who lives next door, said that it was the "
    "smell of the bread that had made him move into the street when he was a student."
)


def verdict(one: str, other: str, settings: Settings = SETTINGS) -> str:
    documents = [Document("a", text=one, lang="en"), Document("b", text=other, lang="en")]
    old, new = sign_many(documents, settings)
    return verify(old, new, settings).verdict


def test_two_articles_below_the_same_menu_are_different() -> None:
    assert verdict(f"{MENU} {FERRY}", f"{MENU} {BAKERY}", WHOLE) == "duplicate"
    assert verdict(f"{MENU} {FERRY}", f"{MENU} {BAKERY}") == "different"


def test_an_article_is_a_copy_with_and_without_a_menu() -> None:
    assert verdict(FERRY, f"{MENU} {FERRY}") == "duplicate"
    assert verdict(f"{MENU} {FERRY}", f"{FERRY} {MENU[::-1]}") == "duplicate"


def test_words_of_a_menu_do_not_make_a_text_longer() -> None:
    alone, below = (
        content_of(Document("a", text=t, lang="en"), SETTINGS) for t in (FERRY, f"{MENU} {FERRY}")
    )
    assert abs(alone.words - below.words) < 20


@pytest.mark.parametrize("lang", ["tr", "ru", "ar", "zh"])
def test_languages_without_many_function_words_are_compared_whole(lang: str) -> None:
    assert find_prose(Batch([Document("a", text=f"{MENU} {FERRY}", lang=lang)], SETTINGS)) == [None]


def test_a_text_without_prose_is_compared_whole() -> None:
    table = " ".join(
        f"Shr {i} cts vs {i + 1} cts Net {i * 7} mln vs {i * 9} mln" for i in range(30)
    )
    content = content_of(Document("a", text=table, lang="en"), SETTINGS)
    whole = content_of(Document("a", text=table, lang="en"), WHOLE)
    assert np.array_equal(content.shingles, whole.shingles)
    assert content.words == whole.words
