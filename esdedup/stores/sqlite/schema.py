"""The file of the embedded store: opening it, its tables, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from esdedup.errors import StoreCorrupt, StoreError, StoreMissing, StoreUnavailable
from esdedup.stores.sqlite.rows import clock, key_numbers

Mode = Literal["write", "read"]

# "esdd" in the file header: tells our files from those of other programs.
APPLICATION_ID = 0x65736464
BUSY_SECONDS = 60.0
_PAUSE_SECONDS = 0.02

# Each migration runs once, in order, and is recorded. Never edit one that was released.
MIGRATIONS: tuple[tuple[str, str], ...] = (
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
    ("kept", "ALTER TABLE documents ADD COLUMN kept TEXT"),
    ("branches", "ALTER TABLE documents ADD COLUMN branch INTEGER NOT NULL DEFAULT 0"),
    (
        # Bytes the full-text index collects before it writes a segment, and how many segments it
        # collects before it merges them. With the defaults, 1 MB and 16, a batch of 1,000
        # articles becomes a dozen segments, merged within the batch: twice the cost.
        "full text written by the batch",
        """
        INSERT INTO fulltext (fulltext, rank) VALUES ('hashsize', 16777216);
        INSERT INTO fulltext (fulltext, rank) VALUES ('crisismerge', 64);
        """,
    ),
    ("rank", "ALTER TABLE documents ADD COLUMN rank INTEGER NOT NULL DEFAULT 0"),
    (
        "corrections",
        """
        CREATE TABLE corrections (
            kind TEXT NOT NULL, ids TEXT NOT NULL, word TEXT NOT NULL, PRIMARY KEY (kind, ids)
        ) WITHOUT ROWID
        """,
    ),
    (
        # As texts they took half as many pages again, and a lookup is paid by the page.
        "keys as numbers",
        """
        ALTER TABLE keys RENAME TO keys_as_texts;
        CREATE TABLE keys (
            key INTEGER NOT NULL, leader INTEGER NOT NULL, seq INTEGER NOT NULL,
            PRIMARY KEY (key, leader, seq)
        ) WITHOUT ROWID;
        INSERT INTO keys SELECT key_number(key), leader, seq FROM keys_as_texts ORDER BY 1, 2, 3;
        DROP TABLE keys_as_texts;
        """,
    ),
    (
        # What articles are about, for similar news; a search fills it (topic_index.py).
        "topics",
        """
        CREATE TABLE topics (seq INTEGER PRIMARY KEY, terms BLOB NOT NULL);
        CREATE TABLE topic_terms (place INTEGER PRIMARY KEY, articles BLOB NOT NULL);
        """,
    ),
    ("agency", "ALTER TABLE documents ADD COLUMN agency TEXT"),
    (
        # Earlier versions of articles: a compressed list for each id.
        "revisions",
        "CREATE TABLE revisions (id TEXT PRIMARY KEY, versions BLOB NOT NULL)",
    ),
)


def connect(path: str, mode: Mode) -> sqlite3.Connection:
    in_memory = path == ":memory:"
    if mode == "read" and not in_memory and not Path(path).exists():
        raise StoreMissing(f"there is no store at {path}; `esdedup index` makes one")
    folder = Path(path).resolve().parent
    if not in_memory and not folder.is_dir():
        raise StoreError(f"{path}: the folder {folder} does not exist; make it first")
    access = access_to(path, mode)
    name = f"{Path(path).resolve().as_uri()}?{access}" if access else path
    db = sqlite3.connect(
        name,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=bool(access),
    )
    if mode == "read":
        db.execute("PRAGMA query_only = ON")
    db.row_factory = sqlite3.Row
    return db


def access_to(path: str, mode: Mode) -> Literal["", "mode=ro", "immutable=1"]:
    """How SQLite is to open the file; a parameter of its URI.

    A reader makes files beside a file with a write-ahead log. Where it cannot, it uses those of
    the writer. Without a log nobody is writing, and the file can be read alone (`immutable`); with
    one that would hide the batches in the log.
    """
    if mode == "write" or path == ":memory:" or os.access(Path(path).resolve().parent, os.W_OK):
        return ""
    return "mode=ro" if has_log(path) else "immutable=1"


def has_log(path: str) -> bool:
    """Whether batches are in the log: somebody writes, or was killed while writing."""
    log = Path(f"{path}-wal")
    return log.exists() and log.stat().st_size > 0


def check_ours(db: sqlite3.Connection, path: str, mode: Mode) -> None:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID and (tables or application):
        raise StoreError(f"{path} is a database of another program; name a new file for the store")
    if not tables and mode == "read":
        raise StoreMissing(f"{path} is empty; `esdedup index` fills it")
    if tables:
        _check_not_newer(db, path)


def _applied_migrations(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM migrations")}


def is_older(db: sqlite3.Connection) -> bool:
    return not _applied_migrations(db) >= {name for name, _ in MIGRATIONS}


def is_writable(path: str) -> bool:
    """The file, and its folder for what SQLite makes beside it."""
    return os.access(path, os.W_OK) and os.access(Path(path).parent, os.W_OK)


def check_can_be_brought_up_to_date(path: str) -> None:
    if not is_writable(path):
        raise StoreError(
            f"{path} was written by an older esdedup; open it once where it can be "
            "written to, which brings it up to date"
        )


def _check_not_newer(db: sqlite3.Connection, path: str) -> None:
    unknown = _applied_migrations(db) - {name for name, _ in MIGRATIONS}
    if unknown:
        raise StoreError(
            f"{path} was written by a newer esdedup (migration "
            f"{sorted(unknown)[0]!r}); upgrade esdedup to open it"
        )


def tune(db: sqlite3.Connection) -> None:
    """For one writer of whole batches."""
    _switch_to_wal(db)
    # With WAL a crash of the machine may lose the last batches, never break the file.
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA cache_size = -65536")  # KiB
    # Pages. With the default of 1,000 every batch ends in a checkpoint; with 16,000 and the
    # full-text index merged in bulk (automerge 0) writing costs half.
    db.execute("PRAGMA wal_autocheckpoint = 16000")


def _switch_to_wal(db: sqlite3.Connection) -> None:
    """SQLite does not wait here for another process that makes the same file, so we do."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing; nested use joins the outer one. Ctrl-C inside rolls back."""
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


