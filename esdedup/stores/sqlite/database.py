"""One SQLite file: its connection, its errors, its transactions.

WAL lets several processes read while one writes; a second writer waits for the first. A batch is
one transaction, so what is read is always whole batches.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from esdedup.errors import StoreError, StoreUnavailable
from esdedup.model import JSON
from esdedup.settings import Settings
from esdedup.stores.ports import TRANSACTIONAL
from esdedup.stores.sqlite import schema


class Database:
    """Implements the `Concurrency` port."""

    consistency = TRANSACTIONAL

    def __init__(self, path: str, settings: Settings | None, mode: schema.Mode) -> None:
        self.path = path
        self.mode: schema.Mode = mode
        self.transactions = 0  # begun so far: tells a cache that a new one has begun
        is_immutable = schema.access_to(path, mode) == "immutable=1"
        self._last_change = _last_change(path) if is_immutable else None
        with self.errors():
            self.db = schema.connect(path, mode)
            try:
                # Another process may be creating the file at the same time.
                with schema.reading(self.db):
                    schema.check_ours(self.db, path, mode)
                    older = mode == "read" and schema.is_older(self.db)
                if mode == "write":
                    schema.tune(self.db)
                    with self.transaction():
                        schema.migrate(self.db)
                elif older:
                    schema.check_can_be_brought_up_to_date(path)
                    Database(path, None, "write").close()
                with self.transaction() if mode == "write" else schema.reading(self.db):
                    self.settings = self._agree_on_settings(settings)
            except BaseException:
                self.db.close()
                raise

    def close(self) -> None:
        with self.errors():
            self.db.close()

    def _agree_on_settings(self, settings: Settings | None) -> Settings:
        """The settings to work with, checked against the recorded ones."""
        recorded, shaping = self.read_meta("settings"), self.read_meta("shaping")
        if recorded is None or shaping is None:
            settings = settings or Settings()
            if self.mode == "write":
                self.record_settings(settings)
            return settings
        chosen = settings or Settings.from_json(recorded)
        chosen.check_against(shaping, store=self.path)
        return chosen

    def record_settings(self, settings: Settings) -> None:
        with self.transaction():
            self.write_meta("settings", settings.to_json())
            self.write_meta("shaping", settings.shaping())

    def read_meta(self, name: str) -> JSON | None:
        with self.errors():
            row = self.db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else dict(json.loads(row["value"]))

    def write_meta(self, name: str, value: JSON | None) -> None:
        """With None the entry is removed."""
        with self.transaction():
            if value is None:
                self.db.execute("DELETE FROM meta WHERE name = ?", (name,))
            else:
                row = (name, json.dumps(value))
                self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", row)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """SQLite's errors as ours, each with what to do."""
        try:
            yield
            self._check_unchanged()
        except sqlite3.Error as error:
            raise schema.translate_error(error, self.path) from error
        except UnicodeEncodeError as error:
            raise StoreError(
                f"{self.path}: {error.object!r} holds half of a surrogate pair; no document has "
                "such an id"
            ) from error

    def _check_unchanged(self) -> None:
        """A file that is read alone must stay as it is: SQLite would not notice a writer."""
        if self._last_change is None:
            return
        if schema.has_log(self.path) or _last_change(self.path) != self._last_change:
            raise StoreUnavailable(
                f"{self.path}: another process began to write while the store was open in a folder "
                "that this one may not write to; open it again"
            )

    # --- the port ------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.errors():
            self.transactions += not self.db.in_transaction
            with schema.transaction(self.db):
                yield

    def snapshot(self, *, visible: bool = True) -> None:
        """No-op: SQLite reads its own writes, and a transaction is exclusive."""

    def unchanged_since(self, snapshot: None) -> bool:
        return True

    def make_visible(self, *, own_only: bool = False) -> None:
        """No-op: SQLite reads its own writes."""


def _last_change(path: str) -> tuple[int, int]:
    if not Path(path).exists():
        return 0, 0
    found = Path(path).stat()
    return found.st_mtime_ns, found.st_size
