"""I-Match: one hash over the terms of middling rarity (paper 004, section 2.3, as a baseline).

Very common words are in every article and very rare ones are misspellings, names spelt two ways
and page furniture: the terms between are sorted, each once, and hashed. Articles with
the same hash are copies; one term more or less and they are not.
"""

from __future__ import annotations

import hashlib
import itertools

import numpy as np

from esdedup.methods.equality import compare, describe, matches, min_shared_keys
from esdedup.settings import Settings
from esdedup.text.batch import Batch

__all__ = ["compare", "describe", "keys", "matches", "min_shared_keys", "sign"]


def sign(batch: Batch, settings: Settings) -> list[str | None]:
    """SHA-1 over the stems within the band, in the order of their code points; none without."""
    terms = batch.terms
    rarities = terms.rarities[terms.numbers]
    within = (rarities >= settings.imatch_low) & (rarities <= settings.imatch_high)
    # Words within the band before each text: where its own begin among them.
    bounds = np.concatenate([[0], np.cumsum(within)])[batch.tokens.first].tolist()
    numbers = terms.numbers[within].tolist()
    return [
        _digest({terms.stems[number] for number in numbers[start:end]})
        for start, end in itertools.pairwise(bounds)
    ]


def keys(signed: str | None, settings: Settings) -> tuple[str, ...]:
    """`i:` and the digest."""
    del settings
    return () if signed is None else (f"i:{signed}",)


def _digest(stems: set[str]) -> str | None:
    """A line feed ends each: no two lists of stems are the same bytes."""
    if not stems:
        return None
    lines = "".join(f"{stem}\n" for stem in sorted(stems))
    return hashlib.sha1(lines.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
