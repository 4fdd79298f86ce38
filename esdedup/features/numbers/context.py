"""The words around a number: tokens, and the content words that are kept as its context.

News repeats its words, so what a word means beside a number is looked up, not worked out again.
What is remembered is a chunk, the text between two spaces ("killed,", "u.s."): tokens never span
a space, and splitting at spaces costs a sixth of splitting into tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from operator import length_hint
from typing import TypeVar

from esdedup.features.numbers.chunks import LONGEST_CHUNK, read_chunk
from esdedup.features.numbers.context_flags import goes_on_with, tells_after, tells_before
from esdedup.features.numbers.languages import BOUNDARIES, IDEOGRAPHS, Lexicon, lexicon_of
from esdedup.features.numbers.prefilter import pair_table

# Characters looked at on either side: about seven words, of which half are function words.
WINDOW = 40
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


class Remembered(dict[str, Value]):
    """What was worked out for a chunk; works out what it does not have, is emptied when full."""

    __slots__ = ("_most", "_work_out")

    def __init__(self, work_out: Callable[[str], Value], most: int) -> None:
        self._work_out = work_out
        self._most = most

    def __missing__(self, chunk: str) -> Value:
        return self.keep(chunk, self._work_out(chunk))

    def keep(self, chunk: str, value: Value) -> Value:
        if len(self) >= self._most:
            self.clear()
        self[chunk] = value
        return value


class Surroundings:
    """What the words of a language mean beside a number."""

    __slots__ = (
        "_beyond",
        "_openings",
        "_steps",
        "lexicon",
        "longest_chunk",
        "numbers",
        "pairs",
        "tells_after",
        "tells_before",
        "tokens",
    )

    def __init__(self, lexicon: Lexicon, most: int = MAX_REMEMBERED) -> None:
        self.lexicon = lexicon
        self.pairs = pair_table(lexicon.filters)
        self.longest_chunk = 0 if lexicon.ideographic else LONGEST_CHUNK
        if lexicon.ideographic:
            most = 1  # without spaces between words, no chunk comes twice
        # Numbers by the chunk and the character before it; None where the neighbours decide.
        self.numbers = Remembered(lambda chunk: read_chunk(chunk, lexicon), most)
        self.tells_before = Remembered(lambda chunk: tells_before(self.tokens[chunk]), most)
        self.tells_after = Remembered(self._tells_after, most)
        self._openings = Remembered(lambda opening: goes_on_with(opening, lexicon), most)
        pattern = _IDEOGRAPHIC_TOKEN if lexicon.ideographic else _TOKEN
        self.tokens = Remembered(pattern.findall, most)
        # The word of a chunk with no more than that, "" if it is passed over; the steps of all
        # other chunks, which have None for a word.
        self._steps = Remembered(self._single_step, most)
        self._beyond = Remembered(self._all_steps, most)

    def _tells_after(self, chunk: str) -> int:
        return tells_after(self.tokens[chunk]) | self._openings[chunk[:3]]

    def tokens_before(self, chunks: list[str]) -> list[str]:
        """The tokens that can tell what a number is, nearest first."""
        known = self.tokens
        tokens: list[str] = []
        for chunk in reversed(chunks):
            if chunk:
                tokens += known[chunk][::-1]
                if len(tokens) >= TELLING_TOKENS:
                    break
        return tokens

    def tokens_after(self, chunks: list[str]) -> list[str]:
        known = self.tokens
        tokens: list[str] = []
        for chunk in chunks:
            if chunk:
                tokens += known[chunk]
                if len(tokens) >= TELLING_TOKENS:
                    break
        return tokens

    def words_before(self, chunks: list[str]) -> str:
        """The nearest content words of the sentence."""
        single_steps = self._steps
        words: list[str] = []
        preceding = reversed(chunks)
        for chunk in preceding:
            step = single_steps[chunk]
            if step:
                words.append(step)
                if len(words) == CONTEXT_WORDS:
                    break
            elif step is None:
                steps = self._beyond[chunk]
                if steps[0] == _OPEN:
                    steps = self._closed(steps, chunks[: length_hint(preceding)])
                if _ended(steps[::-1], words):
                    break
        words.reverse()
        return " ".join(words)

    def words_after(self, chunks: list[str]) -> list[str]:
        single_steps = self._steps
        words: list[str] = []
        following = iter(chunks)
        for chunk in following:
            step = single_steps[chunk]
            if step:
                words.append(step)
                if len(words) == CONTEXT_WORDS:
                    break
            elif step is None:
                steps = self._beyond[chunk]
                if steps[0] == _OPEN:
                    steps = self._closed(steps, chunks[: -1 - length_hint(following)])
                if _ended(steps, words):
                    break
        return words

    def _closed(self, steps: tuple[str, ...], preceding: list[str]) -> tuple[str, ...]:
        """The steps of a chunk, where the full stop that opens it has found its word."""
        for chunk in reversed(preceding):
            if tokens := self.tokens[chunk]:
                return steps[1:] if _is_letter(tokens[-1]) else (_END, *steps[1:])
        return (_END, *steps[1:])

    def _single_step(self, chunk: str) -> str | None:
        steps = self._all_steps(chunk)
        if not steps:
            return ""
        word = steps[0]
        if len(steps) == 1 and word > "9":
            # A word without a mark is kept once, not as a key and as a value.
            return chunk if chunk == word else word
        self._beyond.keep(chunk, steps)
        return None

    def _all_steps(self, chunk: str) -> tuple[str, ...]:
        steps: list[str] = []
        previous = ""
        for token in self.tokens[chunk]:
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


def chunks_before(folded: str, start: int) -> list[str]:
    """The text before a place, without the word that the window cuts."""
    if start <= WINDOW:
        return folded[:start].split(" ")
    chunks = folded[start - WINDOW : start].split(" ")
    if len(chunks) > 1:
        chunks[0] = ""
    return chunks


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
