"""Reading and rules by construction: texts of phrases whose counts are written down beside them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.features.numbers import extract_numbers

Counts = tuple[tuple[str, str], ...]

# Each phrase is a sentence, with the value and kind of every count in it.
PHRASES: dict[str, dict[str, Counts]] = {
    "en": {
        "At least 12 people were killed": (("12", "count"),),
        "Some 1,234 houses were damaged": (("1234", "count"),),
        "About 1.5 million voters came": (("1500000", "count"),),
        "Two hundred and five miners left": (("205", "count"),),
        "Damage of $3bn was reported": (("3000000000", "money"),),
        "Prices rose 4.5 percent again": (("4.5", "percent"),),
        "The home side won 2-1 easily": (("2-1", "count"),),
        "The law dates from 1987 and stands": (),
        "They met on 12 March in Leeds": (),
        "The match began at 10:30 sharp": (),
        "A man aged 45 was arrested": (),
        "Police came 3 hours ago with dogs": (),
        "An F-16 landed safely": (),
        "See page 7 for details": (),
    },
    "de": {
        "Mindestens 12 Menschen starben": (("12", "count"),),
        "Rund 1.234 Tiere wurden gerettet": (("1234", "count"),),
        "Zweihundert Helfer kamen": (("200", "count"),),
        "Die Preise stiegen um 3,5 Prozent": (("3.5", "percent"),),
        "Das geschah am 12. März in Ulm": (),
        "Der Zug kam um 9 Uhr an": (),
    },
    "fr": {
        "Au moins 12 personnes sont mortes": (("12", "count"),),
        "Le prix a augmenté de 3,5 pour cent": (("3.5", "percent"),),
        "La fête a lieu le 12 mars prochain": (),
    },
    "tr": {
        "En az 12 kişi öldü": (("12", "count"),),
        "Fiyatlar yüzde 42,9 arttı": (("42.9", "percent"),),
        "Toplam 12 bin 500 konut yıkıldı": (("12500", "count"),),
        "Toplantı 12 Mart günü yapıldı": (),
    },
}


def counts_of(text: str, lang: str) -> Counts:
    return tuple((number.value, number.kind) for number in extract_numbers(text, lang))


@pytest.mark.parametrize(
    ("lang", "phrase"), [(lang, phrase) for lang, known in PHRASES.items() for phrase in known]
)
def test_a_phrase_has_the_counts_written_beside_it(lang: str, phrase: str) -> None:
    assert counts_of(f"{phrase}.", lang) == PHRASES[lang][phrase]


@given(st.data())
def test_a_text_has_the_counts_of_its_sentences(data: st.DataObject) -> None:
    """No sentence changes how another one is read, whatever their order."""
    lang = data.draw(st.sampled_from(sorted(PHRASES)))
    phrases = data.draw(st.lists(st.sampled_from(sorted(PHRASES[lang])), max_size=12))
    expected = tuple(count for phrase in phrases for count in PHRASES[lang][phrase])
    assert counts_of(" ".join(f"{phrase}." for phrase in phrases), lang) == expected
