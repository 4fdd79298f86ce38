"""News agencies: the one that an article credits, from the marks that newsrooms leave.

A mark is the source itself, a dateline ("BERLIN (dpa) -"), a byline, a credit or a copyright
notice at an edge of the text. Where an edge names an agency, the characters around the name decide
whether that is a mark: "told Reuters on Monday", "AP Photo" and "John Doe/AP", a picture, are none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal
from urllib.parse import urlsplit

from esdedup.model import Document
from esdedup.model.json_form import Result

MarkKind = Literal["source", "dateline", "byline", "credit", "copyright"]

# Characters at the beginning and the end that may hold a mark. Menus stand before a dateline.
_HEAD = 1200
_TAIL = 500
# Characters around a name that decide.
_BEFORE = 80
_AFTER = 60


@dataclass(frozen=True, slots=True)
class AgencyMark(Result):
    """The agency that an article credits, and the kind of mark that names it."""

    agency: str
    kind: MarkKind


def find_agency(document: Document) -> AgencyMark | None:
    """The agency an article comes from, by its own marks; None if it has none."""
    if (agency := publishing_agency(document)) is not None:
        return AgencyMark(agency, "source")
    text = document.text
    if len(text) <= _HEAD + _TAIL:
        edges = [(text, _HEAD_RULES)]
    else:
        edges = [(text[:_HEAD], _HEAD_RULES), (text[-_TAIL:], _TAIL_RULES)]
    for edge, rules in edges:
        for place in _find_places(edge):
            for kind, rule in rules:
                if rule(place):
                    return AgencyMark(place.agency, kind)
    return None


def publishing_agency(document: Document) -> str | None:
    """The agency that published the article itself, by its source or the host of its URL."""
    if document.source and (agency := _known().names.get(document.source)) is not None:
        return agency
    try:
        host = urlsplit(document.url or "").hostname or ""
    except ValueError:  # no address at all
        return None
    parts = host.split(".")
    hosts = _known().hosts
    return next((a for i in range(len(parts)) if (a := hosts.get(".".join(parts[i:])))), None)


# --- where an edge names an agency ------------------------------------------------------------

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class _Place:
    """A name in a text, with the characters before it and after it."""

    agency: str
    before: str
    after: str
    is_spelled_out: bool  # "Associated Press", not "AP"


@dataclass(frozen=True, slots=True)
class _Known:
    names: Mapping[str, str]  # every form -> the name that results show
    by_first_word: Mapping[str, list[str]]  # first word -> forms, longest first
    hosts: Mapping[str, str]


@cache
def _known() -> _Known:
    raw = tomllib.loads(files("esdedup").joinpath("data/agencies.toml").read_text("utf-8"))
    names: dict[str, str] = {}
    hosts: dict[str, str] = {}
    for entry in raw.values():
        shown = entry["names"][0]
        for name in entry["names"]:
            names |= {name: shown, name.upper(): shown}
        hosts |= dict.fromkeys(entry["hosts"], shown)
    first: dict[str, list[str]] = {}
    for name in sorted(names, key=len, reverse=True):
        first.setdefault(_WORD.findall(name)[0] if _WORD.search(name) else name, []).append(name)
    return _Known(names, first, hosts)


def _find_places(edge: str) -> Iterator[_Place]:
    known = _known()
    if not any(word in edge for word in known.by_first_word):  # usually; a fifth of the cost
        return
    for word in _WORD.finditer(edge):
        for name in known.by_first_word.get(word[0], ()):
            start, end = word.start(), word.start() + len(name)
            if edge.startswith(name, start) and not edge[end : end + 1].isalnum():
                before = edge[max(0, start - _BEFORE) : start]
                after = edge[end : end + _AFTER]
                yield _Place(known.names[name], before, after, is_spelled_out=" " in name)
                break


# --- what makes it a mark ---------------------------------------------------------------------

_PICTURE = re.compile(
    r"phot|foto|image|picture|bild\b|imagen|video|getty|illustration|archiv", re.IGNORECASE
)
# What else an editor writes into the same brackets: "(red, APA, AFP, 16.5.2020)", "(mbr/dpa"
# A person's name there is a photographer's: "(J. Doe / AP)".
_OPENED = re.compile(r"\((?:\w{1,8}\.?\s?[,/;&–-]\s?){0,3}$")
_CLOSED = re.compile(r"(?:\s?[,/;&–-]\s?(?:[\d.][\d. ]*|[\w-]{1,8})){0,3}(?:[)=]|\s*$)")
_THE = r"(?:the\s+|der\s+|die\s+|la\s+|l['’])?$"
_BYLINE = re.compile(r"\b(?:By|Von|Par|Por|Di|Da|Door|BY|POR)[:\s]+(?:[Tt]he\s+)?$")
_LOWER_BYLINE = re.compile(r"\b(?:by|von|par|por|door)\s+(?:the\s+)?$")
_SENTENCE_GOES_ON = re.compile(r"\s+[a-zçğıöşüßà-ÿ]")
_STAFF = re.compile(r"\s+(?:\w+ ){0,2}(?:Writers?|Correspondents?|muhabiri\w*)\b")
_PERSON = re.compile(r"(?:^|\n)[^\n,]{4,40},\s+(?:[Tt]he\s+)?$")
_LINE_END = re.compile(r"[ \t]*(?:$|\n|•|\||\(\d)")
_LINE_START = re.compile(r"(?:^|\n)[\W\d]*(?:[Tt]he\s+)?$")
_OWN_LINE = re.compile(r"(?:\s?[/,&]\s?[\w.-]{2,20})?(?:\s*$|\s*\n|\s{2,}|\s*\|\s|\s+[-–—]{1,2}\s)")
_PLACE = re.compile(r"(?:^|\n)([^\n]{2,30}?)\s+[-–—]\s+$")
_INITIALS = re.compile(r"(?:^|\n|\s{2})\w{2,4}/$")
# A notice has a year or the word; "© dpa" alone is a picture's.
_NOTICE = re.compile(
    r"(?:(?:©|\(c\))\s?(?:\d{4}|MM[IVXL]*)|copyright|telif hakkı)"
    r"[\s©:,]*(?:\(c\))?\s*(?:\d{4}(?:\s?[-–]\s?\d{4})?)?[\s,]*(?:by\s+)?" + _THE,
    re.IGNORECASE,
)
_CREDIT = re.compile(
    r"\b(?:(?:sources?|quellen?|fuentes?|fontes?|fonte|kaynak|bron|источник|المصدر|来源)\s?[:：]|"
    r"avec|mit material (?:von|der)|con informaci[oó]n de|com informações d[aeo]|"
    r"met informatie van|with material from|distributed by|provided by|news from)\s*" + _THE,
    re.IGNORECASE,
)
# A title that runs into the text: "Is the lake gone? AA Gümüşhane …"
_TITLE_END = re.compile(r"[!?\"”]\s$")
_SENTENCE_END = re.compile(r"[.!?\"”»]\s*[-–—?]?\s*$")
_CLOSED_BY = re.compile(r"[.!?\"”»]\s+(?:The\s+)?$")
_CAPITAL = re.compile(r"\s+[^\W\d_a-zçğışöüß]")


def _is_bracketed(place: _Place) -> re.Match[str] | None:
    if not _OPENED.search(place.before) or _PICTURE.search(place.after[:20]):
        return None
    return _CLOSED.match(place.after)


def _is_dateline(place: _Place) -> bool:
    """ "WASHINGTON (AP) —", "Madrid, 3 nov (EFE).-", "MOSCOW. /TASS/.", "ANKARA - AA"."""
    before, after = place.before, place.after
    if (closed := _is_bracketed(place)) is not None:
        rest = after[closed.end() :]
        return bool(re.match(r"\s{0,2}[-–—?.:]|\s+[^\W\d_a-z]|\s*\n", rest))
    if before.endswith("/") and re.match(r"/\s?[.-]", after):
        return True
    if re.search(r"[^\W\d_]\s$", before) and re.match(r"[-–—]\s+[^\W\d_a-z]", after):
        return True
    found = _PLACE.search(before)
    return found is not None and found[1].isupper() and bool(_LINE_END.match(after))


def _is_byline(place: _Place) -> bool:
    """ "By Jane Doe, Associated Press", "AP Sports Writer", a line with nothing but the agency."""
    before, after = place.before, place.after
    if _PICTURE.match(after.strip()):
        return False
    return bool(
        (_BYLINE.search(before) and not _SENTENCE_GOES_ON.match(after))
        or (_LOWER_BYLINE.search(before) and _LINE_END.match(after))
        or _STAFF.match(after)
        or (place.is_spelled_out and _PERSON.search(before) and _LINE_END.match(after))
        or (_LINE_START.search(before) and _OWN_LINE.match(after))
        or (_TITLE_END.search(before) and _CAPITAL.match(after))
    )


def _is_credit(place: _Place) -> bool:
    """ "Source: AFP", "… said. (Reuters, 25.5.2016)", "… said. EFE", "RND/dpa"."""
    before, after = place.before, place.after
    if (closed := _is_bracketed(place)) is not None:
        is_last = not after[closed.end() :].strip()
        return is_last or bool(re.search(r"[.!?\"”»]\s*\([^()]*$", before))
    is_end = len(after.strip(" .")) <= 25
    return bool(
        _CREDIT.search(before)
        or (is_end and (_SENTENCE_END.search(before) or _INITIALS.search(before)))
        or (place.is_spelled_out and _CLOSED_BY.search(before) and _CAPITAL.match(after))
    )


def _is_notice(place: _Place) -> bool:
    return bool(_NOTICE.search(place.before))


_Rules = tuple[tuple[MarkKind, Callable[[_Place], bool]], ...]
_TAIL_RULES: _Rules = (("copyright", _is_notice), ("credit", _is_credit), ("byline", _is_byline))
_HEAD_RULES: _Rules = (
    ("dateline", _is_dateline),
    ("copyright", _is_notice),
    ("byline", _is_byline),
    ("credit", _is_credit),
)
