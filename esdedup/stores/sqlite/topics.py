"""Searches of an embedded store by words of a topic."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from esdedup.model.batching import batched
from esdedup.stores.ports import Record
from esdedup.stores.sqlite.rows import RECORD_COLUMNS, marks, record_from
from esdedup.stores.topical import TopicQuery
from esdedup.text.fulltext import fold_for_index

# Articles ranked for each result, before copies are left out.
_RANKED_PER_RESULT = 3
_WORD = re.compile(r"\w+")


def find_by_words(db: sqlite3.Connection, query: TopicQuery) -> list[Record]:
    """Leaders that have any of the words, best first."""
    expression = _match_any(query.words)
    if not expression:
        return []
    few = _RANKED_PER_RESULT * query.size
    ranked = _rank(db, expression, few)
    records = _read_leaders(db, ranked, query)
    if len(records) < query.size and len(ranked) == few:  # copies of a few stories fill it
        records = _read_leaders(db, _rank(db, expression, -1), query)
    return records[: query.size]


def _rank(db: sqlite3.Connection, expression: str, size: int) -> dict[int, float]:
    """Row numbers, best first. Reads the index alone: rows of whole articles are expensive."""
    rows = db.execute(
        "SELECT rowid, bm25(fulltext, 2.0, 1.0) AS badness FROM fulltext "
        "WHERE fulltext MATCH ? ORDER BY badness, rowid LIMIT ?",
        (expression, size),
    )
    return {row[0]: row[1] for row in rows}


def _read_leaders(
    db: sqlite3.Connection, ranked: dict[int, float], query: TopicQuery
) -> list[Record]:
    """Leaders in the span of time, best first, maybe some more than the query wants."""
    found: list[Record] = []
    for part in batched(ranked):
        leaders = leaders_among(db, RECORD_COLUMNS, part, query).fetchall()
        leaders.sort(key=lambda row: (ranked[row["seq"]], row["moment"], row["id"]))
        found += [record_from(row) for row in leaders[: query.size]]
        if len(found) >= query.size:
            break
    return found


def leaders_among(
    db: sqlite3.Connection | sqlite3.Cursor, columns: str, seqs: Sequence[int], query: TopicQuery
) -> sqlite3.Cursor:
    """Rows of the leaders of groups among these rows that the query may return."""
    return db.execute(
        f"""SELECT seq, {columns} FROM documents WHERE seq IN ({marks(seqs)})
            AND role != 'duplicate' AND moment BETWEEN ? AND ? AND "group" != ? AND id != ?""",
        (*seqs, query.low, query.high, query.group, query.id),
    )


def _match_any(words: Sequence[str]) -> str:
    """The expression of the full-text index; empty if there is no word."""
    phrases = (" ".join(_WORD.findall(fold_for_index(word))) for word in words)
    return " OR ".join(dict.fromkeys(f'"{phrase}"' for phrase in phrases if phrase))
