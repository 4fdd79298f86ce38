"""Counts in a news text, and which of them changed between two versions of it.

`number_contexts` finds the counts of a text with a few words on either side; these are small
enough to be stored. `changed_numbers` compares the stored counts of two texts that are known to
be near-identical, and lists those that changed in the same context ("12 -> 17 people killed").

Counts are cardinal numbers in digits or words: people, cases, magnitudes, measures (kind
``count``), shares of a hundred (``percent``) and sums of money (``money``). Not counts: dates,
years, clock times, "3 hours ago", ordinals, ages, fractions, scores and ranges written "2-1",
ratios "1/5", phone numbers, identifiers, version and list numbers, names such as "COVID-19",
page furniture ("3 comments"), and a lone "one".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

COUNT = "count"
PERCENT = "percent"
MONEY = "money"

# Words kept on either side of a number: two decide, the third is for the reader and for ties.
CONTEXT_WORDS = 3
# Characters looked at on either side: about seven words, of which half are function words.
WINDOW = 40
# A page with more numbers is a table; bounds memory on hostile input.
MAX_NUMBERS = 2000
# From nine digits without separators on, a number is an identifier or a telephone number.
MAX_PLAIN_DIGITS = 8
MAX_DIGITS = 15


@dataclass(frozen=True, slots=True)
class NumberContext:
    """One count: its normalised value, its kind, and the content words around it."""

    value: str
    kind: str
    before: str
    after: str

    def to_json(self) -> list[str]:
        """The compact form for storage: [value, kind, before, after]."""
        return [self.value, self.kind, self.before, self.after]

    @classmethod
    def from_json(cls, row: Sequence[str]) -> NumberContext:
        """Read back what `to_json` wrote."""
        value, kind, before, after = row
        return cls(value, kind, before, after)


@dataclass(frozen=True, slots=True)
class NumberChange:
    """A count that changed, with the words of the new text that locate it."""

    old: str
    new: str
    context: str

    def __str__(self) -> str:
        return f"{self.old} -> {self.new} {self.context}".rstrip()


# --- Words that are the same question in every language -------------------------------------
# One union for all languages, where a word of one language is not a content word of another:
# a wrong language guess then does little harm.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MONTHS = _words(
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec "
    "janvier février fevrier mars avril mai juin juillet août aout septembre octobre novembre "
    "décembre decembre janv févr avr juil déc "
    "januar jänner februar märz maerz juni juli oktober dezember "
    "enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre "
    "diciembre ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık "
    "gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre "
    "janeiro fevereiro março maio junho julho setembro outubro novembro dezembro "
    "januari februari maart mei augustus"
)
DATE_JOINS = _words("and to of de do und bis et au y al ve ile e a en tot , - – '")

CLOCK_AFTER = _words(
    "am pm uhr hrs gmt utc est edt cst cdt mst mdt pst pdt bst cet cest ist noon midnight"
)
CLOCK_BEFORE = _words("saat saati um alle às kl")

AGE_BEFORE = _words("aged age âgé âgée âgés âgées edad yaşı")
AGE_AFTER = _words(
    "yaşında yaşındaki yaşındayken yaşlarındaki yaşlarında jährige jähriger jährigen jähriges "
    "jarige"
)
YEAR_UNITS = _words("year years yr yrs jahre jahren año años anos jaar anni ans")
OLD_WORDS = _words("old alt oud edad idade age âge")

TIME_UNITS = _words(
    "second seconds sec secs minute minutes min mins hour hours hr hrs day days week weeks month "
    "months year years sekunden minuten stunde stunden tag tagen tage woche wochen monat monaten "
    "jahr jahren heure heures jour jours semaine semaines mois an ans segundos minutos hora horas "
    "día días dia dias semana semanas mes meses mês año años ano anos saniye dakika saat gün hafta "
    "ay yıl yil minuti ora ore giorno giorni settimana settimane mese mesi anno anni minuut uur "
    "dag dagen weken maand maanden jaar"
)
AGO_AFTER = _words("ago önce evvel fa atrás geleden read okuma lecture lesezeit lettura lectura")
AGO_BEFORE = _words("vor hace há")

# Names and places in a page, not counts: "page 2", "Flight 447", "P.O. Box 12".
LABELS = _words(
    "no nos nr num number numéro número nummer numara numaralı page pages seite página sayfa "
    "photo photos image images picture slide fig figure table chart chapter section article "
    "articles part vol volume issue episode season version windows flight highway route interstate "
    "room box suite gate channel apt apartment line act rule title clause paragraph verse figura "
    "foto bild abbildung tabelle kapitel artikel teil madde bölüm artículo capítulo chapitre "
    "volume tome vol boeing airbus rev build release player copyright tel phone fax telefon "
    "téléphone teléfono zip id ref isbn posted"
)
_SHORT_LABELS = _words("no nos nr vol fig tel art apt rev ref sec pp num")
FURNITURE = _words(
    "comment comments commentaire commentaires kommentar kommentare comentario comentarios "
    "comentários yorum commenti reacties share shares partages views view vues görüntülenme "
    "okunma likes like beğeni retweets tweets replies reply réponses yanıt followers takipçi "
    "abonnés upvotes reads bookmarks trackbacks diggs pings recommends ratings rating "
)
# "12 Main Street": an address.
STREETS = _words("street avenue ave road rd blvd boulevard lane drive highway parkway")
FRACTIONS = _words("third thirds quarter quarters fifth fifths sixth sixths eighths tenths")

PERCENT_WORDS = _words(
    "% ٪ percent pct percentage percents prozent procent procenten prozentpunkte"
)
PERCENT_FIRST = _words("per pour por")
PERCENT_SECOND = _words("cent ciento cento")
PERCENT_BEFORE = _words("% ٪ yüzde")

CURRENCIES: Mapping[str, str] = {
    word: code
    for code, words in {
        "usd": "$ usd dollar dollars dlr dlrs dólar dólares dolar dollari dollaro "
        "dolara dolardan dolarlık doları doların",
        "eur": "€ eur euro euros avro avroluk avroya avrodan euroluk euroya",
        "gbp": "£ gbp pound pounds stg livres pfund libras sterlin",
        "jpy": "¥ jpy yen yens",
        "cny": "cny rmb yuan yuans",
        "try": "₺ try tl lira lirası liras liralık liraya liradan lirayı liranın",
        "inr": "₹ inr rs rupee rupees roupies rupien rupi",
        "rub": "₽ rub rouble roubles ruble rubles rubel",
        "chf": "chf franken",
        "peso": "peso pesos",
        "real": "brl reais",
        "franc": "franc francs",
        "mark": "dm marks",
    }.items()
    for word in words.split()
}

# Letters glued to digits: "$3bn", "£600m"; of the rest only units of measure are counts ("12km").
MONEY_SUFFIXES: Mapping[str, int] = {"k": 3, "m": 6, "mn": 6, "b": 9, "bn": 9, "tn": 12, "t": 12}
UNITS = _words(
    "m km kg cm mm ft in mi lb lbs g mg ml l ha kw mw gw kwh mph kph kmh km² m² m³ c °c °f nm hp "
    "gb mb kb tb ghz mhz pct tl tonnes tons barrels"
)

# Powers of ten by word; the long scale ("billion" = 10^12) is in the languages that use it.
SCALES: Mapping[str, int] = {
    word: power
    for power, words in {
        2: "hundred",
        3: "thousand tausend duizend mila",
        5: "lakh lakhs",
        6: "million millions mln mio mill milyon millionen millones millón milione milioni milhão "
        "milhões miljoen",
        7: "crore crores",
        9: "billion billions bln bn mrd milliard milliards milliarde milliarden milyar miliardo "
        "miliardi bilhão bilhões miljard",
        12: "trillion trillions trilyon billón billones bilioni biljoen trilhão trilhões",
    }.items()
    for word in words.split()
}

# --- What differs by language -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rules:
    """Hand-written facts about a language; the number words come from `num2words`."""

    decimal: str = ""
    # Three digits after the decimal mark: Spanish America groups with commas, Spain with points.
    both_marks_group: bool = False
    converters: tuple[str, ...] = ()
    # What stands between hundreds and the rest; "" where they are written as one word.
    hundreds_glue: str = ""
    extra_words: Mapping[str, int] | None = None
    # Not counts when they stand alone: the article "one", and words that are mostly others.
    not_alone: str = ""
    scales: Mapping[str, int] | None = None
    stop_words: str = ""


_TENS_TR = ["on", "yirmi", "otuz", "kırk", "elli", "altmış", "yetmiş", "seksen", "doksan"]
_UNITS_TR = ["bir", "iki", "üç", "dört", "beş", "altı", "yedi", "sekiz", "dokuz"]
# num2words writes Turkish numbers as one word ("oniki"), newspapers as two ("on iki").
_SPACED_TR = {
    f"{ten} {unit}": 10 * t + u
    for t, ten in enumerate(_TENS_TR, 1)
    for u, unit in enumerate(_UNITS_TR, 1)
} | {f"{unit} yüz": 100 * u for u, unit in enumerate(_UNITS_TR, 1) if u > 1}

_RULES: Mapping[str, _Rules] = {
    "en": _Rules(
        decimal=".",
        converters=("en",),
        hundreds_glue=r"[\s-](?:and\s)?",
        extra_words={"a hundred": 100},
        not_alone="one zero",
        stop_words="the and for were was are been have has had that this these those with "
        "into than more about around nearly almost over least most some another additional "
        "further total least only just roughly approximately who which their its his her they "
        "there will would could may might being also not but were now still far least estimated",
    ),
    "fr": _Rules(
        decimal=",",
        converters=("fr", "fr_BE"),
        hundreds_glue=r"[\s-]",
        extra_words={"mille": 1000},
        not_alone="un une zéro neuf",
        scales={"mille": 3, "billion": 12, "billions": 12},
        stop_words="les des une dans par pour sur avec plus moins environ quelque quelques près "
        "aux qui que ont été sont était étaient leur leurs ses son cette ces total est ainsi "
        "encore soit dont fait avait avaient",
    ),
    "de": _Rules(
        decimal=",",
        converters=("de",),
        extra_words={"hundert": 100, "zwo": 2},
        not_alone="ein eins eine null",
        scales={"billion": 12, "billionen": 12},
        stop_words="der die das den dem des und mindestens etwa rund mehr als über fast wurden "
        "wurde sind waren worden haben hat habe seien sei insgesamt ein eine einen einem einer "
        "bis mit von für auf bei ist war auch noch nach wenigstens knapp gut zum zur vom",
    ),
    "es": _Rules(
        decimal=",",
        both_marks_group=True,
        converters=("es",),
        hundreds_glue=r"\s",
        extra_words={"mil": 1000, "ciento": 100, "veintiún": 21},
        not_alone="un uno una cero",
        scales={"mil": 3},
        stop_words="los las una por para con más menos unos unas cerca casi han fueron sido del "
        "que total alrededor fue son está están había había sus como entre unas ser hay",
    ),
    "tr": _Rules(
        decimal=",",
        converters=("tr",),
        hundreds_glue=r"\s?",
        extra_words={**_SPACED_TR, "bin": 1000},
        not_alone="bir sıfır yüz",
        scales={"bin": 3},
        stop_words="ve ile için olan olarak bir az fazla yaklaşık çok daha toplam kadar ise bile "
        "tam nin nın nun nün dan den tan ten dir dır olduğu olduğunu ancak ayrıca bin",
    ),
    "it": _Rules(
        decimal=",",
        converters=("it",),
        extra_words={"mille": 1000, "tré": 3},
        not_alone="un uno una zero sei tré",
        stop_words="gli una per con più meno circa quasi sono stati stato stata state hanno del "
        "della dei delle degli almeno che oltre nel nella altri anche dal dalla alla",
    ),
    "pt": _Rules(
        decimal=",",
        both_marks_group=True,
        converters=("pt", "pt_BR"),
        hundreds_glue=r"\se\s",
        extra_words={"mil": 1000, "cento": 100, "duas": 2},
        not_alone="um uma zero",
        scales={"mil": 3},
        stop_words="uma por para com mais menos cerca quase foram são dos das pelo pela que "
        "total foi está estão nos nas sua seu como entre ser",
    ),
    "nl": _Rules(
        decimal=",",
        converters=("nl",),
        not_alone="een één nul",
        stop_words="het een van voor met meer dan minstens ongeveer bijna zijn werden waren "
        "hebben heeft zeker ruim rond werd is die dat deze aan bij ook nog",
    ),
    # Digits only: the signs for ten thousand and up are scales, the others make it a date.
    "zh": _Rules(decimal=".", scales={"万": 4, "萬": 4, "亿": 8, "億": 8, "千": 3}),
    "ja": _Rules(decimal=".", scales={"万": 4, "億": 8, "千": 3}),
}
_UNKNOWN = _Rules(both_marks_group=True)
_IDEOGRAPHIC = frozenset({"zh", "ja"})
_IDEOGRAPH_DATES = frozenset("年月日時时点點分岁歳才号號")


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """A language ready for use: compiled patterns and lookup tables."""

    lang: str
    decimal: str
    both_marks_group: bool
    filters: tuple[bytes, ...]
    number: re.Pattern[str]
    values: Mapping[str, int]
    scales: Mapping[str, int]
    scale_initials: frozenset[str]
    # Words that never serve as context.
    ignored: frozenset[str]
    ideographic: bool


# Groups of three with a space or apostrophe between, or digits with points and commas.
_DIGITS = "(\\d{1,3}(?:[ \u00a0\u202f\u2009'\u2019]\\d{3})+(?:[.,]\\d+)?(?!\\d)|\\d+(?:[.,]\\d+)*)"


@lru_cache(maxsize=64)
def _lexicon(lang: str) -> _Lexicon:
    rules = _RULES.get(lang, _UNKNOWN)
    values = _number_words(rules)
    scales = {**SCALES, **(rules.scales or {})}
    ideographic = lang in _IDEOGRAPHIC
    lead = r"(?<![a-z\d_])" if ideographic else r"(?<!\w)"
    alternatives = _DIGITS
    if values:
        alternatives += f"|({_word_pattern(values, rules)})"
    return _Lexicon(
        lang=lang,
        decimal=rules.decimal,
        both_marks_group=rules.both_marks_group,
        filters=_start_filters(values),
        number=re.compile(f"{lead}(?:{alternatives})"),
        values=values,
        scales=scales,
        ignored=_words(rules.stop_words) | MONTHS | scales.keys(),
        scale_initials=frozenset(word[0] for word in scales),
        ideographic=ideographic,
    )


def _start_filters(words: Iterable[str]) -> tuple[bytes, ...]:
    """Four tables from a Latin-1 byte to a set of bits: separator, then letters 1 to 3 of a number.

    Where the bits of four neighbouring bytes have one in common, a number may begin. Bit 0 is for
    digits, the other seven are shared out among the beginnings of the number words.
    """
    tables = [bytearray(256) for _ in range(4)]
    for byte in range(256):
        letter = chr(byte)
        tables[0][byte] = 0 if letter.isalnum() or letter == "_" else 0xFF
        tables[1][byte] = 1 if letter in "0123456789" else 0
        tables[2][byte] = tables[3][byte] = 1
    beginnings = sorted({word[:2] for word in words})
    for word in words:
        bit = 2 << beginnings.index(word[:2]) % 7
        for table, letter in zip(tables[1:], word.ljust(3), strict=False):
            table[letter.encode("latin-1", "replace")[0]] |= bit
            if letter == " ":
                table[ord("-")] |= bit
    return tuple(bytes(table) for table in tables)


# Forms by gender and place that num2words does not give.
_ENDINGS = (
    ("cientos", "cientas"),
    ("entos", "entas"),
    (" cents", " cent"),
    ("tré", "tre"),
    (" y uno", " y un"),
    (" y uno", " y una"),
    (" e dois", " e duas"),
    (" e um", " e uma"),
)


def _number_words(rules: _Rules) -> dict[str, int]:
    """Phrase -> value for 0..99 and the full hundreds; the rest is put together from these."""
    if not rules.converters:
        return {}
    from num2words import num2words

    values: dict[str, int] = {}
    for number in (*range(100), *range(100, 1000, 100)):
        for converter in rules.converters:
            values[_phrase(num2words(number, lang=converter))] = number
    values.update(rules.extra_words or {})
    for word, value in list(values.items()):
        for ending, variant in _ENDINGS:
            if word.endswith(ending):
                values[word.removesuffix(ending) + variant] = value
    for word in rules.not_alone.split():
        if word not in values:
            values[word] = 1
    return values


def _phrase(words: str) -> str:
    return " ".join(words.lower().replace("-", " ").split())


def _word_pattern(values: Mapping[str, int], rules: _Rules) -> str:
    alone = set(rules.not_alone.split())
    hundreds = _trie_pattern(word for word, value in values.items() if 100 <= value < 1000)
    below = _trie_pattern(word for word, value in values.items() if 0 < value < 100)
    starts = _trie_pattern(
        word for word, value in values.items() if word not in alone and (value < 100 or value > 999)
    )
    # "zweitausend", "onbin": the thousand may follow without a space.
    end = r"(?:(?!\w)|(?=tausend|duizend|mila\b|bin\b))"
    tail = f"(?:{rules.hundreds_glue}{below}(?!\\w))?"
    return f"(?:{hundreds}{tail}|{starts}){end}"


def _trie_pattern(words: Iterable[str]) -> str:
    """An alternation by shared prefixes: tried once per letter, not once per word."""
    root: dict[str, object] = {}
    for word in words:
        node = root
        for letter in word:
            node = node.setdefault(letter, {})  # type: ignore[assignment]
        node[""] = None
    return _trie_node(root)


def _trie_node(node: Mapping[str, object]) -> str:
    branches = []
    for letter, child in sorted(node.items()):
        if letter:
            assert isinstance(child, dict)
            branches.append((r"[\s-]" if letter == " " else re.escape(letter)) + _trie_node(child))
    if not branches:
        return ""
    if len(branches) == 1 and "" not in node:
        return branches[0]
    return f"(?:{'|'.join(branches)})" + ("?" if "" in node else "")


# --- Finding ------------------------------------------------------------------------------------

# Words, runs of digits and signs; without brackets, quotes and hyphens, which join or say nothing.
_TOKEN = re.compile(r"\w+|[^\w \t\u00a0'\u2019\"()-]")
_IDEOGRAPHIC_TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+|[\n%。；]"
)
_BOUNDARIES = frozenset(".!?;\n。；")
# Hard-wrapped text: a line that goes on in lower case is not a new paragraph.
_WRAPPED_LINE = re.compile(r"\n[ \t]*(?=[a-z])")
_LETTERS = re.compile(r"[^\W\d_]+[²³]?")
# Languages printed with their own digits.
_OWN_DIGITS = frozenset({"ar", "fa", "ur", "ps", "hi", "mr", "ne", "bn", "as", "my", "th"})
_ANY_DIGIT = re.compile(r"[^\D0-9]")


def number_contexts(text: str, lang: str | None) -> tuple[NumberContext, ...]:
    """All counts of the text in reading order; an unknown language is read by its digits only."""
    lexicon = _lexicon(_primary_language(lang))
    original, folded = _fold(text, lexicon.lang)
    contexts: list[NumberContext] = []
    resume = 0
    for position in _possible_starts(folded, lexicon.filters):
        if position < resume:
            continue
        match = lexicon.number.match(folded, position)
        if match is None:
            continue
        resume = match.end()
        number = _read_number(folded, match, lexicon)
        if number is None:
            continue
        context, resume = _judge(original, folded, number, lexicon)
        if context is not None:
            contexts.append(context)
            if len(contexts) == MAX_NUMBERS:
                break
    return tuple(contexts)


def _primary_language(lang: str | None) -> str:
    return lang.replace("_", "-").split("-", 1)[0].lower() if lang else ""


def _fold(text: str, lang: str) -> tuple[str, str]:
    """The text composed and unwrapped, and the same in lower case, letter for letter."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        if lang in _OWN_DIGITS:
            text = _ANY_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    if "\n" in text:
        text = _WRAPPED_LINE.sub(" ", text)
    # Every number has a character before it and three behind, as the filters want.
    original = f"\n{text}\n\n\n"
    if lang == "tr":
        return original, original.replace("İ", "i").replace("I", "ı").lower()
    # The only letter that grows in lower case.
    return original, original.replace("İ", "I").lower()


