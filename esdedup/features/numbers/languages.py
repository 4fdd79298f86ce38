"""Languages: how numbers, currencies, dates and page furniture are written in each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

# --- Words that are the same question in every language -------------------------------------
# One union for all languages, where a word of one language is not a content word of another:
# a wrong language guess then does little harm.


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MONTHS = words(
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
DATE_JOINS = words("and to of de do und bis et au y al ve ile e a en tot , - – '")

CLOCK_AFTER = words(
    "am pm uhr hrs gmt utc est edt cst cdt mst mdt pst pdt bst cet cest ist noon midnight"
)
CLOCK_BEFORE = words("saat saati um alle às kl")

AGE_BEFORE = words("aged age âgé âgée âgés âgées edad yaşı")
AGE_AFTER = words(
    "yaşında yaşındaki yaşındayken yaşlarındaki yaşlarında jährige jähriger jährigen jähriges "
    "jarige"
)
YEAR_UNITS = words("year years yr yrs jahre jahren año años anos jaar anni ans")
OLD_WORDS = words("old alt oud edad idade age âge")

TIME_UNITS = words(
    "second seconds sec secs minute minutes min mins hour hours hr hrs day days week weeks month "
    "months year years sekunden minuten stunde stunden tag tagen tage woche wochen monat monaten "
    "jahr jahren heure heures jour jours semaine semaines mois an ans segundos minutos hora horas "
    "día días dia dias semana semanas mes meses mês año años ano anos saniye dakika saat gün hafta "
    "ay yıl yil minuti ora ore giorno giorni settimana settimane mese mesi anno anni minuut uur "
    "dag dagen weken maand maanden jaar"
)
AGO_AFTER = words("ago önce evvel fa atrás geleden read okuma lecture lesezeit lettura lectura")
AGO_BEFORE = words("vor hace há")

# Names and places in a page, not counts: "page 2", "Flight 447", "P.O. Box 12".
LABELS = words(
    "no nos nr num number numéro número nummer numara numaralı page pages seite página sayfa "
    "photo photos image images picture slide fig figure table chart chapter section article "
    "articles part vol volume issue episode season version windows flight highway route interstate "
    "room box suite gate channel apt apartment line act rule title clause paragraph verse figura "
    "foto bild abbildung tabelle kapitel artikel teil madde bölüm artículo capítulo chapitre "
    "volume tome vol boeing airbus rev build release player copyright tel phone fax telefon "
    "téléphone teléfono zip id ref isbn posted"
)
SHORT_LABELS = words("no nos nr vol fig tel art apt rev ref sec pp num")
FURNITURE = words(
    "comment comments commentaire commentaires kommentar kommentare comentario comentarios "
    "comentários yorum commenti reacties share shares partages views view vues görüntülenme "
    "okunma likes like beğeni retweets tweets replies reply réponses yanıt followers takipçi "
    "abonnés upvotes reads bookmarks trackbacks diggs pings recommends ratings rating "
)
# "12 Main Street": an address.
STREETS = words("street avenue ave road rd blvd boulevard lane drive highway parkway")
FRACTIONS = words("third thirds quarter quarters fifth fifths sixth sixths eighths tenths")

PERCENT_WORDS = words("% ٪ percent pct percentage percents prozent procent procenten prozentpunkte")
PERCENT_FIRST = words("per pour por")
PERCENT_SECOND = words("cent ciento cento")
PERCENT_BEFORE = words("% ٪ yüzde")

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
UNITS = words(
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
    # Nouns that make counts of them all the same: "one person", "neuf morts". Not "man" and the
    # like, which stand behind the article of any story.
    people: str = ""
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


def _dozens(articles: str, one: str, numbers: str, many: str, half: str = "") -> dict[str, int]:
    """ "A dozen", "two dozen" and so on, "half a dozen"."""
    values = {f"{article} {one}": 12 for article in articles.split()}
    values |= {f"{number} {many}": 12 * n for n, number in enumerate(numbers.split(), 2)}
    return {**values, half: 6} if half else values


_RULES: Mapping[str, _Rules] = {
    "en": _Rules(
        decimal=".",
        converters=("en",),
        hundreds_glue=r"[\s-](?:and\s)?",
        extra_words={
            "a hundred": 100,
            **_dozens("a one", "dozen", "two three four five", "dozen", "half a dozen"),
        },
        not_alone="one zero",
        people="person dead killed injured wounded missing arrested death fatality victim civilian "
        "soldier passenger",
        stop_words="the and for were was are been have has had that this these those with "
        "into than more about around nearly almost over least most some another additional "
        "further total least only just roughly approximately who which their its his her they "
        "there will would could may might being also not but were now still far least estimated",
    ),
    "fr": _Rules(
        decimal=",",
        converters=("fr", "fr_BE"),
        hundreds_glue=r"[\s-]",
        extra_words={
            "mille": 1000,
            **_dozens("une", "douzaine", "deux trois quatre cinq", "douzaines"),
        },
        not_alone="un une zéro neuf",
        people="personne personnes mort morte morts mortes blessé blessée blessés "
        "blessées tué tués disparu disparus soldat soldats décès",
        scales={"mille": 3, "billion": 12, "billions": 12},
        stop_words="les des une dans par pour sur avec plus moins environ quelque quelques près "
        "aux qui que ont été sont était étaient leur leurs ses son cette ces total est ainsi "
        "encore soit dont fait avait avaient",
    ),
    "de": _Rules(
        decimal=",",
        converters=("de",),
        extra_words={
            "hundert": 100,
            "zwo": 2,
            **_dozens("ein", "dutzend", "zwei drei vier fünf", "dutzend", "ein halbes dutzend"),
        },
        not_alone="ein eins eine null",
        people="mensch person toter tote todesopfer verletzter "
        "verletzte schwerverletzter vermisster soldat",
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
        extra_words={
            "mil": 1000,
            "ciento": 100,
            "veintiún": 21,
            **_dozens("una", "docena", "dos tres cuatro cinco", "docenas", "media docena"),
        },
        not_alone="un uno una cero",
        people="persona muerto muerta herido herida fallecido "
        "fallecida desaparecido víctima soldado",
        scales={"mil": 3},
        stop_words="los las una por para con más menos unos unas cerca casi han fueron sido del "
        "que total alrededor fue son está están había había sus como entre unas ser hay",
    ),
    "tr": _Rules(
        decimal=",",
        converters=("tr",),
        hundreds_glue=r"\s?",
        extra_words={
            **_SPACED_TR,
            "bin": 1000,
            **_dozens("bir", "düzine", "iki üç dört beş", "düzine", "yarım düzine"),
        },
        not_alone="bir sıfır yüz",
        people="kişi kişinin kişiyi kişiye ölü yaralı asker askerin",
        scales={"bin": 3},
        stop_words="ve ile için olan olarak bir az fazla yaklaşık çok daha toplam kadar ise bile "
        "tam nin nın nun nün dan den tan ten dir dır olduğu olduğunu ancak ayrıca bin",
    ),
    "it": _Rules(
        decimal=",",
        converters=("it",),
        extra_words={"mille": 1000, "tré": 3},
        not_alone="un uno una zero sei tré",
        people="persona persone morto morti ferito feriti disperso "
        "dispersi vittima vittime soldato soldati",
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
        people="pessoa morto morta ferido ferida desaparecido vítima soldado",
        scales={"mil": 3},
        stop_words="uma por para com mais menos cerca quase foram são dos das pelo pela que "
        "total foi está estão nos nas sua seu como entre ser",
    ),
    "nl": _Rules(
        decimal=",",
        converters=("nl",),
        not_alone="een één eén nul",
        people="persoon mens dode gewonde vermiste slachtoffer militair",
        stop_words="het een van voor met meer dan minstens ongeveer bijna zijn werden waren "
        "hebben heeft zeker ruim rond werd is die dat deze aan bij ook nog",
    ),
    # Digits only: the signs for ten thousand and up are scales, the others make it a date.
    "zh": _Rules(decimal=".", scales={"万": 4, "萬": 4, "亿": 8, "億": 8, "千": 3}),
    "ja": _Rules(decimal=".", scales={"万": 4, "億": 8, "千": 3}),
    "ko": _Rules(decimal=".", scales={"만": 4, "억": 8, "천": 3}),
}
_UNKNOWN = _Rules(both_marks_group=True)
# Counters and particles follow the digits without a space: each sign is a word.
_IDEOGRAPHIC = frozenset({"zh", "ja", "ko"})
IDEOGRAPH_DATES = frozenset("年月日時时点點分岁歳才号號년월일시분세살호")
IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"

# Characters at the beginning of a text that tell its script.
_SCRIPT_SAMPLE = 500
_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u3400-\u9fff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")


def language_by_script(text: str) -> str:
    """The language by the script of a text whose language is not given, or "".

    Function words cannot tell it, since these languages put no space between words.
    """
    if text.isascii():
        return ""
    sample = text[:_SCRIPT_SAMPLE]
    han, kana, hangul = (len(signs.findall(sample)) for signs in (_HAN, _KANA, _HANGUL))
    if 4 * (han + kana + hangul) < len(sample):
        return ""
    if hangul > han + kana:
        return "ko"
    # Chinese has no kana; Japanese is a third or more of them.
    return "ja" if 8 * kana > han else "zh"


# Where a sentence ends, and with it the context of a number.
BOUNDARIES = frozenset(".!?;\n。；")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """A language ready for use: compiled patterns and lookup tables."""

    lang: str
    decimal: str
    both_marks_group: bool
    number: re.Pattern[str]
    values: Mapping[str, int]
    scales: Mapping[str, int]
    scale_beginnings: frozenset[str]  # two letters
    # Words that never serve as context, and those with the number words.
    ignored: frozenset[str]
    passed_over: frozenset[str]
    ideographic: bool


# A score or a range ("2-1", "10–15"), groups of three with a space or apostrophe between, or digits
# with points and commas.
_DIGITS = (
    "(\\d{1,2}[-–]\\d{1,2}(?![\\w–-]|[.,:/]\\d)"
    "|\\d{1,3}(?:[ \u00a0\u202f\u2009'\u2019]\\d{3})+(?:[.,]\\d+)?(?!\\d)|\\d+(?:[.,]\\d+)*)"
)


@lru_cache(maxsize=64)
def lexicon_of(lang: str) -> Lexicon:
    rules = _RULES.get(lang, _UNKNOWN)
    values = _number_words(rules)
    scales = {**SCALES, **(rules.scales or {})}
    ignored = words(rules.stop_words) | MONTHS | scales.keys()
    ideographic = lang in _IDEOGRAPHIC
    lead = r"(?<![a-z\d_])" if ideographic else r"(?<!\w)"
    alternatives = _DIGITS
    if values:
        alternatives += f"|({_word_pattern(values, rules)})"
    return Lexicon(
        lang=lang,
        decimal=rules.decimal,
        both_marks_group=rules.both_marks_group,
        number=re.compile(f"{lead}(?:{alternatives})"),
        values=values,
        scales=scales,
        ignored=ignored,
        passed_over=ignored | values.keys() | BOUNDARIES,
        scale_beginnings=frozenset(word[:2] for word in scales),
        ideographic=ideographic,
    )


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
            values[phrase(num2words(number, lang=converter))] = number
    values.update(rules.extra_words or {})
    for word, value in list(values.items()):
        for ending, variant in _ENDINGS:
            if word.endswith(ending):
                values[word.removesuffix(ending) + variant] = value
    for word in rules.not_alone.split():
        if word not in values:
            values[word] = 1
    return values


def phrase(words: str) -> str:
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
    alternatives = f"{hundreds}{tail}|{starts}"
    if rules.people:
        counting = _trie_pattern(word for word in alone if values[word])
        people = _trie_pattern(rules.people.split())
        alternatives += f"|{counting}(?=\\s{people}(?!\\w))"
    return f"(?:{alternatives}){end}"


def _trie_pattern(words: Iterable[str]) -> str:
    """An alternation by shared prefixes: tried once per letter, not once per word."""
    root: dict[str, Any] = {}
    for word in words:
        node = root
        for letter in word:
            node = node.setdefault(letter, {})
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
