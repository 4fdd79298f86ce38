"""Which text is signed, and how much of it is kept for comparison."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from esdedup.ingest.sign import prepare, sign_many
from esdedup.matching.content import count_compared
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.text.batch import Batch, signed_text
from esdedup.text.tokens import character_classes
from tests.methods import reference


@pytest.mark.parametrize(
    ("title", "text", "signed"),
    [
        (" Title ", "\n Body.\n", "Title\nBody."),
        ("Title", "", "Title"),
        ("", " Body ", "Body"),
        ("Title", "Title\nBody.", "Title\nBody."),
        ("Title", "Body with Title", "Title\nBody with Title"),
    ],
)
def test_title_and_body_trimmed_and_joined(title: str, text: str, signed: str) -> None:
    document = Document(id="a", title=title, text=text)
    assert signed_text(document, Settings()) == signed
    assert signed_text(document, Settings(signed_text="body")) == text.strip()


@pytest.mark.parametrize(
    ("shingles", "words", "kept"),
    [(117, 120, 94), (116, 119, 116), (1000, 1003, 800), (100_000, 100_003, 20_000), (0, 2, 0)],
)
def test_the_first_part_is_kept_and_all_of_a_short_text(
    shingles: int, words: int, kept: int
) -> None:
    settings = Settings(compared_part=0.8, short_text=120, max_shingles=20_000)
    assert count_compared(shingles, words, settings) == kept


def test_every_code_point_has_the_class_of_the_reference() -> None:
    names = ["separator", "letter", "single", "ignored"]
    expected = [names.index(reference.kind_of(chr(code))) for code in range(0x110000)]
    assert np.flatnonzero(character_classes() != np.array(expected)).tolist() == []


def test_language_and_source_leave_keys_alone() -> None:
    plain = Document(id="a", text="İstanbul'da ışıklar söndü, on iki kişi öldü dün")
    settings = Settings(methods=("sketch",))
    one, other = sign_many([plain, replace(plain, id="b", lang="tr", source="x")], settings)
    assert one.signature.keys == other.signature.keys
    assert one.signature.digest == other.signature.digest


def test_no_documents_no_signatures() -> None:
    assert sign_many([], Settings()) == []
    assert prepare([], Settings()) == []


@pytest.mark.parametrize("fingerprint", ["poly31", "mixed"])
def test_words_with_the_same_polynomial_of_base_31_are_two_terms(fingerprint: str) -> None:
    """31 * "a" + "ā" = 31 * "b" + "â": the paper's fingerprint takes them for one word."""
    settings = replace(Settings(), fingerprint=fingerprint)  # type: ignore[arg-type]  # one of two
    batch = Batch([Document("1", text="aā bâ", lang="fr")], settings)
    one, other = batch.tokens.hashes.tolist()
    assert (one == other) == (fingerprint == "poly31")
    one, other = batch.terms.numbers.tolist()
    assert one != other
