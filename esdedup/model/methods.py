"""The table of methods: the facts that settings, stores, explanations and evaluation use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MethodSpec:
    """Facts about one method; its functions are in the file of this name in `esdedup/methods`."""

    name: str
    key_field: str  # the field of `dedup` that holds its keys on a cluster
    is_distance: bool = False  # its measure is a distance: less is closer
    has_many_keys: bool = False  # hundreds per document
    # Keys so short that many documents share one by chance: of 16 bits, 610 of 10 million. Keys
    # of the other methods are 48 bits and more of a hash.
    matches_by_chance: bool = False
    # A key is in one story and its copies; keys of other methods, as a phrase, may be in many.
    is_selective: bool = False
    uses_word_statistics: bool = False
    finds_passages: bool = False  # that two texts share, whether or not one is a copy


METHOD_SPECS = {
    spec.name: spec
    for spec in (
        MethodSpec("sketch", "sketch", is_selective=True),
        MethodSpec("exact", "exact", is_selective=True),
        MethodSpec("lengths", "windows", has_many_keys=True),
        MethodSpec("winnowing", "fingerprints", finds_passages=True),
        MethodSpec("phrases", "phrases", has_many_keys=True, uses_word_statistics=True),
        MethodSpec("spotsigs", "spots", has_many_keys=True),
        MethodSpec(
            "simhash",
            "blocks",
            is_distance=True,
            matches_by_chance=True,
            uses_word_statistics=True,
        ),
        MethodSpec("imatch", "imatch", uses_word_statistics=True),
        MethodSpec("entities", "entities"),
    )
}


def is_distance(measure: str) -> bool:
    """Whether less of this measure is closer; `overlap` belongs to no method."""
    return measure in METHOD_SPECS and METHOD_SPECS[measure].is_distance


def key_fields() -> dict[str, str]:
    """Method -> the field of `dedup` that holds its keys."""
    return {name: spec.key_field for name, spec in METHOD_SPECS.items()}
