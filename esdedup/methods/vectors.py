"""Word vectors of a spaCy model that the user has installed, in whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from esdedup.errors import SettingsError
from esdedup.features.entities.spacy_ner import remedy
from esdedup.settings.values import quote

# Steps of a unit. Sums of whole numbers are the same in any order and on any machine; components
# of common models are below 10, so that 2^53 is far for texts of any length.
_STEPS = 1 << 10
# Parts of a pipeline that vectors do not need.
_UNUSED = (
    "tok2vec", "transformer", "tagger", "morphologizer", "parser", "senter", "attribute_ruler",
    "lemmatizer", "ner",
)  # fmt: skip

Table = NDArray[np.float64]


def vectors_of(words: Sequence[str], model: str) -> Table:
    """A row of whole numbers for each folded word; zeros where the model does not have it.

    A word that is missing in lower case is looked up with a capital, as names are stored.
    """
    vectors = load(model)
    rows = _look_up(vectors, words)
    missing = np.flatnonzero(~rows.any(axis=1)).tolist()
    if missing:
        rows[missing] = _look_up(vectors, [words[i].capitalize() for i in missing])
    out: Table = np.rint(rows.astype(np.float64) * _STEPS)
    return out


def _look_up(vectors: Any, words: Sequence[str]) -> NDArray[Any]:
    from spacy.strings import get_string_id
    from spacy.vectors import Mode

    if vectors.mode == Mode.floret:  # from parts of words: every word has one
        return np.array(vectors.get_batch(list(words)))
    found = vectors.find(keys=[get_string_id(word) for word in words])
    out: NDArray[Any] = np.array(vectors.data[found])
    out[np.asarray(found) < 0] = 0
    return out


@lru_cache(maxsize=2)
def load(model: str) -> Any:
    """The vectors of an installed model."""
    import spacy

    try:
        vectors = spacy.load(model, exclude=list(_UNUSED)).vocab.vectors
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"simhash_vectors is {quote(model)}, and spaCy finds no such model; {remedy(model)} "
            "(it has to have word vectors: names end in _md or _lg), or leave simhash_vectors empty"
        ) from error
    if not vectors.shape[0] or not vectors.shape[1]:
        raise SettingsError(
            f"simhash_vectors is {quote(model)}, and that model has no word vectors; install one "
            f"that has (names end in _md or _lg) with `python -m spacy download "
            f"{model.rsplit('_', 1)[0]}_md`, or leave simhash_vectors empty"
        )
    return vectors
