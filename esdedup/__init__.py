"""Near-duplicate news detection: every copy linked to its original, one result per story."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The public names and where they live; loaded on first use, so that `import esdedup` stays quick.
_NAMES = {
    "Decision": "esdedup.model",
    "Deduplicator": "esdedup.clustering.deduplicator",
    "Document": "esdedup.model",
    "EsdedupError": "esdedup.errors",
    "Evidence": "esdedup.model",
    "Failure": "esdedup.model",
    "Query": "esdedup.model.queries",
    "Searcher": "esdedup.search.searcher",
    "Settings": "esdedup.settings",
    "Signature": "esdedup.model",
    "fold": "esdedup.search.fold",
    "open_store": "esdedup.stores",
    "read": "esdedup.ingest.readers",
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
    from esdedup.clustering.deduplicator import Deduplicator
    from esdedup.errors import EsdedupError
    from esdedup.ingest.readers import read
    from esdedup.model import Decision, Document, Evidence, Failure, Signature
    from esdedup.model.queries import Query
    from esdedup.search.fold import fold
    from esdedup.search.searcher import Searcher
    from esdedup.settings import Settings
    from esdedup.stores import open_store


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'esdedup' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
