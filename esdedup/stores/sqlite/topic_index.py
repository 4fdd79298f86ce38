"""The topic index of an embedded store: the term vectors of its articles, in two tables.

`topics` has the vector of each article. `topic_terms` is the inverted index: a row has the articles
of one term among 65,536 consecutive ones (a block) with their weights, so that a term is one lookup
in the tree however many articles have it, and numpy adds up the products. Searches bring the
tables up to date, so that stores which are never searched by topic pay nothing.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from esdedup.model import Document, TermVector, place_of
from esdedup.model.batching import batched
from esdedup.stores import Record
from esdedup.stores.sqlite import schema
from esdedup.stores.sqlite.rows import DOCUMENT_COLUMNS, document_from, marks
from esdedup.stores.sqlite.topics import leaders_among
from esdedup.stores.topical import ComputeVectors, Near, TopicQuery

# Articles indexed by one transaction: other writers wait that long, about .2 s.
_BATCH = 1_000
# Others may be writing, batch after batch: after this the search does without the index.
_PATIENCE_MS = 250
# Errors of SQLite if others keep writing or there is no room: a search needs neither.
_CANNOT_WRITE = ("locked", "busy", "full", "readonly")
# An article in its block, and the weight that the term has in it.
_ENTRY = np.dtype([("place", "<u2"), ("weight", "<f4")])
_BLOCK_BITS = 16
_IN_BLOCK = (1 << _BLOCK_BITS) - 1
_TERM_BITS = np.uint64((1 << 64) - (1 << _BLOCK_BITS))

# New documents have the highest row numbers, and the vector of a document goes with it.
_IS_CURRENT = """(SELECT max(seq) FROM topics) IS (SELECT max(seq) FROM documents)
                 AND (SELECT value FROM meta WHERE name = 'topics') IS ?"""

_NEAR_COLUMNS = f'rank, moment, "group", story, keys, {DOCUMENT_COLUMNS}'

# Rows looked up at a time.
_MANY = 500

# A cosine that any shared term exceeds.
_ANY = 1e-12

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SQLiteTopicIndex:
    """Implements the `TopicIndex` port."""

    db: sqlite3.Connection
    path: str
    mode: schema.Mode
    errors: Callable[[], AbstractContextManager[None]]

    # --- catching up ---------------------------------------------------------------------------

    def catch_up(self, version: str, compute: ComputeVectors, seconds: float) -> bool:
        with self.errors():
            if _is_current(self.db, version):
                return True
            with self._writing() as db:
                return db is not None and _catch_up(db, version, compute, seconds)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection | None]:
        """A connection that writes and does not wait for long; None if nothing can be written.

        A store opened for reading does not write through its own connection.
        """
        if self.mode == "write":
            self.db.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
            try:
                yield self.db
            finally:
                self.db.execute(f"PRAGMA busy_timeout = {schema.BUSY_SECONDS * 1000:.0f}")
        elif not schema.is_writable(self.path):
            yield None
        else:
            db = schema.connect(self.path, "write")
            try:
                db.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
                schema.tune(db)
                yield db
            finally:
                db.close()

    # --- searches ------------------------------------------------------------------------------

    def get(self, record: Record, version: str) -> TermVector | None:
        if not isinstance(record.version, int):  # of another store
            return None
        with self.errors():
            row = self.db.execute(
                f"""SELECT terms FROM documents JOIN topics USING (seq)
                    WHERE id = ? AND version = ? AND {_IS_CURRENT}""",
                (record.document.id, record.version, version),
            ).fetchone()
            return _unpack(row[0]) if row else None

    def find(self, vector: TermVector, query: TopicQuery) -> list[Near]:
        found: list[Near] = []
        # One state of the tables, whoever writes meanwhile: row numbers keep their meaning.
        with self.errors(), schema.reading(self.db):
            seqs, cosines = self._rank(vector, query.min_cosine)
            # Mostly enough are among the first, one more than wanted: the article itself is there.
            bounds = [0, *range(query.size + 1, len(seqs), _MANY), len(seqs)]
            for low, high in pairwise(bounds):
                part = zip(seqs[low:high].tolist(), cosines[low:high].tolist(), strict=True)
                found += self._leaders(dict(part), query)
                if len(found) >= query.size:
                    break
        return found[: query.size]

    def _leaders(self, cosines: dict[int, float], query: TopicQuery) -> list[Near]:
        found = {
            seq: Near(
                document=document_from(document),
                cosine=cosines[seq],
                moment=place_of(rank, moment),
                group=group,
                story=story,
                keys=json.loads(keys) if query.with_keys else {},
            )
            for seq, rank, moment, group, story, keys, *document in leaders_among(
                self._tuples(), _NEAR_COLUMNS, list(cosines), query
            )
        }
        return [found[seq] for seq in cosines if seq in found]

    def _tuples(self) -> sqlite3.Cursor:
        """A cursor that returns plain tuples, read twice as fast as rows with names."""
        cursor = self.db.cursor()
        cursor.row_factory = None
        return cursor

    def _rank(self, vector: TermVector, min_cosine: float) -> tuple[Rows, NDArray[np.float64]]:
        """Rows with at least that cosine, by falling cosine; of equal ones the first stored."""
        # One query for each: SQLite reads the whole table for two aggregates in one.
        first, last = self.db.execute(
            "SELECT (SELECT min(seq) FROM topics), (SELECT max(seq) FROM topics)"
        ).fetchone()
        if first is None:
            return np.zeros(0, np.int64), np.zeros(0)
        terms, weights = _term_places(vector), vector.weights.tolist()
        select = f"SELECT place, articles FROM topic_terms WHERE place IN ({marks(weights)})"
        seqs, scores = [], []
        for block in range(first >> _BLOCK_BITS, (last >> _BLOCK_BITS) + 1):
            places = (terms | block).tolist()
            weight_of = dict(zip(places, weights, strict=True))
            rows = self._tuples().execute(select, places).fetchall()
            entries = np.frombuffer(b"".join(row[1] for row in rows), _ENTRY)
            repeats = [len(row[1]) // _ENTRY.itemsize for row in rows]
            own = np.array([weight_of[row[0]] for row in rows], np.float64).repeat(repeats)
            sums = np.bincount(entries["place"], own * entries["weight"])
            (found,) = (sums >= max(min_cosine, _ANY)).nonzero()
            seqs.append(found + (block << _BLOCK_BITS))
            scores.append(sums[found].astype(np.float64, copy=False))
        cosines = np.concatenate(scores)
        order = np.argsort(-cosines, kind="stable")
        return np.concatenate(seqs)[order], cosines[order]


def _is_current(db: sqlite3.Connection, version: str) -> bool:
    (is_current,) = db.execute(f"SELECT {_IS_CURRENT}", (version,)).fetchone()
    return bool(is_current)


# --- writing -----------------------------------------------------------------------------------


def _catch_up(
    db: sqlite3.Connection, version: str, compute: ComputeVectors, seconds: float
) -> bool:
    """Whether everything could be indexed in the time."""
    until, is_part_of_another = time.monotonic() + seconds, db.in_transaction
    while not _is_current(db, version):
        if time.monotonic() > until:
            return False
        try:
            with schema.transaction(db):
                _index_batch(db, version, compute)
        except sqlite3.OperationalError as error:
            if is_part_of_another or not any(word in str(error) for word in _CANNOT_WRITE):
                raise
            return False
    return True


def _index_batch(db: sqlite3.Connection, version: str, compute: ComputeVectors) -> None:
    row = db.execute("SELECT value FROM meta WHERE name = 'topics'").fetchone()
    if row is None or row[0] != version:
        db.execute("DELETE FROM topics")
        db.execute("DELETE FROM topic_terms")
        db.execute("INSERT OR REPLACE INTO meta VALUES ('topics', ?)", (version,))
    rows = db.execute(
        """SELECT seq, id, title, text, url, source, lang FROM documents
           WHERE seq > (SELECT coalesce(max(seq), 0) FROM topics) ORDER BY seq LIMIT ?""",
        (_BATCH,),
    ).fetchall()
    if rows:
        vectors = compute([Document(*row[1:]) for row in rows])
        _put(db, np.array([row[0] for row in rows], np.int64), vectors)


def _put(db: sqlite3.Connection, seqs: Rows, vectors: Sequence[TermVector]) -> None:
    db.executemany(
        "INSERT INTO topics VALUES (?, ?)",
        zip(seqs.tolist(), map(_pack, vectors), strict=True),
    )
    rows = np.repeat(seqs, [len(vector.terms) for vector in vectors])
    entries = np.empty(len(rows), _ENTRY)
    entries["place"] = rows & _IN_BLOCK
    entries["weight"] = np.concatenate([vector.weights for vector in vectors])
    places = np.concatenate([_term_places(vector) for vector in vectors]) | rows >> _BLOCK_BITS
    order = np.argsort(places, kind="stable")
    entries = entries[order]
    distinct, starts = np.unique(places[order], return_index=True)
    bounds = pairwise([*starts.tolist(), len(entries)])
    blobs = (entries[low:high].tobytes() for low, high in bounds)
    # SQLite makes a text of two joined blobs, of the same bytes.
    db.executemany(
        """INSERT INTO topic_terms VALUES (?, ?) ON CONFLICT DO UPDATE
           SET articles = CAST(articles || excluded.articles AS BLOB)""",
        zip(distinct.tolist(), blobs, strict=True),
    )


def forget(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    """Delete the vectors of articles, inside the transaction that deletes these."""
    gone: defaultdict[int, list[int]] = defaultdict(list)
    for part in batched(seqs):
        rows = db.execute(f"SELECT seq, terms FROM topics WHERE seq IN ({marks(part)})", part)
        for seq, blob in rows.fetchall():
            for place in (_term_places(_unpack(blob)) | seq >> _BLOCK_BITS).tolist():
                gone[place].append(seq & _IN_BLOCK)
        db.execute(f"DELETE FROM topics WHERE seq IN ({marks(part)})", part)
    for place, articles in sorted(gone.items()):
        _delete_entries(db, place, articles)


def _delete_entries(db: sqlite3.Connection, place: int, gone: Sequence[int]) -> None:
    row = db.execute("SELECT articles FROM topic_terms WHERE place = ?", (place,)).fetchone()
    if row is None:
        return
    entries = np.frombuffer(row[0], _ENTRY)
    left = entries[~np.isin(entries["place"], gone)].tobytes()
    if left:
        db.execute("UPDATE topic_terms SET articles = ? WHERE place = ?", (left, place))
    else:
        db.execute("DELETE FROM topic_terms WHERE place = ?", (place,))


# --- forms -------------------------------------------------------------------------------------


def _term_places(vector: TermVector) -> Rows:
    """Rows of the terms in block 0: 48 bits of each term, which no two share."""
    return (vector.terms & _TERM_BITS).view(np.int64)


def _pack(vector: TermVector) -> bytes:
    return vector.terms.astype("<u8").tobytes() + vector.weights.astype("<f4").tobytes()


def _unpack(blob: bytes) -> TermVector:
    count = len(blob) // 12
    return TermVector(
        np.frombuffer(blob, "<u8", count).astype(np.uint64, copy=False),
        np.frombuffer(blob, "<f4", count, 8 * count).astype(np.float32, copy=False),
    )
