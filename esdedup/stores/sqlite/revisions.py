"""Earlier versions of articles in an embedded store: one row for each article that was revised."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from esdedup.model.batching import batched
from esdedup.model.revisions import ArticleVersion, keep_version
from esdedup.stores.ports import Record
from esdedup.stores.sqlite.database import Database
from esdedup.stores.sqlite.rows import marks


@dataclass(frozen=True, slots=True)
class SQLiteRevisions:
    """Implements the `Revisions` port. Nobody else writes in a transaction, so that versions are
    numbered as they come."""

    database: Database

    def add(self, replaced: Sequence[Record], at: datetime) -> None:
        limit = self.database.settings.revisions
        if not replaced or not limit:
            return
        with self.database.transaction():
            kept = self.get(record.document.id for record in replaced)
            rows = []
            for record in replaced:
                before = kept.get(record.document.id, ())
                sequence = before[-1].sequence + 1 if before else 1
                version = ArticleVersion.of(record.document, at, sequence)
                rows.append((record.document.id, _pack(keep_version(before, version, limit))))
            self.database.db.executemany("INSERT OR REPLACE INTO revisions VALUES (?, ?)", rows)

    def get(self, ids: Iterable[str]) -> dict[str, tuple[ArticleVersion, ...]]:
        with self.database.errors():
            return {
                id_: _unpack(blob)
                for part in batched(ids)
                for id_, blob in self.database.db.execute(
                    f"SELECT id, versions FROM revisions WHERE id IN ({marks(part)})", part
                )
            }

    def remove(self, ids: Iterable[str]) -> None:
        with self.database.transaction():
            self.database.db.executemany(
                "DELETE FROM revisions WHERE id = ?", [(id_,) for id_ in ids]
            )


def _pack(versions: Sequence[ArticleVersion]) -> bytes:
    return zlib.compress(json.dumps([version.to_json() for version in versions]).encode())


def _unpack(blob: bytes) -> tuple[ArticleVersion, ...]:
    return tuple(map(ArticleVersion.from_json, json.loads(zlib.decompress(blob))))
