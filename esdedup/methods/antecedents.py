"""Antecedents: the words that SpotSigs looks for (Theobald, Siddharth & Paepcke, SIGIR 2008).

English has the articles and the forms of be, can, will, have and do, with which that paper is
quoted to have been best (the paper itself was not at hand). Other languages, for which nobody chose
any, have their stop words; without a known language the English ones are looked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from esdedup.text.batch import Batch
from esdedup.text.tokens import tokenise
from esdedup.text.words import is_known, primary_code

ANTECEDENTS = (
    "a", "an", "the",
    "am", "are", "be", "been", "being", "is", "was", "were",
    "can", "could", "will", "would",
    "had", "has", "have", "having", "did", "do", "does", "doing", "done",
)  # fmt: skip


def are_antecedents(batch: Batch) -> NDArray[np.bool_]:
    """For each word of the batch whether it is one."""
    tokens = batch.tokens
    english = np.isin(tokens.hashes, tokenise([" ".join(ANTECEDENTS)], tokens.base).hashes)
    foreign = np.array(
        [primary_code(lang) != "en" and is_known(lang) for lang in batch.languages], np.bool_
    )
    if not foreign.any():
        return english
    return np.where(np.repeat(foreign, np.diff(tokens.first)), batch.terms.is_stop, english)
