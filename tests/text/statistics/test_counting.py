"""Statistics of a corpus: counts against naive ones, adding up, and what they say."""

from __future__ import annotations

import math
import random
from collections import Counter as Tally
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup import Deduplicator, Document
from esdedup.errors import InputError
from esdedup.ingest.word_counting import count, count_documents, read_articles
from esdedup.model import Failure
from esdedup.text.statistics.corpus import (
    LEAST_DOCUMENTS,
    Statistics,
    StatisticsBuilder,
    rarity,
    site_of,
)
from esdedup.text.statistics.countmin import Exact, Shape, add_counts, bits_set, estimates
from esdedup.text.statistics.file import write
from esdedup.text.tokens import guess_language
from esdedup.text.words import RAREST, language, name_hash, term
from tests.methods import reference
from tests.text.statistics.corpus import (
    FOOTER,
    NOUNS,
    PLAIN,
    SMALL,
    corpus_article,
    counted,
    of_counted,
    same,
)

texts = st.lists(
    st.tuples(
        st.lists(st.sampled_from([*NOUNS, "the", "of", "dün", "東"]), max_size=20).map(" ".join),
        st.sampled_from(["en", "tr", "zz", None]),
        st.sampled_from(["courier", "herald", None]),
    ),
    min_size=1,
    max_size=8,
)


def documents_of(given: list[tuple[str, str | None, str | None]]) -> list[Document]:
    return [Document(id=f"{i}", text=t, lang=c, source=s) for i, (t, c, s) in enumerate(given)]


@given(texts)
@hypothesis_settings(max_examples=60, deadline=None)
def test_counts_are_the_naive_ones(given_: list[tuple[str, str | None, str | None]]) -> None:
    documents = documents_of(given_)
    made = of_counted(documents, sampled=10_000)
    stems: dict[str, Tally[int]] = {}
    number: Tally[str] = Tally()
    seen: Tally[int] = Tally()
    for document in documents:
        code = document.lang if document.lang in ("en", "tr") else guess_language(document.text)
        code = code or ""
        words = reference.words(document.text)
        number[code] += 1
        stems.setdefault(code, Tally()).update(
            {name_hash(language(code).stem(word)) for word in words}
        )
        shingles = {" ".join(words[i : i + 3]) for i in range(len(words) - 2)}
        hashes = [reference.mix(reference.polynomial(s, reference.BASE["mixed"])) for s in shingles]
        salt = name_hash(f"lang {code}")
        seen.update(reference.mix(h ^ salt) for h in hashes)
    assert {code: c.documents for code, c in made.languages.items()} == number
    for code, own in made.languages.items():
        found = dict(zip(own.stems.keys.tolist(), own.stems.counts.tolist(), strict=True))
        assert found == stems[code]
    assert dict(zip(made.sample.keys.tolist(), made.sample.counts.tolist(), strict=True)) == seen
    assert made.phrases_counted == seen.total()
    keys = np.array(sorted(seen), np.uint64)
    assert (estimates(made.phrases, keys) >= [seen[int(key)] for key in keys]).all()


@given(texts, texts, st.integers(1, 20))
@hypothesis_settings(max_examples=60, deadline=None)
def test_adding_up_equals_counting_both(
    one: list[tuple[str, str | None, str | None]],
    other: list[tuple[str, str | None, str | None]],
    sampled: int,
) -> None:
    tiny = Shape(1 << 6, 2)
    a, b = documents_of(one), documents_of(other)
    both = of_counted([*a, *b], tiny, sampled)
    assert same(of_counted(a, tiny, sampled).merge(of_counted(b, tiny, sampled)), both)
    assert same(of_counted(b, tiny, sampled).merge(of_counted(a, tiny, sampled)), both)
    counter = StatisticsBuilder(3, tiny, sampled)
    for document in [*a, *b]:
        found = count_documents([document], replace(PLAIN, phrase_words=3))
        counter.add([one for one in found if not isinstance(one, Failure)])
    assert same(counter.statistics(), both)


def test_the_sketch_is_as_good_as_it_says() -> None:
    """Of many keys by Zipf's law no more than the doubt are beyond the error."""
    shape = Shape.of(0.002, 0.02)
    assert (shape.width, shape.depth) == (2048, 4)
    dice = random.Random(1)
    drawn = [int(dice.paretovariate(0.8)) for _ in range(20_000)]
    keys = np.array([reference.mix(value) for value in drawn], np.uint64)
    table = shape.empty()
    add_counts(table, keys)
    distinct, true = np.unique(keys, return_counts=True)
    over = estimates(table, distinct) - true
    assert (over >= 0).all()
    assert (over > shape.error * len(keys)).mean() <= shape.doubt
    assert over.max() > 0  # small enough to be wrong at all


def test_the_smallest_keys_are_a_sample_counted_exactly() -> None:
    dice = random.Random(3)
    keys = [reference.mix(dice.randrange(5_000)) for _ in range(20_000)]
    sample = Exact.empty(256)
    for start in range(0, len(keys), 700):
        sample = sample.add_keys(np.array(keys[start : start + 700], np.uint64))
    smallest = sorted(set(keys))[:256]
    assert sample.keys.tolist() == smallest
    assert sample.counts.tolist() == [Tally(keys)[key] for key in smallest]
    assert sample.distinct() == pytest.approx(len(set(keys)), rel=4 / math.sqrt(256))


