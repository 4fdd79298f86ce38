"""Made-up articles for measuring: words by Zipf's law, some of them edited copies of others."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate

from esdedup.model import Document

_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwz", "aeiou"
_VOCABULARY = 30_000
# News has a name about every thirty words; these are in the lists of the recogniser.
_NAMES = (
    "London", "Paris", "Berlin", "Madrid", "Ankara", "Rome", "Vienna", "Oslo", "Lisbon", "Dublin",
    "Chicago", "Boston", "Tokyo", "Cairo", "Nairobi", "Sydney", "Toronto", "Lima", "Kyiv", "Warsaw",
)  # fmt: skip


class Newsroom:
    """A stream of articles of about `words` words; every `copies`th share is an edited copy."""

    def __init__(self, *, words: int = 400, copies: float = 0.3, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._words = words
        self._copies = copies
        self._vocabulary = [self._word() for _ in range(_VOCABULARY)]
        self._weights = list(accumulate(1 / (rank + 5) for rank in range(_VOCABULARY)))
        self._recent: list[list[str]] = []

    def articles(self, count: int, *, prefix: str = "a") -> Iterator[Document]:
        for number in range(count):
            words = self._copy() if self._is_copy() else self._fresh()
            text = " ".join(words[12:])
            yield Document(id=f"{prefix}{number}", title=" ".join(words[:12]), text=text, lang="en")

    def _is_copy(self) -> bool:
        return bool(self._recent) and self._random.random() < self._copies

    def _fresh(self) -> list[str]:
        words = self._random.choices(self._vocabulary, cum_weights=self._weights, k=self._words)
        for place in range(19, len(words), 20):
            words[place] += "."
        # English news has about 13 numbers in 400 words. Half of them are counts (on nine labelled
        # sets 2 to 8 on average, in English, German and Turkish), the others dates and the like.
        for place in range(9, len(words), 60):
            words[place] = str(self._random.randrange(999))
        for place in range(39, len(words), 60):
            words[place - 1 : place + 1] = "in", str(self._random.randrange(1950, 2030))
        for place in range(24, len(words), 30):
            words[place] = self._random.choice(_NAMES)
        self._recent = [*self._recent[-500:], words]
        return words

    def _copy(self) -> list[str]:
        """Another headline, a few words changed, the end cut off."""
        words = list(self._random.choice(self._recent))
        fresh = self._random.choices(self._vocabulary, cum_weights=self._weights, k=18)
        words[:12] = fresh[:12]
        for word in fresh[12:]:
            place = self._random.randrange(12, len(words))
            if words[place] != "in" and not words[place].isdigit():
                words[place] = word
        return words[: len(words) - self._random.randrange(len(words) // 5)]

    def _word(self) -> str:
        syllables = self._random.randrange(1, 5)
        return "".join(
            self._random.choice(_CONSONANTS) + self._random.choice(_VOWELS)
            for _ in range(syllables)
        ) + self._random.choice(("", "n", "s", "r", "t"))
