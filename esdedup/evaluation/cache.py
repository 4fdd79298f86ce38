"""A cache of extracted articles, by content of the page and version of the extractor.

It is one SQLite file under `ESDEDUP_CACHE`. Extraction takes 30 ms a page, a second run none.
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
    with closing(_open()) as db:
        try:
            for page in pages:
                row = db.execute(
                    "SELECT article FROM articles WHERE key = ?", (_key(page, settings),)
                ).fetchone()
                if row is None:
                    new.append(page)
                else:
                    out[page.id] = _from_row(page.id, row[0])
            progress(len(out), len(pages))
            with Workers(os.cpu_count() or 1, to_rows, settings) as pool:
                rows = (row for chunk in pool.map(new, settings.batch) for row in chunk)
                for page, found in zip(new, rows, strict=True):
                    if isinstance(found, Failure):
                        out[page.id] = found
                    else:
                        row = (_key(page, settings), found)
                        db.execute("INSERT OR REPLACE INTO articles VALUES (?, ?)", row)
                        out[page.id] = _from_row(page.id, found)
                    progress(len(out), len(pages))
        finally:
            db.commit()
    return out


def _open() -> sqlite3.Connection:
    folder = folder_of_cache()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(folder / "extracted.db", timeout=60)
        db.execute("CREATE TABLE IF NOT EXISTS articles (key TEXT PRIMARY KEY, article TEXT)")
    except (OSError, sqlite3.Error) as error:
        raise InputError(
            f"the cache of extracted pages in {folder} cannot be used: {error}; set "
            "ESDEDUP_CACHE to a folder that can be written"
        ) from error
    return db


def folder_of_cache() -> Path:
    """`ESDEDUP_CACHE`, else where the system keeps a user's caches."""
    if given := os.environ.get("ESDEDUP_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "esdedup"


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
