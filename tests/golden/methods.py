"""Keys of single methods for fixed texts, with the fixed tables and with statistics of a corpus."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

from esdedup.ingest.sign import sign_many
from esdedup.ingest.word_counting import count
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.text.statistics.countmin import Shape
from esdedup.text.statistics.file import write
from tests.golden import DOCUMENTS, settings_of

# Settings beside the methods' own defaults; `words` tells that the corpus below is read.
VARIANTS: dict[str, dict[str, Any]] = {
    "simhash tf-idf": {"methods": "simhash"},
    "simhash equal 8x8": {"methods": "simhash", "simhash_weights": "equal", "block_plan": "8x8"},
    "simhash words": {"methods": "simhash", "words": True},
    "imatch": {"methods": "imatch"},
    "imatch words": {"methods": "imatch", "imatch_low": 200, "words": True},
    "winnowing": {"methods": "winnowing"},
    "spotsigs": {"methods": "spotsigs"},
    "phrases fourth": {"methods": "phrases", "phrase_samples": 12},
    "phrases log": {"methods": "phrases", "phrase_samples": 4, "phrase_weight": "log"},
    "phrases uniform": {"methods": "phrases", "phrase_samples": 4, "phrase_weight": "uniform"},
    "phrases antecedent": {
        "methods": "phrases",
        "phrase_samples": 4,
        "phrase_weight": "antecedent",
    },
    "phrases banded": {"methods": "phrases", "phrase_samples": 12, "phrase_band": 3},
    "phrases rare": {"methods": "phrases", "phrase_samples": 12, "words": True},
    "phrases idf": {
        "methods": "phrases",
        "phrase_samples": 12,
        "phrase_weight": "sqrt",
        "phrase_factor": "idf",
        "words": True,
    },
    "phrases inverse": {
        "methods": "phrases",
        "phrase_samples": 12,
        "phrase_factor": "inverse",
        "words": True,
    },
    "sketch without boilerplate": {
        "methods": "sketch",
        "leave_out_boilerplate": True,
        "words": True,
    },
}

_WORDS = (
    "the of and ferry fire coastguard people killed injured deck passengers mayor bridge river "
    "storm council harbour damage night road hospital minister police vote budget"
)
_WARNING = "The coastguard asks all people near the river and the harbour to stay off the roads"
_FOOTER = "More news of the coast every morning in the Skerrin Courier, in print and online"


def corpus() -> list[Document]:
    """Invented articles: of a paper with a line on every page, and of agencies with a warning."""
    dice = random.Random("golden")
    words = _WORDS.split()
    texts = [" ".join([*dice.choices(words, k=80), f"item{number}"]) for number in range(250)]
    return [
        Document(id=f"{number}", text=f"{text}. {_FOOTER}.", source="Skerrin Courier", lang="en")
        if number < 200
        else Document(id=f"{number}", text=f"{text}. {_WARNING * (number % 3)}.", lang="en")
        for number, text in enumerate(texts)
    ]


def documents() -> list[Document]:
    """The golden texts, and a page of the paper in the corpus."""
    english = DOCUMENTS[0]
    return [
        *DOCUMENTS,
        Document(
            id="page of the corpus",
            title=english.title,
            text=f"{english.text} {_FOOTER}.",
            source="Skerrin Courier",
        ),
        Document(id="with a warning", title=english.title, text=f"{english.text} {_WARNING}."),
    ]


def vectors(format_: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "golden.words")
        version = write(count(corpus(), Settings(), shape=Shape(1 << 14, 4)), file)
        return {
            "words_version": version,
            "keys": {name: _keys(dict(flags), file, format_) for name, flags in VARIANTS.items()},
        }


def _keys(flags: dict[str, Any], file: Path, format_: int) -> dict[str, list[str]]:
    if flags.pop("words", False):
        flags["words_file"] = str(file)
    settings = settings_of(format_, "hybrid", **flags)
    (method,) = settings.methods
    return {
        one.document.id: list(one.signature.keys.get(method, ()))
        for one in sign_many(documents(), settings)
    }
