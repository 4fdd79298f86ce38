"""Stable 64-bit hashes in numpy: the same for every process, machine and version.

All arithmetic is modulo 2^64, which is what unsigned numpy integers do by themselves.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

# Base of the paper's polynomial (paper 000, footnote 3) and of the default one, an odd number
# with bits in every byte, so that the characters of one word already spread over all 64 bits.
BASE_POLY31 = 31
BASE_MIXED = 0x9E3779B97F4A7C15

_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_HALF = np.uint64(33)


@lru_cache
def powers(base: int, count: int) -> Hashes:
    """base^0, base^1, … base^(count - 1)."""
    out = np.full(count, base, np.uint64)
    out[:1] = 1
    return _freeze(np.multiply.accumulate(out))


def mix(values: Hashes) -> Hashes:
    """The 64-bit finaliser of MurmurHash3: a bijection after which every bit depends on all."""
    out = values ^ (values >> _HALF)
    out *= _MIX_1
    out ^= out >> _HALF
    out *= _MIX_2
    out ^= out >> _HALF
    return out


@lru_cache
def draw_numbers(seed: int, name: str, count: int) -> Hashes:
    """`count` numbers for the purpose `name`, from a recorded seed and nothing else."""
    digests = (
        hashlib.blake2b(f"{seed}:{name}:{i}".encode(), digest_size=8).digest() for i in range(count)
    )
    return _freeze(np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64))


def _freeze(values: Hashes) -> Hashes:
    """Cached arrays are handed to many callers: none may write into them."""
    values.setflags(write=False)
    return values
