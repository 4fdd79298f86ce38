"""What becomes of a document that could not be worked on: a failure that says why, for it alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from esdedup.errors import DocumentError, EsdedupError
from esdedup.model import Document, Failure

P = ParamSpec("P")
R = TypeVar("R")


def failure(document: Document, reason: str, *, final: bool = False) -> Failure:
    """Named by where a person finds the document."""
    place = document.extra.get("file") or document.url or document.id
    return Failure(document.id, str(place), reason, final=final, document=document)


def failed(document: Document, error: Exception) -> Failure:
    """Of an error that the document provoked."""
    if isinstance(error, DocumentError):
        return failure(document, error.reason, final=True)
    if isinstance(error, EsdedupError):
        return failure(document, str(error))
    return failure(document, f"unexpected {type(error).__name__}: {str(error)[:200]}")


def alone(
    document: Document, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R | Failure:
    """Do the work on one document: whatever it provokes is its own failure, and the others go on.

    Not where the memory does not suffice, of which this document need not be the cause.
    """
    try:
        return work(*args, **kwargs)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a text must not end the run, whatever it provokes
        return failed(document, error)
