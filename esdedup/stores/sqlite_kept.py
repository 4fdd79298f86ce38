"""What the articles of an embedded store are about, kept in two tables of their own.

`topics` has of each article its terms and their weights. `topic_terms` has the same by term: the
articles that are about it, 65,536 consecutive ones (a block) in one row, so that asking for a
term reads one row, whatever their number, and sums are taken by numpy. Whoever asks brings the
tables up to date: those who never ask pay nothing for them.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from esdedup.model import Document, Topic, place_of, unpack
from esdedup.stores import Record
from esdedup.stores import sqlite_schema as schema
from esdedup.stores.rows import DOCUMENT_COLUMNS, chunks, document_from, marks
from esdedup.stores.topical import Alike, Find, Near

# Articles brought in by one transaction: for so long, about .2 s, others wait to write.
_BATCH = 1_000
# Others may be writing just now, batch after batch: then the question is answered without.
_PATIENCE_MS = 250
# An article in its block, and the weight the term has in it.
_ENTRY = np.dtype([("place", "<u2"), ("weight", "<f4")])
_BLOCK_BITS = 16

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SQLiteKeptTopics:
    """See `KeptTopics`."""

    db: sqlite3.Connection
    path: str
    mode: schema.Mode
    errors: Callable[[], AbstractContextManager[None]]

    # --- up to date ----------------------------------------------------------------------------

    def catch_up(self, mark: str, find: Find, seconds: float) -> bool:
        with self.errors():
            if not _is_behind(self.db, mark):
                return True
            with self._writing() as db:
                return db is not None and _caught_up(db, mark, find, seconds)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection | None]:
        """A connection that writes and does not wait for long; None where nothing can be written.

        A store opened for reading writes nothing itself.
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

    # --- questions -----------------------------------------------------------------------------

    def topic_of(self, record: Record) -> Topic | None:
        if not isinstance(record.version, int):  # of another store
            return None
        with self.errors():
            row = self.db.execute(
                "SELECT t.terms FROM documents AS d JOIN topics AS t USING (seq) "
                "WHERE d.id = ? AND d.version = ?",
                (record.document.id, record.version),
            ).fetchone()
        return None if row is None else _unpacked(row[0])

    def alike(self, topic: Topic, asked: Alike) -> list[Near]:
        with self.errors(), self._one_state():
            seqs, scores = self._scored(topic, asked.least)
            best = np.lexsort((seqs, -scores))
            ranked = dict(zip(seqs[best].tolist(), scores[best].tolist(), strict=True))
            found: list[Near] = []
            for part in _parts(list(ranked), asked.size):
                found += self._leaders(part, ranked, asked)
                if len(found) >= asked.size:
                    break
        return found[: asked.size]

    @contextmanager
    def _one_state(self) -> Iterator[None]:
        """Row numbers mean what they meant a moment ago, whoever writes meanwhile."""
        if self.db.in_transaction:
            yield
            return
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            self.db.execute("ROLLBACK")

    def _scored(self, topic: Topic, least: float) -> tuple[Rows, Scores]:
        """Articles with a cosine of at least that, in the order they came."""
        terms = _numbers(topic).tolist()
        weight_of = dict(zip(terms, topic.weights.tolist(), strict=True))
        blocks: defaultdict[int, list[tuple[float, bytes]]] = defaultdict(list)
        for term, block, articles in self.db.execute(
            f"SELECT term, block, articles FROM topic_terms WHERE term IN ({marks(terms)})", terms
        ):
            blocks[block].append((weight_of[term], articles))
        seqs: list[Rows] = [np.zeros(0, np.int64)]
        scores: list[Scores] = [np.zeros(0)]
        for block, parts in sorted(blocks.items()):
            entries = np.frombuffer(b"".join([blob for _, blob in parts]), _ENTRY)
            counts = [len(blob) // _ENTRY.itemsize for _, blob in parts]
            products = np.repeat([weight for weight, _ in parts], counts) * entries["weight"]
            sums = np.bincount(entries["place"], products).astype(np.float64, copy=False)
            places = np.flatnonzero((sums >= least) & (sums > 0))
            seqs.append(places.astype(np.int64) + (block << _BLOCK_BITS))
            scores.append(sums[places])
        return np.concatenate(seqs), np.concatenate(scores)

    def _leaders(self, part: Sequence[int], ranked: dict[int, float], asked: Alike) -> list[Near]:
        rows = self.db.execute(
            f"""SELECT seq, rank, moment, "group", story, shingles, keys, {DOCUMENT_COLUMNS}
                FROM documents WHERE seq IN ({marks(part)}) AND role != 'duplicate'
                AND moment BETWEEN ? AND ? AND "group" != ? AND id != ?""",
            (*part, asked.low, asked.high, asked.group, asked.id),
        )
        found = {
            seq: Near(
                document=document_from(document),
                likeness=ranked[seq],
                moment=place_of(rank, moment),
                group=group,
                story=story,
                shingles=unpack(shingles),
                keys=json.loads(keys) if asked.keys else {},
            )
            for seq, rank, moment, group, story, shingles, keys, *document in rows
        }
        return [found[seq] for seq in part if seq in found]


# --- writing -----------------------------------------------------------------------------------


def _is_behind(db: sqlite3.Connection, mark: str) -> bool:
    """New rows have the highest numbers, and the topic of an article goes with it."""
    last, kept, made_with = db.execute(
        """SELECT (SELECT max(seq) FROM documents), (SELECT max(seq) FROM topics),
                  (SELECT value FROM meta WHERE name = 'topics')"""
    ).fetchone()
    return bool((last is not None and last != kept) or made_with != mark)


def _caught_up(db: sqlite3.Connection, mark: str, find: Find, seconds: float) -> bool:
    """Whether all could be brought in within the time; False also where others keep writing."""
    until = time.monotonic() + seconds
    while _is_behind(db, mark):
        if time.monotonic() > until:
            return False
        try:
            with _transaction(db):
                _bring_in_some(db, mark, find)
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                return False
            raise
    return True


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing; inside another one, part of it."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        _roll_back(db)
        raise


def _roll_back(db: sqlite3.Connection) -> None:
    """SQLite ends the transaction by itself on some errors, a full disk among them."""
    if db.in_transaction:
        db.execute("ROLLBACK")


def _bring_in_some(db: sqlite3.Connection, mark: str, find: Find) -> None:
    row = db.execute("SELECT value FROM meta WHERE name = 'topics'").fetchone()
    if row is None or row[0] != mark:
        db.execute("DELETE FROM topics")
        db.execute("DELETE FROM topic_terms")
        db.execute("INSERT OR REPLACE INTO meta VALUES ('topics', ?)", (mark,))
    rows = db.execute(
        """SELECT seq, id, title, text, url, source, lang FROM documents
           WHERE seq > (SELECT coalesce(max(seq), 0) FROM topics) ORDER BY seq LIMIT ?""",
        (_BATCH,),
    ).fetchall()
    if rows:
        found = find([Document(*row[1:]) for row in rows])
        _keep(db, np.array([row[0] for row in rows], np.int64), found)


def _keep(db: sqlite3.Connection, seqs: Rows, topics: Sequence[Topic]) -> None:
    db.executemany(
        "INSERT INTO topics VALUES (?, ?)",
        zip(seqs.tolist(), map(_packed, topics), strict=True),
    )
    sizes = [len(topic.terms) for topic in topics]
    terms = np.concatenate([_numbers(topic) for topic in topics])
    rows = np.repeat(seqs, sizes)
    entries = np.empty(len(rows), _ENTRY)
    entries["place"] = rows & ((1 << _BLOCK_BITS) - 1)
    entries["weight"] = np.concatenate([topic.weights for topic in topics])
    blocks = rows >> _BLOCK_BITS
    order = np.lexsort((blocks, terms))
    terms, blocks, entries = terms[order], blocks[order], entries[order]
    is_first = np.ones(len(terms), np.bool_)
    is_first[1:] = (terms[1:] != terms[:-1]) | (blocks[1:] != blocks[:-1])
    bounds = [*np.flatnonzero(is_first).tolist(), len(terms)]
    blobs = (entries[low:high].tobytes() for low, high in pairwise(bounds))
    # SQLite makes a text of two joined blobs, of the same bytes.
    db.executemany(
        """INSERT INTO topic_terms VALUES (?, ?, ?) ON CONFLICT DO UPDATE
           SET articles = CAST(articles || excluded.articles AS BLOB)""",
        zip(terms[is_first].tolist(), blocks[is_first].tolist(), blobs, strict=True),
    )


def forget(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    """Articles that go, inside the transaction that removes them."""
    gone: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for part in chunks(seqs):
        rows = db.execute(f"SELECT seq, terms FROM topics WHERE seq IN ({marks(part)})", part)
        for seq, blob in rows.fetchall():
            for term in _numbers(_unpacked(blob)).tolist():
                gone[term, seq >> _BLOCK_BITS].add(seq & ((1 << _BLOCK_BITS) - 1))
        db.execute(f"DELETE FROM topics WHERE seq IN ({marks(part)})", part)
    for place, rows_gone in sorted(gone.items()):
        _take_out(db, place, rows_gone)


def _take_out(db: sqlite3.Connection, place: tuple[int, int], gone: Iterable[int]) -> None:
    where = "WHERE term = ? AND block = ?"
    row = db.execute(f"SELECT articles FROM topic_terms {where}", place).fetchone()
    if row is None:
        return
    entries = np.frombuffer(row[0], _ENTRY)
    left = entries[~np.isin(entries["place"], list(gone))].tobytes()
    if left:
        db.execute(f"UPDATE topic_terms SET articles = ? {where}", (left, *place))
    else:
        db.execute(f"DELETE FROM topic_terms {where}", place)


# --- forms -------------------------------------------------------------------------------------


def _parts(seqs: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """The first few alone: mostly they are all that is needed, the article itself left out."""
    if seqs:
        yield seqs[: size + 1]
        yield from chunks(seqs[size + 1 :])


def _numbers(topic: Topic) -> NDArray[np.int64]:
    """Terms as SQLite's numbers, which have a sign."""
    numbers: NDArray[np.int64] = topic.terms.view(np.int64)
    return numbers


def _packed(topic: Topic) -> bytes:
    return topic.terms.astype("<u8").tobytes() + topic.weights.astype("<f4").tobytes()


def _unpacked(blob: Any) -> Topic:
    count = len(blob) // 12
    return Topic(
        np.frombuffer(blob, "<u8", count).astype(np.uint64),
        np.frombuffer(blob, "<f4", count, 8 * count).astype(np.float32),
    )
