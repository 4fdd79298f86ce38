"""Slow judges fast: the numpy signatures against the plain ones of `reference`."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.ingest.sign import sign_many
from esdedup.matching.content import content_of
from esdedup.model import Document, Signature
from esdedup.settings import Settings
from tests.methods import reference

FRAGMENTS = [
    "The minister said on Tuesday that talks would go on.",
    "İSTANBUL'da Isparta ılık IŞIK i̇yi",
    "Straße ﬁnance ǅ ΣΊΣΥΦΟΣ Ω ½ Ⅷ ²",
    "東京都は2024年、新しい計画を発表した。",
    "รัฐบาลไทยประกาศมาตรการ",
    "قالت الحكومة إنّ الأسعار ارتفعت",
    "हिन्दी समाचार 한국어 뉴스",
    "e\u0301tude n\u0303 a\u0308\u0323 x\u030c",
    "soft\u00adhyphen zero\u200bwidth \u200dj\u200coin \ufeffbom \u202eabc",
    "half \ud800 pair \udfff and \ud83d\ude00 pair",
    "👩\u200d👩\u200d👧 ❤\ufe0f 5\ufe0f\u20e3 🇹🇷",
    "𠀀𠀁𪚥 𝔘𝔫𝔦 𒀀 \U000e0100 \U0010ffff \U00030000",
    "x" * 255,
    "y" * 256,
    "z" * 257,
    "w" * 700,
    "\0\n\t\x1f \u2028",
    "don't re-elect 1,234.5 U.S.A. snake_case",
    "K\N{KELVIN SIGN}Å\N{ANGSTROM SIGN}",
]
any_character = st.characters(exclude_categories=())  # lone surrogates included
pieces = st.one_of(st.sampled_from(FRAGMENTS), st.text(any_character, max_size=12))
texts = st.lists(pieces, max_size=12).flatmap(
    lambda parts: st.sampled_from([" ", "", "\n", "。"]).map(lambda joint: joint.join(parts))
)
shaping = st.builds(
    Settings,
    fingerprint=st.sampled_from(["poly31", "mixed"]),
    shingle_words=st.integers(1, 6),
    sample_size=st.sampled_from([1, 5, 1600]),
    permutations=st.integers(1, 6),
    seed=st.integers(0, 3),
    compared_part=st.sampled_from([0.05, 0.4, 0.8, 1.0]),
    short_text=st.sampled_from([0, 10, 120]),
    max_shingles=st.sampled_from([3, 20_000]),
    format=st.sampled_from([1, 2]),
    methods=st.just(("sketch",)),
)


def signatures(batch: list[str], settings: Settings) -> list[Signature]:
    documents = [Document(id=f"{i}", text=text) for i, text in enumerate(batch)]
    return [signed.signature for signed in sign_many(documents, settings)]


def assert_as_the_reference(signature: Signature, text: str, settings: Settings) -> None:
    expected = reference.sign(text, settings)
    content = content_of(Document("a", text=text), settings)
    assert content.words == expected.words
    assert content.digest == expected.exact
    assert signature.keys == expected.keys
    assert content.shingles.tolist() == expected.shingles


@given(st.lists(texts, min_size=1, max_size=5), shaping)
@example(["", "one two three four five", "", "", "x"], Settings(methods=("sketch",)))
@example(["", "\ud800", "\u00ad"], Settings(methods=("sketch",)))
@example(["", *FRAGMENTS, " ".join(FRAGMENTS)], Settings(methods=("sketch",)))
@hypothesis_settings(max_examples=150, deadline=None)
def test_a_batch_is_signed_as_the_reference_signs_each_text(
    batch: list[str], settings: Settings
) -> None:
    for signature, text in zip(signatures(batch, settings), batch, strict=True):
        assert_as_the_reference(signature, text, settings)


@given(st.lists(texts, min_size=1, max_size=6))
@hypothesis_settings(max_examples=60, deadline=None)
def test_neighbours_in_a_batch_leave_no_trace(batch: list[str]) -> None:
    alone = [signatures([text], Settings())[0] for text in batch]
    assert signatures(batch, Settings()) == alone


@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4), st.integers(0, 300))
@hypothesis_settings(max_examples=8, deadline=None)
def test_texts_longer_than_a_block_of_characters(parts: list[str], shift: int) -> None:
    pattern = " ".join(parts)
    text = "a" * shift + " " + pattern * (66_000 // len(pattern) + 2)
    settings = Settings(permutations=2, methods=("sketch",))
    (_, signature) = signatures(["a short one comes first", text], settings)
    assert_as_the_reference(signature, text, settings)


@pytest.mark.parametrize("start", range((1 << 16) - 4, (1 << 16) + 3))
@pytest.mark.parametrize("length", [1, 4, 256, 300])
def test_a_word_across_the_edge_of_a_block(start: int, length: int) -> None:
    # The batch begins with one line end, so a text's character i is the batch's i + 1.
    text = " " * (start - 3) + "a " + "b" * length + " tail"
    settings = Settings(shingle_words=1, permutations=1, methods=("sketch",))
    text = "x" + text  # signed text is trimmed
    assert_as_the_reference(signatures([text], settings)[0], text, settings)
