"""A batch of texts to sign, with what several methods need of it, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from esdedup.model import Document, Hashes32
from esdedup.settings import Settings
from esdedup.text.boilerplate import outside_boilerplate, select_words
from esdedup.text.hashing import BASE_MIXED, BASE_POLY31, Hashes, mix
from esdedup.text.statistics import statistics_of
from esdedup.text.tokens import Tokens, guess_language, tokenise
from esdedup.text.words import Terms, is_known, primary_code, read_terms


@dataclass(frozen=True)
class Batch:
    """Documents, the text signed of each, and what is computed once for all methods."""

    documents: Sequence[Document]
    settings: Settings
    characters: int | None = None  # of each body, where not all of it is read

    @cached_property
    def texts(self) -> list[str]:
        return [
            signed_text(document, self.settings, self.characters) for document in self.documents
        ]

    @cached_property
    def tokens(self) -> Tokens:
        """The words that are signed: all, or those outside the boilerplate of their site."""
        return self._select_signed(self._all_tokens)

    @cached_property
    def mixed_tokens(self) -> Tokens:
        """The words of `tokens` by the better base: different words may have the same polynomial
        of base 31, and neither a stem nor a count may depend on it."""
        return self._select_signed(self._all_mixed_tokens)

    @cached_property
    def _all_tokens(self) -> Tokens:
        base = BASE_POLY31 if self.settings.fingerprint == "poly31" else BASE_MIXED
        return tokenise(self.texts, base)

    @cached_property
    def _all_mixed_tokens(self) -> Tokens:
        mixed = self.settings.fingerprint == "mixed"
        return self._all_tokens if mixed else tokenise(self.texts, BASE_MIXED)

    @cached_property
    def _signed_words(self) -> NDArray[np.bool_] | None:
        statistics = statistics_of(self.settings)
        if statistics is None or not self.settings.leave_out_boilerplate:
            return None
        return outside_boilerplate(
            self._all_mixed_tokens, self.documents, statistics, self.settings
        )

    def _select_signed(self, tokens: Tokens) -> Tokens:
        return tokens if self._signed_words is None else select_words(tokens, self._signed_words)

    @cached_property
    def languages(self) -> list[str | None]:
        """Given, else guessed from the text."""
        pairs = zip(self.documents, self.texts, strict=True)
        return [document.lang or guess_language(text) for document, text in pairs]

    @cached_property
    def term_languages(self) -> list[str]:
        """What a page says of its language where it is one that we know, else guessed."""
        pairs = zip(self.languages, self.texts, strict=True)
        known = (lang if is_known(lang) else guess_language(text) for lang, text in pairs)
        return [primary_code(lang) for lang in known]

    @cached_property
    def terms(self) -> Terms:
        """Stems of the words of `tokens`, with their rarity."""
        return read_terms(self.mixed_tokens, self.term_languages, statistics_of(self.settings))

    @cached_property
    def ranges(self) -> list[tuple[int, int]]:
        """Of each text, where its shingles begin and end within `fingerprints`."""
        return [(a, b) for a, b in self.tokens.shingle_ranges(self.settings.shingle_words).tolist()]

    @cached_property
    def fingerprints(self) -> Hashes:
        """One number per shingle: the paper's polynomial, or that polynomial mixed."""
        polynomial = self.tokens.shingles(self.settings.shingle_words)
        return polynomial if self.settings.fingerprint == "poly31" else mix(polynomial)

    @cached_property
    def compared_hashes(self) -> Hashes32:
        """32 well-mixed bits of each fingerprint: what verification compares."""
        is_mixed = self.settings.fingerprint == "mixed"
        mixed = self.fingerprints if is_mixed else mix(self.fingerprints)
        return (mixed >> np.uint64(32)).astype(np.uint32)


def signed_text(document: Document, settings: Settings, characters: int | None = None) -> str:
    """Title and body trimmed and joined, or the body alone.

    A body that begins with the title, as extraction from some pages leaves it, has it already.
    """
    title, body = document.title.strip(), document.text[:characters].strip()
    if settings.signed_text == "body" or not title or body.startswith(title):
        return body
    return f"{title}\n{body}" if body else title
