"""Methods of detection: one file each, all with the same functions.

    sign(batch, settings)        -> one value per text of the batch, whatever the method needs
    keys(signed, settings)       -> the retrievable strings of one such value
    min_shared_keys(settings)    -> how many shared keys make a candidate
    compare(a, b, settings)      -> the method's own measure of two documents, from their keys
    matches(measure, settings)   -> whether that measure alone makes the later one a copy

Methods of one key take the last three from `equality.py`. A method that stores fewer keys than a
document queries with has three more (`lengths`):

    query_seed(signed, settings)   -> a text stored beside the keys, from which the query keys are
                                      made; "" where both are the same
    query_keys(seed, settings)     -> the keys that a document queries with
    compare_seeds(a, b, settings)  -> the measure, of an older text `a` and a newer one

A method that may need something which is not installed has

    check(settings)                -> raises SettingsError where it is missing

A method whose measure needs words of its own in an explanation has

    describe(measure, is_copy, settings) -> what the measure says, for people

A key is a plain string: a letter for the method, the position where the method has positions
(`s03:9f2c…`), so that a value meets only its own kind and its own permutation. Keys depend on
the text and the settings, on nothing else. To add a method: write its file, add its row to
`METHOD_SPECS` (model/methods.py), describe its keys in docs/format.md.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from esdedup.errors import SettingsError
from esdedup.model.methods import METHOD_SPECS

METHODS: dict[str, ModuleType] = {
    name: import_module(f"{__name__}.{name}") for name in METHOD_SPECS
}


def method(name: str) -> ModuleType:
    if name not in METHODS:
        raise SettingsError(f"unknown method {name!r}; known are: {', '.join(METHODS)}")
    return METHODS[name]
