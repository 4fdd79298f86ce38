"""The keys of every method that weighs words are made again, bit for bit."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from tests.golden import FOLDER, FORMATS, PRESENT
from tests.golden.methods import VARIANTS, vectors

made = cache(vectors)


@cache
def golden(format_: int) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((FOLDER / f"methods{format_}.json").read_text("utf-8"))
    return read


GOLDEN = golden(PRESENT)


@pytest.mark.parametrize("format_", FORMATS)
def test_statistics_of_the_same_corpus_have_the_same_version(format_: int) -> None:
    assert made(format_)["words_version"] == golden(format_)["words_version"]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_keys_are_the_golden_ones(variant: str, format_: int) -> None:
    there, again = golden(format_)["keys"][variant], made(format_)["keys"][variant]
    assert again.keys() == there.keys()
    for id_, keys in again.items():
        assert keys == there[id_], id_


def test_the_variants_differ() -> None:
    """Otherwise the golden file would say nothing of what sets them apart."""
    page = "page of the corpus"
    warning = [GOLDEN["keys"][name]["with a warning"] for name in VARIANTS]
    of_phrases = [keys for keys in warning if keys[0][0] in "pq"]
    assert len({tuple(keys) for keys in of_phrases}) == len(of_phrases)
    assert GOLDEN["keys"]["imatch"][page] != GOLDEN["keys"]["imatch words"][page]
    without = GOLDEN["keys"]["sketch without boilerplate"]
    assert without[page] == without["english"]
