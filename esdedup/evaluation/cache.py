"""Results that are expensive to compute, in one SQLite file under `ESDEDUP_CACHE`.

Extracted articles are cached by the content of the page and the version of the extractor:
extraction takes 30 ms a page, a second run none. `tuning` caches its runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from importlib.metadata import version
from pathlib import Path

from esdedup.errors import InputError
from esdedup.ingest.sign import read_page
from esdedup.ingest.workers import Workers
from esdedup.model import JSON, Document, Failure, iso, parse_time
from esdedup.settings import Settings

Progress = Callable[[int, int], None]


def extract_pages(
    pages: Sequence[Document], settings: Settings, progress: Progress
) -> dict[str, Document | Failure]:
    """The articles by id of their pages, from the cache where it has them. Ctrl-C keeps the rest.

    A page that a time or memory limit ended is not cached.
    """
    out: dict[str, Document | Failure] = {}
    new: list[Document] = []
    with closing(EvaluationCache("articles")) as cached:
        for page in pages:
            if (row := cached.get(_key(page, settings))) is None:
                new.append(page)
            else:
                out[page.id] = _from_row(page.id, row)
        progress(len(out), len(pages))
        with Workers(os.cpu_count() or 1, to_rows, settings) as pool:
            rows = (row for chunk in pool.map(new, settings.batch) for row in chunk)
            for page, found in zip(new, rows, strict=True):
                if isinstance(found, Failure):
                    out[page.id] = found
                else:
                    cached.put(_key(page, settings), found)
                    out[page.id] = _from_row(page.id, found)
                progress(len(out), len(pages))
    return out


class EvaluationCache:
    """Values by key, in a table of the cache. Each value is written at once."""

    def __init__(self, table: str) -> None:
        given = os.environ.get("ESDEDUP_CACHE")
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = Path(given) if given else caches / "esdedup"
        self._table = table
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(folder / "evaluation.db", timeout=60, isolation_level=None)
            self._db.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (key TEXT PRIMARY KEY, value TEXT)"
            )
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"the cache in {folder} cannot be used: {error}; set ESDEDUP_CACHE to a folder "
                "that can be written"
            ) from error

    def get(self, key: str) -> str | None:
        found = self._db.execute(f"SELECT value FROM {self._table} WHERE key = ?", (key,))
        row = found.fetchone()
        return None if row is None else str(row[0])

    def put(self, key: str, value: str) -> None:
        self._db.execute(f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?)", (key, value))

    def close(self) -> None:
        self._db.close()


@cache
def extractor_version() -> str:
    """The version of trafilatura and a hash of our own code: an edit needs no new number."""
    from esdedup.ingest import html as extract
    from esdedup.ingest.readers import encodings, records

    sources = [Path(str(m.__file__)).read_bytes() for m in (extract, encodings, records)]
    own = hashlib.sha256(b"\0".join(sources)).hexdigest()[:12]
    return f"{version('trafilatura')}:{own}"


def _key(page: Document, settings: Settings) -> str:
    digest = hashlib.sha256(page.html or b"").hexdigest()
    return f"{extractor_version()}:{settings.extractor}:{settings.page_megabytes}:{digest}"


def to_rows(pages: Sequence[Document], settings: Settings) -> list[str]:
    """Extract pages without signing them, as JSON for the cache. Runs in worker processes.

    A page without an article is cached as such: another try would give the same.
    """
    return [json.dumps(_to_row(read_page(page, settings))) for page in pages]


def _to_row(item: Document | Failure) -> JSON:
    if isinstance(item, Failure):
        return {"failure": item.reason}
    published = iso(item.published) if item.published is not None else None
    return {"title": item.title, "text": item.text, "lang": item.lang, "published": published}


def _from_row(id_: str, article: str) -> Document | Failure:
    raw = json.loads(article)
    if "failure" in raw:
        return Failure(id_, id_, raw["failure"])
    return Document(id=id_, **{**raw, "published": parse_time(raw["published"])})
