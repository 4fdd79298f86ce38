"""Messages that are handed on without being read: their heads are like one that was read before.

Most requests that pass are reads of one kind by one program, and most answers to them differ in
their length and their body only. A connection notes the lines they share when it reads them; the
next such message is known by a look-up and a check of the rest.

It does few things rather than little work: between two messages a gateway sleeps, and after a
sleep the first use of anything costs many times as much as the next.
"""

from __future__ import annotations

import re

from esdedup.gateway import http
from esdedup.gateway.http import Head, Known

_MOST_TARGET = 4_000
# A GET that nothing here has a part in: another one has one of these words, or a letter encoded.
_READ = re.compile(
    rb"GET (?![^ ]*(?:search|_count|esdedup|%%[4-7]))/[\x21-\x7e\x80-\xff]{0,%d} HTTP/1\.1"
    % (_MOST_TARGET - 1)
)
# Headers by which there is more to do than to hand a request on.
_MORE_TO_DO = frozenset({"content-length", "transfer-encoding", "expect", "x-esdedup-fold"})


def read_of(raw: bytes, known: Known[bytes]) -> tuple[bytes, bytes] | None:
    """Of a plain read that came whole: its first line without the end, and the others as sent."""
    first, _, rest = raw.partition(b"\r\n")
    lines = known.get(rest)
    if lines is None or _READ.fullmatch(first) is None:
        return None
    return first, lines


def learn_read(raw: bytes, head: Head, known: Known[bytes]) -> None:
    """Notes the lines behind the first one, of a head that is valid."""
    is_plain = head.version == 1 and head.keeps_alive and not head.length_line
    is_plain = is_plain and _MORE_TO_DO.isdisjoint(head.fields.lower)
    if is_plain and len(raw) + _MOST_TARGET <= http.MAX_HEAD:
        known.add(raw.partition(b"\r\n")[2], head.fields.passed + b"\r\n")


def is_answer(raw: bytes, known: Known[bool]) -> bool:
    """Whether this is one whole answer that goes back as it came."""
    end = raw.find(b"\r\n\r\n") + 4
    begin = raw.rfind(b" ", 0, end) + 1
    length = raw[begin : end - 4]
    return raw[:begin] in known and length.isdigit() and int(length) == len(raw) - end


def learn_answer(raw: bytes, head: Head, known: Known[bool]) -> None:
    """Notes all before the value of the length, if that comes last and nothing is changed."""
    if head.framing == "length" and head.keeps_alive and raw == head.start + b"\r\n":
        known.add(raw[: raw.rfind(b" ") + 1], True)