def _possible_starts(folded: str, filters: tuple[bytes, ...]) -> list[int]:
    """Positions where a number may begin: byte tables and an `and`, 5 times quicker than `re`."""
    # One byte for each character: what Latin-1 lacks becomes "?", which may stand for a letter.
    encoded = folded.encode("latin-1", "replace")
    last = len(encoded) - 3
    separator, first, second, third = (
        np.frombuffer(encoded.translate(table), np.uint8) for table in filters
    )
    hits = separator[:last] & first[1 : last + 1]
    hits &= second[2 : last + 2]
    hits &= third[3:]
    starts: list[int] = (np.flatnonzero(hits) + 1).tolist()
    return starts


@dataclass(slots=True)
class _Number:
    """A number as read, before it is judged by what stands around it."""

    value: str
    start: int
    end: int
    # Digits without any separator: these can be years, days, pages, identifiers.
    plain: bool


def _read_number(folded: str, match: re.Match[str], lexicon: _Lexicon) -> _Number | None:
    if match.lastindex == 1:
        raw = match[1]
        plain = raw.isdecimal()
        value = _plain_value(raw) if plain else _separated_value(raw, lexicon)
    else:
        plain = False
        value = _word_value(_phrase(match[2]), lexicon.values)
    return _Number(value, match.start(), match.end(), plain) if value else None


