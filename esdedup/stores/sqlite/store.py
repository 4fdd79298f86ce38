"""The embedded store: one SQLite file, full-text search included, no server."""

from __future__ import annotations

from typing import Literal

from esdedup.settings import Settings
from esdedup.stores.sqlite.candidates import SQLiteCandidates
from esdedup.stores.sqlite.constraints import SQLiteConstraints
from esdedup.stores.sqlite.database import Database
from esdedup.stores.sqlite.documents import SQLiteDocuments
from esdedup.stores.sqlite.maintenance import SQLiteMaintenance
from esdedup.stores.sqlite.quarantine import SQLiteQuarantine
from esdedup.stores.sqlite.revisions import SQLiteRevisions
from esdedup.stores.sqlite.search import SQLiteSearch
from esdedup.stores.sqlite.topic_index import SQLiteTopicIndex


class SQLiteStore:
    """See `ports.Store`."""

    def __init__(
        self,
        path: str,
        settings: Settings | None = None,
        *,
        mode: Literal["write", "read"] = "write",
    ) -> None:
        self.database = database = Database(path, settings, mode)
        self.concurrency = database
        self.documents = SQLiteDocuments(database)
        self.candidates = SQLiteCandidates(database)
        self.constraints = SQLiteConstraints(database)
        self.quarantine = SQLiteQuarantine(database)
        self.revisions = SQLiteRevisions(database)
        self.search = SQLiteSearch(database, self.documents)
        self.maintenance = SQLiteMaintenance(database, self.documents)

    @property
    def topics(self) -> SQLiteTopicIndex:
        database = self.database
        return SQLiteTopicIndex(database.db, database.path, database.mode, database.errors)

    @property
    def settings(self) -> Settings:
        return self.database.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self.database.settings = settings

    def close(self) -> None:
        self.database.close()
