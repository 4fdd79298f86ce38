"""Presets named after the papers: the default settings with these values changed."""

from __future__ import annotations

from typing import Any

from esdedup.errors import SettingsError

# Paper 000; figures of all presets: docs/methods.
_NRC_GPHIN: dict[str, Any] = {
    "methods": ("sketch",),
    "signed_text": "title+body",
    "fingerprint": "poly31",
    "shingle_words": 3,
    "sample_size": 1600,
    "permutations": 20,
    "max_collisions_by_chance": 2,
    "compared_part": 1.0,
    "compared_text": "all",
    "ignore_boilerplate": False,
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
# For readers who would rather see a copy twice than lose an article: three quarters of the shorter
# text must match, and more candidates are verified before a story is chosen.
_PRECISE: dict[str, Any] = {"min_overlap": 0.75, "verified_candidates": 16, "branch_below": 1.0}
# Each preset is the default with these values changed.
PRESETS: dict[str, dict[str, Any]] = {
    "hybrid": {},
    # One kind of keys: the smallest index.
    "sketch": {"methods": ("sketch",)},
    "precise": _PRECISE,
    # Media monitoring as GPHIN operates it: precise, and a changed fact is never folded away.
    "monitoring": {**_PRECISE, "number_check": True},
    "nrc-gphin": _NRC_GPHIN,
    "nrc-gphin-precise": {**_NRC_GPHIN, "compared_part": 0.8, "min_overlap": 0.5},
    "chang-wang": {
        **_ALONE,
        "methods": ("lengths",),
        "verified_by": "lengths",
        "signed_text": "body",
        # Table 6 has 29 windows for a text of 2.6 kB: with full stops alone there are 15.
        "clause_marks": ",;",
        "window_sentences": 8,
        "window_step": 1,
        "min_windows": 5,
    },
    "alonso": {
        **_ALONE,
        "methods": ("phrases",),
        "verified_by": "phrases",
        "phrase_words": 7,
        "phrase_weight": "fourth",
    },
    "spotsigs": {
        **_ALONE,
        "methods": ("spotsigs",),
        "verified_by": "spotsigs",
        "chain_words": 3,
        "chain_distance": 2,
    },
    # The paper does not store copies (section 2.3.1), so that only originals attract. It compares
    # every fingerprint of a bucket: here as many as one request returns.
    "hu-you": {
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
    },
    "imatch": {**_ALONE, "methods": ("imatch",), "verified_by": "imatch", "signed_text": "body"},
    "tweezer": {
        **_ALONE,
        "methods": ("entities",),
        "verified_by": "entities",
        "signed_text": "body",
        "ner": "rules",
        "entity_keys": 0,
        "entity_words_before": 5,
        "entity_words_after": 5,
    },
}


# What stores of format 1 were made with, where their recorded settings say nothing.
FORMAT_1: dict[str, Any] = {
    "format": 1,
    "methods": ("sketch",),
    "entity_keys": 0,
    "entity_in_sentence": False,
}


def preset_values(name: str) -> dict[str, Any]:
    if not isinstance(name, str) or name not in PRESETS:
        raise SettingsError(f"unknown preset {str(name)[:80]!r}; known are: {', '.join(PRESETS)}")
    return {"preset": name, **PRESETS[name]}