def _plain_value(raw: str) -> str:
    """Leading zeros and long runs belong to identifiers and telephone numbers."""
    if len(raw) > MAX_PLAIN_DIGITS or (raw[0] == "0" and len(raw) > 1):
        return ""
    return raw if raw.isascii() else "".join(str(unicodedata.decimal(digit)) for digit in raw)


_GROUPING = re.compile("[ \u00a0\u202f\u2009'\u2019]")


def _separated_value(raw: str, lexicon: _Lexicon) -> str:
    """Decide which marks group and which one is decimal; "" for dates, versions and the like."""
    if len(raw) > 2 * MAX_DIGITS:
        return ""
    raw = _GROUPING.sub("", raw)
    whole, mark, fraction = raw, "", ""
    last = max(raw.rfind("."), raw.rfind(","))
    if last >= 0 and _is_decimal_mark(raw, last, lexicon):
        whole, mark, fraction = raw[:last], raw[last], raw[last + 1 :]
    groups = whole.replace(",", ".").split(".")
    mixed = mark in whole if mark else "." in whole and "," in whole
    if mixed or not _groups_digits(groups):
        return ""
    return _decimal("".join(groups), fraction)


def _is_decimal_mark(raw: str, last: int, lexicon: _Lexicon) -> bool:
    mark = raw[last]
    if raw.count(mark) > 1:
        return False
    other = "," if mark == "." else "."
    if other in raw or len(raw) - last != 4 or last > 3 or raw[0] == "0":
        return True
    # Three digits behind a lone mark: the language decides.
    return mark == lexicon.decimal and not lexicon.both_marks_group


