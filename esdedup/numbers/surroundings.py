"""The words around a number: tokens, and the content words that are kept as its context.

News repeats its words, so what a word means beside a number is looked up, not worked out again.
What is remembered is a chunk, the text between two spaces ("killed,", "u.s."): tokens never span
a space, and splitting at spaces costs a sixth of splitting into tokens.
"""

from __future__ import annotations

import re
from functools import lru_cache
from operator import length_hint
from typing import TypeVar

from esdedup.numbers.chunks import LONGEST_CHUNK, Reading, read_chunk
from esdedup.numbers.languages import BOUNDARIES, IDEOGRAPHS, Lexicon, lexicon_of
from esdedup.numbers.starts import pair_table
from esdedup.numbers.telling import (
    goes_on_with,
    tells_after,
    tells_before,
)

# Words kept on either side of a number: two decide, the third is for the reader and for ties.
CONTEXT_WORDS = 3
# Tokens on a side that judging looks at.
TELLING_TOKENS = 4
# Chunks remembered for a language in each table: a few megabytes.
MAX_REMEMBERED = 1 << 15

# Words, runs of digits and signs; without brackets, quotes and hyphens, which join or say nothing.
_TOKEN = re.compile(r"\w+|[^\w \t\u00a0'\u2019\"()-]")
_IDEOGRAPHIC_TOKEN = re.compile(rf"[{IDEOGRAPHS}]|[^\W_{IDEOGRAPHS}]+|[\n%。；]")

# Steps that are no content words (which begin with a letter): the end of a sentence, another
# number, and a full stop that may belong to a letter in the chunk before.
_END, _NUMBER, _OPEN = ".", "0", "-"

Value = TypeVar("Value")


