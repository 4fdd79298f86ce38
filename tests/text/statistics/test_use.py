"""Who reads statistics: settings, stores, methods."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from esdedup import Deduplicator, Document, Settings
from esdedup.errors import InputError, SettingsError, SettingsMismatch
from esdedup.ingest.sign import sign_many
from esdedup.matching.content import read_contents
from esdedup.methods import imatch, phrases, simhash
from esdedup.settings.word_file import read_version
from esdedup.stores import open_store
from esdedup.text.batch import Batch
from esdedup.text.statistics import statistics_of
from esdedup.text.statistics.corpus import Statistics, keys_in_language
from esdedup.text.statistics.countmin import estimates
from esdedup.text.statistics.file import write
from esdedup.text.words import term
from tests.methods import reference
from tests.text.statistics.corpus import ALONSO, FOOTER, PLAIN, corpus_article, counted

# --- settings and stores -----------------------------------------------------------------------


def test_the_settings_take_the_version_of_the_file(file: Path, tmp_path: Path) -> None:
    version = read_version(file)
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
    version = read_version(file)
    using = ALONSO.with_words(file)
    (signed,) = sign_many([corpus_article(1)], using)
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
    version = write(counted([corpus_article(i) for i in range(120)]), other)
    url = f"sqlite:///{tmp_path}/news.db"
    with Deduplicator.open(url, ALONSO.with_words(file)) as news:
        news.add(corpus_article(1))
    with pytest.raises(
        SettingsMismatch,
        match=rf"news\.db was written with statistics of version {read_version(file)}, and these "
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
    version = write(counted([corpus_article(i) for i in range(120)]), own)
    with pytest.raises(SettingsMismatch, match=rf"own\.words is version {version}, and the keys"):
        Deduplicator.open(url, settings)
    statistics_of(replace(settings, methods=("sketch",)))  # it does not read them
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
    fresh = corpus_article(77_777)
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

    def keep(hashes: Any, own: Any, settings: Settings) -> phrases.PhraseSamples:
        del settings
        found.update(zip(hashes.tolist(), own.tolist(), strict=True))
        return phrases.PhraseSamples(hashes, own)

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
    fresh = corpus_article(88_888, words=24)
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
    document = replace(
        corpus_article(5), text="the capybara of the harbour saw the mayor of the storm"
    )
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
    settings = replace(PLAIN, methods=methods).with_words(file)
    without = replace(settings, leave_out_boilerplate=True)
    assert without.fingerprint_of_format() != settings.fingerprint_of_format()
    fresh = replace(corpus_article(99_999), source="courier")
    footed = replace(fresh, text=f"{FOOTER}. {fresh.text}. {FOOTER}.")
    bare = Document(id="b", text=FOOTER, lang="en", source="courier")
    one, other = sign_many([fresh, footed], without)
    assert one.signature == other.signature
    lengths = [c.words for c in read_contents([fresh, bare], without)]
    assert lengths == [len(reference.words(fresh.text)), len(reference.words(FOOTER))]
    plain, with_footer = sign_many([fresh, footed], settings)
    assert plain.signature != with_footer.signature
    poly = replace(without, fingerprint="poly31")
    assert len({str(s.signature.keys) for s in sign_many([fresh, footed], poly)}) == 1
    elsewhere = sign_many([replace(footed, source="herald")], without)[0]
    assert elsewhere.signature.digest == with_footer.signature.digest


# --- bands -------------------------------------------------------------------------------------


def test_bands_join_samples_into_supershingles() -> None:
    banded = replace(ALONSO, phrase_band=4, phrase_threshold=0.5)
    text = corpus_article(1, words=400)
    near = replace(text, text=text.text.replace("the mayor of", "the lord mayor of"))
    one, copy, other = phrase_keys(banded, text, near, corpus_article(2, words=400))
    assert len(one) == banded.phrase_samples // 4
    assert all(key.startswith(f"q{i:02d}:") and len(key) == 16 for i, key in enumerate(one))
    assert phrases.min_shared_keys(banded) == 1
    assert not set(one) & set(other)
    exact, near_exact = phrase_keys(ALONSO, text, near)
    assert phrases.compare(one, copy, banded) == pytest.approx(
        phrases.compare(exact, near_exact, ALONSO), abs=0.2
    )
    # A band is the same where all four samples are.
    same_samples = [a == b for a, b in zip(exact, near_exact, strict=True)]
    whole = [all(same_samples[i : i + 4]) for i in range(0, 64, 4)]
    assert [a == b for a, b in zip(one, copy, strict=True)] == whole