def _groups_digits(groups: Sequence[str]) -> bool:
    """1,234,567 and the Indian 12,34,567, but not 10.4.8 or 12.03.2026."""
    if len(groups) == 1:
        return len(groups[0]) <= MAX_DIGITS
    inner = groups[1:-1]
    return (
        len(groups) <= 5
        and 1 <= len(groups[0]) <= 3
        and len(groups[-1]) == 3
        and all(2 <= len(group) <= 3 for group in inner)
    )


def _decimal(whole: str, fraction: str) -> str:
    whole = whole.lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _word_value(phrase: str, values: Mapping[str, int]) -> str:
    value = values.get(phrase)
    if value is not None:
        return str(value)
    # Hundreds and the rest: the longest beginning that is a full hundred.
    for cut in range(len(phrase) - 1, 1, -1):
        hundreds = values.get(phrase[:cut].rstrip())
        if hundreds is not None and 100 <= hundreds < 1000:
            rest = phrase[cut:].strip()
            below = values.get(rest.removeprefix("and ").removeprefix("e "))
            if below is not None:
                return str(hundreds + below)
    return ""


def _scaled(value: str, power: int) -> str:
    whole, _, fraction = value.partition(".")
    fraction = fraction.ljust(power, "0")
    return _decimal(whole + fraction[:power], fraction[power:])


