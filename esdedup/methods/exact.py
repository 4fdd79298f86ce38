"""Exact normalised text: the strict route of texts too short for a shingle.

A text of fewer than n words has no shingle and so no sketch. It matches only a text with the
very same words in the same order; never a shared empty signature.
"""

from __future__ import annotations

import hashlib
import itertools

from esdedup.methods.equality import compare, matches, min_shared_keys
from esdedup.methods.key_text import shorten_digest
from esdedup.settings import Settings
from esdedup.text.batch import Batch

__all__ = ["compare", "digest", "keys", "matches", "min_shared_keys", "sign"]


def sign(batch: Batch, settings: Settings) -> list[str]:
    """32 hex digits over the hashes of all words of each text."""
    del settings
    bounds = batch.tokens.first.tolist()
    words = batch.tokens.hashes.astype("<u8", copy=False)
    return [
        hashlib.blake2b(words[start:end].tobytes(), digest_size=16).hexdigest()
        for start, end in itertools.pairwise(bounds)
    ]


def keys(signed: str, settings: Settings) -> tuple[str, ...]:
    """`x` and the digest."""
    prefix = "x" if settings.format > 1 else "x:"
    return (prefix + digest(signed, settings),)


def digest(signed: str, settings: Settings) -> str:
    """What is stored with every document, to notice another text."""
    return shorten_digest(bytes.fromhex(signed)) if settings.format > 1 else signed
