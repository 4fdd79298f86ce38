"""Counts that an article states, and how they are stored.

The counts of most articles are never used: they are compared only when another article is nearly
the same. So they are parsed on first use.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, overload

import orjson


class NumberContext(NamedTuple):
    """One count: its normalised value, its kind, and the content words around it.

    A tuple, since a dozen come with every article: they travel between processes and into a
    store several times as fast as objects with attributes.
    """

    value: str
    kind: str
    before: str
    after: str

    def to_json(self) -> list[str]:
        """The compact form for storage: [value, kind, before, after]."""
        return list(self)

    @classmethod
    def from_json(cls, row: Sequence[str]) -> NumberContext:
        """Read back what `to_json` wrote."""
        return _from_row(row)


class NumberChange(NamedTuple):
    """A count that changed, with the words of the new text that locate it."""

    old: str
    new: str
    context: str

    def __str__(self) -> str:
        return f"{self.old} -> {self.new} {self.context}".rstrip()


# `NumberContext.from_json` without a call of Python's own for every count.
_from_row: Callable[[Sequence[str]], NumberContext] = partial(tuple.__new__, NumberContext)


class LazyNumbers(Sequence[NumberContext]):
    """A sequence of counts that is computed on first use."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers: tuple[NumberContext, ...] | None = None

    @abstractmethod
    def _find(self) -> tuple[NumberContext, ...]: ...

    def _read(self) -> tuple[NumberContext, ...]:
        if self._numbers is None:
            self._numbers = self._find()
        return self._numbers

    @overload
    def __getitem__(self, index: int) -> NumberContext: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[NumberContext, ...]: ...
    def __getitem__(self, index: int | slice) -> NumberContext | tuple[NumberContext, ...]:
        return self._read()[index]

    def __len__(self) -> int:
        return len(self._read())

    def __iter__(self) -> Iterator[NumberContext]:
        return iter(self._read())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyNumbers):
            return self._read() == other._read()
        return isinstance(other, Sequence) and self._read() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._read())


class WrittenNumbers(LazyNumbers):
    """Counts as stored and sent, `[[value, kind, before, after], ...]`; parsed on first use."""

    __slots__ = ("json",)

    def __init__(self, json: str) -> None:
        super().__init__()
        self.json = json

    def _find(self) -> tuple[NumberContext, ...]:
        return tuple(map(_from_row, orjson.loads(self.json)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, WrittenNumbers) and self.json == other.json:
            return True  # nearly always the case for copies
        return super().__eq__(other)

    __hash__ = LazyNumbers.__hash__

    def __repr__(self) -> str:
        return f"WrittenNumbers({self.json!r})"

    def __reduce__(self) -> tuple[type[WrittenNumbers], tuple[str]]:
        return WrittenNumbers, (self.json,)


def encode_numbers(numbers: Sequence[NumberContext]) -> str:
    """The JSON of these counts."""
    if isinstance(numbers, WrittenNumbers):
        return numbers.json
    # Tuples with names are refused by the quick encoder.
    return orjson.dumps(list(map(tuple, numbers))).decode()