# --- Judging --------------------------------------------------------------------------------------


def _judge(
    original: str, folded: str, number: _Number, lexicon: _Lexicon
) -> tuple[NumberContext | None, int]:
    """The count at this place, or None; and where to read on."""
    if _is_part_of_something(folded, number):
        return None, number.end
    start = number.start
    # From a space to a space, so that no word is cut.
    begin = folded.find(" ", start - WINDOW, start) if start > WINDOW else 0
    before = _tokens(folded[max(begin, start - WINDOW, 0) : start], lexicon)
    before.reverse()
    kind, currency = COUNT, ""
    if before and before[0] in _KIND_BEFORE:
        kind, currency = _KIND_BEFORE[before[0]]
        before = before[1:]
    _read_suffix_and_scale(folded, number, kind, lexicon)
    end = number.end
    if not number.value:
        return None, end
    stop = folded.find(" ", end + WINDOW, end + 2 * WINDOW)
    after = _tokens(folded[end : max(stop, end + WINDOW)], lexicon)
    if kind == COUNT:
        kind, currency, used = _kind_after(after)
        if kind == COUNT and _is_not_a_count(original, folded, number, before, after):
            return None, end
        if used == 2:
            # In "pour cent" the second word is a number of its own.
            end = folded.find(after[1], end) + len(after[1])
        after = after[used:]
    left = _content_words(before, 1, lexicon)
    left.reverse()
    right = _content_words(after, -1, lexicon)
    if currency:
        right = [currency, *right[: CONTEXT_WORDS - 1]]
    return NumberContext(number.value, kind, " ".join(left), " ".join(right)), end


# Kind and currency by what stands in front: "$12", "EUR 12", "%42,9", "yüzde 42,9".
_KIND_BEFORE: Mapping[str, tuple[str, str]] = {
    **{word: (MONEY, code) for word, code in CURRENCIES.items()},
    **dict.fromkeys(PERCENT_BEFORE, (PERCENT, "")),
}
_OF = _words("de d di")
_KIND_AFTER = PERCENT_WORDS | PERCENT_FIRST | CURRENCIES.keys() | _OF


