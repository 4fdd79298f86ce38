"""Dates as feeds, pages and archives write them; none is guessed.

    2026-03-01T12:00:00+01:00   20260301T120000Z   2026/03/01 12:00   1772366400   1772366400000
    Sun, 01 Mar 2026 12:00:00 GMT   3-MAR-1987 11:06:57.66   March 3, 2026   3 March 2026 5 pm EST

The same text gives the same moment anywhere and at any time: no clock, no locale, no zone of this
machine. 01/02/2026 is January or February and stays unread; 13/02/2026 can only be one day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

from esdedup.model import JSON, parse_time

_EXAMPLES = 3
_MONTH = re.compile("jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_YEAR_FIRST = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?!\d)")
_MONTH_FIRST = re.compile(r"(?:[A-Za-z]{3,9},?\s+)?([A-Za-z]{3,9})\.?\s+(\d{1,2}),?\s+(\d{4})\b")
# What RFC 2822 and the standard library know; another name would be taken for UTC there.
_MAIL_ZONE = re.compile(r"(?:[+-]\d{4}|\b(?:UTC?|GMT|Z|[AECMP][SD]T))\s*(?:\([^()]*\))?$")
# Hours from UTC. Not IST and the like, which mean several zones.
_ZONES = {
    "UTC": 0, "UT": 0, "GMT": 0, "Z": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2,
    "MEZ": 1, "MESZ": 2, "EET": 2, "EEST": 3, "MSK": 3, "TRT": 3, "HKT": 8, "SGT": 8, "JST": 9,
    "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13, "AST": -4, "ADT": -3, "EST": -5,
    "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "AKST": -9,
    "AKDT": -8, "HST": -10,
}  # fmt: skip


@dataclass(slots=True)
class UnreadDates:
    """How many articles had a date that could not be read, and a few of them."""

    count: int = 0
    examples: dict[str, str] = field(default_factory=dict)  # id -> the date as it was written

    def add(self, id_: str, text: str | None) -> None:
        """One article; None is one without a date, or with one that was read."""
        if text is not None:
            self.count += 1
            if len(self.examples) < _EXAMPLES:
                self.examples[id_] = text

    def to_json(self) -> JSON:
        return {"count": self.count, "examples": dict(self.examples)}


# No date is longer; patterns that end in a zone take quadratic time over a run of spaces.
_LONGEST = 200


def parse_date(value: object) -> datetime | None:
    """A time as feeds and pages write it; None for what cannot be read without guessing."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # parse_time adds UTC
    if not isinstance(value, str | int | float | datetime):
        return None
    if isinstance(value, str) and len(value) > _LONGEST:
        return None
    try:
        return parse_time(_to_iso(value))
    except (ValueError, OverflowError, OSError):
        pass
    if not isinstance(value, str):
        return None
    text = value.strip()
    if found := _parse_mail_time(text) or _parse_spelled(text):
        return found
    # `Jan. 9, 2007` before something unknown: the day is certain.
    day = _MONTH_FIRST.match(text)
    return _parse_spelled(day[0]) if day else None


def _to_iso(value: str | float | datetime) -> str | float | datetime:
    """The value itself, or for a text its spelling in ISO 8601."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if re.fullmatch(r"\d{9,13}(\.\d+)?", text):  # seconds or milliseconds since 1970
        return float(text)
    if re.fullmatch(r"\d{14}", text):
        return f"{text[:8]}T{text[8:]}"
    spelled = re.sub(r"^(\d{4})/(\d\d)/(\d\d)", r"\1-\2-\3", text)
    spelled = re.sub(r"\s*(?:UTC|GMT)$", "Z", spelled)
    return re.sub(r"\s+([+-]\d\d:?\d\d)$", r"\1", spelled)


def _parse_mail_time(text: str) -> datetime | None:
    """RFC 822, the form of RSS: `Mon, 05 Mar 2007 10:00:00 GMT`."""
    if _MAIL_ZONE.search(text) is None:
        return None
    try:
        return parse_time(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _parse_spelled(text: str) -> datetime | None:
    """With the month as a word, or with digits that can only be one day."""
    plain = _put_year_first(text)
    if plain is None or _YEAR.search(plain) is None:
        return None
    from dateutil import parser

    # The parser takes GMT+3 for the zone whose clocks are three hours behind GMT, as POSIX does.
    plain = re.sub(r"\b(?:UTC|GMT)(?=[+-]\d)", "", plain)
    try:
        # The default fills in missing parts: if two defaults give two results, one is missing.
        found, other = (
            parser.parse(plain, default=datetime(n, n, n), tzinfos=_zone) for n in (1, 2)
        )
        # A year of two digits is read by today's.
        is_sure = found == other and f"{found.year:04}" in _YEAR.findall(plain)
        return parse_time(found) if is_sure else None
    except (ValueError, OverflowError):
        return None


def _put_year_first(text: str) -> str | None:
    """The text with digits in the order year, month, day; None where their order is a guess."""
    if found := _YEAR_FIRST.match(text):
        year, month, day = found.groups()
    elif found := _YEAR_LAST.match(text):
        first, _, second, year = found.groups()
        if int(first) <= 12 and int(second) <= 12 and int(first) != int(second):
            return None
        day, month = (first, second) if int(first) > 12 else (second, first)
    else:
        return text if _MONTH.search(text) else None
    return f"{year}-{month:0>2}-{day:0>2}{text[found.end() :]}"


def _zone(name: str | None, seconds: int | None) -> timezone | None:
    """Of `5 pm EST`, or of `+0100`, which has no name; a name that nobody knows is an error."""
    if name is not None:
        if name.upper() not in _ZONES:
            raise ValueError(f"no zone is called {name}")
        seconds = _ZONES[name.upper()] * 3600
    return None if seconds is None else timezone(timedelta(seconds=seconds))
