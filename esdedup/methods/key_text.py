"""How keys are written: a letter for the method, the position if it has positions, 48 bits.

Format 2 writes 8 base-64 characters (`sD` and `k7m-_q0B`), format 1 wrote 12 hex digits
(`s03:93b9beca16d5`). Among 10^8 documents a value meets a different one with the same 48 bits with
probability 4 * 10^-7.
"""

from __future__ import annotations

import base64
import re
from functools import cache

import numpy as np

from esdedup.settings import Settings
from esdedup.text.hashing import Hashes

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
DIGITS = 8  # base-64 characters of 48 bits
_OLD_SKETCH = re.compile("s([0-9]{2}):([0-9a-f]{12})")
_OLD_EXACT = re.compile("x:([0-9a-f]{32})")
_SKETCH = re.compile("s([A-Za-z0-9_-]{1,2})([A-Za-z0-9_-]{8})")
_HEX_DIGITS = 12


def write_keys(letter: str, values: Hashes, settings: Settings) -> tuple[str, ...]:
    """Keys without positions: a value meets an equal one wherever it stands."""
    prefix = letter if settings.format > 1 else f"{letter}:"
    return tuple([prefix + digits for digits in _digits(values, settings)])


def write_keys_by_position(letter: str, values: Hashes, settings: Settings) -> tuple[str, ...]:
    """Keys in which a value meets an equal one at its own position only."""
    prefixes = _prefixes(letter, len(values), settings.format)
    return tuple([p + d for p, d in zip(prefixes, _digits(values, settings), strict=True)])


def translate_key(key: str) -> str | None:
    """A sketch key or the key of an exact text in the other format; None where there is none.

    Both formats write the same 48 bits of a sketch key. Of an exact text format 1 wrote 128.
    """
    if match := _OLD_SKETCH.fullmatch(key):
        return f"s{_position(int(match[1]))}{shorten_digest(bytes.fromhex(match[2]))}"
    if match := _OLD_EXACT.fullmatch(key):
        return f"x{shorten_digest(bytes.fromhex(match[1]))}"
    if match := _SKETCH.fullmatch(key):
        position = sum(ALPHABET.index(c) << 6 * i for i, c in enumerate(reversed(match[1])))
        return f"s{position:02d}:{base64.urlsafe_b64decode(match[2]).hex()}"
    return None


def shorten_digest(digest: bytes) -> str:
    """The first 48 bits."""
    return base64.urlsafe_b64encode(digest[:6]).decode("ascii")


def _digits(values: Hashes, settings: Settings) -> list[str]:
    """The low 48 bits of each value, highest digit first."""
    low = values.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 2:].tobytes()
    if settings.format > 1:
        text, width = base64.urlsafe_b64encode(low).decode("ascii"), DIGITS
    else:
        text, width = low.hex(), _HEX_DIGITS
    return [text[start : start + width] for start in range(0, len(text), width)]


@cache
def _prefixes(letter: str, count: int, format_: int) -> tuple[str, ...]:
    if format_ == 1:
        return tuple(f"{letter}{i:02d}:" for i in range(count))
    return tuple(letter + _position(i) for i in range(count))


def _position(i: int) -> str:
    """One character, two beyond the 64th: keys of other lengths never meet."""
    return ALPHABET[i] if i < len(ALPHABET) else ALPHABET[i >> 6] + ALPHABET[i & 63]