def _kind_after(after: list[str]) -> tuple[str, str, int]:
    """Kind and currency by what stands behind, and how many tokens said so."""
    if not after or after[0] not in _KIND_AFTER:
        return COUNT, "", 0
    first = after[0]
    if first in PERCENT_WORDS:
        return PERCENT, "", 1
    if first in CURRENCIES:
        return MONEY, CURRENCIES[first], 1
    if len(after) > 1:
        second = after[1]
        if first in PERCENT_FIRST and second in PERCENT_SECOND:
            return PERCENT, "", 2
        if first in _OF and second in CURRENCIES:
            return MONEY, CURRENCIES[second], 2
    return COUNT, "", 0


def _tokens(window: str, lexicon: _Lexicon) -> list[str]:
    if lexicon.ideographic:
        return _IDEOGRAPHIC_TOKEN.findall(window)
    tokens: list[str] = []
    append = tokens.append
    # Most pieces are plain words: a fifth quicker than the pattern over the whole window.
    for piece in window.split(" "):
        if piece.isalpha():
            append(piece)
        elif piece:
            tokens += _TOKEN.findall(piece)
    return tokens


def _content_words(tokens: list[str], abbreviated: int, lexicon: _Lexicon) -> list[str]:
    """The nearest content words, up to the end of the sentence.

    `abbreviated` is the step to the word a full stop belongs to: behind a single letter it is an
    abbreviation ("U.S. soldiers").
    """
    words: list[str] = []
    ignored, values, ideographic = lexicon.ignored, lexicon.values, lexicon.ideographic
    for index, token in enumerate(tokens):
        if len(token) < 3:
            if token in _BOUNDARIES:
                if token == "." and _is_letter(tokens, index + abbreviated):
                    continue
                break
            # Up to two letters: prepositions, articles, suffixes behind an apostrophe.
            if not ideographic:
                continue
        if token in ignored:
            continue
        if token in values or token[0] <= "9":
            if words:
                break
            continue
        words.append(token)
        if len(words) == CONTEXT_WORDS:
            break
    return words


def _is_letter(tokens: list[str], index: int) -> bool:
    return 0 <= index < len(tokens) and len(tokens[index]) == 1 and tokens[index].isalpha()


def _is_part_of_something(folded: str, number: _Number) -> bool:
    """Glued to a name, a score, a ratio, a time, an address: "F-16", "2-1", "1/5", "10:30"."""
    left, right = folded[number.start - 1], folded[number.end]
    if left in "-–—/:.,+#@&=\\'’" and (left in "+#'’" or folded[number.start - 2].isalnum()):
        return True
    if right in "-–/:.@_\\" and folded[number.end + 1].isdigit():
        return True
    if right == "." and folded[number.end + 1].isalpha():
        return True
    if left == "\n" and (right == "\n" or (right in ".)" and number.plain)):
        return True
    if left == "(" and right == ")":
        return len(number.value) < 3 or folded[number.end + 2].isdigit()
    # Neighbouring runs of digits are telephone numbers, tables or page links.
    return folded[number.start].isdigit() and (
        (right in " \u00a0" and folded[number.end + 1].isdigit())
        or (left in " \u00a0" and folded[number.start - 2].isdigit())
    )


def _read_suffix_and_scale(folded: str, number: _Number, kind: str, lexicon: _Lexicon) -> None:
    """Take in "12'si", "$3bn", "12km", "1.2 million", "12 bin 500"; ordinals lose their value."""
    right = folded[number.end]
    if right in "'’":
        suffix = _LETTERS.match(folded, number.end + 1)
        number.end = suffix.end() if suffix else number.end
    elif right.isalpha() and not lexicon.ideographic:
        _read_glued(folded, number, kind, lexicon)
    elif (
        folded[number.end + 1] in lexicon.scale_initials
        or lexicon.ideographic
        or number.value == "1000"
    ):
        _read_scales(folded, number, lexicon)


def _read_glued(folded: str, number: _Number, kind: str, lexicon: _Lexicon) -> None:
    suffix = _LETTERS.match(folded, number.end)
    letters = suffix[0] if suffix else ""
    if letters in lexicon.scales:
        _read_scales(folded, number, lexicon)
    elif letters in MONEY_SUFFIXES and (kind == MONEY or letters in {"bn", "mn", "tn"}):
        number.value = _scaled(number.value, MONEY_SUFFIXES[letters])
        number.end += len(letters)
        number.plain = False
    elif letters in UNITS or letters in CURRENCIES or letters in PERCENT_WORDS:
        number.plain = False
    else:
        number.value = ""
        number.end += len(letters)


_SHORT_SCALES = _words("mio mrd mln mill")
_SCALE = re.compile(r"[\s-]?([^\W\d_]+)")
_IDEOGRAPHIC_SCALE = re.compile(r"([^\W\d_])")


def _read_scales(folded: str, number: _Number, lexicon: _Lexicon) -> None:
    """Multiply by the scale words that follow, and add smaller numbers right behind them."""
    power, end = _scale_behind(folded, number.end, lexicon)
    if power == 0:
        # "bin 200", "mil doscientos": a thousand without a number before it.
        if number.value != "1000" or folded[number.start].isdigit():
            return
        number.value, power = "1", 3
    number.value = _scaled(number.value, power)
    number.end, number.plain = end, False
    while "." not in number.value and folded[end] in " \u00a0":
        match = lexicon.number.match(folded, end + 1)
        smaller = _read_number(folded, match, lexicon) if match else None
        if smaller is None or "." in smaller.value:
            return
        below = power
        power, end = _scale_behind(folded, smaller.end, lexicon)
        addend = _scaled(smaller.value, power)
        if len(addend) > below:
            return
        number.value = str(int(number.value) + int(addend))
        number.end = end


