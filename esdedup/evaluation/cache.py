"""Extracted articles, kept by content and version of the extractor: a second run is quick."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from esdedup.errors import InputError
from esdedup.ingest.sign import read_page
from esdedup.ingest.workers import Workers
from esdedup.model import JSON, Document, Failure, iso, parse_time
from esdedup.settings import Settings

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A page without an article, now and at every other try."""

    reason: str


class Cache:
    """One file under `ESDEDUP_CACHE`; what a time or memory limit ended is tried again."""

    def __init__(self) -> None:
        folder = folder_of_cache()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(folder / "extracted.db", timeout=60)
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS articles (key TEXT PRIMARY KEY, article TEXT)"
            )
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"the cache of extracted pages in {folder} cannot be used: {error}; set "
                "ESDEDUP_CACHE to a folder that can be written"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._db.commit()
        self._db.close()

    def extracted(
        self, pages: Sequence[Document], settings: Settings, progress: Progress
    ) -> dict[str, Document | Failure]:
        """The articles by id of their pages; Ctrl-C keeps what is done."""
        out: dict[str, Document | Failure] = {}
        new: list[Document] = []
        for page in pages:
            row = self._db.execute(
                "SELECT article FROM articles WHERE key = ?", (_key(page, settings),)
            ).fetchone()
            if row is None:
                new.append(page)
            else:
                out[page.id] = _thawed(page.id, json.loads(row[0]))
        progress(len(out), len(pages))
        for page, item in zip(new, _extract(new, settings), strict=True):
            if isinstance(item, Failure):
                out[page.id] = item
            else:
                frozen = json.dumps(_frozen(item))
                self._db.execute(
                    "INSERT OR REPLACE INTO articles VALUES (?, ?)", (_key(page, settings), frozen)
                )
                out[page.id] = _thawed(page.id, json.loads(frozen))
            progress(len(out), len(pages))
        return out


def folder_of_cache() -> Path:
    """`ESDEDUP_CACHE`, else where the system keeps a user's caches."""
    if given := os.environ.get("ESDEDUP_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "esdedup"


@cache
def extractor_version() -> str:
    """Of trafilatura and of our own code: whoever edits it need not remember a number."""
    from esdedup.ingest import html as extract
    from esdedup.ingest.readers import encodings, records

    sources = [Path(str(m.__file__)).read_bytes() for m in (extract, encodings, records)]
    own = hashlib.sha256(b"\0".join(sources)).hexdigest()[:12]
    return f"{version('trafilatura')}:{own}"


def _key(page: Document, settings: Settings) -> str:
    digest = hashlib.sha256(page.html or b"").hexdigest()
    return f"{extractor_version()}:{settings.page_megabytes}:{digest}"


def _extract(
    pages: Sequence[Document], settings: Settings
) -> Iterator[Document | Unreadable | Failure]:
    if not pages:
        return
    with Workers(os.cpu_count() or 1, read_pages, settings) as pool:
        for chunk in pool.map(pages, settings.batch):
            yield from chunk


def read_pages(pages: Sequence[Document], settings: Settings) -> list[Document | Unreadable]:
    """What a worker process does here: extract, but not sign."""
    read = [read_page(page, settings) for page in pages]
    return [Unreadable(item.reason) if isinstance(item, Failure) else item for item in read]


def _frozen(item: Document | Unreadable) -> JSON:
    if isinstance(item, Unreadable):
        return {"failure": item.reason}
    published = iso(item.published) if item.published is not None else None
    return {"title": item.title, "text": item.text, "lang": item.lang, "published": published}


def _thawed(id_: str, raw: Mapping[str, Any]) -> Document | Failure:
    if "failure" in raw:
        return Failure(id_, id_, raw["failure"])
    return Document(
        id=id_,
        title=raw["title"],
        text=raw["text"],
        lang=raw["lang"],
        published=parse_time(raw["published"]),
    )
