"""Counts in context: what is read, what is not a count, and what counts as changed."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from num2words import num2words

from esdedup.features.numbers import (
    NumberChange,
    NumberContext,
    compare_numbers,
    extract_numbers,
)
from esdedup.features.numbers.languages import lexicon_of
from tests.support.work import count_lines


def values(text: str, lang: str | None = "en") -> list[str]:
    return [number.value for number in extract_numbers(text, lang)]


def kinds(text: str, lang: str = "en") -> list[tuple[str, str]]:
    return [(number.value, number.kind) for number in extract_numbers(text, lang)]


def changes(old: str, new: str, lang: str = "en") -> list[tuple[str, str]]:
    found = compare_numbers(extract_numbers(old, lang), extract_numbers(new, lang))
    return [(change.old, change.new) for change in found]


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", "At least 12 people died.", ["12"]),
        ("en", "Twelve people died and twenty-one were hurt.", ["12", "21"]),
        ("en", "twenty one boats, two hundred and forty-two cars", ["21", "242"]),
        ("en", "two hundred homes, a hundred barns", ["200", "100"]),
        ("en", "12,000 homes, 12 000 barns, 12 thousand boats", ["12000"] * 3),
        ("en", "1.2 million people, 1,200,000 voters", ["1200000"] * 2),
        ("en", "two thousand five hundred sheep", ["2500"]),
        ("en", "12\u00a0000 homes, 12\u202f000 barns", ["12000"] * 2),
        ("en", "a magnitude 6.1 quake, later 6.10", ["6.1", "6.1"]),
        ("en", "12,34,567 voters and 3 lakh ballots", ["1234567", "300000"]),
        ("en", "a pipe of 12km and a 12-vehicle pile-up", ["12", "12"]),
        ("en", "2015 cases were reported", ["2015"]),
        ("fr", "Douze morts, soixante et onze blessés", ["12", "71"]),
        ("fr", "deux cent trois blessés, quatre-vingt-dix-neuf cas", ["203", "99"]),
        ("fr", "12 000 personnes, 1.200 cas, 6,1 degrés", ["12000", "1200", "6.1"]),
        ("fr", "1,5 million d'habitants, 3 milliards", ["1500000", "3000000000"]),
        ("de", "Zwölf Tote und einundzwanzig Verletzte", ["12", "21"]),
        ("de", "zweihunderteinundzwanzig Kühe, zweitausend Schafe", ["221", "2000"]),
        ("de", "1.000 Menschen, 6,1 Grad, 1,2 Mio. Hühner", ["1000", "6.1", "1200000"]),
        ("es", "Doce muertos y treinta y un heridos", ["12", "31"]),
        ("es", "mil doscientos casos, doscientas casas", ["1200", "200"]),
        ("es", "3 mil millones de litros, 1.500 casos", ["3000000000", "1500"]),
        ("tr", "On iki kişi öldü, yirmi beş kişi yaralandı", ["12", "25"]),
        ("tr", "12 bin 500 kişi, bin 200 ev, 1 milyon 250 bin fidan", ["12500", "1200", "1250000"]),
        ("tr", "üç yüz yirmi beş ev, 12'si ağır hasarlı", ["325", "12"]),
        ("tr", "Yaralılardan üç’ü öldü, on'u taburcu oldu. Ölü sayısı on.", ["3", "10", "10"]),
        ("tr", "6,1 büyüklüğünde deprem, 1.000 çadır", ["6.1", "1000"]),
        ("tr", "YİRMİ KIŞLA, KIRK ÇADIR", ["20", "40"]),
        ("it", "ventuno morti, dodicimila sfollati", ["21", "12000"]),
        ("pt", "vinte e dois mortos, dezesseis casos", ["22", "16"]),
        ("nl", "tweeëntwintig doden, 12 duizend huizen", ["22", "12000"]),
        ("zh", "地震造成12人死亡, 1.2万人受灾", ["12", "12000"]),
        ("ja", "1万2000人が避難し、3億5000万円の被害", ["12000", "350000000"]),
        ("zh", "约1万2千人受灾，3万 5人受伤", ["12000", "30000", "5"]),
        ("ar", "مقتل ١٢ شخصا", ["12"]),
        ("sv", "tolv döda, 17 skadade", ["17"]),
        (None, "twelve dead, 17 hurt, 1,000 homes, 1.000 barns", ["17", "1000", "1000"]),
    ],
)
def test_counts_are_read_in_each_language(lang: str | None, text: str, expected: list[str]) -> None:
    assert values(text, lang) == expected


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", "up 42.9 % or 42.9 percent or 42.9 per cent", [("42.9", "percent")] * 3),
        ("fr", "42,9 % ou 42,9 pour cent", [("42.9", "percent")] * 2),
        ("de", "42,9 Prozent", [("42.9", "percent")]),
        ("es", "42,9 por ciento", [("42.9", "percent")]),
        ("tr", "yüzde 42,9 ve %42,9", [("42.9", "percent")] * 2),
        ("en", "$1.5bn and £600m", [("1500000000", "money"), ("600000000", "money")]),
        ("en", "12 dollars, US$12, EUR 12", [("12", "money")] * 3),
        ("es", "2 millones de euros", [("2000000", "money")]),
        ("tr", "3 milyon TL", [("3000000", "money")]),
        ("en", "12 tents", [("12", "count")]),
    ],
)
def test_kinds(lang: str, text: str, expected: list[tuple[str, str]]) -> None:
    assert kinds(text, lang) == expected


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "on 12 March, March 12, 2026, Sept. 12 and 12/03/2026"),
        ("en", "on 12 and 13 March, from 3 to 5 May, on March 12 and 13"),
        ("en", "since 1998 and in 2026, class of '07"),
        ("en", "at 10:30, at 3 p.m., 5 pm, 10.30 am, six o'clock, 1400 GMT"),
        ("en", "call +90 312 555 12 34 or 0800 123 456 or 555-1234 or (555) 123-4567"),
        ("en", "case 123456789012, file 00123"),
        ("en", "John Smith, 45, of Leeds; a 12-year-old boy; a man aged 30"),
        ("en", "3 comments\n12 shares\nPage 2 of 3\n5 min read\nPhoto 1/5\n3 hours ago"),
        ("en", "1. Wash hands\n2) Boil water\n3\n© 2026 Daily"),
        ("en", "1/5 of it, 3-5 May, on March 12-13, pages 2-3, at 2-3 pm, 02-03"),
        ("en", "dial 12-34-56 or 2010-11, built 1-2-3, a man aged 18-34"),
        ("en", "https://example.org/2026/a-12?x=3 and www.24news.example"),
        ("en", "COVID-19, an F-16, H5N1, the 17th, the 1990s, version 10.4.8, No. 5, #3"),
        ("en", "one man, two-thirds of it, 12 Main Street"),
        ("fr", "le 3 mars, le 12 avril 2026, 10h30, il y a 3 heures, un homme, âgé de 45 ans"),
        ("de", "am 12. März, um 14 Uhr, 14.00 Uhr, vor 3 Stunden, ein Mann, der 45-jährige"),
        ("es", "el 12 de marzo de 2026, hace 3 horas, un hombre"),
        ("tr", "12 Mart 2026, saat 14.00, 3 saat önce, bir adam, 45 yaşındaki, 2020'de"),
        ("zh", "2026年3月12日"),
    ],
)
def test_not_counts(lang: str, text: str) -> None:
    assert values(text, lang) == []


def test_may_is_a_month_only_with_a_capital() -> None:
    assert values("17 may have died") == ["17"]
    assert values("On 17 May they died") == []


def test_context_holds_content_words_of_the_sentence() -> None:
    (number,) = extract_numbers(
        "It rained. At least 12 people were killed by floods. All left.", "en"
    )
    assert number == NumberContext("12", "count", "", "people killed floods")


def test_a_wrapped_line_goes_on() -> None:
    (number,) = extract_numbers("the storm left 12 people\nhomeless in Leeds", "en")
    assert number.after == "people homeless leeds"


@pytest.mark.parametrize(
    ("lang", "old", "new", "expected"),
    [
        ("en", "At least 12 people were killed.", "At least 17 people have been killed.", "12 17"),
        ("en", "12 dead", "17 dead", "12 17"),
        ("en", "Flood leaves 12 dead in Leeds", "Flood leaves 17 dead in Leeds", "12 17"),
        ("en", "a blast killing 12 people.", "a blast killing seventeen people.", "12 17"),
        ("en", "The toll: 12 dead in Leeds.", "The toll: 17 dead in Leeds, up from 12.", "12 17"),
        (
            "en",
            "12 people were killed in the flood.",
            "17 people were killed, up from 12 people killed on Monday.",
            "12 17",
        ),
        ("en", "a magnitude 6.1 earthquake", "a magnitude 6.3 earthquake", "6.1 6.3"),
        ("en", "oil rose to $81 a barrel", "oil rose to $84 a barrel", "81 84"),
        ("en", "inflation rose 4.1 percent", "inflation rose 4.3 percent", "4.1 4.3"),
        ("en", "more than 1,200 cases in Leeds", "1,213 cases in Leeds", "1200 1213"),
        ("en", "Floods kill 12 in Leeds, 17 fled", "Floods kill 17 in Leeds, 17 fled", "12 17"),
        ("fr", "Au moins 12 personnes ont été tuées", "17 personnes ont été tuées", "12 17"),
        ("de", "mindestens zwölf Tote in Köln", "mindestens 17 Tote in Köln", "12 17"),
        ("es", "al menos 12 muertos en Lima", "al menos 17 muertos en Lima", "12 17"),
        ("tr", "Selde 12 kişi öldü", "Selde 17 kişinin öldüğü bildirildi", "12 17"),
        ("tr", "enflasyon yüzde 42,9 arttı", "enflasyon yüzde 43,1 arttı", "42.9 43.1"),
    ],
)
def test_a_changed_count_is_found(lang: str, old: str, new: str, expected: str) -> None:
    before, after = expected.split()
    assert changes(old, new, lang) == [(before, after)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("twelve people were killed", "12 people were killed"),
        ("1.2 million people fled", "1,200,000 people fled"),
        ("12,000 people fled", "12 thousand people fled"),
        ("12 people died.\n30 people fled.", "30 people fled.\n12 people died."),
        ("12 people died.", "12 people died.\nIn Leeds 40 shops closed."),
        ("12 people died.\nIn Leeds 40 shops closed.", "12 people died."),
        ("Leeds 12 cases, York 17 cases, Bath 5 cases", "York 17 cases, Bath 5 cases"),
        ("12 people died on March 3. 3 comments", "12 people died on March 5. 9 comments"),
        ("a 7,000-foot runway in Leeds", "a 2,133-metre runway in Leeds"),
        ("the deal cost $12m in Leeds", "the deal cost £9m in Leeds"),
        ("1.4 workers took part", "1,400,000 workers took part"),
        ("12 people died", "Twelve people died\n12 people died"),
    ],
)
def test_no_change(old: str, new: str) -> None:
    assert changes(old, new) == []


@pytest.mark.parametrize(
    ("lang", "old", "new", "expected"),
    [
        ("en", "One person was killed in it", "Two people were killed in it", ("1", "2")),
        ("en", "One dead in ferry fire", "Three dead in ferry fire", ("1", "3")),
        ("fr", "Une personne a été tuée ici", "Deux personnes ont été tuées ici", ("1", "2")),
        ("fr", "neuf morts dans l'incendie", "onze morts dans l'incendie", ("9", "11")),
        ("de", "Ein Mensch kam ums Leben", "Zwei Menschen kamen ums Leben", ("1", "2")),
        ("es", "Una persona murió allí", "Dos personas murieron allí", ("1", "2")),
        ("tr", "Kazada bir kişi öldü", "Kazada iki kişi öldü", ("1", "2")),
        ("it", "Il bilancio sale a sei morti", "Il bilancio sale a otto morti", ("6", "8")),
        ("pt", "Uma pessoa morreu ontem", "Duas pessoas morreram ontem", ("1", "2")),
        ("nl", "Eén persoon gewond geraakt", "Twee personen gewond geraakt", ("1", "2")),
    ],
)
def test_one_person_is_a_count(lang: str, old: str, new: str, expected: tuple[str, str]) -> None:
    assert changes(old, new, lang) == [expected]
    assert changes(new, old, lang) == [expected[::-1]]


@pytest.mark.parametrize(
    ("lang", "old", "new", "expected"),
    [
        (
            "en",
            "One person was killed and two were injured.",
            "Two people were killed and two were injured.",
            [("1", "2")],
        ),
        ("tr", "2 kişi öldü, 5 kişi yaralandı", "5 kişi öldü, 5 kişi yaralandı", [("2", "5")]),
        ("de", "Zwei Tote und drei Verletzte", "Drei Tote und drei Verletzte", [("2", "3")]),
        (
            "en",
            "The toll rose to 12. Others, 17, were rescued.",
            "The toll rose to 17. Others, 17, were rescued.",
            [("12", "17")],
        ),
        (
            "tr",
            "2 kişi öldü, 3 kişi yaralandı",
            "3 kişi öldü, 2 kişi yaralandı",
            [("2", "3"), ("3", "2")],
        ),
    ],
)
def test_the_new_value_may_stand_elsewhere_in_the_old_text(
    lang: str, old: str, new: str, expected: list[tuple[str, str]]
) -> None:
    assert changes(old, new, lang) == expected


@pytest.mark.parametrize(
    ("lang", "old", "new", "expected"),
    [
        ("en", "Leeds beat York 2-1 at home", "Leeds beat York 3-1 at home", ("2-1", "3-1")),
        ("en", "Leeds lead (2–0) at half-time", "Leeds lead (3–0) at half-time", ("2-0", "3-0")),
        ("en", "10-15 people are missing", "20-25 people are missing", ("10-15", "20-25")),
    ],
)
def test_a_score_or_a_range_is_one_count(
    lang: str, old: str, new: str, expected: tuple[str, str]
) -> None:
    assert changes(old, new, lang) == [expected]


@pytest.mark.parametrize(
    ("lang", "old", "new", "expected"),
    [
        ("en", "A dozen people died", "Two dozen people died", ("12", "24")),
        ("en", "Half a dozen people died", "A dozen people died", ("6", "12")),
        ("fr", "Une douzaine de blessés ici", "Deux douzaines de blessés ici", ("12", "24")),
        ("de", "Ein Dutzend Menschen starben", "Zwei Dutzend Menschen starben", ("12", "24")),
        ("es", "Una docena de muertos allí", "Dos docenas de muertos allí", ("12", "24")),
        ("tr", "bir düzine kişi öldü", "iki düzine kişi öldü", ("12", "24")),
    ],
)
def test_dozens_are_counts(lang: str, old: str, new: str, expected: tuple[str, str]) -> None:
    assert changes(old, new, lang) == [expected]


@pytest.mark.parametrize(
    ("lang", "old", "new"),
    [
        (None, "爆炸造成至少12人死亡。", "爆炸造成至少17人死亡。"),
        ("zh", "确诊病例１２例", "确诊病例１７例"),
        (None, "地震で１２人が死亡した", "地震で１７人が死亡した"),
        (None, "폭발로 12명이 숨졌다", "폭발로 17명이 숨졌다"),
        ("ko", "폭발로 12명이 숨졌다", "폭발로 17명이 숨졌다"),
        (None, "قتل ١٢ شخصا في الانفجار", "قتل ١٧ شخصا في الانفجار"),
    ],
)
def test_the_script_tells_how_digits_are_read(lang: str | None, old: str, new: str) -> None:
    found = compare_numbers(extract_numbers(old, lang), extract_numbers(new, lang))
    assert [(change.old, change.new) for change in found] == [("12", "17")]


def test_a_magnitude_behind_a_hyphen_is_a_count() -> None:
    old, new = (f"A magnitude-{size} earthquake struck the region" for size in ("5.1", "5.3"))
    assert changes(old, new) == [("5.1", "5.3")]
    assert values("the magnitude-free F-16 and GPT-4.5") == []


def test_a_change_reads_well() -> None:
    (change,) = compare_numbers(
        extract_numbers("12 people were killed", "en"),
        extract_numbers("17 people were killed", "en"),
    )
    assert str(change) == "12 -> 17: people killed"
    assert str(NumberChange("1", "2", "")) == "1 -> 2"


LANGUAGES = st.sampled_from(
    ["en", "fr", "de", "es", "tr", "it", "pt", "nl", "zh", "ar", "en-GB", None]
)
WORDS = "killed people dead rose to 12 17 1,000 twelve percent million $5 March , . in of"
ARTICLES = st.lists(st.sampled_from([*WORDS.split(), "\n"]), max_size=60).map(" ".join)


@given(st.text(), LANGUAGES)
def test_any_text_is_unchanged_against_itself(text: str, lang: str | None) -> None:
    numbers = extract_numbers(text, lang)
    assert compare_numbers(numbers, numbers) == ()


@given(ARTICLES, ARTICLES)
def test_a_change_names_values_of_both_texts(old: str, new: str) -> None:
    one, other = extract_numbers(old, "en"), extract_numbers(new, "en")
    for change in compare_numbers(one, other):
        assert change.old != change.new
        assert change.old in {number.value for number in one}
        assert change.new in {number.value for number in other}


@given(st.lists(ARTICLES.map(lambda text: text.replace("\n", " ")), max_size=6), st.randoms())
def test_the_order_of_paragraphs_does_not_matter(paragraphs: list[str], random: Random) -> None:
    # A capital letter opens each paragraph: a line in lower case goes on from the one before.
    lines = [f"Then {line}" for line in paragraphs]
    shuffled = random.sample(lines, len(lines))
    assert changes("\n".join(lines), "\n".join(shuffled)) == []


@given(st.integers(0, 999), st.sampled_from(["en", "de", "fr", "es", "it", "pt", "nl", "tr"]))
def test_number_words_mean_their_digits(number: int, lang: str) -> None:
    # num2words elides Italian hundreds in its own way ("centodicotto").
    number = number % 100 if lang == "it" else number
    read = values(f"= {num2words(number, lang=lang)} =", lang)
    # Left out: zero, "one" (an article in most languages), "neuf" (new) and "sei" (you are).
    assert read in ([str(number)], [])
    if number > 9:
        assert read == [str(number)]


@given(st.integers(1, 10**9 - 1))
def test_grouping_marks_do_not_change_the_value(number: int) -> None:
    english = f"{number:,}"
    for mark, lang in ((",", "en"), (" ", "en"), (".", "de"), ("\u202f", "fr"), ("'", "de")):
        text = f"= {english.replace(',', mark)} boats"
        assert values(text, lang) in ([str(number)], [])
        if "," in english:
            assert values(text, lang) == [str(number)]


@pytest.mark.parametrize("lang", ["en", "tr", "zh", None])
def test_broken_characters_do_no_harm(lang: str | None) -> None:
    assert values("\ud800 12 people \x00 died \udfff", lang)[:1] == ["12"]
    assert values("", lang) == []
    assert values("12", lang) == []


@pytest.mark.parametrize(
    "unit",
    ["1", "1 ", "1.", "1,000 ", "1 000", "12 people ", "twenty ", "two hundred and ", "bin ", "- ",
     "million ", "1 million ", "'", "1'", "\n", "12\n", "(", "einund", "1 bin "],
)  # fmt: skip
@pytest.mark.parametrize("lang", ["en", "tr", "de"])
def test_work_grows_with_the_length_only(unit: str, lang: str) -> None:
    """Eight times the text; quadratic work would be 64 times as much.

    Patterns are not counted: tests/service/test_limits.py has long texts for them.
    """
    extract_numbers("x", lang)
    small = count_lines(lambda: extract_numbers(unit * 125, lang))
    assert count_lines(lambda: extract_numbers(unit * 1_000, lang)) < 9 * small


def test_many_equal_places_are_linear_work() -> None:
    def numbers(count: int, first: int) -> tuple[NumberContext, ...]:
        return tuple(
            NumberContext(str(first + i), "count", "were killed", "people dead")
            for i in range(count)
        )

    def lines(count: int) -> int:
        a, b = numbers(count, 0), numbers(count, 10_000)
        return count_lines(lambda: compare_numbers(a, b))

    assert lines(800) < 17 * lines(50)


# --- any text -------------------------------------------------------------------------------------

# Numbers, what makes them something else than counts, and words around them.
PIECES = """
    12 17 0 00 07 1 31 32 1000 1998 2015 2101 1,000 12,34,567 1.5 6,1 10.30 10:30 2-1 1/5 3bn 5m
    10–15 2-1m dozen half a
    12km 12'si 17th (12) (555) #3 +90 COVID-19 F-16 ١٢ ² 12² x12 12x 123456789 one two twelve
    twenty twenty-one hundred a and thousand million mil bin yüz iki beş deux cent vingt et un
    on üç zwei zweihundert tausend Mio. billion lakh crore doscientos mila duizend zwo bn m k
    $ £ € % ٪ EUR US$ dollars euros TL percent per pour por cent ciento yüzde de d' di
    March May may Mart Sept. . , ; ! ? : - – — / \\ ' \u2019 " ( ) & @ _ … “ ”
    No. page Page of in since aged year years old hours ago vor hace il y p.m. a.m. o'clock am
    Main Street rd comments share third people killed U.S. U. S. p.o. re-elected well-known
    person dead personne morts neuf bir kişi ein Mensch sei morti magnitude-5.1 12명 ４
    İzmir ISPARTA ığdır şubat café 人 死亡 万 千 億 1.2万 12人 年 月 3月 。 ； カナ thirds cases