def _scale_behind(folded: str, end: int, lexicon: _Lexicon) -> tuple[int, int]:
    """The power of ten of up to two scale words ("mil millones"), and where they end."""
    pattern = _IDEOGRAPHIC_SCALE if lexicon.ideographic else _SCALE
    power = 0
    for _ in range(2):
        word = pattern.match(folded, end)
        if word is None or word[1] not in lexicon.scales:
            break
        power += lexicon.scales[word[1]]
        end = word.end()
        if folded[end] == "." and word[1] in _SHORT_SCALES:
            end += 1
    return power, end


def _is_not_a_count(
    original: str, folded: str, number: _Number, before: list[str], after: list[str]
) -> bool:
    """Dates, times, ages, names and page furniture, told by the words next to the number."""
    previous = before[0] if before else "\n"
    following = after[0] if after else "\n"
    if not (
        previous in _TELLING_BEFORE
        or following in _TELLING_AFTER
        or previous[0] in "0123456789"
        or following[0] in "0123456789c"
        or len(number.value) == 4
        or (len(after) > 1 and after[1] in STREETS)
    ):
        return False
    if number.plain and (
        previous in LABELS
        or (previous == "." and before[1:2] != [] and before[1] in _SHORT_LABELS)
        or _is_year(number.value, previous, following)
        or _is_date(original, folded, number, before, after)
        or following in FURNITURE
        or following.startswith("comment")
        or following in _IDEOGRAPH_DATES
        or (len(after) > 1 and after[1] in STREETS)
    ):
        return True
    return (
        _is_clock_time(number, previous, after)
        or _is_age(previous, before, after)
        or _is_time_ago(before, after)
        or following in FRACTIONS
        or (previous == "of" and _is_page_of_pages(before))
    )


# Most counts have none of these beside them and need no further look.
_TELLING_BEFORE = (
    LABELS | MONTHS | DATE_JOINS | CLOCK_BEFORE | AGE_BEFORE | AGO_BEFORE | frozenset(".")
)
_TELLING_AFTER = (
    FURNITURE
    | _IDEOGRAPH_DATES
    | MONTHS
    | DATE_JOINS
    | CLOCK_AFTER
    | AGE_AFTER
    | YEAR_UNITS
    | TIME_UNITS
    | FRACTIONS
    | frozenset({"a", "p", "o", "."})
)

# Nouns that make a four-digit number a count and not a year.
_COUNTED = _words(
    "people persons cases deaths dead victims patients infections personnes cas morts décès "
    "menschen fälle tote personen personas casos muertos muertes kişi vaka ölü can hasta pessoas "
    "mortos persone casi morti mensen gevallen doden"
)
_YEAR_BEFORE = _words("in since by from during until of en depuis seit im año de desde dal sinds")


def _is_year(value: str, previous: str, following: str) -> bool:
    if len(value) != 4 or not "1500" <= value <= "2100":
        return False
    if following in _COUNTED and previous not in _YEAR_BEFORE:
        return False
    # Before 1900 a year stands behind a preposition, a comma or a bracket.
    return value >= "1900" or previous in _YEAR_BEFORE


def _is_date(
    original: str, folded: str, number: _Number, before: list[str], after: list[str]
) -> bool:
    if len(number.value) > 2 or int(number.value) > 31:
        return False
    if _month_follows(after) and not _is_modal_may(original, folded, number, after):
        return True
    if before[:1] == ["."]:
        # "Sept. 12" is a date, "in September. 12 people" is not.
        return before[1:2] != [] and before[1] in _SHORT_MONTHS
    for token in before[:4]:
        if token in MONTHS:
            return True
        if token not in DATE_JOINS and not token[0].isdigit():
            return False
    return False


_SHORT_MONTHS = _words("jan feb mar apr jun jul aug sep sept oct nov dec janv févr avr juil déc")


def _month_follows(after: list[str]) -> bool:
    """ "12 March", "12 de marzo", "12. März", "12 and 13 March"."""
    for token in after[:3]:
        if token in MONTHS:
            return True
        if token not in DATE_JOINS and token != "." and not token[0].isdigit():
            return False
    return False


def _is_modal_may(original: str, folded: str, number: _Number, after: list[str]) -> bool:
    """ "17 may have died": the month has a capital."""
    if after[0] != "may":
        return False
    position = folded.find("may", number.end)
    return original[position] == "m"


def _is_clock_time(number: _Number, previous: str, after: list[str]) -> bool:
    if len(number.value) > 5:
        return False
    following = after[0] if after else ""
    if following in CLOCK_AFTER or previous in CLOCK_BEFORE:
        return True
    if following in {"a", "p"}:
        return "m" in after[1:3]
    return following == "o" and after[1:2] == ["clock"]


def _is_age(previous: str, before: list[str], after: list[str]) -> bool:
    following = after[0] if after else ""
    if following == ",":
        # "John Smith, 45, of Leeds"
        return previous == ","
    if previous in AGE_BEFORE or following in AGE_AFTER:
        return True
    if following in YEAR_UNITS:
        return (len(after) > 1 and after[1] in OLD_WORDS) or (
            len(before) > 1 and before[1] in AGE_BEFORE
        )
    return False


def _is_time_ago(before: list[str], after: list[str]) -> bool:
    """ "3 hours ago", "il y a 3 heures", "vor 3 Stunden", "5 min read"."""
    if not after or after[0] not in TIME_UNITS:
        return False
    if len(after) > 1 and after[1] in AGO_AFTER:
        return True
    return bool(before) and (before[0] in AGO_BEFORE or before[:3] == ["a", "y", "il"])


