"""The embedded store: one SQLite file, full-text search included, no server.

WAL lets several processes read while one writes; a second writer waits for the first. A batch is
one transaction, so what is read is always whole batches.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, Literal, TypeVar
from uuid import uuid4

from esdedup.errors import StoreError
from esdedup.matching.constraints import NOTHING_SAID, Correction, Corrections
from esdedup.model import Candidate, Decision, Failure, microseconds, rank_of, time_of
from esdedup.model.queries import By, Query
from esdedup.settings import Settings
from esdedup.stores import Fold, Probe, Record, SearchResult, WriteReport, fold_options
from esdedup.stores.sqlite import schema
from esdedup.stores.sqlite.aging import SQLiteAging
from esdedup.stores.sqlite.candidates import SQLiteNeighbours
from esdedup.stores.sqlite.health import MISPLACED, TOPICS_OF_NOBODY, SQLiteHealth
from esdedup.stores.sqlite.rows import (
    RECORD_COLUMNS,
    chunks,
    clock,
    decision_columns,
    frozen,
    key_numbers,
    marks,
    record_from,
    row_of,
    thawed,
)
from esdedup.stores.sqlite.search import SQLiteSearch
from esdedup.stores.sqlite.topic_index import SQLiteKeptTopics, forget
from esdedup.stores.sqlite.topics import SQLiteTopics
from esdedup.stores.topical import Asked, Clock, Found, near_of
from esdedup.text.fulltext import searchable

_T = TypeVar("_T")


class SQLiteStore:
    """See `Store`; `serial`, because a batch is one transaction that nobody else writes into."""

    serial = True
    refuses_known_ids = False

    def __init__(
        self,
        path: str,
        settings: Settings | None = None,
        *,
        mode: Literal["write", "read"] = "write",
    ) -> None:
        self.path = path
        self._mode = mode
        self._corrections: tuple[str, Corrections] = "", NOTHING_SAID
        self._is_said_read = False  # in this transaction, which nobody else writes into
        with self._errors():
            self._db = schema.connect(path, mode)
            try:
                with self._snapshot():
                    schema.check_ours(self._db, path, mode)
                    older = mode == "read" and schema.is_older(self._db)
                if mode == "write":
                    schema.tune(self._db)
                    with self.transaction():
                        schema.migrate(self._db)
                elif older:
                    schema.check_can_be_brought_up_to_date(path)
                    SQLiteStore(path).close()  # as a writer would
                with self.transaction() if mode == "write" else self._snapshot():
                    self.settings = self._settle_settings(settings)
            except BaseException:
                self._db.close()
                raise

    # --- opening -----------------------------------------------------------------------------

    def _settle_settings(self, settings: Settings | None) -> Settings:
        """The settings to work with, checked against the recorded ones."""
        row = self._db.execute("SELECT value FROM meta WHERE name = 'settings'").fetchone()
        if row is None:
            settings = settings or Settings()
            if self._mode == "write":
                self._db.execute(
                    "INSERT INTO meta VALUES ('settings', ?), ('shaping', ?)",
                    (json.dumps(settings.to_json()), json.dumps(settings.shaping())),
                )
            return settings
        (shaping,) = self._db.execute("SELECT value FROM meta WHERE name = 'shaping'").fetchone()
        chosen = settings or Settings.from_json(json.loads(row["value"]))
        chosen.check_against(json.loads(shaping), store=self.path)
        return chosen

    def adopt(self, settings: Settings) -> None:
        self.settings = settings

    def record_settings(self) -> None:
        with self.transaction():
            for name, value in (
                ("settings", self.settings.to_json()),
                ("shaping", self.settings.shaping()),
            ):
                self._db.execute(
                    "UPDATE meta SET value = ? WHERE name = ?", (json.dumps(value), name)
                )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """SQLite's errors as ours, each with what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise schema.translated(error, self.path) from error
        except UnicodeEncodeError as error:
            raise StoreError(
                f"{self.path}: {error.object!r} holds half of a surrogate pair; no document has "
                "such an id"
            ) from error

    # --- transactions ------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; nested use joins the outer one. Ctrl-C inside rolls back."""
        if self._db.in_transaction:
            yield
            return
        with self._errors():
            self._db.execute("BEGIN IMMEDIATE")
            self._is_said_read = False
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self._rollback()
                raise

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Several questions about one state: another process may be making the file just now."""
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._rollback()

    def _rollback(self) -> None:
        """SQLite ends the transaction by itself on some errors, a full disk among them."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def refresh(self) -> None:
        """Nothing to do: what is written is seen."""

    def see_own_writes(self) -> None:
        """Nothing to do either."""

    def begin(self) -> None:
        """Nor here."""

    def undisturbed(self, mark: None) -> bool:
        """A transaction has no company."""
        return True

    def marked(self) -> None:
        """Nor a place to mark."""

    def close(self) -> None:
        with self._errors():
            self._db.close()

    # --- neighbours --------------------------------------------------------------------------

    @property
    def _neighbours(self) -> SQLiteNeighbours:
        return SQLiteNeighbours(self._db, self._errors, self.settings)

    def candidates_many(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        return self._neighbours.candidates(probes)

    def later(self, probes: Sequence[Probe]) -> set[str]:
        return self._neighbours.later(probes)

    # --- documents ---------------------------------------------------------------------------

    def get_many(self, ids: Iterable[str]) -> dict[str, Record]:
        return {r.document.id: r for r in self._records("id", list(ids))}

    def members(self, group: str) -> list[Record]:
        return sorted(self._records('"group"', [group]), key=lambda r: r.order)

    def story(self, story: str) -> list[Record]:
        return sorted(self._records("story", [story]), key=lambda r: r.order)

    def _records(self, column: str, values: Sequence[str]) -> list[Record]:
        with self._errors():
            return [
                record_from(row)
                for part in chunks(values)
                for row in self._db.execute(
                    f"SELECT {RECORD_COLUMNS} FROM documents WHERE {column} IN ({marks(part)})",
                    part,
                )
            ]

    def followers(self, ids: Iterable[str]) -> set[str]:
        with self._errors():
            return {
                id_
                for part in chunks(list(ids))
                for (id_,) in self._db.execute(
                    f"""SELECT id FROM documents WHERE "group" IN ({marks(part)}) AND "group" != id
                        UNION SELECT id FROM documents WHERE parent IN ({marks(part)})""",
                    (*part, *part),
                )
            }

    def changed_since(self, moment: datetime) -> set[str]:
        with self._errors():
            rows = self._db.execute(
                "SELECT id FROM documents WHERE changed >= ?", (microseconds(moment),)
            )
            return {id_ for (id_,) in rows}

    def put_many(self, records: Sequence[Record]) -> WriteReport:
        with self.transaction():
            self._remove([r.document.id for r in records])
            (top,) = self._db.execute("SELECT coalesce(max(seq), 0) FROM documents").fetchone()
            rows = [row_of(record, seq) for seq, record in enumerate(records, top + 1)]
            if rows:
                self._db.executemany(f"INSERT INTO documents VALUES ({marks(rows[0])})", rows)
            self._db.executemany(
                "INSERT INTO fulltext (rowid, title, text) VALUES (?, ?, ?)",
                [
                    (seq, searchable(r.document.title), searchable(r.document.text))
                    for seq, r in enumerate(records, top + 1)
                ],
            )
            leads = [int(r.decision.link.attracts) for r in records]
            keys = [
                (key, leads[place], top + 1 + place)
                for place, r in enumerate(records)
                for own in r.signature.keys.values()
                for key in key_numbers(own)
            ]
            keys.sort()  # neighbours in the tree are written together
            self._db.executemany("INSERT INTO keys VALUES (?, ?, ?)", keys)
        return WriteReport()

    def link_many(self, changes: Sequence[tuple[Record, Decision]]) -> WriteReport:
        conflicts = set()
        with self.transaction():
            for record, decision in changes:
                cursor = self._db.execute(
                    """UPDATE documents SET role = ?, "group" = ?, story = ?, parent = ?, score = ?,
                       method = ?, reason = ?, evidence = ?, branch = ?, changed = ?,
                       version = version + 1 WHERE id = ? AND version = ?""",
                    (
                        *decision_columns(decision),
                        decision.branch,
                        clock(),
                        record.document.id,
                        record.version,
                    ),
                )
                if not cursor.rowcount:
                    conflicts.add(record.document.id)
                elif decision.link.attracts != record.decision.link.attracts:
                    self._set_leader(record, leader=decision.link.attracts)
        return WriteReport(conflicts=frozenset(conflicts))

    def _set_leader(self, record: Record, *, leader: bool) -> None:
        (seq,) = self._db.execute(
            "SELECT seq FROM documents WHERE id = ?", (record.document.id,)
        ).fetchone()
        for keys in record.signature.keys.values():
            self._db.execute(
                f"UPDATE keys SET leader = ? WHERE key IN ({marks(keys)}) AND leader = ? "
                "AND seq = ?",
                (int(leader), *key_numbers(keys), int(not leader), seq),
            )

    def rewrite_many(self, records: Sequence[Record]) -> WriteReport:
        conflicts = set()
        with self.transaction():
            for record in records:
                if not self._rewrite(record):
                    conflicts.add(record.document.id)
        return WriteReport(conflicts=frozenset(conflicts))

    def _rewrite(self, record: Record) -> bool:
        """False where somebody wrote the document since it was read."""
        id_, signature = record.document.id, record.signature
        row = self._db.execute(
            "SELECT seq, keys FROM documents WHERE id = ? AND version = ?", (id_, record.version)
        ).fetchone()
        if row is None:
            return False
        keys = json.dumps(dict(signature.keys))
        self._db.execute(
            """UPDATE documents SET moment = ?, rank = ?, format = ?, keys = ?, kept = ?,
               changed = ?, version = version + 1 WHERE seq = ?""",
            (
                time_of(record.order[0]),
                rank_of(record.order[0]),
                signature.format,
                keys,
                json.dumps(dict(signature.kept)) if signature.kept else None,
                clock(),
                row["seq"],
            ),
        )
        if row["keys"] != keys:
            self._forget_keys(row["seq"], row["keys"])
            leads = int(record.decision.link.attracts)
            self._db.executemany(
                "INSERT INTO keys VALUES (?, ?, ?)",
                [
                    (key, leads, row["seq"])
                    for own in signature.keys.values()
                    for key in key_numbers(own)
                ],
            )
        return True

    def _forget_keys(self, seq: int, stored: str) -> None:
        self._db.executemany(
            "DELETE FROM keys WHERE key = ? AND leader IN (0, 1) AND seq = ?",
            [(key, seq) for own in json.loads(stored).values() for key in key_numbers(own)],
        )

    # --- what people said ----------------------------------------------------------------------

    @property
    def corrections(self) -> Corrections:
        """Read again only where the version of them, kept beside the settings, is another."""
        if self._is_said_read and self._db.in_transaction:
            return self._corrections[1]
        with self._errors():
            row = self._db.execute("SELECT value FROM meta WHERE name = 'corrections'").fetchone()
            version = row["value"] if row else ""
            if self._corrections[0] != version:
                words = self._db.execute("SELECT word FROM corrections").fetchall()
                said = Corrections.of(Correction.from_json(json.loads(w)) for (w,) in words)
                self._corrections = version, said
        self._is_said_read = True
        return self._corrections[1]

    def correct(self, said: Corrections) -> bool:
        with self.transaction():
            row = self._db.execute("SELECT value FROM meta WHERE name = 'corrections'").fetchone()
            version = row["value"] if row else ""
            if version != self._corrections[0]:
                return False
            self._is_said_read = False
            self._db.execute("DELETE FROM corrections")
            self._db.executemany(
                "INSERT INTO corrections VALUES (?, ?, ?)",
                [(c.kind, json.dumps(c.key), json.dumps(c.to_json())) for c in said.said],
            )
            self._db.execute(
                "INSERT OR REPLACE INTO meta VALUES ('corrections', ?)", (uuid4().hex,)
            )
        return True

    # --- age -----------------------------------------------------------------------------------

    def aged(self, before: int, leading: By | None, *, keyed: bool) -> Iterator[list[str]]:
        return SQLiteAging(self._db, self._errors).aged(before, leading, keyed=keyed)

    def gathered(self, by: By, values: Sequence[str], since: int | None = None) -> dict[str, str]:
        return SQLiteAging(self._db, self._errors).gathered(by, values, since)

    def delete(self, ids: Iterable[str]) -> set[str]:
        with self.transaction():
            wanted = list(ids)
            self.release(wanted)
            return self._remove(wanted)

    def _remove(self, ids: Sequence[str]) -> set[str]:
        removed = set()
        for part in chunks(ids):
            rows = self._db.execute(
                f"SELECT seq, id, title, text, keys FROM documents WHERE id IN ({marks(part)})",
                part,
            ).fetchall()
            forget(self._db, [row["seq"] for row in rows])
            for row in rows:
                removed.add(row["id"])
                self._forget_keys(row["seq"], row["keys"])
                self._db.execute(
                    "INSERT INTO fulltext (fulltext, rowid, title, text) "
                    "VALUES ('delete', ?, ?, ?)",
                    (row["seq"], searchable(row["title"]), searchable(row["text"])),
                )
                self._db.execute("DELETE FROM documents WHERE seq = ?", (row["seq"],))
        return removed

    # --- searching ---------------------------------------------------------------------------

    @property
    def finder(self) -> SQLiteSearch:
        return SQLiteSearch(self._db, self._errors, self.get_many)

    def search(
        self, query: str, *, fold: Fold = "group", size: int = 10, offset: int = 0
    ) -> SearchResult:
        options = fold_options(fold, size, offset)
        return SearchResult.of(self.finder.search(Query(words=query), options))

    @property
    def _topics(self) -> SQLiteTopics:
        return SQLiteTopics(self._db, self._errors, self.get_many)

    def topical(self, asked: Asked) -> list[Found]:
        return [
            Found(r.document, partial(near_of, r), partial(_itself, r))
            for r in self._topics.topical(asked)
        ]

    @property
    def kept_topics(self) -> SQLiteKeptTopics:
        return SQLiteKeptTopics(self._db, self.path, self._mode, self._errors)

    def in_order(self, clock: Clock, low: int) -> Iterator[list[Record]]:
        return self._topics.in_order(clock, low)

    def latest(self, clock: Clock) -> int | None:
        return self._topics.latest(clock)

    def groups(self, *, smallest: int = 2, size: int = 50) -> list[tuple[str, int]]:
        with self._errors():
            rows = self._db.execute(
                """SELECT "group", count(*) AS n FROM documents GROUP BY "group"
                   HAVING n >= ? ORDER BY n DESC, min(moment) LIMIT ?""",
                (smallest, size),
            )
            return [(row["group"], row["n"]) for row in rows]

    # --- quarantine --------------------------------------------------------------------------

    def quarantine(self, failures: Sequence[Failure]) -> None:
        with self.transaction():
            self._db.executemany(
                "INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?, ?, ?, ?)",
                [(f.id, f.where, f.reason, f.final, frozen(f.document), clock()) for f in failures],
            )

    def quarantined(self) -> list[Failure]:
        with self._errors():
            rows = self._db.execute("SELECT * FROM quarantine ORDER BY changed, id").fetchall()
        return [
            Failure(r["id"], r["place"], r["reason"], bool(r["final"]), thawed(r["document"]))
            for r in rows
        ]

    def release(self, ids: Iterable[str]) -> None:
        with self.transaction():
            self._db.executemany("DELETE FROM quarantine WHERE id = ?", [(id_,) for id_ in ids])

    # --- looking after -----------------------------------------------------------------------

    @property
    def _health(self) -> SQLiteHealth:
        return SQLiteHealth(self._db, self._errors, self.settings)

    def stats(self) -> dict[str, Any]:
        return self._health.stats()

    def hot_keys(self, above: int) -> dict[str, int]:
        return self._health.hot_keys(above)

    def check(self) -> list[str]:
        return self._health.check()

    def misplaced(self) -> set[str]:
        """Documents whose link or keys break an invariant; what belongs to nobody is taken away."""
        with self.transaction():
            self._db.execute("DELETE FROM keys WHERE seq NOT IN (SELECT seq FROM documents)")
            forget(self._db, [seq for (seq,) in self._db.execute(TOPICS_OF_NOBODY)])
            broken = {row[0] for query in MISPLACED for row in self._db.execute(query)}
        # A document without its keys has them in its own row: written again, it gets them back.
        self.put_many(list(self.get_many(broken).values()))
        return broken


def _itself(record: Record) -> Record:
    return record
