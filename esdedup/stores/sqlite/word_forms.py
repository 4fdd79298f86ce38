"""The forms of a word in the full-text index that differ in diacritics: erdogan, erdoğan."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from esdedup.text.fulltext import strip_marks

# Letters with diacritics: Latin-1 to Latin Extended-B, and Latin Extended Additional.
_LETTERS = ((0xC0, 0x250), (0x1E00, 0x1F00))


def find_forms(db: sqlite3.Connection, word: str) -> list[str]:
    """The word itself, then its forms in the index; who types diacritics means these."""
    if not (word.isascii() and word.isalpha()):
        return [word]
    _open_vocabulary(db)
    return [word, *(form for form in _walk(db, "", word) if form != word)]


def _open_vocabulary(db: sqlite3.Connection) -> None:
    """A list of all terms in their order; `instance` does not count them."""
    if db.execute("SELECT 1 FROM temp.sqlite_master WHERE name = 'vocabulary'").fetchone():
        return
    (only_reads,) = db.execute("PRAGMA query_only").fetchone()
    db.execute("PRAGMA query_only = OFF")  # a temporary table changes no store
    try:
        db.execute(
            "CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab (main, fulltext, instance)"
        )
    finally:
        db.execute(f"PRAGMA query_only = {only_reads}")


def _walk(db: sqlite3.Connection, begin: str, rest: str) -> Iterator[str]:
    """Terms that begin so and go on like the rest, letter by letter: some hundred lookups."""
    if not rest:
        if _find_from(db, begin) == begin:
            yield begin
        return
    plain = begin + rest[0]
    if _find_from(db, plain).startswith(plain):
        yield from _walk(db, plain, rest[1:])
    for first, end in _LETTERS:
        code = first
        while (letter := _next_letter(db, begin, code)) and ord(letter) < end:
            stripped = strip_marks(letter)
            if stripped != letter and rest.startswith(stripped):
                yield from _walk(db, begin + letter, rest[len(stripped) :])
            code = ord(letter) + 1


def _next_letter(db: sqlite3.Connection, begin: str, code: int) -> str:
    """The letter from `code` on that follows in a term that begins so; empty if there is none."""
    term = _find_from(db, begin + chr(code))
    return term[len(begin) :][:1] if term.startswith(begin) else ""


def _find_from(db: sqlite3.Connection, term: str) -> str:
    """The first term from this one on; empty after the last."""
    row = db.execute("SELECT term FROM temp.vocabulary WHERE term >= ? LIMIT 1", (term,)).fetchone()
    return "" if row is None else str(row[0])
