"""The names in an article."""

from __future__ import annotations

from esdedup.model import Document
from esdedup.text.tokens import fold


def entities_of(document: Document) -> dict[str, str]:
    """Named entities of an article by their folded form, each as it is written first."""
    from esdedup.features import entities  # reads its lexicons

    found: dict[str, str] = {}
    for text in (document.title, document.text):
        for entity in entities.find_entities(text, document.lang, nested=False):
            found.setdefault(fold(entity.text), entity.text)
    return found
