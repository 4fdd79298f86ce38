"""The counts of a text in the form they are stored and sent in, read only when asked for.

Of most articles nobody asks: a count is looked at when another article is nearly the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import orjson

from esdedup.numbers.finding import NumberContext


class WrittenNumbers(Sequence[NumberContext]):
    """A sequence of counts behind their JSON, `[[value, kind, before, after], ...]`."""

    __slots__ = ("_numbers", "json")

    def __init__(self, json: str) -> None:
        self.json = json
        self._numbers: tuple[NumberContext, ...] | None = () if json == "[]" else None

    def _read(self) -> tuple[NumberContext, ...]:
        if self._numbers is None:
            self._numbers = tuple(map(NumberContext.from_json, orjson.loads(self.json)))
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
        if isinstance(other, WrittenNumbers) and self.json == other.json:
            return True  # of copies, nearly always
        return isinstance(other, Sequence) and self._read() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._read())

    def __repr__(self) -> str:
        return f"WrittenNumbers({self.json!r})"

    def __reduce__(self) -> tuple[type[WrittenNumbers], tuple[str]]:
        return WrittenNumbers, (self.json,)


def written(numbers: Sequence[NumberContext]) -> str:
    """The JSON of these counts."""
    if isinstance(numbers, WrittenNumbers):
        return numbers.json
    # Tuples with names are refused by the quick encoder.
    return orjson.dumps(list(map(tuple, numbers))).decode()
