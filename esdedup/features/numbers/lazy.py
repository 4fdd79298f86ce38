"""Counts of a text that are read only when somebody asks for them."""

from __future__ import annotations

from esdedup.features.numbers.facts import stated
from esdedup.model.numbers import LateNumbers, NumberContext


class UnreadNumbers(LateNumbers):
    """What `stated` finds in a text, for a question after which the text is forgotten."""

    __slots__ = ("_lang", "_text")

    def __init__(self, text: str, lang: str | None) -> None:
        super().__init__()
        self._text = text
        self._lang = lang

    def _find(self) -> tuple[NumberContext, ...]:
        return stated(self._text, self._lang)
