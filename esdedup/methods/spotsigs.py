"""SpotSigs (Theobald, Siddharth & Paepcke, SIGIR 2008): the baseline of paper 002.

Behind every antecedent begins a chain: c words, each d words behind the one before, antecedents
not counted. Two texts are alike to the Jaccard of their sets of chains.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from esdedup.methods.antecedents import are_antecedents
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.hashing import Hashes, mix

# A candidate shares at least this many chains.
_NEEDED = 2


def sign(batch: Batch, settings: Settings) -> list[Hashes]:
    """The distinct chains of each text, smallest hash first; none without an antecedent."""
    tokens, found = batch.tokens, are_antecedents(batch)
    bounds = zip(tokens.first[:-1].tolist(), tokens.first[1:].tolist(), strict=True)
    return [
        np.unique(chains(tokens.hashes[start:end], found[start:end], settings))
        for start, end in bounds
    ]


def keys(signed: Hashes, settings: Settings) -> tuple[str, ...]:
    """`c:` and 48 bits of the chain in hex, at most `max_chains`: those of the smallest hash."""
    kept = signed[: settings.max_chains] >> np.uint64(16)
    return tuple(dict.fromkeys([f"c:{chain:012x}" for chain in kept.tolist()]))


def min_shared_keys(settings: Settings) -> int:
    del settings
    return _NEEDED


def compare(a: Sequence[str], b: Sequence[str], settings: Settings) -> float:
    """Jaccard; of long texts an estimate, from the smallest hashes of both together."""
    one, other = set(a), set(b)
    together = sorted(one | other)[: settings.max_chains]
    return sum(key in one and key in other for key in together) / max(1, len(together))


def matches(measure: float, settings: Settings) -> bool:
    return measure >= settings.chain_threshold


def chains(words: Hashes, found: NDArray[np.bool_], settings: Settings) -> Hashes:
    """A hash for each antecedent that has enough words behind it."""
    others = words[~found]
    # Behind antecedent i, the first word that is none has this place among them.
    behind = np.cumsum(~found, dtype=np.int64)[found]
    last = settings.chain_words * settings.chain_distance - 1
    behind = behind[behind + last < len(others)]
    out = np.zeros(len(behind), np.uint64)
    for link in range(1, settings.chain_words + 1):
        out = mix(out * np.uint64(3) + others[behind + link * settings.chain_distance - 1])
    return out
