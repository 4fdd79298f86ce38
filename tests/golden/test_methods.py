"""The keys of every method that weighs words are made again, bit for bit."""

from __future__ import annotations

import json

import pytest

from tests.golden.methods import FILE, VARIANTS, vectors

GOLDEN = json.loads(FILE.read_text("utf-8"))


@pytest.fixture(scope="module")
def made() -> dict[str, dict[str, dict[str, list[str]]]]:
    found: dict[str, dict[str, dict[str, list[str]]]] = vectors()
    return found


def test_statistics_of_the_same_corpus_have_the_same_version(made: dict[str, object]) -> None:
    assert made["words_version"] == GOLDEN["words_version"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_keys_are_the_golden_ones(
    variant: str, made: dict[str, dict[str, dict[str, list[str]]]]
) -> None:
    assert made["keys"][variant].keys() == GOLDEN["keys"][variant].keys()
    for id_, keys in made["keys"][variant].items():
        assert keys == GOLDEN["keys"][variant][id_], id_


def test_the_variants_differ() -> None:
    """Otherwise the golden file would say nothing of what sets them apart."""
    page = "page of the corpus"
    warning = [GOLDEN["keys"][name]["with a warning"] for name in VARIANTS]
    of_phrases = [keys for keys in warning if keys[0][0] in "pq"]
    assert len({tuple(keys) for keys in of_phrases}) == len(of_phrases)
    assert GOLDEN["keys"]["imatch"][page] != GOLDEN["keys"]["imatch words"][page]
    without = GOLDEN["keys"]["sketch without boilerplate"]
    assert without[page] == without["english"]
