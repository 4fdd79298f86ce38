"""Statistics of a corpus: counts against naive ones, adding up, the file, and what reads them."""

from __future__ import annotations

import json
import math
import random
from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup import Deduplicator, Document, Settings
from esdedup.errors import InputError, SettingsError, SettingsMismatch
from esdedup.methods import imatch, phrases, simhash
from esdedup.methods.batch import Batch
from esdedup.model import Failure
from esdedup.signing import sign_many
from esdedup.statistics import check, statistics_of
from esdedup.statistics.corpus import (
    LEAST_DOCUMENTS,
    Counter,
    LanguageCounts,
    Statistics,
    keys_in_language,
    rarity,
    site_of,
)
from esdedup.statistics.counting import articles_of, count, count_documents
from esdedup.statistics.countmin import Exact, Shape, add_counts, bits_set, estimates
from esdedup.statistics.file import FORMAT, read, version_of, write
from esdedup.stores import open_store
from esdedup.text import guess_language
from esdedup.words import RAREST, language, name_hash, term
from tests.methods import reference

SMALL = Shape(1 << 15, 4)
PLAIN = Settings.load(environment={})
ALONSO = Settings.load(preset="alonso", environment={})
NOUNS = ("mayor", "river", "council", "bridge", "harbour", "minister", "strike", "storm", "ferry")
FOOTER = "All rights reserved by the Skerrin Courier and its licensors in every country"


