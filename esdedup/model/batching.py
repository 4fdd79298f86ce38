"""One way to cut a stream into lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")


def batched(items: Iterable[_T], size: int = 500) -> Iterator[list[_T]]:
    """Lists of `size` items, the last one shorter: `itertools.batched` of Python 3.12.

    By default as many as a statement of SQLite takes: its limit of parameters was 999.
    """
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