def _is_page_of_pages(before: list[str]) -> bool:
    return len(before) > 2 and before[1][0].isdigit() and before[2] in LABELS


# --- Comparing ------------------------------------------------------------------------------------

# Letters of a word that are compared: endings change with the sentence ("kişi", "kişinin";
# "killed", "killing"). Measured on SpotSigs, 4 raises no more alarms than 5.
STEM = 4

# A count with its unit is one kind of its own: 2133 metres is not an update of 7000 feet.
MEASURES = _words(
    "foot feet metre metres meter meters mile miles kilometre kilometres kilometer kilometers "
    "yard yards inch inches acre acres hectare hectares ounce ounces kilo kilos kilogram kilograms "
    "gram grams tonne tonnes ton tons litre litres liter liters gallon gallons barrel barrels "
    "celsius fahrenheit degree degrees mph kph kmh mètre mètres kilomètre kilomètres hectares "
    "kilometer meter hektar metros kilómetros hectáreas metre kilometre dönüm metri chilometri "
    "second seconds minute minutes hour hours day days week weeks month months year years"
)


# A place with more values is a table; also keeps hostile input linear.
MAX_VALUES = 8

# "17 people dead, up from 12 people": the second number is the old one, in a place of its own.
REFERENCES = _words("from versus against contre desde frente gegenüber")


def changed_numbers(
    old: Sequence[NumberContext], new: Sequence[NumberContext]
) -> tuple[NumberChange, ...]:
    """Counts of `new` that stand where `old` had another value, in the order of `new`.

    Two counts of one kind and unit stand in the same place when they share two neighbouring
    content words. A place has changed when old and new have no value in common there, or when
    exactly one value gave way to another. The new value must be more frequent in the new text
    than in the old; where the old text has it at all, two places must agree.
    """
    known, present = _frequencies(old), _frequencies(new)
    risen = [
        number
        for number in new
        if present[number.kind, number.value] > known.get((number.kind, number.value), 0)
    ]
    if not risen or not old:
        return ()
    old_places, new_places = _places(old), _places(new)
    changes: dict[tuple[str, str], NumberChange] = {}
    for number in risen:
        needed = 2 if (number.kind, number.value) in known else 1
        previous = _previous_value(number, old_places, new_places, needed)
        if previous and (previous, number.value) not in changes:
            change = NumberChange(previous, number.value, _readable(number))
            changes[previous, number.value] = change
    return tuple(changes.values())


def _frequencies(numbers: Iterable[NumberContext]) -> dict[tuple[str, str], int]:
    frequencies: dict[tuple[str, str], int] = {}
    for number in numbers:
        key = number.kind, number.value
        frequencies[key] = frequencies.get(key, 0) + 1
    return frequencies


_Places = dict[tuple[str, ...], set[str]]


def _places(numbers: Iterable[NumberContext]) -> _Places:
    places: _Places = {}
    for number in numbers:
        for key in _place_keys(number):
            values = places.get(key)
            if values is None:
                places[key] = {number.value}
            else:
                values.add(number.value)
    return places


def _previous_value(
    number: NumberContext, old_places: _Places, new_places: _Places, needed: int
) -> str:
    """The old value that gave way to this one in most places; "" when fewer than `needed`."""
    votes: dict[str, int] = {}
    for key in _place_keys(number):
        old_values = old_places.get(key)
        if old_values:
            for value in _replaced(old_values, new_places[key], number.value):
                votes[value] = votes.get(value, 0) + 1
    if not votes:
        return ""
    # By votes, then by the smallest, so that the answer does not depend on the order of a set.
    previous = min(votes, key=lambda value: (-votes[value], len(value), value))
    if votes[previous] < needed or _same_figure(previous, number.value):
        return ""
    return previous


def _replaced(old_values: set[str], new_values: set[str], value: str) -> set[str]:
    """The values that left a place which `value` entered."""
    if value in old_values or max(len(old_values), len(new_values)) > MAX_VALUES:
        return set()
    gone = old_values - new_values
    if len(gone) == len(old_values) or (len(gone) == 1 and len(new_values - old_values) == 1):
        return gone
    return set()


def _same_figure(one: str, other: str) -> bool:
    """1.4 and 1400000: the word "million" stands elsewhere, or is an "m" glued to the digits."""
    return any(_scaled(one, power) == other or _scaled(other, power) == one for power in (6, 9))


def _place_keys(number: NumberContext) -> list[tuple[str, ...]]:
    """Two content words each: both behind, one on either side, both before; or a whole line."""
    before, after = number.before.split(), number.after.split()
    if len(before) + len(after) == 1:
        return [(number.kind, *before, "|", *after)]
    kind = number.kind
    keys: list[tuple[str, ...]] = []
    left = before[-1][:STEM] if before else ""
    if after:
        right = after[0][:STEM]
        if kind == MONEY or after[0] in MEASURES:
            kind = f"{kind} {right}"
        if len(after) > 1 and not (before and before[-1] in REFERENCES):
            keys.append((kind, "", right, after[1][:STEM]))
        if left:
            keys.append((kind, left, right))
    if len(before) > 1:
        keys.append((kind, before[-2][:STEM], left, ""))
    return keys


def _readable(number: NumberContext) -> str:
    words = number.after or (f"({number.before})" if number.before else "")
    return f"% {words}".rstrip() if number.kind == PERCENT else words
