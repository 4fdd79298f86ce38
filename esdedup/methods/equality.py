"""Methods whose signature is one key: two texts match where their keys are equal."""

from __future__ import annotations

from collections.abc import Sequence

from esdedup.settings import Settings


def min_shared_keys(settings: Settings) -> int:
    """The one key that a text has."""
    del settings
    return 1


def compare(a: Sequence[str], b: Sequence[str], settings: Settings) -> float:
    """1 where both have the key, else 0."""
    del settings
    return len(set(a) & set(b))


def matches(measure: float, settings: Settings) -> bool:
    del settings
    return measure > 0


def describe(measure: float, is_copy: bool, settings: Settings) -> str:
    del measure, settings
    return "the same signature" if is_copy else "different signatures"