"""
SPACES = ("", " ", " ", " ", " ", "  ", "\n", " \n", "\t", "\u00a0", "\u202f", "\r\n", "\u3000")
PIECED_TEXTS = st.lists(
    st.tuples(st.sampled_from(PIECES.split()), st.sampled_from(SPACES)), max_size=50
).map(lambda pairs: "".join(piece + space for piece, space in pairs))
ALL_LANGUAGES = st.sampled_from(
    ["en", "fr", "de", "es", "tr", "it", "pt", "nl", "zh", "ja", "ar", "sv", None]
)


@settings(max_examples=500)
@given(PIECED_TEXTS | st.text(), ALL_LANGUAGES)
@example("1,000 tausend", "ar")
@example("3bn ciento\u00a0aged", "es")
@example("2 million 10-15 times", "en")
def test_any_text_is_read(text: str, lang: str | None) -> None:
    """Values are numerals as docs/format.md has them, and contexts have at most three words."""
    for number in extract_numbers(text, lang):
        assert re.fullmatch(r"\d+(\.\d*[1-9])?|\d+-\d+", number.value), number
        assert number.kind in ("count", "percent", "money")
        assert len(number.before.split()) <= 3
        assert len(number.after.split()) <= 3


@pytest.mark.parametrize("lang", ["en", "de", "fr", "es", "it", "nl", "pt", "tr"])
def test_every_number_word_is_found_before_any_mark(lang: str) -> None:
    for word, value in lexicon_of(lang).values.items():
        if 10 < value < 1000:
            for mark in ("", ".", ",", ")", "”", "\u00a0"):
                found = extract_numbers(f"{word}{mark} xxx", lang)
                assert [number.value for number in found] == [str(value)], (word, mark)
