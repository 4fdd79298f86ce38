"""The embedded store: one SQLite file, full-text search included, no server.

WAL lets several processes read while one writes; a second writer waits for the first. A batch is
one transaction, so what is read is always whole batches.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from esdedup.errors import StoreCorrupt, StoreError, StoreMissing, StoreUnavailable
from esdedup.model import (
    Candidate,
    Decision,
    Failure,
    microseconds,
)
from esdedup.settings import Settings
from esdedup.stores import MANY_HOT_KEYS, Fold, Hit, Probe, Record, SearchResult, WriteReport
from esdedup.stores.fulltext import match_expression, searchable, snippet
from esdedup.stores.rows import (
    RECORD_COLUMNS,
    candidate_from,
    clock,
    decision_columns,
    frozen,
    record_from,
    row_of,
    thawed,
)

_T = TypeVar("_T")

# "esdd" in the file header: tells our files from those of other programs.
_APPLICATION_ID = 0x65736464
_BUSY_SECONDS = 60.0
# Candidates handed to verification; far more than `verified_candidates`.
_MAX_CANDIDATES = 100
# SQLite's default limit of parameters was 999 for long.
_MANY = 500

# Each migration runs once, in order, and is recorded. Never edit one that was released.
_MIGRATIONS: tuple[tuple[str, str], ...] = (
    (
        "first",
        """
        CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE documents (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            title TEXT NOT NULL, text TEXT NOT NULL,
            url TEXT, source TEXT, lang TEXT, published TEXT, extra TEXT,
            first_seen INTEGER NOT NULL, moment INTEGER NOT NULL,
            role TEXT NOT NULL, "group" TEXT NOT NULL, story TEXT NOT NULL, parent TEXT,
            score REAL NOT NULL, method TEXT NOT NULL, reason TEXT NOT NULL,
            evidence TEXT NOT NULL,
            format TEXT NOT NULL, keys TEXT NOT NULL, shingles BLOB NOT NULL,
            words INTEGER NOT NULL, exact TEXT NOT NULL, numbers TEXT NOT NULL,
            signed_lang TEXT, changed INTEGER NOT NULL, version INTEGER NOT NULL DEFAULT 1
        );
        CREATE INDEX documents_group ON documents ("group");
        CREATE INDEX documents_story ON documents (story);
        CREATE INDEX documents_parent ON documents (parent) WHERE parent IS NOT NULL;
        CREATE INDEX documents_moment ON documents (moment);
        CREATE TABLE keys (
            key TEXT NOT NULL, leader INTEGER NOT NULL, seq INTEGER NOT NULL,
            PRIMARY KEY (key, leader, seq)
        ) WITHOUT ROWID;
        CREATE VIRTUAL TABLE fulltext USING fts5 (
            title, text, content='', tokenize="unicode61 remove_diacritics 0"
        );
        INSERT INTO fulltext (fulltext, rank) VALUES ('automerge', 0);
        CREATE TABLE quarantine (
            id TEXT PRIMARY KEY, place TEXT NOT NULL, reason TEXT NOT NULL,
            final INTEGER NOT NULL, document BLOB, changed INTEGER NOT NULL
        );
        """,
    ),
)


class SQLiteStore:
    """See `Store`; `serial`, because a batch is one transaction that nobody else writes into."""

    serial = True

    def __init__(
        self,
        path: str,
        settings: Settings | None = None,
        *,
        mode: Literal["write", "read"] = "write",
    ) -> None:
        self.path = path
        self._mode = mode
        with self._errors():
            self._db = self._connect()
            try:
                with self._snapshot():
                    self._check_ours()
                if mode == "write":
                    self._migrate()
                with self.transaction() if mode == "write" else self._snapshot():
                    self.settings = self._settle_settings(settings)
            except BaseException:
                self._db.close()
                raise

    # --- opening -----------------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        in_memory = self.path == ":memory:"
        if self._mode == "read" and not in_memory and not Path(self.path).exists():
            raise StoreMissing(f"there is no store at {self.path}; `esdedup index` makes one")
        folder = Path(self.path).resolve().parent
        if not in_memory and not folder.is_dir():
            raise StoreError(f"{self.path}: the folder {folder} does not exist; make it first")
        name = self.path
        if self._mode == "read" and not in_memory and not os.access(folder, os.W_OK):
            # A reader of a WAL file makes files beside it; where it cannot, nobody writes either.
            name = f"{Path(name).resolve().as_uri()}?immutable=1"
        db = sqlite3.connect(
            name,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            uri=name != self.path,
        )
        if self._mode == "read":
            db.execute("PRAGMA query_only = ON")
        db.row_factory = sqlite3.Row
        return db

    def _check_ours(self) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != _APPLICATION_ID and (tables or application):
            raise StoreError(
                f"{self.path} is a database of another program; name a new file for the store"
            )
        if not tables and self._mode == "read":
            raise StoreMissing(f"{self.path} is empty; `esdedup index` fills it")
        if tables:
            self._check_not_newer()

    def _check_not_newer(self) -> None:
        applied = {name for (name,) in self._db.execute("SELECT name FROM migrations")}
        unknown = applied - {name for name, _ in _MIGRATIONS}
        if unknown:
            raise StoreError(
                f"{self.path} was written by a newer esdedup (migration "
                f"{sorted(unknown)[0]!r}); upgrade esdedup to open it"
            )

    def _migrate(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        # With WAL a crash of the machine may lose the last batches, never break the file.
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("PRAGMA cache_size = -65536")  # KiB
        # Pages. With the default of 1,000 every batch ends in a checkpoint; with 16,000 and the
        # full-text index merged in bulk (automerge 0) writing costs half: 150 us an article.
        self._db.execute("PRAGMA wal_autocheckpoint = 16000")
        with self.transaction():
            self._db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, at INTEGER)"
            )
            applied = {name for (name,) in self._db.execute("SELECT name FROM migrations")}
            for name, script in _MIGRATIONS:
                if name not in applied:
                    for statement in script.split(";\n"):
                        if statement.strip():
                            self._db.execute(statement)
                    self._db.execute("INSERT INTO migrations VALUES (?, ?)", (name, clock()))

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

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """SQLite's errors as ours, each with what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise _translated(error, self.path) from error
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

    def close(self) -> None:
        with self._errors():
            self._db.close()

    # --- candidates --------------------------------------------------------------------------

    def candidates_many(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        with self._errors():
            return [self._candidates(probe) for probe in probes]

    def _candidates(self, probe: Probe) -> list[Candidate]:
        shared = self._shared(probe, leaders_only=probe.leaders_only)
        if not shared:
            return []
        low, high = _bounds(probe)
        with_keys = self.settings.verified_by != "overlap"
        found = [
            candidate_from(row, shared[row["seq"]], json.loads(row["keys"]) if with_keys else {})
            for part in _chunks(list(shared))
            for row in self._db.execute(
                f"""SELECT seq, id, moment, role, "group", story, parent, format, shingles, words,
                           exact, numbers, signed_lang, keys
                    FROM documents WHERE seq IN ({_marks(part)})
                    AND (moment, id) < (?, ?) AND moment BETWEEN ? AND ? AND id != ?""",
                (*part, *probe.order, low, high, probe.id),
            )
        ]
        found.sort(key=lambda c: (-sum(c.shared.values()), c.order))
        return found[:_MAX_CANDIDATES]

    def _shared(self, probe: Probe, *, leaders_only: bool) -> dict[int, dict[str, int]]:
        """Row number -> method -> shared keys, where a method has enough of them."""
        shared: dict[int, dict[str, int]] = {}
        leaders = "leader = 1" if leaders_only else "leader IN (0, 1)"
        for method, keys in probe.keys.items():
            rows = self._db.execute(
                f"""SELECT seq, count(*) FROM keys
                    WHERE key IN ({_marks(keys)}) AND {leaders}
                    GROUP BY seq HAVING count(*) >= ?""",
                (*keys, probe.needed[method]),
            )
            for seq, count in rows:
                shared.setdefault(seq, {})[method] = count
        return shared

    def later(self, probes: Sequence[Probe]) -> set[str]:
        with self._errors():
            (latest,) = self._db.execute("SELECT max(moment) FROM documents").fetchone()
            found: set[str] = set()
            for probe in probes:
                if latest is None or probe.order[0] > latest:
                    continue  # articles that come in order have nobody after them
                shared = list(self._shared(probe, leaders_only=False))
                low, high = _bounds(probe)
                for part in _chunks(shared):
                    rows = self._db.execute(
                        f"""SELECT id FROM documents WHERE seq IN ({_marks(part)})
                            AND (moment, id) > (?, ?) AND moment BETWEEN ? AND ?""",
                        (*part, *probe.order, low, high),
                    )
                    found.update(id_ for (id_,) in rows)
            return found

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
                for part in _chunks(values)
                for row in self._db.execute(
                    f"SELECT {RECORD_COLUMNS} FROM documents WHERE {column} IN ({_marks(part)})",
                    part,
                )
            ]

    def followers(self, ids: Iterable[str]) -> set[str]:
        with self._errors():
            return {
                id_
                for part in _chunks(list(ids))
                for (id_,) in self._db.execute(
                    f"""SELECT id FROM documents WHERE "group" IN ({_marks(part)}) AND "group" != id
                        UNION SELECT id FROM documents WHERE parent IN ({_marks(part)})""",
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
                self._db.executemany(f"INSERT INTO documents VALUES ({_marks(rows[0])})", rows)
            self._db.executemany(
                "INSERT INTO fulltext (rowid, title, text) VALUES (?, ?, ?)",
                [
                    (seq, searchable(r.document.title), searchable(r.document.text))
                    for seq, r in enumerate(records, top + 1)
                ],
            )
            leads = [int(r.decision.link.canonical) for r in records]
            keys = [
                (key, leads[place], top + 1 + place)
                for place, r in enumerate(records)
                for own in r.signature.keys.values()
                for key in own
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
                       method = ?, reason = ?, evidence = ?, changed = ?, version = version + 1
                       WHERE id = ? AND version = ?""",
                    (*decision_columns(decision), clock(), record.document.id, record.version),
                )
                if not cursor.rowcount:
                    conflicts.add(record.document.id)
                elif decision.link.canonical != record.decision.link.canonical:
                    self._set_leader(record, leader=decision.link.canonical)
        return WriteReport(conflicts=frozenset(conflicts))

    def _set_leader(self, record: Record, *, leader: bool) -> None:
        (seq,) = self._db.execute(
            "SELECT seq FROM documents WHERE id = ?", (record.document.id,)
        ).fetchone()
        for keys in record.signature.keys.values():
            self._db.execute(
                f"UPDATE keys SET leader = ? WHERE key IN ({_marks(keys)}) AND leader = ? "
                "AND seq = ?",
                (int(leader), *keys, int(not leader), seq),
            )

    def delete(self, ids: Iterable[str]) -> set[str]:
        with self.transaction():
            wanted = list(ids)
            self.release(wanted)
            return self._remove(wanted)

    def _remove(self, ids: Sequence[str]) -> set[str]:
        removed = set()
        for part in _chunks(ids):
            rows = self._db.execute(
                f"SELECT seq, id, title, text, keys FROM documents WHERE id IN ({_marks(part)})",
                part,
            ).fetchall()
            for row in rows:
                removed.add(row["id"])
                keys = [key for own in json.loads(row["keys"]).values() for key in own]
                self._db.executemany(
                    "DELETE FROM keys WHERE key = ? AND leader IN (0, 1) AND seq = ?",
                    [(key, row["seq"]) for key in keys],
                )
                self._db.execute(
                    "INSERT INTO fulltext (fulltext, rowid, title, text) "
                    "VALUES ('delete', ?, ?, ?)",
                    (row["seq"], searchable(row["title"]), searchable(row["text"])),
                )
                self._db.execute("DELETE FROM documents WHERE seq = ?", (row["seq"],))
        return removed

    # --- searching ---------------------------------------------------------------------------

    def search(
        self, query: str, *, fold: Fold = "group", size: int = 10, offset: int = 0
    ) -> SearchResult:
        expression = match_expression(query)
        if not expression:
            return SearchResult((), 0, 0)
        column = {"group": 'd."group"', "story": "d.story", "none": "d.id"}[fold]
        with self._errors():
            articles, stories = self._db.execute(
                f"""SELECT count(*), count(DISTINCT {column}) FROM fulltext
                    JOIN documents d ON d.seq = fulltext.rowid WHERE fulltext MATCH ?""",
                (expression,),
            ).fetchone()
            rows = self._db.execute(
                f"""WITH matched AS (
                        SELECT d.id, d.moment, bm25(fulltext, 2.0, 1.0) AS rank, {column} AS folded
                        FROM fulltext JOIN documents d ON d.seq = fulltext.rowid
                        WHERE fulltext MATCH ?
                    ), ranked AS (
                        SELECT *, row_number() OVER (
                                   PARTITION BY folded ORDER BY rank, moment, id) AS place,
                               count(*) OVER (PARTITION BY folded) - 1 AS copies
                        FROM matched
                    )
                    SELECT id, rank, copies FROM ranked WHERE place = 1
                    ORDER BY rank, moment, id LIMIT ? OFFSET ?""",
                (expression, size, offset),
            ).fetchall()
        records = self.get_many(row["id"] for row in rows)
        hits = tuple(_hit(records[r["id"]], -r["rank"], r["copies"], query) for r in rows)
        return SearchResult(hits, stories, articles)

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

    def stats(self) -> dict[str, Any]:
        with self._errors():
            one = self._db.execute(
                """SELECT count(*) AS documents, count(DISTINCT "group") AS groups,
                          count(DISTINCT story) AS stories FROM documents"""
            ).fetchone()
            roles = Counter(
                dict(self._db.execute("SELECT role, count(*) FROM documents GROUP BY role"))
            )
            (waiting,) = self._db.execute("SELECT count(*) FROM quarantine").fetchone()
            (pages,) = self._db.execute("PRAGMA page_count").fetchone()
            (page,) = self._db.execute("PRAGMA page_size").fetchone()
        return {
            **dict(one),
            "roles": {r: roles[r] for r in ("original", "duplicate", "update", "unprocessed")},
            "quarantine": waiting,
            "bytes": pages * page,
            "format": self.settings.fingerprint_of_format(),
        }

    def hot_keys(self, above: int) -> dict[str, int]:
        with self._errors():
            rows = self._db.execute(
                """SELECT key, count(*) AS n FROM keys WHERE leader = 1 GROUP BY key
                   HAVING n > ? ORDER BY n DESC, key LIMIT ?""",
                (above, MANY_HOT_KEYS),
            )
            return {row["key"]: row["n"] for row in rows}

    def check(self) -> list[str]:
        """The file itself, then the invariants of groups and keys."""
        with self._errors():
            problems = [
                f"the file is damaged: {row[0]}"
                for row in self._db.execute("PRAGMA quick_check")
                if row[0] != "ok"
            ]
            for sentence, query in _INVARIANTS:
                broken = [row[0] for row in self._db.execute(query + " LIMIT 5")]
                if broken:
                    problems.append(f"{sentence}: {', '.join(map(str, broken))}")
            formats = dict(
                self._db.execute(
                    "SELECT format, count(*) FROM documents WHERE role != 'unprocessed' "
                    "GROUP BY format"
                )
            )
        mine = self.settings.fingerprint_of_format()
        problems += [
            f"{n} documents have format {f}, the settings say {mine}: index them again"
            for f, n in formats.items()
            if f != mine
        ]
        return problems

    def misplaced(self) -> set[str]:
        """Documents whose link or keys break an invariant; keys of nobody are taken away."""
        with self.transaction():
            self._db.execute("DELETE FROM keys WHERE seq NOT IN (SELECT seq FROM documents)")
            broken = {row[0] for query in _MISPLACED for row in self._db.execute(query)}
        # A document without its keys has them in its own row: written again, it gets them back.
        self.put_many(list(self.get_many(broken).values()))
        return broken


_INVARIANTS = (
    (
        "group without an original",
        """SELECT DISTINCT d."group" FROM documents d LEFT JOIN documents o ON o.id = d."group"
           WHERE o.id IS NULL OR o."group" != o.id OR o.role = 'duplicate'""",
    ),
    (
        "leader outside its own group",
        """SELECT id FROM documents WHERE role != 'duplicate' AND "group" != id""",
    ),
    (
        "duplicate that leads",
        """SELECT id FROM documents WHERE role = 'duplicate' AND "group" = id""",
    ),
    (
        "story other than its group's",
        """SELECT d.id FROM documents d JOIN documents o ON o.id = d."group"
           WHERE d.story != o.story OR (d.role = 'original' AND d.story != d.id)""",
    ),
    (
        "keys of a missing document",
        "SELECT DISTINCT seq FROM keys WHERE seq NOT IN (SELECT seq FROM documents)",
    ),
    (
        "document without its keys",
        "SELECT id FROM documents WHERE keys != '{}' AND seq NOT IN (SELECT seq FROM keys)",
    ),
    (
        "keys that attract for a duplicate, or do not for a leader",
        """SELECT DISTINCT d.id FROM keys k JOIN documents d USING (seq)
           WHERE k.leader != (d.role != 'duplicate')""",
    ),
)

# The documents behind the sentences of _INVARIANTS.
_MISPLACED = (
    """SELECT d.id FROM documents d LEFT JOIN documents o ON o.id = d."group"
       WHERE o.id IS NULL OR o."group" != o.id OR o.role = 'duplicate' OR d.story != o.story
       OR (d.role = 'original' AND d.story != d.id)
       OR (d.role = 'duplicate') != (d."group" != d.id)""",
    "SELECT id FROM documents WHERE keys != '{}' AND seq NOT IN (SELECT seq FROM keys)",
    """SELECT DISTINCT d.id FROM keys k JOIN documents d USING (seq)
       WHERE k.leader != (d.role != 'duplicate')""",
)


def _translated(error: sqlite3.Error, path: str) -> StoreError:
    text = str(error)
    if "full" in text:
        return StoreUnavailable(
            f"{path}: {text}; the batch in hand was not written. Make room and run the same "
            "command again"
        )
    if "readonly" in text:
        return StoreUnavailable(
            f"{path}: {text}; allow writing to the file and its folder, or name another store"
        )
    if "locked" in text or "busy" in text:
        return StoreUnavailable(
            f"{path}: another process has been writing for {_BUSY_SECONDS:.0f} s; try again "
            "when it is done"
        )
    if "unable to open" in text:
        return StoreUnavailable(f"{path}: {text}; check that the folder exists and is yours")
    if "malformed" in text or "not a database" in text or "corrupt" in text:
        return StoreCorrupt(
            f"{path}: {text}; restore it from a backup or index the articles into a new file"
        )
    return StoreError(f"{path}: {text}")


def _marks(values: Sequence[Any] | dict[Any, Any]) -> str:
    return ", ".join("?" * len(values))


def _chunks(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for start in range(0, len(values), _MANY):
        yield values[start : start + _MANY]


def _bounds(probe: Probe) -> tuple[int, int]:
    if not probe.window:
        return -(1 << 62), 1 << 62
    return probe.order[0] - probe.window, probe.order[0] + probe.window


def _hit(record: Record, score: float, copies: int, query: str) -> Hit:
    link = record.decision.link
    return Hit(
        document=record.document,
        group=link.group,
        story=link.story,
        role=link.role,
        score=score,
        copies=copies,
        snippet=snippet(record.document.text, query),
    )
