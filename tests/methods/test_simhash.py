"""Paper 001 (Hu & You): fingerprints, block plans and their guarantees, features of one's own."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.ingest.sign import prepare, sign_many
from esdedup.methods import simhash
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.settings.table import BlockPlan
from esdedup.stores import open_store
from esdedup.text.batch import Batch
from esdedup.text.words import language
from tests.golden import DOCUMENTS
from tests.methods import reference

GOLDEN = Path(__file__).parents[1] / "golden" / "methods_simhash.json"
HU_YOU = Settings.load(preset="hu-you", environment={})
WEIGHTED = replace(HU_YOU, simhash_weights="tf-idf")
OWN = replace(HU_YOU, simhash_field="features")
# Bits two fingerprints may differ in and still share a block for certain (section 2.2.3).
GUARANTEES: list[tuple[BlockPlan, int]] = [("4x16", 3), ("5x13", 4), ("8x8", 7)]
fingerprints = st.integers(0, (1 << 64) - 1)


def signed(settings: Settings, *documents: Document) -> list[int | None]:
    return simhash.sign(Batch(documents, settings), settings)


def apart(a: int | None, b: int | None) -> int:
    """Bits that differ; both must have a fingerprint."""
    assert a is not None
    assert b is not None
    return (a ^ b).bit_count()


def text(body: str, lang: str | None = "en", **more: Any) -> Document:
    return Document(id="a", text=body, lang=lang, **more)


def own(features: Any) -> Document:
    return Document(id="a", text="some words of no account", extra={"features": features})


# --- the naive one, step by step as section 2.2.2 has it ---------------------------------------


def naive_fingerprint(features: Mapping[str, int]) -> int | None:
    if not features:
        return None
    sums = [0] * 64
    for name, weight in features.items():
        digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
        bits = int.from_bytes(digest, "little")
        for i in range(64):
            sums[i] += weight if bits >> i & 1 else -weight
    return sum(1 << i for i in range(64) if sums[i] > 0)


def naive_features(body: str, code: str, *, equal: bool) -> dict[str, int]:
    found = [language(code).term(word) for word in reference.words(body)]
    kept = [term for term in found if not term.is_stop] or found
    rarity = {term.stem: term.rarity for term in kept}
    count = Counter(term.stem for term in kept)
    if equal:
        return dict.fromkeys(count, 1)
    return {stem: n * ((rarity[stem] + 200) // 100) for stem, n in count.items()}


VOCABULARY = ["the", "of", "said", "bridge", "bridges", "flood", "mayor", "Skerrin", "12", "ılık"]
bodies = st.lists(st.sampled_from(VOCABULARY), max_size=30).map(" ".join)


@given(st.lists(bodies, min_size=1, max_size=5), st.booleans(), st.sampled_from(["en", "tr"]))
@hypothesis_settings(max_examples=100, deadline=None)
def test_fingerprints_are_the_naive_ones(batch: list[str], equal: bool, code: str) -> None:
    settings = HU_YOU if equal else WEIGHTED
    made = signed(settings, *(text(body, code) for body in batch))
    expected = [naive_fingerprint(naive_features(body, code, equal=equal)) for body in batch]
    assert made == expected


@given(st.dictionaries(st.text(max_size=4), st.integers(-5, 5), max_size=12))
@hypothesis_settings(max_examples=100, deadline=None)
def test_features_of_the_caller_weigh_what_they_say(features: dict[str, int]) -> None:
    present = {name: weight for name, weight in features.items() if weight}
    largest = max(map(abs, present.values()), default=1)
    steps = {n: round(w / largest * (1 << 20)) for n, w in present.items()}
    usable = {n.encode("utf-8", "replace").decode(): w for n, w in steps.items()}
    if len(usable) == len(steps):
        assert signed(OWN, own(features)) == [naive_fingerprint(usable)]


def test_one_feature_is_its_own_hash() -> None:
    digest = hashlib.blake2b(b"flood", digest_size=8).digest()
    assert signed(HU_YOU, text("flood")) == [int.from_bytes(digest, "little")]
    assert signed(HU_YOU, text("Flood! The FLOODS of flooding.")) == signed(HU_YOU, text("flood"))


def test_a_sum_of_nothing_is_a_bit_of_0() -> None:
    """Of two features the bits that differ add up to nothing: section 2.2.2 sets them to 0."""
    one, two, both = signed(HU_YOU, text("flood"), text("mayor"), text("flood mayor"))
    assert None not in (one, two)
    assert both == (one or 0) & (two or 0)


# --- blocks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "widths"),
    [("4x16", [16] * 4), ("5x13", [13, 13, 13, 13, 12]), ("8x8", [8] * 8)],
)
def test_the_plans_of_section_2_2_3(plan: str, widths: list[int]) -> None:
    assert list(simhash.PLANS[plan]) == widths
    assert sum(widths) == 64


def test_entries_read_by_a_probe_of_2_to_the_23() -> None:
    """Section 2.2.3: 262,144, 512 and 5,120 fingerprints."""
    stored = 1 << 23
    reads = {plan: len(widths) * (stored >> widths[0]) for plan, widths in simhash.PLANS.items()}
    assert reads == {"8x8": 262_144, "4x16": 512, "5x13": 5_120}


@pytest.mark.parametrize(
    ("plan", "keys"),
    [
        ("4x16", "b0:cdef b1:89ab b2:4567 b3:0123"),
        ("5x13", "b0:0def b1:0d5e b2:19e2 b3:068a b4:012"),
        ("8x8", "b0:ef b1:cd b2:ab b3:89 b4:67 b5:45 b6:23 b7:01"),
    ],
)
def test_keys_can_be_read(plan: BlockPlan, keys: str) -> None:
    settings = replace(HU_YOU, block_plan=plan)
    assert simhash.keys(0x0123456789ABCDEF, settings) == tuple(keys.split())
    assert simhash.fingerprint_of(keys.split(), settings) == 0x0123456789ABCDEF


@pytest.mark.parametrize("plan", simhash.PLANS)
@given(fingerprints)
def test_the_blocks_together_give_the_fingerprint(plan: BlockPlan, fingerprint: int) -> None:
    settings = replace(HU_YOU, block_plan=plan)
    keys = simhash.keys(fingerprint, settings)
    assert simhash.fingerprint_of(reversed(keys), settings) == fingerprint


@pytest.mark.parametrize(("plan", "safe"), GUARANTEES)
@given(fingerprints, st.sets(st.integers(0, 63), max_size=10))
def test_the_guarantee_of_a_plan(
    plan: BlockPlan, safe: int, fingerprint: int, flipped: set[int]
) -> None:
    settings = replace(HU_YOU, block_plan=plan, near_duplicate_distance=safe)
    other = fingerprint ^ sum(1 << bit for bit in flipped)
    a, b = simhash.keys(fingerprint, settings), simhash.keys(other, settings)
    shared = len(set(a) & set(b))
    assert simhash.compare(a, b, settings) == len(flipped)
    assert simhash.matches(len(flipped), settings) == (len(flipped) <= safe)
    if len(flipped) <= safe:
        assert shared >= 1
        assert simhash.is_complete(len(flipped), settings)
    for distance in range(65):
        stricter = replace(settings, near_duplicate_distance=distance)
        if simhash.matches(len(flipped), stricter) and distance <= safe:
            assert shared >= simhash.min_shared_keys(stricter)


@pytest.mark.parametrize(("plan", "safe"), GUARANTEES)
def test_one_bit_more_than_the_guarantee_may_be_missed(plan: BlockPlan, safe: int) -> None:
    settings = replace(HU_YOU, block_plan=plan)
    widths = simhash.PLANS[plan]
    other = sum(1 << sum(widths[:i]) for i in range(len(widths)))
    assert other.bit_count() == safe + 1
    assert not set(simhash.keys(0, settings)) & set(simhash.keys(other, settings))
    assert not simhash.is_complete(safe + 1, settings)


def test_similar_news_is_further_than_a_copy_and_nearer_than_8() -> None:
    assert [d for d in range(65) if simhash.is_similar(d, HU_YOU)] == [4, 5, 6, 7]
    complete = [p for p, _ in GUARANTEES if simhash.is_complete(7, replace(HU_YOU, block_plan=p))]
    assert complete == ["8x8"]


# --- the preset --------------------------------------------------------------------------------


def test_the_preset_has_the_parameters_of_the_paper() -> None:
    expected = {
        "methods": ["simhash"],
        "verified_by": "simhash",
        "simhash_weights": "equal",
        "block_plan": "4x16",
        "near_duplicate_distance": 3,
        "attract": "originals",
        "keep": "arrival",
        "number_check": False,
    }
    values = HU_YOU.to_json()
    assert {name: values[name] for name in expected} == expected


def test_decisions_of_the_preset() -> None:
    story = "Twelve people died when a fire broke out on a ferry off Skerrin, the coastguard said."
    other = "The mayor opened a new bridge over the river after three years of building."
    documents = [text(story), text(f"{story} and"), text(other)]
    documents = [replace(d, id=f"{i}") for i, d in enumerate(documents)]
    with Deduplicator(open_store("sqlite://:memory:", HU_YOU)) as deduplicator:
        outcomes = deduplicator.write(prepare(documents, HU_YOU))
    decisions = [outcome.decision for outcome in outcomes]
    assert [(d.role, d.group) for d in decisions] == [
        ("original", "0"),
        ("duplicate", "0"),
        ("original", "2"),
    ]
    assert decisions[1].evidence[0].found_by == {"simhash": 4}


# --- title, lead, language ---------------------------------------------------------------------


def test_title_and_lead_count_as_often_as_asked() -> None:
    document = text("mayor bridge river", title="flood")
    heavy = replace(WEIGHTED, simhash_title_weight=100)
    assert signed(heavy, document) == signed(WEIGHTED, text("flood"))
    without = replace(WEIGHTED, simhash_title_weight=0)
    assert signed(without, document) == signed(WEIGHTED, text("mayor bridge river"))
    lead = replace(WEIGHTED, simhash_lead_weight=100, simhash_lead_words=1)
    assert signed(lead, document) == signed(WEIGHTED, text("mayor"))
    three = replace(WEIGHTED, simhash_title_weight=3, signed_text="title+body")
    assert signed(three, document) == signed(WEIGHTED, text("flood flood flood mayor bridge river"))
    body = replace(lead, signed_text="body", simhash_title_weight=9)
    assert signed(body, document) == signed(lead, document)


def test_the_base_of_shingles_does_not_matter() -> None:
    document = text("The mayor opened a new bridge over the river")
    assert signed(replace(HU_YOU, fingerprint="poly31"), document) == signed(HU_YOU, document)


def test_the_rest_of_the_batch_does_not_matter() -> None:
    alone = [signed(WEIGHTED, document)[0] for document in DOCUMENTS]
    assert signed(WEIGHTED, *DOCUMENTS) == alone
    assert signed(WEIGHTED, *reversed(DOCUMENTS)) == alone[::-1]


def test_a_region_or_a_wrong_code_does_not_matter() -> None:
    body = "The bridges over the river were closed for the night and that was the end of it."
    made = {signed(WEIGHTED, text(body, code))[0] for code in ("en", "en-GB", "EN_us", "us", None)}
    assert len(made) == 1


# --- features of the caller --------------------------------------------------------------------


def test_features_take_the_place_of_words_where_they_are() -> None:
    with_features, without = own({"flood": 1, "mayor": 2.5}), text("mayor")
    assert signed(OWN, with_features, without) == [
        signed(OWN, with_features)[0],
        signed(HU_YOU, without)[0],
    ]
    assert signed(OWN, with_features) == signed(OWN, own({"mayor": 250, "flood": 100}))
    assert signed(HU_YOU, with_features) == signed(HU_YOU, replace(with_features, extra={}))


def test_a_vector_near_another_has_a_near_fingerprint() -> None:
    base = [((i * 37) % 101 - 50) / 10 for i in range(300)]
    near = [v + 0.01 * (-1) ** i for i, v in enumerate(base)]
    a, b, c = signed(OWN, own(base), own(near), own([-v for v in base]))
    assert apart(a, b) <= 3
    assert apart(a, c) == 64


def test_vectors_depend_on_the_seed() -> None:
    vector = own([0.5, -1.0, 2.0])
    assert signed(OWN, vector) != signed(replace(OWN, seed=32), vector)


def test_vectors_of_different_lengths_have_nothing_in_common() -> None:
    long = [1.0] * 384
    a, b = signed(OWN, own(long), own([*long, 0.0]))
    assert 12 <= apart(a, b) <= 52  # 5 sigma around 32


@pytest.mark.parametrize(
    "given",
    [{}, [], {"a": float("nan")}, {"a": 0}, {"a": "much"}, {"a": None}, [float("inf")], "words", 7],
)
def test_no_features_no_keys(given: Any) -> None:
    """Never a fingerprint that all documents without features would share."""
    (made,) = sign_many([own(given)], OWN)
    assert "simhash" not in made.signature.keys


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf"), 10**400, "x", None])
def test_what_is_no_number_counts_nothing(bad: Any) -> None:
    assert signed(OWN, own({"flood": 1, "bad": bad})) == signed(OWN, own({"flood": 1}))


def test_weights_of_any_size() -> None:
    small, large = {"a": 1e-300, "b": -3e-300}, {"a": 1e300, "b": -3e300}
    assert signed(OWN, own(small)) == signed(OWN, own(large)) == signed(OWN, own({"a": 1, "b": -3}))
    assert apart(*signed(OWN, own({"a": 5}), own({"a": -5}))) == 64


# --- bad texts ---------------------------------------------------------------------------------


def test_a_text_of_stop_words_is_signed_by_all_of_them() -> None:
    made = signed(HU_YOU, text("to be or not to be"), text("not to be"), text("the"))
    assert None not in made
    assert made[0] == naive_fingerprint(dict.fromkeys(["to", "be", "or", "not"], 1))


@pytest.mark.parametrize("settings", [HU_YOU, WEIGHTED])
def test_a_text_without_words_has_no_keys(settings: Settings) -> None:
    made = signed(settings, text(""), text("?! …"), text("🙂🙃"), text("mayor"))
    assert made[:3] == [None] * 3
    assert [simhash.keys(one, settings) for one in made[:3]] == [()] * 3
    assert made[3] is not None


def test_an_unknown_language_is_signed_by_plain_words() -> None:
    assert signed(HU_YOU, text("gagh qagh bridges", "tlh")) == [
        naive_fingerprint(dict.fromkeys(["gagh", "qagh", "bridges"], 1))
    ]


# --- golden ------------------------------------------------------------------------------------


def golden() -> dict[str, dict[str, list[str]]]:
    """`python -m tests.methods.test_simhash` writes it; a difference needs a new format."""
    return {
        name: {
            document.id: list(simhash.keys(fingerprint, settings))
            for document, fingerprint in zip(DOCUMENTS, signed(settings, *DOCUMENTS), strict=True)
        }
        for name, settings in (("hu-you", HU_YOU), ("tf-idf", WEIGHTED))
    }


def test_keys_are_the_golden_ones() -> None:
    """They depend on the stems and tables of the packages: a new version of one shows here."""
    assert golden() == json.loads(GOLDEN.read_text("utf-8"))


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(golden(), ensure_ascii=False, indent=1) + "\n", "utf-8")
