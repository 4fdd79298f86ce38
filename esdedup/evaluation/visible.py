"""All visible text of a page, menus and forms included: what a program sends that has no extractor.

It shows how decisions bear boilerplate; nothing but `eval --from visible` uses it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from esdedup.ingest.html import decode_page
from esdedup.model import Document

_INVISIBLE = ("head", "iframe", "noscript", "object", "script", "select", "style", "textarea")


def read_visible(page: Document) -> Document:
    """The page with its title and its visible text; both are empty if it is no HTML."""
    from trafilatura.utils import load_html

    tree: Any = load_html(decode_page(page.html or b"").encode())
    if tree is None:
        return replace(page, html=None)
    title = " ".join((tree.findtext(".//title") or "").split())
    for element in list(tree.iter(*_INVISIBLE)):
        element.drop_tree()
    text = " ".join(" ".join(tree.xpath("//text()")).split())
    return replace(page, title=title, text=text, html=None)
