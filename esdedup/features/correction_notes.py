"""Correction notes: what an article says of its own errors ("An earlier version of this …").

A note is a label ("Korrektur:", "Fe de errores:", "(Corrects name in third paragraph)") where a
note stands, at the beginning of a line or behind a mark, or a sentence about an earlier version of
the article. English, French, German, Spanish, Turkish, Italian, Portuguese and Dutch.
"""

from __future__ import annotations

import re
from functools import cache

# Nouns that begin a note; a colon, a dash or a full stop follows, or a date and then one of these.
_LABELS = (
    "corrections?", "clarification", "corrections? and clarifications?", "corrected version",
    "corrected", "erratum", "errata", "editor[’']s note: correction", "rectificatif", "correctif",
    "rectification", "berichtigung", "berichtigt", "korrektur", "korrigiert", "richtigstellung",
    "corrección", "fe de errores", "fe de erratas", "rectificación", "aclaración", "düzeltme",
    "düzelti", "haber düzeltme", "rettifica", "errata corrige", "correzione", "correção",
    "correcção", "retificação", "erramos", "rectificatie", "correctie", "verbetering",
)  # fmt: skip
# Verbs of agencies, in brackets: "(Corrects name in third paragraph)".
_BRACKETED = (
    "corrects?", "correcting", "corrected", "clarifies", "corrige", "corrigé", "berichtigt",
    "korrigiert", "düzeltir", "düzeltildi", "corregge", "corretto", "corrigido", "corrigeert",
    "gecorrigeerd",
)  # fmt: skip
_ARTICLE = {
    "en": "(?:article|story|report|post|piece|column|page|graphic|headline|review|interview)",
    "fr": "(?:article|texte|papier|reportage|dépêche|billet)",
    "de": "(?:artikels?|textes?|berichts?|beitrags?|meldung|fassung|version)",
    "es": "(?:artículo|noticia|nota|texto|información|reportaje|crónica)",
    "tr": "(?:haber|yazı|makale|metn|içeri[kğ])",
    "it": "(?:articolo|testo|pezzo|notizia)",
    "pt": "(?:artigo|texto|reportagem|notícia|matéria|peça)",
    "nl": "(?:artikel|bericht|stuk|verhaal|tekst)",
}
# Sentences about an earlier version, wherever they stand.
_SENTENCES = {
    "en": (
        r"(?:an?|the) (?:earlier|previous|prior|original|initial) versions? of (?:this|the|our) "
        rf"{_ARTICLE['en']}",
        rf"this {_ARTICLE['en']} (?:has been|was) (?:amended|corrected)",
    ),
    "fr": (
        r"une (?:première |ancienne )?version (?:précédente|antérieure|initiale)? ?(?:de cet|de ce"
        rf"|du présent|de cette) {_ARTICLE['fr']}",
        rf"(?:cet|ce|cette) {_ARTICLE['fr']} a été (?:corrigée?|rectifiée?)",
    ),
    "de": (
        r"in einer (?:früheren|vorherigen|ersten|älteren|ursprünglichen) (?:version|fassung)",
        r"in der ursprünglichen (?:version|fassung) (?:dieses|des|dieser)",
        rf"(?:dieser|der|diesen|die) {_ARTICLE['de']} wurde (?:nachträglich )?"
        "(?:korrigiert|berichtigt)",
    ),
    "es": (
        r"(?:una|la) versión (?:anterior|previa|original|inicial) de (?:este|esta|la|el) "
        rf"{_ARTICLE['es']}",
        rf"(?:este|esta) {_ARTICLE['es']} ha sido (?:corregid|rectificad)[oa]",
    ),
    "tr": (
        rf"bu {_ARTICLE['tr']}\w* (?:daha )?(?:önceki|ilk|eski) "
        "(?:versiyon|sürüm|hal|şekl|biçim)",
        rf"(?:bu )?{_ARTICLE['tr']}\w* düzeltilmiştir",
    ),
    "it": (
        r"(?:una|la) (?:precedente versione|versione (?:precedente|originale|iniziale)) "
        rf"(?:di questo|di questa|dell[’'o]) ?{_ARTICLE['it']}",
        rf"questo {_ARTICLE['it']} è stato (?:corretto|rettificato)",
    ),
    "pt": (
        r"(?:uma|a) versão (?:anterior|prévia|original|inicial) (?:deste|desta|do|da) "
        rf"{_ARTICLE['pt']}",
        rf"(?:este|esta) {_ARTICLE['pt']} foi (?:corrigid|retificad)[oa]",
    ),
    "nl": (
        r"in een (?:eerdere|vorige|oudere) versie van (?:dit|deze|het)",
        rf"dit {_ARTICLE['nl']} is (?:aangepast|gecorrigeerd|gerectificeerd)",
    ),
}
# Characters of a note that are shown.
_LONGEST = 400
# A label counts in the headline and within so many characters of either end, where notes stand.
_EDGE = 400
# Marks after which a label may stand: a line begins, a bracket opens, a sentence or a mark ended.
_BEGIN = r"(?:^|(?<=[\n(\[*•|»])|(?<=[.!?…] ))[ \t*_–—-]*"


def find_correction_note(title: str, text: str) -> str:
    """The note of an article as it stands there; "" if it has none."""
    for part in (title, text):
        if place := _find_note(part):
            return " ".join(part[place].split())
    return ""


def remove_correction_note(text: str) -> str:
    """The text without its note, which states what was wrong: a count in it is the old one."""
    place = _find_note(text)
    return text[: place.start] + text[place.stop :] if place else text


def _find_note(text: str) -> slice | None:
    """From the label or the sentence, and a bracket before it, to the end of the paragraph; of a
    text without paragraphs, as much as is shown."""
    end = len(text) - _EDGE
    labels = (m.start() for m in _label_pattern().finditer(text))
    start = next((place for place in labels if place < _EDGE or place >= end), None)
    if start is None:
        sentence = _sentence_pattern().search(text)
        if sentence is None:
            return None
        start = sentence.start()
    start -= text[start - 1 : start] in ("(", "[")
    line_end = text.find("\n", start, start + _LONGEST)
    return slice(start, line_end if line_end >= 0 else min(len(text), start + _LONGEST))


@cache
def _label_pattern() -> re.Pattern[str]:
    date = r"(?: ?\([^()\n]{1,40}\)|,? [^\n:]{1,30}(?=:))?"
    labels, verbs = "|".join(_LABELS), "|".join(_BRACKETED)
    return re.compile(
        rf"{_BEGIN}(?:(?:{labels}){date} ?(?::| ?[–—-] |\.\s|\]|\))|(?<=[(\[])(?:{verbs})\b)",
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def _sentence_pattern() -> re.Pattern[str]:
    return re.compile(
        "|".join(rf"\b{one}" for sentences in _SENTENCES.values() for one in sentences),
        re.IGNORECASE,
    )