def test_workers_and_order_make_no_difference(tmp_path: Path) -> None:
    documents = [corpus_article(i, site="courier") for i in range(50)]
    versions = {
        write(count(order, PLAIN, shape=SMALL, workers=workers), tmp_path / "x")
        for order in (documents, documents[::-1])
        for workers in (0, 2)
    }
    assert len(versions) == 1


def test_pages_that_cannot_be_read_are_told_of() -> None:
    told: list[Failure] = []
    broken = Failure("x", "x.html", "no article")
    empty = Document(id="e", text="?!")
    made = count([corpus_article(1), broken, empty], PLAIN, shape=SMALL, failed=told.append)
    assert (made.documents, told) == (1, [broken])
    with pytest.raises(InputError, match=r"not one article to count: 1 could not .*, 1 have no"):
        count([broken, empty], PLAIN, shape=SMALL)


def test_all_articles_of_a_store_are_counted() -> None:
    documents = [corpus_article(i, site="courier") for i in range(30)]
    with Deduplicator.open("sqlite://:memory:", PLAIN) as news:
        list(news.add_many(documents))
        stored = counted(list(read_articles(news.store)))
    assert same(stored, counted(documents))


@pytest.mark.parametrize(
    ("source", "url", "site"),
    [
        (" Courier ", "https://x.example/1", "courier"),
        (None, "https://www.Courier.example:80/1", "courier.example"),
        ("", None, ""),
        (None, "http://[broken", ""),
    ],
)
def test_whose_page_it_is(source: str | None, url: str | None, site: str) -> None:
    assert site_of(Document(id="a", source=source, url=url)) == site


# --- what they say -----------------------------------------------------------------------------


def test_rarity_is_in_the_unit_of_the_fixed_tables() -> None:
    """A word with a thousandth of all words is in 1 - .999^400 of articles of 400 words."""
    documents = 1_000_000
    for share in (1e-2, 1e-3, 1e-4, 1e-5):
        found = round((documents + 1) * (1 - (1 - share) ** 400))
        if found <= documents:
            assert rarity(found, documents) == pytest.approx(-100 * math.log10(share), abs=1)
    values = [rarity(found, 1000) for found in range(1, 1001)]
    assert values == sorted(values, reverse=True)
    assert 0 < values[-1] < values[0] <= RAREST


def test_words_are_as_rare_as_in_the_corpus(corpus: Statistics) -> None:
    fixed = term("harbour", "en")
    own = term("harbour", "en", corpus)
    assert (own.stem, own.is_stop) == (fixed.stem, fixed.is_stop)
    assert own.rarity < fixed.rarity
    assert term("capybara", "en", corpus).rarity == RAREST


def test_languages_with_few_documents_have_the_fixed_tables(corpus: Statistics) -> None:
    few = counted([corpus_article(i) for i in range(LEAST_DOCUMENTS - 1)])
    assert few.counts_in("en") is None
    for word, code in (("harbour", "en"), ("köprü", "tr"), ("x", "")):
        assert term(word, code, few) == term(word, code)
    assert term("köprü", "tr", corpus) == term("köprü", "tr")


def test_an_unknown_language_is_counted_as_such() -> None:
    documents = [
        replace(corpus_article(i), lang="zz", text=f"qa{i} zu bro ta mi ku wo") for i in range(120)
    ]
    made = counted(documents)
    assert list(made.languages) == [""]
    assert term("zu", "", made).rarity < term("qa3", "", made).rarity < RAREST


def test_percentiles_are_of_phrases_in_two_documents_or_more() -> None:
    keys = np.arange(1, 201, dtype=np.uint64)
    counts = np.array([1] * 100 + list(range(2, 102)), np.uint32)
    made = replace(of_counted([corpus_article(1)]), sample=Exact(keys, counts, 1000))
    assert [made.common_above(p) for p in (0, 1, 5, 25, 50, 75, 95, 99, 100)] == [
        1, 2, 6, 26, 51, 76, 96, 100, 101,
    ]  # fmt: skip
    assert of_counted([corpus_article(1)]).common_above(50) == 1


def test_the_footer_of_a_site_is_its_boilerplate(corpus: Statistics) -> None:
    def found(text: str, site: str, **changed: Any) -> list[bool]:
        (one,) = count_documents([Document(id="x", text=text, lang="en")], PLAIN)
        assert not isinstance(one, Failure)
        rule = {"share": 0.1, "stories": 5, **changed}
        return [bool(each) for each in corpus.is_boilerplate(one.phrases, site, **rule)]

    assert all(found(FOOTER, "courier"))
    assert not any(found(FOOTER, "herald"))
    assert not any(found(FOOTER, "unknown"))
    assert not any(found(corpus_article(3).text, "courier"))
    assert not any(found(FOOTER, "courier", share=1.0))
    # Twenty copies of one story are no boilerplate of the site that ran them.
    assert not any(found(corpus_article(5000).text, "echo"))


def test_bits_are_counted() -> None:
    assert bits_set(SMALL.empty(), np.array([1, 2], np.uint64)).tolist() == [0, 0]