@contextmanager
def reading(db: sqlite3.Connection) -> Iterator[None]:
    """Several statements read one state; inside a transaction, that of the transaction."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        _roll_back(db)


def _roll_back(db: sqlite3.Connection) -> None:
    """SQLite ends the transaction by itself on some errors, a full disk among them."""
    if db.in_transaction:
        db.execute("ROLLBACK")


def migrate(db: sqlite3.Connection) -> None:
    """All that was not applied yet; inside a transaction."""
    db.create_function("key_number", 1, lambda key: key_numbers([key])[0], deterministic=True)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, at INTEGER)")
    applied = _applied_migrations(db)
    for name, script in MIGRATIONS:
        if name not in applied:
            for statement in script.split(";\n"):
                if statement.strip():
                    db.execute(statement)
            db.execute("INSERT INTO migrations VALUES (?, ?)", (name, clock()))


def translate_error(error: sqlite3.Error, path: str) -> StoreError:
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
            f"{path}: another process has been writing for {BUSY_SECONDS:.0f} s; try again "
            "when it is done"
        )
    if "unable to open" in text:
        remedy = f"{text}; check that the folder exists and is yours"
        if has_log(path):
            remedy = (
                f"the newest batches are in {path}-wal, which cannot be read without {path}-shm; "
                "allow reading both files, or writing to the folder, or open the store once where "
                "it can be written to"
            )
        return StoreUnavailable(f"{path}: {remedy}")
    if "malformed" in text or "not a database" in text or "corrupt" in text:
        return StoreCorrupt(
            f"{path}: {text}; restore it from a backup or index the articles into a new file"
        )
    return StoreError(f"{path}: {text}")
