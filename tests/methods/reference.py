"""The signature as docs/format.md and paper 000 have it, one step at a time: slow and plain.

It judges the numpy code. Nothing here is imported from esdedup but the settings, so that a
mistake cannot be in both.
"""

from __future__ import annotations

import hashlib
import math
import string
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from esdedup.settings import Settings

MODULUS = 1 << 64
BASE = {"poly31": 31, "mixed": 0x9E3779B97F4A7C15}
LONGEST_WORD = 256
# Thai and Lao, Burmese, Khmer, Han radicals, iteration marks, kana and bopomofo, Han.
UNSPACED = [
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3040, 0x312F),
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
]


@dataclass(frozen=True)
class ReferenceSignature:
    """What one text is signed with."""

    words: int
    exact: str
    keys: dict[str, tuple[str, ...]]
    shingles: list[int]


def words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).replace("İ", "i").casefold()
    folded = folded.replace("ı", "i").replace("i\N{COMBINING DOT ABOVE}", "i")
    out, run = [], ""
    for character in folded + "\n":
        kind = kind_of(character)
        if kind == "ignored":
            continue
        if kind == "letter":
            run += character
            continue
        out += [run[i : i + LONGEST_WORD] for i in range(0, len(run), LONGEST_WORD)]
        run = ""
        if kind == "single":
            out.append(character)
    return out


def kind_of(character: str) -> str:
    code = ord(character)
    if code >= 0x20000:
        return "single" if code < 0x40000 else "separator"
    if 0xFE00 <= code <= 0xFE0F:
        return "ignored"
    category = unicodedata.category(character)
    if category == "Cf":
        return "ignored"
    if category[0] not in "LMN":
        return "separator"
    return "single" if any(low <= code <= high for low, high in UNSPACED) else "letter"


def polynomial(text: str, base: int) -> int:
    h = 0
    for character in text:
        h = (h * base + ord(character)) % MODULUS
    return h


def mix(value: int) -> int:
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD % MODULUS
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 % MODULUS
    return value ^ value >> 33


def n_grams(tokens: Sequence[str], n: int) -> list[str]:
    return [" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def fingerprint(shingle: str, kind: str) -> int:
    value = polynomial(shingle, BASE[kind])
    return value if kind == "poly31" else mix(value)


def permutation_numbers(settings: Settings) -> list[int]:
    drawn = [
        hashlib.blake2b(f"{settings.seed}:sketch:{i}".encode(), digest_size=8).digest()
        for i in range(settings.permutations)
    ]
    numbers = [int.from_bytes(digest, "little") for digest in drawn]
    return numbers if settings.fingerprint == "poly31" else [number | 1 for number in numbers]


def permuted(value: int, number: int, settings: Settings) -> int:
    return value ^ number if settings.fingerprint == "poly31" else value * number % MODULUS


def sampled(fingerprints: Sequence[int], size: int) -> list[int]:
    """The k smallest by a second hash."""
    return sorted(set(fingerprints), key=lambda value: mix((value + 1) % MODULUS))[:size]


def sketch(fingerprints: Sequence[int], settings: Settings) -> list[int]:
    """Algorithm 1 of the paper."""
    sample = sampled(fingerprints, settings.sample_size)
    return [
        min(permuted(value, number, settings) for value in sample)
        for number in permutation_numbers(settings)
    ]


_LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"


def base_64(number: int, characters: int) -> str:
    digits = [number >> 6 * place & 63 for place in reversed(range(characters))]
    return "".join(_LETTERS[digit] for digit in digits)


def sketch_key(place: int, value: int, settings: Settings) -> str:
    if settings.format == 1:
        return f"s{place:02d}:{value:012x}"
    return f"s{base_64(place, 1 if place < 64 else 2)}{base_64(value, 8)}"


def sign(text: str, settings: Settings) -> ReferenceSignature:
    tokens = words(text)
    base = BASE[settings.fingerprint]
    hashed = b"".join(polynomial(word, base).to_bytes(8, "little") for word in tokens)
    exact = hashlib.blake2b(hashed, digest_size=16).hexdigest()
    fingerprints = [
        fingerprint(shingle, settings.fingerprint)
        for shingle in n_grams(tokens, settings.shingle_words)
    ]
    if not fingerprints:
        written = f"x:{exact}" if settings.format == 1 else f"x{base_64(int(exact[:12], 16), 8)}"
        return ReferenceSignature(len(tokens), exact, {"exact": (written,)}, [])
    minima = sketch(fingerprints, settings)
    keys = tuple(sketch_key(i, value % (1 << 48), settings) for i, value in enumerate(minima))
    part = 1.0 if len(tokens) < settings.short_text else settings.compared_part
    kept = min(math.ceil(len(fingerprints) * part), settings.max_shingles)
    mixed = [mix(f) if settings.fingerprint == "poly31" else f for f in fingerprints[:kept]]
    return ReferenceSignature(len(tokens), exact, {"sketch": keys}, [m >> 32 for m in mixed])


def dice(a: set[str], b: set[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b))


def online_originals(texts: Sequence[str], settings: Settings) -> list[int]:
    """Section 2.2.2, document by document: the place of each one's original, or its own."""
    tokens = [words(text) for text in texts]
    shingles = [n_grams(t, settings.shingle_words) for t in tokens]
    sketches = [
        sketch([fingerprint(s, settings.fingerprint) for s in own], settings) if own else None
        for own in shingles
    ]
    originals: list[int] = []
    for new, own in enumerate(sketches):
        original = new
        if own is None:
            same = [i for i in range(new) if tokens[i] == tokens[new]]
            original = originals[same[0]] if same else new
        else:
            collisions = [
                (sum(x == y for x, y in zip(own, old, strict=True)) if old else 0, -i)
                for i, old in enumerate(sketches[:new])
            ]
            most, place = max(collisions, default=(0, 0))
            if most > settings.max_collisions_by_chance:
                overlap = dice(*(_first(shingles[i], tokens[i], settings) for i in (new, -place)))
                original = originals[-place] if overlap > settings.min_overlap else new
        originals.append(original)
    return originals


def _first(shingles: Sequence[str], tokens: Sequence[str], settings: Settings) -> set[str]:
    part = 1.0 if len(tokens) < settings.short_text else settings.compared_part
    return set(shingles[: math.ceil(len(shingles) * part)])