def article(number: int, *, site: str | None = None, footer: str = "", words: int = 60) -> Document:
    """An invented article; different numbers have hardly a phrase in common."""
    dice = random.Random(number)
    said = [f"the {dice.choice(NOUNS)} of w{dice.randrange(10_000)}" for _ in range(words // 4)]
    return Document(id=f"a{number}", text=" ".join([*said, footer]).strip(), lang="en", source=site)


def counted(documents: Sequence[Document], **changed: Any) -> Statistics:
    return count(documents, replace(PLAIN, **changed), shape=SMALL)


@pytest.fixture(scope="module")
def corpus() -> Statistics:
    """A paper with a footer on every page, another without, a story that a third ran often."""
    pages = [article(i, site="courier", footer=FOOTER) for i in range(60)]
    pages += [article(1000 + i, site="herald") for i in range(60)]
    pages += [replace(article(5000, site="echo"), id=f"copy{i}") for i in range(20)]
    return counted(pages)


@pytest.fixture(scope="module")
def file(corpus: Statistics, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("words") / "corpus.words"
    write(corpus, out)
    return out


# --- counting ----------------------------------------------------------------------------------

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


def of_counted(
    documents: Sequence[Document], shape: Shape = SMALL, sampled: int = 16
) -> Statistics:
    counter = Counter(3, shape, sampled)
    found = count_documents(documents, replace(PLAIN, phrase_words=3))
    counter.add([one for one in found if not isinstance(one, Failure)])
    return counter.statistics()


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
    assert same(of_counted(a, tiny, sampled).merged(of_counted(b, tiny, sampled)), both)
    assert same(of_counted(b, tiny, sampled).merged(of_counted(a, tiny, sampled)), both)
    counter = Counter(3, tiny, sampled)
    for document in [*a, *b]:
        found = count_documents([document], replace(PLAIN, phrase_words=3))
        counter.add([one for one in found if not isinstance(one, Failure)])
    assert same(counter.statistics(), both)


def same(a: Statistics, b: Statistics) -> bool:
    return (
        a.languages.keys() == b.languages.keys()
        and all(_same_counts(c, b.languages[code]) for code, c in a.languages.items())
        and a.sites == b.sites
        and a.sample.keys.tolist() == b.sample.keys.tolist()
        and a.sample.counts.tolist() == b.sample.counts.tolist()
        and (a.phrases == b.phrases).all()
        and (a.site_pages == b.site_pages).all()
        and bool((a.site_stories == b.site_stories).all())
    )


def _same_counts(a: LanguageCounts, b: LanguageCounts) -> bool:
    pairs = ((a.stems.keys, b.stems.keys), (a.stems.counts, b.stems.counts))
    numbers = (a.documents, a.words) == (b.documents, b.words)
    return numbers and all(x.tolist() == y.tolist() for x, y in pairs)


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
        sample = sample.plus(np.array(keys[start : start + 700], np.uint64))
    smallest = sorted(set(keys))[:256]
    assert sample.keys.tolist() == smallest
    assert sample.counts.tolist() == [Tally(keys)[key] for key in smallest]
    assert sample.distinct() == pytest.approx(len(set(keys)), rel=4 / math.sqrt(256))
    assert sample.of(np.array([smallest[3], 7], np.uint64)).tolist() == [
        Tally(keys)[smallest[3]],
        0,
    ]


def test_workers_and_order_make_no_difference(tmp_path: Path) -> None:
    documents = [article(i, site="courier") for i in range(50)]
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
    made = count([article(1), broken, empty], PLAIN, shape=SMALL, failed=told.append)
    assert (made.documents, told) == (1, [broken])
    with pytest.raises(InputError, match=r"not one article to count: 1 could not .*, 1 have no"):
        count([broken, empty], PLAIN, shape=SMALL)


def test_all_articles_of_a_store_are_counted() -> None:
    documents = [article(i, site="courier") for i in range(30)]
    with Deduplicator.open("sqlite://:memory:", PLAIN) as news:
        list(news.add_many(documents))
        stored = counted(list(articles_of(news.store)))
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
    few = counted([article(i) for i in range(LEAST_DOCUMENTS - 1)])
    assert few.known("en") is None
    for word, code in (("harbour", "en"), ("köprü", "tr"), ("x", "")):
        assert term(word, code, few) == term(word, code)
    assert term("köprü", "tr", corpus) == term("köprü", "tr")


def test_an_unknown_language_is_counted_as_such() -> None:
    documents = [
        replace(article(i), lang="zz", text=f"qa{i} zu bro ta mi ku wo") for i in range(120)
    ]
    made = counted(documents)
    assert list(made.languages) == [""]
    assert term("zu", "", made).rarity < term("qa3", "", made).rarity < RAREST


def test_percentiles_are_of_phrases_in_two_documents_or_more() -> None:
    keys = np.arange(1, 201, dtype=np.uint64)
    counts = np.array([1] * 100 + list(range(2, 102)), np.uint32)
    made = replace(of_counted([article(1)]), sample=Exact(keys, counts, 1000))
    assert [made.common_above(p) for p in (0, 1, 5, 25, 50, 75, 95, 99, 100)] == [
        1, 2, 6, 26, 51, 76, 96, 100, 101,
    ]  # fmt: skip
    assert of_counted([article(1)]).common_above(50) == 1


def test_the_footer_of_a_site_is_its_boilerplate(corpus: Statistics) -> None:
    def found(text: str, site: str, **changed: Any) -> list[bool]:
        (one,) = count_documents([Document(id="x", text=text, lang="en")], PLAIN)
        assert not isinstance(one, Failure)
        rule = {"share": 0.1, "stories": 5, **changed}
        return [bool(each) for each in corpus.is_boilerplate(one.phrases, site, **rule)]

    assert all(found(FOOTER, "courier"))
    assert not any(found(FOOTER, "herald"))
    assert not any(found(FOOTER, "unknown"))
    assert not any(found(article(3).text, "courier"))
    assert not any(found(FOOTER, "courier", share=1.0))
    # Twenty copies of one story are no boilerplate of the site that ran them.
    assert not any(found(article(5000).text, "echo"))


def test_bits_are_counted() -> None:
    made = Exact.empty()
    assert bits_set(SMALL.empty(), np.array([1, 2], np.uint64)).tolist() == [0, 0]
    assert made.of(np.array([1], np.uint64)).tolist() == [0]


# --- the file ----------------------------------------------------------------------------------


def test_a_file_holds_everything(corpus: Statistics, file: Path, tmp_path: Path) -> None:
    again = read(file)
    assert same(again, corpus)
    assert again.version == version_of(file) == write(corpus, tmp_path / "other")
    assert len(again.version) == 12
    assert file.read_bytes() == (tmp_path / "other").read_bytes()
    assert write(counted([article(1)]), tmp_path / "third") != again.version
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "third"]


def test_a_file_that_is_not_whole_is_refused(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    broken = tmp_path / "broken.words"
    for size in [0, 1, 3, 100, len(whole) // 2, len(whole) - 1]:
        broken.write_bytes(whole[:size])
        for reading in (read, version_of):
            with pytest.raises(InputError, match=r"broken\.words: .*(not whole|damaged)"):
                reading(broken)


def test_a_file_with_other_numbers_is_refused(file: Path, tmp_path: Path) -> None:
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files}
    changed = arrays["phrases"].copy()
    changed[0, 0] += 1
    damaged = tmp_path / "damaged.npz"
    np.savez(damaged, allow_pickle=False, **{**arrays, "phrases": changed})
    with pytest.raises(InputError, match=r"damaged \(its content is not that of version"):
        read(damaged)
    np.savez(damaged, allow_pickle=False, **{k: v for k, v in arrays.items() if k != "phrases"})
    with pytest.raises(InputError, match=r"damaged \(KeyError: 'phrases'\); copy the file again"):
        read(damaged)


def described(file: Path, **changed: Any) -> dict[str, Any]:
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files}
    description = {**json.loads(arrays["description"].tobytes()), **changed}
    return {**arrays, "description": np.frombuffer(json.dumps(description).encode(), np.uint8)}


def test_a_file_of_another_format_is_refused(file: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer.npz"
    np.savez(newer, allow_pickle=False, **described(file, format=FORMAT + 1))
    with pytest.raises(InputError, match=rf"of format {FORMAT + 1}, and .* reads format {FORMAT}"):
        read(newer)
    np.savez(newer, allow_pickle=False, **described(file, version=None))
    with pytest.raises(InputError, match="names no version"):
        read(newer)


@pytest.mark.parametrize("kind", ["text", "json", "npy", "npz", "other", "pickle", "zip"])
def test_a_file_of_another_program_is_refused(kind: str, file: Path, tmp_path: Path) -> None:
    foreign = tmp_path / f"foreign.{kind}"
    match kind:
        case "text":
            foreign.write_text("The ferry caught fire.\n" * 20)
        case "json":
            foreign.write_text('{"version": "abc"}')
        case "npy":
            with foreign.open("wb") as stream:
                np.save(stream, np.arange(5))
        case "npz":
            with foreign.open("wb") as stream:
                np.savez(stream, counts=np.arange(5))
        case "other":
            with foreign.open("wb") as stream:
                np.savez(stream, allow_pickle=False, **described(file, program="else"))
        case "pickle":
            with foreign.open("wb") as stream:
                np.savez(stream, description=np.array([{"program": "esdedup words"}], object))
        case _:
            import zipfile

            with zipfile.ZipFile(foreign, "w") as archive:
                archive.writestr("description.npy", "x")
    with pytest.raises(InputError, match=r"foreign\.\w+: no statistics of `esdedup words build`"):
        read(foreign)


def test_a_file_that_is_not_there(tmp_path: Path, corpus: Statistics) -> None:
    with pytest.raises(InputError, match=r"No such file or directory; `esdedup words build` makes"):
        read(tmp_path / "none.words")
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        write(corpus, tmp_path / "no" / "folder.words")


def test_statistics_of_another_shape_do_not_add_up() -> None:
    one = of_counted([article(1)])
    with pytest.raises(InputError, match="do not add to those of 3 words in 64 x 2; build both"):
        one.merged(of_counted([article(1)], Shape(64, 2)))


# --- settings and stores -----------------------------------------------------------------------


def test_the_settings_take_the_version_of_the_file(file: Path, tmp_path: Path) -> None:
    version = version_of(file)
    loaded = Settings.load(preset="alonso", environment={}, flags={"words_file": str(file)})
    assert (loaded.words_file, loaded.words_version) == (str(file), version)
    assert loaded == ALONSO.with_words(file)
    assert loaded.with_words("") == ALONSO
    # What a store recorded stays as it is, though the file is elsewhere or gone.
    gone = replace(loaded, words_file=str(tmp_path / "gone"))
    assert Settings.load(base=gone, environment={}, flags={"batch": 7}).words_version == version
    assert Settings.from_json(json.loads(json.dumps(loaded.to_json()))) == loaded
    with pytest.raises(InputError, match="cannot be read"):
        Settings.load(environment={}, flags={"words_file": str(tmp_path / "none")})


def test_the_signature_names_the_version_where_it_counts(file: Path) -> None:
    version = version_of(file)
    using = ALONSO.with_words(file)
    (signed,) = sign_many([article(1)], using)
    assert signed.signature.format.endswith(f".{version}")
    assert using.shaping()["words_version"] == version
    # Nothing of the sketch depends on words: neither does its format.
    assert PLAIN.with_words(file).fingerprint_of_format() == PLAIN.fingerprint_of_format()
    assert PLAIN.with_words(file).shaping() == PLAIN.shaping()
    weighted = replace(PLAIN, methods=("simhash",))
    assert weighted.with_words(file).uses_words
    assert not replace(weighted, simhash_weights="equal").with_words(file).uses_words


def test_a_store_with_statistics_of_another_version_is_refused(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.words"
    version = write(counted([article(i) for i in range(120)]), other)
    url = f"sqlite:///{tmp_path}/news.db"
    with Deduplicator.open(url, ALONSO.with_words(file)) as news:
        news.add(article(1))
    with pytest.raises(
        SettingsMismatch,
        match=rf"news\.db was written with statistics of version {version_of(file)}, and these "
        rf"settings have statistics of version {version}: name the file of version",
    ):
        open_store(url, ALONSO.with_words(other))
    with pytest.raises(SettingsMismatch, match=r"these settings have no statistics of a corpus"):
        open_store(url, ALONSO)
    # The same statistics under another name are the same.
    moved = tmp_path / "moved.words"
    moved.write_bytes(file.read_bytes())
    Deduplicator.open(url, ALONSO.with_words(moved)).close()


def test_a_store_without_statistics_is_not_opened_with_some(file: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/news.db"
    open_store(url, ALONSO).close()
    with pytest.raises(
        SettingsMismatch,
        match=r"written with no statistics of a corpus, and .* index the articles into a new store",
    ):
        open_store(url, ALONSO.with_words(file))


def test_a_file_that_changed_since_is_refused_at_once(file: Path, tmp_path: Path) -> None:
    """Not with every document: none of them is to blame."""
    own = tmp_path / "own.words"
    own.write_bytes(file.read_bytes())
    url = f"sqlite:///{tmp_path}/news.db"
    settings = ALONSO.with_words(own)
    open_store(url, settings).close()
    version = write(counted([article(i) for i in range(120)]), own)
    with pytest.raises(SettingsMismatch, match=rf"own\.words is version {version}, and the keys"):
        Deduplicator.open(url, settings)
    check(replace(settings, methods=("sketch",)))  # it does not read them
    own.unlink()
    gone = replace(settings, words_file=str(tmp_path / "gone.words"))
    with pytest.raises(InputError, match=r"gone\.words: the statistics cannot be read"):
        Deduplicator.open(url, gone)
    open_store(url, mode="read").close()  # reading needs no statistics


def test_phrases_of_another_length_are_refused(file: Path) -> None:
    settings = replace(ALONSO.with_words(file), phrase_words=5)
    with pytest.raises(SettingsError, match="counts phrases of 7 words, and phrase_words is 5"):
        statistics_of(settings)
    with pytest.raises(SettingsError, match=r"words_version is empty; take Settings\.with_words"):
        statistics_of(replace(ALONSO, words_file=str(file)))
    with pytest.raises(SettingsError, match="leave_out_boilerplate needs statistics"):
        replace(ALONSO, leave_out_boilerplate=True)


# --- methods -----------------------------------------------------------------------------------


def phrase_keys(settings: Settings, *documents: Document) -> list[tuple[str, ...]]:
    batch = Batch(documents, settings)
    return [phrases.keys(signed, settings) for signed in phrases.sign(batch, settings)]


def test_common_phrases_and_boilerplate_are_not_drawn(file: Path) -> None:
    settings = ALONSO.with_words(file)
    fresh = article(77_777)
    with_footer = replace(fresh, text=f"{fresh.text} {FOOTER}", source="courier")
    nothing = Document(id="f", text=FOOTER, lang="en", source="courier")
    plain, footed, bare = phrase_keys(settings, fresh, with_footer, nothing)
    assert bare == ()
    assert len(plain) == settings.phrase_samples
    (unknowing,) = phrase_keys(ALONSO, nothing)
    assert len(unknowing) == settings.phrase_samples
    # The six phrases across the seam are new; the rest of the footer counts nothing.
    one, other = phrase_keys(ALONSO, fresh, with_footer)
    assert phrases.compare(plain, footed, settings) >= phrases.compare(one, other, ALONSO)
    # What is common everywhere is left out on any site, as far as the cut-off says so.
    elsewhere = replace(nothing, source="herald")
    assert phrase_keys(settings, elsewhere) == [()]
    assert phrase_keys(replace(settings, phrase_rare_percent=100.0), elsewhere) != [()]
    assert phrase_keys(replace(settings, phrase_factor="none"), elsewhere) != [()]


def test_nothing_is_known_of_another_language(file: Path) -> None:
    turkish = Document(
        id="t", text="belediye başkanı dün köprüyü açtı ve halka seslendi", lang="tr"
    )
    with_words = ALONSO.with_words(file)
    assert phrase_keys(with_words, turkish) == phrase_keys(ALONSO, turkish)


def weights_of(settings: Settings, document: Document, monkeypatch: Any) -> dict[int, int]:
    found: dict[int, int] = {}

    def keep(hashes: Any, own: Any, settings: Settings) -> phrases.Signed:
        del settings
        found.update(zip(hashes.tolist(), own.tolist(), strict=True))
        return phrases.Signed(hashes, own)

    monkeypatch.setattr(phrases, "sample", keep)
    phrases.sign(Batch([document], settings), settings)
    return found


@pytest.mark.parametrize("name", phrases.FUNCTIONS)
@pytest.mark.parametrize("factor", ["rare", "idf", "inverse", "none"])
@pytest.mark.parametrize("fingerprint", ["mixed", "poly31"])
def test_weights_by_the_formula(
    name: Any,
    factor: Any,
    fingerprint: Any,
    file: Path,
    corpus: Statistics,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Function of DF(first term) times IDF, 1/0 or divided, from the plain formulas."""
    fresh = article(88_888, words=24)
    document = replace(fresh, text=f"The footer: {FOOTER}. {fresh.text}", source="herald")
    settings = replace(
        ALONSO.with_words(file),
        phrase_weight=name,
        phrase_factor=factor,
        fingerprint=fingerprint,
        phrase_rare_percent=50.0,
    )
    made = weights_of(settings, document, monkeypatch)
    words = reference.words(document.text)
    expected = {}
    for i in range(len(words) - 6):
        shingle = " ".join(words[i : i + 7])
        mixed = reference.mix(reference.polynomial(shingle, reference.BASE["mixed"]))
        key = reference.mix(reference.polynomial(shingle, reference.BASE[fingerprint]))
        (found,) = estimates(corpus.phrases, keys_in_language(np.array([mixed], np.uint64), "en"))
        if weight := naive_weight(name, factor, words[i], int(found), corpus):
            expected[key] = weight
    assert made == expected
    assert len(set(expected.values())) > 1 or name in ("uniform", "antecedent")


def naive_weight(name: str, factor: str, first: str, found: int, corpus: Statistics) -> int:
    scale, documents = 1 << 20, corpus.languages["en"].documents
    own = term(first, "en", corpus)
    frequency = 1 - (1 - 10 ** (-own.rarity / 100)) ** 400
    flag = name == "uniform" or (name == "antecedent" and first in ("the", "are", "is", "a"))
    if name == "antecedent" and not flag:
        return 0
    idf = round(64 * (1 - math.log(found + 1) / math.log(documents + 1))) / 64
    function = phrases.FUNCTIONS[name]
    if factor == "idf":
        if name == "antecedent":
            return round(64 * idf)
        if name == "uniform":
            return int(idf > 0)
        return max(1, round(scale * function(frequency * idf))) if idf else 0
    weight = 1 if flag else max(1, round(scale * function(frequency)))
    if factor == "inverse":
        return max(1, weight * (scale if flag else 1) // max(1, found))
    return weight if factor == "none" or found <= corpus.common_above(50) else 0


def test_simhash_and_imatch_read_them(file: Path) -> None:
    document = replace(article(5), text="the capybara of the harbour saw the mayor of the storm")
    for method, module in (("simhash", simhash), ("imatch", imatch)):
        settings = replace(PLAIN, methods=(method,), imatch_low=200, imatch_high=500)
        own = settings.with_words(file)
        fixed, by_corpus = (
            module.sign(Batch([document], each), each)[0] for each in (settings, own)
        )
        assert fixed != by_corpus
        assert module.sign(Batch([document], own), own)[0] == by_corpus


def test_words_of_boilerplate_can_be_left_out_of_everything(file: Path) -> None:
    methods = ("sketch", "simhash", "imatch", "spotsigs", "phrases")
    settings = replace(PLAIN, methods=methods, number_check=False).with_words(file)
    without = replace(settings, leave_out_boilerplate=True)
    assert without.fingerprint_of_format() != settings.fingerprint_of_format()
    fresh = replace(article(99_999), source="courier")
    footed = replace(fresh, text=f"{FOOTER}. {fresh.text}. {FOOTER}.")
    bare = Document(id="b", text=FOOTER, lang="en", source="courier")
    one, other, alone = sign_many([fresh, footed, bare], without)
    assert one.signature == other.signature
    assert one.signature.words == len(reference.words(fresh.text))
    assert alone.signature.words == len(reference.words(FOOTER))  # it has nothing else
    plain, with_footer = sign_many([fresh, footed], settings)
    assert plain.signature != with_footer.signature
    poly = replace(without, fingerprint="poly31")
    assert len({str(s.signature.keys) for s in sign_many([fresh, footed], poly)}) == 1
    elsewhere = sign_many([replace(footed, source="herald")], without)[0]
    assert elsewhere.signature.words == with_footer.signature.words


# --- bands -------------------------------------------------------------------------------------


def test_bands_join_samples_into_supershingles() -> None:
    banded = replace(ALONSO, phrase_band=4, phrase_threshold=0.5)
    text = article(1, words=400)
    near = replace(text, text=text.text.replace("the mayor of", "the lord mayor of"))
    one, copy, other = phrase_keys(banded, text, near, article(2, words=400))
    assert len(one) == banded.phrase_samples // 4
    assert all(key.startswith(f"q{i:02d}:") and len(key) == 16 for i, key in enumerate(one))
    assert phrases.needed(banded) == 1
    assert not set(one) & set(other)
    exact, near_exact = phrase_keys(ALONSO, text, near)
    assert phrases.compare(one, copy, banded) == pytest.approx(
        phrases.compare(exact, near_exact, ALONSO), abs=0.2
    )
    # A band is the same where all four samples are.
    same_samples = [a == b for a, b in zip(exact, near_exact, strict=True)]
    whole = [all(same_samples[i : i + 4]) for i in range(0, 64, 4)]
    assert [a == b for a, b in zip(one, copy, strict=True)] == whole
