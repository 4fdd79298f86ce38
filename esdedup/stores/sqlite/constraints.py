"""The constraints of an embedded store."""

from __future__ import annotations

import json
from uuid import uuid4

from esdedup.matching.constraints import NO_CONSTRAINTS, Constraint, Constraints
from esdedup.stores.ports import Versioned
from esdedup.stores.sqlite.database import Database


class SQLiteConstraints:
    """Implements the `ConstraintStore` port; the version of the whole is kept in `meta`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._last = Versioned(NO_CONSTRAINTS, "")
        self._read_in = 0  # the transaction in which they were read last

    def recent(self) -> Constraints:
        """Read once in a transaction, which is exclusive."""
        is_read = self._read_in == self._database.transactions
        if is_read and self._database.db.in_transaction:
            return self._last.value
        return self.read().value

    def read(self) -> Versioned[Constraints]:
        """Read again only if the version changed."""
        with self._database.errors():
            version = self._version()
            if version != self._last.version:
                rows = self._database.db.execute("SELECT word FROM corrections").fetchall()
                stored = (Constraint.from_json(json.loads(text)) for (text,) in rows)
                self._last = Versioned(Constraints.of(stored), version)
        self._read_in = self._database.transactions
        return self._last

    def replace(self, new: Constraints, expected: str) -> bool:
        db = self._database.db
        with self._database.transaction():
            if self._version() != expected:
                return False
            self._read_in = 0
            db.execute("DELETE FROM corrections")
            db.executemany(
                "INSERT INTO corrections VALUES (?, ?, ?)",
                [(c.kind, json.dumps(c.key), json.dumps(c.to_json())) for c in new.items],
            )
            db.execute("INSERT OR REPLACE INTO meta VALUES ('corrections', ?)", (uuid4().hex,))
        return True

    def _version(self) -> str:
        row = self._database.db.execute(
            "SELECT value FROM meta WHERE name = 'corrections'"
        ).fetchone()
        return row["value"] if row else ""
