"""Near-duplicate news detection: every copy linked to its original, one result per story."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The public names and where they live; loaded on first use, so that `import esdedup` stays quick.
_NAMES = {
    "Decision": "esdedup.model",
    "Deduplicator": "esdedup.pipeline",
    "Document": "esdedup.model",
    "EsdedupError": "esdedup.errors",
    "Evidence": "esdedup.model",
    "Failure": "esdedup.model",
    "Query": "esdedup.searching.queries",
    "Searcher": "esdedup.searching.searcher",
    "Settings": "esdedup.settings",
    "Signature": "esdedup.model",
    "fold": "esdedup.searching.fold",
    "open_store": "esdedup.stores",
    "read": "esdedup.readers",
}
__all__ = [
    "Decision",
    "Deduplicator",
    "Document",
    "EsdedupError",
    "Evidence",
    "Failure",
    "Query",
    "Searcher",
    "Settings",
    "Signature",
    "__version__",
    "fold",
    "open_store",
    "read",
]

if TYPE_CHECKING:
    from esdedup.errors import EsdedupError
    from esdedup.model import Decision, Document, Evidence, Failure, Signature
    from esdedup.pipeline import Deduplicator
    from esdedup.readers import read
    from esdedup.searching.fold import fold
    from esdedup.searching.queries import Query
    from esdedup.searching.searcher import Searcher
    from esdedup.settings import Settings
    from esdedup.stores import open_store


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'esdedup' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