class Surroundings:
    """What the words of a language mean beside a number.

    The tables are plain dictionaries asked with `get`, which the interpreter answers quicker than
    a subclass that fills itself.
    """

    __slots__ = (
        "_after",
        "_before",
        "_beyond",
        "_kept",
        "_openings",
        "_steps",
        "_tokens",
        "lexicon",
        "longest_chunk",
        "numbers",
        "pairs",
    )

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.pairs = pair_table(lexicon.filters)
        # Without spaces between words, no chunk comes twice.
        self._kept = 0 if lexicon.ideographic else MAX_REMEMBERED
        self.longest_chunk = 0 if lexicon.ideographic else LONGEST_CHUNK
        # Numbers by the chunk and the character before it; None where the neighbours decide.
        self.numbers: dict[str, Reading | None] = {}
        self._before: dict[str, int] = {}
        self._after: dict[str, int] = {}
        self._openings: dict[str, int] = {}
        # Of chunks other than words without a mark.
        self._tokens: dict[str, list[str]] = {}
        # Chunks of one content word, or "" for those passed over; and the steps of all others.
        self._steps: dict[str, str] = {}
        self._beyond: dict[str, tuple[str, ...]] = {}

    def number(self, chunk: str) -> Reading | None:
        if chunk in self.numbers:
            return self.numbers[chunk]
        return self._keep(self.numbers, chunk, read_chunk(chunk, self.lexicon))

    def tells_before(self, chunk: str) -> int:
        told = self._before.get(chunk)
        if told is None:
            told = self._keep(self._before, chunk, tells_before(self.tokens(chunk)))
        return told

    def tells_after(self, chunk: str) -> int:
        told = self._after.get(chunk)
        if told is None:
            told = tells_after(self.tokens(chunk)) | self._goes_on_with(chunk[:3])
            self._keep(self._after, chunk, told)
        return told

    def _goes_on_with(self, opening: str) -> int:
        told = self._openings.get(opening)
        if told is None:
            told = self._keep(self._openings, opening, goes_on_with(opening, self.lexicon))
        return told

    def _keep(self, table: dict[str, Value], chunk: str, value: Value) -> Value:
        if self._kept:
            if len(table) >= self._kept:
                table.clear()
            table[chunk] = value
        return value

    def tokens(self, chunk: str) -> list[str]:
        if chunk.isalpha() and not self.lexicon.ideographic:
            return [chunk]
        tokens = self._tokens.get(chunk)
        if tokens is None:
            pattern = _IDEOGRAPHIC_TOKEN if self.lexicon.ideographic else _TOKEN
            tokens = self._keep(self._tokens, chunk, pattern.findall(chunk))
        return tokens

    def tokens_before(self, chunks: list[str]) -> list[str]:
        """The tokens that can tell what a number is, nearest first."""
        known = self._tokens.get
        tokens: list[str] = []
        for chunk in reversed(chunks):
            if chunk:
                tokens += (known(chunk) or self.tokens(chunk))[::-1]
                if len(tokens) >= TELLING_TOKENS:
                    break
        return tokens

    def tokens_after(self, chunks: list[str]) -> list[str]:
        known = self._tokens.get
        tokens: list[str] = []
        for chunk in chunks:
            if chunk:
                tokens += known(chunk) or self.tokens(chunk)
                if len(tokens) >= TELLING_TOKENS:
                    break
        return tokens

    def words_before(self, chunks: list[str]) -> str:
        """The nearest content words of the sentence."""
        known = self._steps.get
        words: list[str] = []
        preceding = reversed(chunks)
        for chunk in preceding:
            step = known(chunk)
            if step:
                words.append(step)
                if len(words) == CONTEXT_WORDS:
                    break
            elif step is None:
                steps = self._steps_beyond(chunk)
                if steps and steps[0] == _OPEN:
                    steps = self._closed(steps, chunks[: length_hint(preceding)])
                if _ended(steps[::-1], words):
                    break
        words.reverse()
        return " ".join(words)

    def words_after(self, chunks: list[str]) -> list[str]:
        known = self._steps.get
        words: list[str] = []
        following = iter(chunks)
        for chunk in following:
            step = known(chunk)
            if step:
                words.append(step)
                if len(words) == CONTEXT_WORDS:
                    break
            elif step is None:
                steps = self._steps_beyond(chunk)
                if steps and steps[0] == _OPEN:
                    steps = self._closed(steps, chunks[: -1 - length_hint(following)])
                if _ended(steps, words):
                    break
        return words

    def _closed(self, steps: tuple[str, ...], preceding: list[str]) -> tuple[str, ...]:
        """The steps of a chunk, where the full stop that opens it has found its word."""
        for chunk in reversed(preceding):
            if tokens := self.tokens(chunk):
                return steps[1:] if _is_letter(tokens[-1]) else (_END, *steps[1:])
        return (_END, *steps[1:])

    def _steps_beyond(self, chunk: str) -> tuple[str, ...]:
        """The steps of a chunk that is not in the table of single words."""
        steps = self._beyond.get(chunk)
        if steps is None:
            steps = self._read_steps(chunk)
            if not steps:
                self._keep(self._steps, chunk, "")
            elif len(steps) == 1 and steps[0] > "9":
                word = steps[0]
                # A word without a mark is kept once, not as a key and as a value.
                self._keep(self._steps, chunk, chunk if chunk == word else word)
            else:
                self._keep(self._beyond, chunk, steps)
        return steps

    def _read_steps(self, chunk: str) -> tuple[str, ...]:
        steps: list[str] = []
        previous = ""
        for token in self.tokens(chunk):
            if token != ".":
                steps.append(self._token_step(token))
            elif not previous:
                steps.append(_OPEN)
            elif not _is_letter(previous):
                steps.append(_END)
            previous = token
        return tuple(filter(None, steps))

    def _token_step(self, token: str) -> str:
        """A content word, `_END`, `_NUMBER`, or "" for what is passed over."""
        lexicon = self.lexicon
        # Up to two letters: prepositions, articles, suffixes behind an apostrophe.
        is_long = lexicon.ideographic or len(token) > 2
        if is_long and token not in lexicon.passed_over and token[0] > "9":
            return token
        if token in BOUNDARIES:
            return _END
        return _NUMBER if is_long and token not in lexicon.ignored else ""


def _ended(steps: tuple[str, ...], words: list[str]) -> bool:
    """Take in the steps; whether the context ends with them."""
    for step in steps:
        if step == _END:
            return True
        if step == _NUMBER:
            # The words behind another number are its own.
            if words:
                return True
        else:
            words.append(step)
            if len(words) == CONTEXT_WORDS:
                return True
    return False


def _is_letter(token: str) -> bool:
    """Behind a single letter a full stop is an abbreviation: "U.S. soldiers"."""
    return len(token) == 1 and token.isalpha()


def without_last(chunks: list[str], token: str) -> list[str]:
    """The chunks without their last token, which is this one."""
    while token not in chunks[-1]:
        del chunks[-1]
    chunks[-1] = chunks[-1].rpartition(token)[0]
    return chunks


def without_first(chunks: list[str], token: str) -> list[str]:
    """The chunks without their first token, which is this one."""
    while token not in chunks[0]:
        del chunks[0]
    chunks[0] = chunks[0].partition(token)[2]
    return chunks


@lru_cache(maxsize=64)
def surroundings_of(lang: str) -> Surroundings:
    return Surroundings(lexicon_of(lang))
