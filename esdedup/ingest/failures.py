"""Failures of single documents: each says why, and the other documents go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ParamSpec, TypeVar

from esdedup.errors import DocumentError, EsdedupError
from esdedup.model import Document, Failure

P = ParamSpec("P")
R = TypeVar("R")


def document_failure(document: Document, reason: str, *, final: bool = False) -> Failure:
    """A failure that names the file, the address or the id of its document."""
    place = document.extra.get("file") or document.url or document.id
    return Failure(document.id, str(place), reason, final=final, document=document)


def failure_from_error(document: Document, error: Exception) -> Failure:
    """The failure for an error that the document caused."""
    if isinstance(error, DocumentError):
        return document_failure(document, error.reason, final=True)
    if isinstance(error, EsdedupError):
        return document_failure(document, str(error))
    if isinstance(error, MemoryError):
        return document_failure(document, "the memory did not suffice")
    return document_failure(document, f"unexpected {type(error).__name__}: {str(error)[:200]}")


def run_for_document(
    document: Document, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R | Failure:
    """Call `work` for one document; an error becomes its failure.

    A MemoryError is raised: this document need not be its cause.
    """
    try:
        return work(*args, **kwargs)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a text must not end the run, whatever it provokes
        return failure_from_error(document, error)


def map_documents(
    items: Sequence[Document | Failure], work: Callable[[list[Document]], Iterable[R]]
) -> list[R | Failure]:
    """The results of `work` in the places of the documents; failures stay where they are."""
    results = iter(work([item for item in items if isinstance(item, Document)]))
    return [item if isinstance(item, Failure) else next(results) for item in items]
