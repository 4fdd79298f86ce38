"""What an article says of itself: its names, and who published it."""

from __future__ import annotations

from urllib.parse import urlsplit

from esdedup.model import Document
from esdedup.text.tokens import fold


def source_of(document: Document) -> str | None:
    """Who published it: the source named, else the host of its URL."""
    if document.source:
        return document.source
    try:
        host = urlsplit(document.url or "").hostname or ""
    except ValueError:  # no address at all
        return None
    return host.removeprefix("www.") or None


def entities_of(document: Document) -> dict[str, str]:
    """Named entities of an article by their folded form, each as it is written first."""
    from esdedup.features import entities  # reads its lexicons

    found: dict[str, str] = {}
    for text in (document.title, document.text):
        for entity in entities.find_entities(text, document.lang, nested=False):
            found.setdefault(fold(entity.text), entity.text)
    return found
