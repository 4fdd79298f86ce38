"""Presets named after the papers: the default settings with these values changed."""

from __future__ import annotations

from typing import Any

from esdedup.errors import SettingsError

# Each preset is the default with these values changed; figures: docs/methods.
_NRC_GPHIN: dict[str, Any] = {
    "methods": ("sketch",),
    "signed_text": "title+body",
    "fingerprint": "poly31",
    "shingle_words": 3,
    "sample_size": 1600,
    "permutations": 20,
    "max_collisions_by_chance": 2,
    "compared_part": 1.0,
    "measure": "dice",
    "min_overlap": 0.2,
    "verified_candidates": 1,
    "attract": "all",
    "keep": "arrival",
    "number_check": False,
    "extended_ratio": 0.0,
    "lead_bonus": 0.0,
}
# One method alone, as its paper has it: its own measure decides, nothing is checked beside it.
_ALONE: dict[str, Any] = {
    "attract": "all",
    "keep": "arrival",
    "number_check": False,
    "extended_ratio": 0.0,
}
_CHANG_WANG: dict[str, Any] = {
    **_ALONE,
    "methods": ("lengths",),
    "verified_by": "lengths",
    "signed_text": "body",
    "window_sentences": 8,
    "window_step": 1,
    "min_windows": 5,
}
_ALONSO: dict[str, Any] = {
    **_ALONE,
    "methods": ("phrases",),
    "verified_by": "phrases",
    "phrase_words": 7,
    "phrase_weight": "fourth",
}
_SPOTSIGS: dict[str, Any] = {
    **_ALONE,
    "methods": ("spotsigs",),
    "verified_by": "spotsigs",
    "chain_words": 3,
    "chain_distance": 2,
}
# Copies are not stored there (section 2.3.1), so that only originals attract; every fingerprint
# of a bucket is compared: as many as one request may bring.
_HU_YOU: dict[str, Any] = {
    **_ALONE,
    "methods": ("simhash",),
    "verified_by": "simhash",
    "simhash_weights": "equal",
    "block_plan": "4x16",
    "near_duplicate_distance": 3,
    "verified_candidates": 100,
    "attract": "originals",
    "similar_by": "simhash",
    "event_count": "items",
    "event_sources": 0,
}
_IMATCH: dict[str, Any] = {**_ALONE, "methods": ("imatch",), "verified_by": "imatch"}
_TWEEZER: dict[str, Any] = {
    **_ALONE,
    "methods": ("entities",),
    "verified_by": "entities",
    "signed_text": "body",
    "ner": "rules",
    "entity_words_before": 5,
    "entity_words_after": 5,
}
# For readers who would rather see a copy twice than lose an article: three quarters of the shorter
# text, and more of what matches is asked before one of several stories is chosen.
_PRECISE: dict[str, Any] = {
    "min_overlap": 0.75,
    "verified_candidates": 16,
    "branch_below": 1.0,
}
PRESETS: dict[str, dict[str, Any]] = {
    "hybrid": {},
    "precise": _PRECISE,
    "nrc-gphin": _NRC_GPHIN,
    "nrc-gphin-precise": {**_NRC_GPHIN, "compared_part": 0.8, "min_overlap": 0.5},
    "chang-wang": _CHANG_WANG,
    "alonso": _ALONSO,
    "spotsigs": _SPOTSIGS,
    "hu-you": _HU_YOU,
    "imatch": _IMATCH,
    "tweezer": _TWEEZER,
}


def preset_values(name: str) -> dict[str, Any]:
    if not isinstance(name, str) or name not in PRESETS:
        raise SettingsError(f"unknown preset {str(name)[:80]!r}; known are: {', '.join(PRESETS)}")
    return {"preset": name, **PRESETS[name]}
