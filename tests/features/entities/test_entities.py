"""TuNER (paper 004, chapter 3): its worked examples by name, and the other languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.features.entities import Entity, find_entities
from esdedup.features.entities.gazetteers import BODY_END, PLACE_END, TITLE, knowledge
from esdedup.features.entities.languages import RULES, TURKISH
from esdedup.features.entities.words import locate_words
from esdedup.text.hashing import BASE_MIXED
from esdedup.text.tokens import tokenise

FIGURE_3_1 = (
    "Türkiye’de en yüksek maaşı alan CEO’lar arasında Shell Genel Müdürü Canan Ediboğlu, Microsoft "
    "Türkiye Genel Müdürü Çağlayan Arkın ve Unilever Türkiye Yönetim Kurulu Başkanı İzzet "
    "Karaca’nın isimleri geçiyor.\n"
    "Mersin Üniversitesi’nde karşıt görüşlü öğrenciler arasında dün başlayan gerginlik sürüyor.\n"
    "Santrali işleten şirkete bu yıl Muğla Çevre İl Müdürlüğü tarafından 7 defa para cezası "
    "uygulandı."
)


def names_of(text: str, lang: str = "tr", *, nested: bool = True) -> dict[str, set[str]]:
    kinds: dict[str, set[str]] = {"person": set(), "location": set(), "organisation": set()}
    for entity in find_entities(text, lang, nested=nested):
        kinds[entity.kind].add(entity.text)
    return kinds


def test_figure_3_1() -> None:
    """CEO and Santrali are unclassified; the figure leaves Shell out of all its columns."""
    found = names_of(FIGURE_3_1)
    assert found["person"] == {"Canan Ediboğlu", "Çağlayan Arkın", "İzzet Karaca"}
    assert found["location"] == {"Türkiye", "Mersin", "Muğla"}
    assert found["organisation"] == {
        "Unilever Türkiye Yönetim Kurulu",
        "Mersin Üniversitesi",
        "Muğla Çevre İl Müdürlüğü",
        "Microsoft Türkiye",
    }


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("Yaralılar Atatürk Hastanesi'nde tedavi gördü.", "Atatürk Hastanesi", "organisation"),
        (
            "Kaza Fatih Sultan Mehmet Köprüsü üzerinde oldu.",
            "Fatih Sultan Mehmet Köprüsü",
            "location",
        ),
        ("Toplantıya Sayın Ali Öztürk katıldı.", "Ali Öztürk", "person"),
        ("Dün Belediye Başkanı Melih Gökçek konuştu.", "Melih Gökçek", "person"),
        ("Kapıyı Zeynep Hanım açtı.", "Zeynep Hanım", "person"),
        ("Sonra Mehmet Efendi geldi.", "Mehmet Efendi", "person"),
        (
            "Karar Milli Eğitim Bakanlığı tarafından alındı.",
            "Milli Eğitim Bakanlığı",
            "organisation",
        ),
        ("O yıl Bilkent Üniversitesi'nde okudu.", "Bilkent Üniversitesi", "organisation"),
        (
            "Karar Emniyet Genel Müdürlüğü binasında alındı.",
            "Emniyet Genel Müdürlüğü",
            "organisation",
        ),
        ("Yürüyüş Atatürk Bulvarı boyunca sürdü.", "Atatürk Bulvarı", "location"),
        ("Maç Ali Sami Yen Stadyumu'nda oynandı.", "Ali Sami Yen Stadyumu", "location"),
        ("Kar Erciyes Dağı'na yağdı.", "Erciyes Dağı", "location"),
    ],
)
def test_examples_of_chapter_3(text: str, name: str, kind: str) -> None:
    assert name in names_of(text)[kind]
    others = {k: v for k, v in names_of(text).items() if k != kind}
    assert not any(name in names for names in others.values())


def test_partial_match_with_an_earlier_name() -> None:
    text = "Krediyi Garanti Bankası verdi. Dün yapılan açıklamada ise Garanti adına konuşuldu."
    assert names_of(text)["organisation"] == {"Garanti Bankası", "Garanti"}
    assert "Garanti" not in names_of("Dün ise Garanti adına konuşuldu.")["organisation"]


def test_deniz_at_the_beginning_of_a_sentence_is_the_sea() -> None:
    """The thesis calls it a person (section 3.3): a name that is also a word says nothing there."""
    assert not any(names_of("Deniz bugün çok soğuk, değil mi?").values())


def test_inflected_endings_and_locatives() -> None:
    assert (
        "Ankara Üniversitesinde" in names_of("Dün Ankara Üniversitesinde konuştu.")["organisation"]
    )
    assert "Cagliari" in names_of("Gramsci okulu Cagliari'de tamamladı.")["location"]
    assert not names_of("Sokakta Ankara'lı gençler vardı.")["location"]


@pytest.mark.parametrize(
    ("lang", "text", "kind", "names"),
    [
        ("en", "On Monday Mr. John Smith flew to Paris.", "person", {"John Smith"}),
        ("en", "The talks were held in Berlin and London.", "location", {"Berlin", "London"}),
        ("en", "He left the Bank of England in May.", "organisation", {"Bank of England"}),
        ("en", "She read law at Oxford University.", "organisation", {"Oxford University"}),
        ("fr", "Hier, le ministre Jean Dupont était à Lyon.", "person", {"Jean Dupont"}),
        ("fr", "Il étudie à l’Université de Genève.", "organisation", {"Université de Genève"}),
        ("de", "Am Montag reiste Bundeskanzlerin Angela Merkel ab.", "person", {"Angela Merkel"}),
        ("de", "Sie wohnt seit Jahren in Hamburg.", "location", {"Hamburg"}),
        ("es", "El presidente viajó ayer a Madrid.", "location", {"Madrid"}),
        ("es", "Trabaja en el Banco de España.", "organisation", {"Banco de España"}),
    ],
)
def test_the_same_scheme_in_other_languages(
    lang: str, text: str, kind: str, names: set[str]
) -> None:
    assert names <= names_of(text, lang)[kind]


def test_words_of_grammar_are_no_names() -> None:
    text = "The Monday after was cold. However, it rained. In April the French left. But no."
    assert not any(names_of(text, "en").values())


def test_the_rule_lists_of_the_thesis_are_there() -> None:
    """Table 3.2: 16 person prefixes, 5 suffixes, 66 and 39 endings (one stray, two repeated)."""
    table = knowledge("tr").table
    for word in ("başkani", "mareşal", "yüzbaşi", "sayin"):
        assert table[word] & TITLE
    for word in ("köprüsü", "çiftliği", "ilçesi", "mahallesinde"):
        assert table[word] & PLACE_END
    for word in ("bankasi", "şubesi", "üniversitesinde"):
        assert table[word] & BODY_END
    assert "Başbakanı" not in TURKISH.place_ends.split()


def test_places_in_the_text_are_those_of_the_names() -> None:
    for entity in find_entities(FIGURE_3_1, "tr"):
        assert FIGURE_3_1[entity.start : entity.end] == entity.text
    assert Entity(0, 7, "location", "Türkiye") in find_entities(FIGURE_3_1, "tr")


@given(st.text(alphabet="aBç İı'’-—–\" .,(\n½ﬁ東\u0301", max_size=40))
def test_located_words_are_the_words(text: str) -> None:
    places = locate_words(text)
    assert len(places) == len(tokenise([text], BASE_MIXED).hashes)
    assert all(start < end for start, end in places)
    assert places == sorted(places)


@pytest.mark.parametrize("lang", [*RULES, "xx", None])
def test_every_language_has_a_table(lang: str | None) -> None:
    assert len(knowledge(lang).table) > 100_000


def test_the_rules_are_a_part_of_a_spacy_pipeline() -> None:
    import spacy

    import esdedup.features.entities.component as part

    nlp = spacy.blank("tr")
    nlp.add_pipe("esdedup_entities")
    doc = nlp("Dün Mersin Üniversitesi'nde Canan Ediboğlu konuştu.")
    assert [(e.label_) for e in doc.ents] == ["ORG", "PERSON"]
    assert doc.ents[1].text == "Canan Ediboğlu"
    assert {span.label_ for span in doc.spans[part.SPANS]} == {"ORG", "LOC", "PERSON"}
