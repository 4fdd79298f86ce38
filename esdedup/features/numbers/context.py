"""The words around a number: tokens, and the content words stored as its context.

News repeats its words, so what a word means beside a number is looked up, not worked out again.
The unit of the caches is a chunk, the text between two spaces ("killed,", "u.s."): tokens never
span a space, and splitting at spaces costs a sixth of splitting into tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from esdedup.features.numbers.chunks import LONGEST_CHUNK, read_chunk
from esdedup.features.numbers.context_flags import continuation_flags, flags_after, flags_before
from esdedup.features.numbers.languages import BOUNDARIES, IDEOGRAPHS, Lexicon, lexicon_of
from esdedup.features.numbers.prefilter import pair_table

# Characters looked at on either side: about seven words, of which half are function words.
WINDOW = 40
# Content words on either side of a number: two decide, the third is for readers and for ties.
CONTEXT_WORDS = 3
# Tokens on either side that the rules look at.
CUE_TOKENS = 4
# Chunks in each cache of a language: a few megabytes.
MAX_CACHED = 1 << 15

# Words, runs of digits and signs; without brackets, quotes and hyphens, which join or say nothing.
_TOKEN = re.compile(r"\w+|[^\w \t\u00a0'\u2019\"()-]")
_IDEOGRAPHIC_TOKEN = re.compile(rf"[{IDEOGRAPHS}]|[^\W_{IDEOGRAPHS}]+|[\n%。；]")

# Steps that are no content words (which begin with a letter): the end of a sentence, another
# number, and a full stop that may belong to a letter in the chunk before.
_END, _NUMBER, _OPEN = ".", "0", "-"

Value = TypeVar("Value")


class ChunkCache(dict[str, Value]):
    """A function of chunks with a bounded cache. A hit costs one look into a dict; a full cache is
    emptied."""

    __slots__ = ("_most", "_work_out")

    def __init__(self, work_out: Callable[[str], Value], most: int) -> None:
        self._work_out = work_out
        self._most = most

    def __missing__(self, chunk: str) -> Value:
        if len(self) >= self._most:
            self.clear()
        value = self[chunk] = self._work_out(chunk)
        return value


class ContextReader:
    """Reads the words of one language beside a number: their flags, tokens and content words."""

    __slots__ = (
        "_openings",
        "_steps",
        "flags_after",
        "flags_before",
        "lexicon",
        "longest_chunk",
        "numbers",
        "pairs",
        "tokens",
    )

    def __init__(self, lexicon: Lexicon, most: int = MAX_CACHED) -> None:
        self.lexicon = lexicon
        self.pairs = pair_table(lexicon.filters)
        self.longest_chunk = 0 if lexicon.ideographic else LONGEST_CHUNK
        if lexicon.ideographic:
            most = 1  # without spaces between words, no chunk comes twice
        # Numbers by the chunk and the character before it; None where the neighbours decide.
        self.numbers = ChunkCache(lambda chunk: read_chunk(chunk, lexicon), most)
        self.flags_before = ChunkCache(lambda chunk: flags_before(self.tokens[chunk]), most)
        self.flags_after = ChunkCache(self._flags_after, most)
        self._openings = ChunkCache(lambda opening: continuation_flags(opening, lexicon), most)
        pattern = _IDEOGRAPHIC_TOKEN if lexicon.ideographic else _TOKEN
        self.tokens = ChunkCache(pattern.findall, most)
        self._steps = ChunkCache(self._steps_of, most)

    def _flags_after(self, chunk: str) -> int:
        return flags_after(self.tokens[chunk]) | self._openings[chunk[:3]]

    def tokens_before(self, chunks: list[str]) -> list[str]:
        """The tokens that the rules look at, nearest first."""
        return self._nearest_tokens(chunks, -1)

    def tokens_after(self, chunks: list[str]) -> list[str]:
        return self._nearest_tokens(chunks, 1)

    def _nearest_tokens(self, chunks: list[str], direction: int) -> list[str]:
        known = self.tokens
        tokens: list[str] = []
        for chunk in chunks[::direction]:
            if chunk:
                tokens += known[chunk][::direction]
                if len(tokens) >= CUE_TOKENS:
                    break
        return tokens

    def words_before(self, chunks: list[str]) -> str:
        """The nearest content words of the sentence."""
        return " ".join(self._nearest_words(chunks, range(len(chunks) - 1, -1, -1))[::-1])

    def words_after(self, chunks: list[str]) -> list[str]:
        return self._nearest_words(chunks, range(len(chunks)))

    def _nearest_words(self, chunks: list[str], order: range) -> list[str]:
        """Up to `CONTEXT_WORDS` content words of the chunks in this order."""
        known = self._steps
        words: list[str] = []
        for place in order:
            steps = known[chunks[place]]
            if not steps:
                continue
            if steps[0] == _OPEN:
                steps = self._resolve_stop(steps, chunks[:place])
            if len(steps) > 1 and order.step < 0:
                steps = steps[::-1]
            for step in steps:
                if step > "9":
                    words.append(step)
                    if len(words) == CONTEXT_WORDS:
                        return words
                # The words behind another number are its own.
                elif step == _END or words:
                    return words
        return words

    def _resolve_stop(self, steps: tuple[str, ...], preceding: list[str]) -> tuple[str, ...]:
        """The steps of a chunk that begins with a full stop, by the word before the stop."""
        for chunk in reversed(preceding):
            if tokens := self.tokens[chunk]:
                return steps[1:] if _is_letter(tokens[-1]) else (_END, *steps[1:])
        return (_END, *steps[1:])

    def _steps_of(self, chunk: str) -> tuple[str, ...]:
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


def remove_last(chunks: list[str], token: str) -> list[str]:
    """Remove the last token, which is this one, from the chunks."""
    while token not in chunks[-1]:
        del chunks[-1]
    chunks[-1] = chunks[-1].rpartition(token)[0]
    return chunks


def remove_first(chunks: list[str], token: str) -> list[str]:
    """Remove the first token, which is this one, from the chunks."""
    while token not in chunks[0]:
        del chunks[0]
    chunks[0] = chunks[0].partition(token)[2]
    return chunks


@lru_cache(maxsize=64)
def context_reader(lang: str) -> ContextReader:
    return ContextReader(lexicon_of(lang))
