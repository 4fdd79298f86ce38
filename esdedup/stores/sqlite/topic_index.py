"""What the articles of an embedded store are about, kept in two tables of their own.

`topics` has of each article its terms and their weights. `topic_terms` has the same by term: the
articles that are about it, those of 65,536 consecutive ones (a block) in one row, so that a term is
one look into the tree, however many are about it, and the sums are numpy's. Whoever asks brings
the tables up to date: those who never ask pay nothing for them.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from esdedup.model import Document, Topic, place_of, unpack
from esdedup.stores import Record
from esdedup.stores.sqlite import schema
from esdedup.stores.sqlite.rows import DOCUMENT_COLUMNS, chunks, document_from, marks
from esdedup.stores.topical import Alike, Find, Near

# Articles brought in by one transaction: for so long, about .2 s, others wait to write.
_BATCH = 1_000
# Others may be writing just now, batch after batch: then the question is answered without.
_PATIENCE_MS = 250
# What SQLite says where others keep writing, or there is no room: a question needs neither.
_CANNOT_WRITE = ("locked", "busy", "full", "readonly")
# An article in its block, and the weight the term has in it.
_ENTRY = np.dtype([("place", "<u2"), ("weight", "<f4")])
_BLOCK_BITS = 16
_IN_BLOCK = (1 << _BLOCK_BITS) - 1
_TERM_BITS = np.uint64((1 << 64) - (1 << _BLOCK_BITS))

# A cosine that any shared term exceeds.
_ANY = 1e-12

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]
_NO_ROWS: Rows = np.zeros(0, np.int64)
_NO_SCORES: Scores = np.zeros(0)


class _State(NamedTuple):
    """What has been brought in: of topics the first and the last row, of documents the last, the
    mark under which it was, and the terms of one article."""

    first: int | None
    last: int | None
    last_written: int | None
    mark: str | None
    terms: bytes | None

    @classmethod
    def of(cls, db: sqlite3.Connection, id_: str = "", version: int = 0) -> _State:
        row = db.execute(
            """SELECT (SELECT min(seq) FROM topics), (SELECT max(seq) FROM topics),
                      (SELECT max(seq) FROM documents),
                      (SELECT value FROM meta WHERE name = 'topics'),
                      (SELECT terms FROM documents AS d JOIN topics USING (seq)
                       WHERE d.id = ? AND d.version = ?)""",
            (id_, version),
        ).fetchone()
        return cls(*row)

    def is_up_to_date(self, mark: str) -> bool:
        """New rows have the highest numbers, and the topic of an article goes with it."""
        return self.last == self.last_written and self.mark == mark

    @property
    def blocks(self) -> range:
        if self.first is None or self.last is None:
            return range(0)
        return range(self.first >> _BLOCK_BITS, (self.last >> _BLOCK_BITS) + 1)


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
            if _State.of(self.db).is_up_to_date(mark):
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

    def alike_to(self, record: Record, mark: str, asked: Alike) -> list[Near] | None:
        if not isinstance(record.version, int):  # of another store
            return None
        with self.errors(), self._one_state():
            state = _State.of(self.db, record.document.id, record.version)
            if not state.is_up_to_date(mark) or not state.terms:
                return None
            return self._alike(_unpacked(state.terms), state.blocks, asked)

    def alike(self, topic: Topic, asked: Alike) -> list[Near]:
        with self.errors(), self._one_state():
            return self._alike(topic, _State.of(self.db).blocks, asked)

    def _alike(self, topic: Topic, blocks: range, asked: Alike) -> list[Near]:
        seqs, scores = self._scored(topic, blocks, asked.least)
        found: list[Near] = []
        # One more than wanted: the article itself is among them.
        for best in _best_first(seqs, scores, asked.size + 1):
            found += self._leaders(best, asked)
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

    def _rows(self, query: str, values: Sequence[Any]) -> list[Any]:
        """As plain tuples, which are read twice as fast as rows with names."""
        cursor = self.db.cursor()
        cursor.row_factory = None
        return cursor.execute(query, values).fetchall()

    def _scored(self, topic: Topic, blocks: range, least: float) -> tuple[Rows, Scores]:
        """Articles with a cosine of at least that, in the order they came."""
        terms, weights = _numbers(topic), topic.weights.tolist()
        scored = []
        for block in blocks:
            places = (terms | block).tolist()
            rows = self._rows(_terms_query(len(places)), places)
            if rows:
                weight_of = dict(zip(places, weights, strict=True))
                found, articles = zip(*rows, strict=True)
                scored.append(_summed(block, [weight_of[p] for p in found], articles, least))
        if len(scored) == 1:
            return scored[0]
        seqs, scores = zip((_NO_ROWS, _NO_SCORES), *scored, strict=True)
        return np.concatenate(seqs), np.concatenate(scores)

    def _leaders(self, best: dict[int, float], asked: Alike) -> list[Near]:
        """Those of them that lead a group in the span of time."""
        found = {
            seq: Near(
                document=document_from(document),
                likeness=best[seq],
                moment=place_of(rank, moment),
                group=group,
                story=story,
                shingles=unpack(shingles),
                keys=json.loads(keys) if keys else {},
            )
            for seq, rank, moment, group, story, shingles, keys, *document in self._rows(
                _leaders_query(len(best), asked.keys),
                (*best, asked.low, asked.high, asked.group, asked.id),
            )
        }
        return [found[seq] for seq in best if seq in found]


@cache
def _terms_query(count: int) -> str:
    return f"SELECT place, articles FROM topic_terms WHERE place IN ({marks(range(count))})"


@cache
def _leaders_query(count: int, with_keys: bool) -> str:
    return f"""
        SELECT seq, rank, moment, "group", story, shingles, {"keys" if with_keys else "NULL"},
               {DOCUMENT_COLUMNS}
        FROM documents WHERE seq IN ({marks(range(count))}) AND role != 'duplicate'
        AND moment BETWEEN ? AND ? AND "group" != ? AND id != ?"""


def _summed(
    block: int, asked: Sequence[float], articles: Sequence[bytes], least: float
) -> tuple[Rows, Scores]:
    """Articles of a block, by term: the weights asked for times their own."""
    entries = np.frombuffer(b"".join(articles), _ENTRY)
    weights = np.array(asked).repeat([len(own) // _ENTRY.itemsize for own in articles])
    sums = np.bincount(entries["place"], weights * entries["weight"])
    (places,) = (sums >= max(least, _ANY)).nonzero()
    return places + (block << _BLOCK_BITS), sums[places].astype(np.float64, copy=False)


def _best_first(seqs: Rows, scores: Scores, few: int) -> Iterator[dict[int, float]]:
    """Articles by falling score, of equal ones the first: a few, which mostly is enough, then the
    rest in parts."""
    if len(scores) <= few:
        yield _by_score(seqs, scores)
        return
    bar = np.partition(scores, -few)[-few]
    for which in (scores >= bar, scores < bar):
        ranked = _by_score(seqs[which], scores[which])
        for part in chunks(list(ranked)):
            yield {seq: ranked[seq] for seq in part}


def _by_score(seqs: Rows, scores: Scores) -> dict[int, float]:
    ranked = sorted(zip((-scores).tolist(), seqs.tolist(), strict=True))
    return {seq: -score for score, seq in ranked}


# --- writing -----------------------------------------------------------------------------------


def _caught_up(db: sqlite3.Connection, mark: str, find: Find, seconds: float) -> bool:
    """Whether all could be brought in within the time."""
    until, is_part_of_another = time.monotonic() + seconds, db.in_transaction
    while not _State.of(db).is_up_to_date(mark):
        if time.monotonic() > until:
            return False
        try:
            with _transaction(db):
                _bring_in_some(db, mark, find)
        except sqlite3.OperationalError as error:
            if is_part_of_another or not any(word in str(error) for word in _CANNOT_WRITE):
                raise
            return False
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
    rows = np.repeat(seqs, [len(topic.terms) for topic in topics])
    entries = np.empty(len(rows), _ENTRY)
    entries["place"] = rows & _IN_BLOCK
    entries["weight"] = np.concatenate([topic.weights for topic in topics])
    places = np.concatenate([_numbers(topic) for topic in topics]) | rows >> _BLOCK_BITS
    order = np.argsort(places, kind="stable")
    places, entries = places[order], entries[order]
    is_first = np.ones(len(places), np.bool_)
    is_first[1:] = places[1:] != places[:-1]
    bounds = [*np.flatnonzero(is_first).tolist(), len(places)]
    blobs = (entries[low:high].tobytes() for low, high in pairwise(bounds))
    # SQLite makes a text of two joined blobs, of the same bytes.
    db.executemany(
        """INSERT INTO topic_terms VALUES (?, ?) ON CONFLICT DO UPDATE
           SET articles = CAST(articles || excluded.articles AS BLOB)""",
        zip(places[is_first].tolist(), blobs, strict=True),
    )


def forget(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    """Articles that go, inside the transaction that removes them."""
    gone: defaultdict[int, list[int]] = defaultdict(list)
    for part in chunks(seqs):
        rows = db.execute(f"SELECT seq, terms FROM topics WHERE seq IN ({marks(part)})", part)
        for seq, blob in rows.fetchall():
            for place in (_numbers(_unpacked(blob)) | seq >> _BLOCK_BITS).tolist():
                gone[place].append(seq & _IN_BLOCK)
        db.execute(f"DELETE FROM topics WHERE seq IN ({marks(part)})", part)
    for place, articles in sorted(gone.items()):
        _take_out(db, place, articles)


def _take_out(db: sqlite3.Connection, place: int, gone: Sequence[int]) -> None:
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


def _numbers(topic: Topic) -> Rows:
    """Where the rows of its terms are, of block 0: 48 bits of each, which no two terms share."""
    return (topic.terms & _TERM_BITS).view(np.int64)


def _packed(topic: Topic) -> bytes:
    return topic.terms.astype("<u8").tobytes() + topic.weights.astype("<f4").tobytes()


def _unpacked(blob: bytes) -> Topic:
    count = len(blob) // 12
    return Topic(
        np.frombuffer(blob, "<u8", count).astype(np.uint64, copy=False),
        np.frombuffer(blob, "<f4", count, 8 * count).astype(np.float32, copy=False),
    )
