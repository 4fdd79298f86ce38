"""The worked examples of paper 000 (NRC-GPHIN), by name, and the sketch's own properties."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.ingest.sign import prepare, sign_many
from esdedup.matching.content import read_contents
from esdedup.matching.verify import verify
from esdedup.methods import METHODS, sketch
from esdedup.model import Document, Signature
from esdedup.settings import Settings
from esdedup.stores import open_store
from esdedup.text.hashing import BASE_POLY31
from esdedup.text.tokens import tokenise
from tests.methods import reference

TABLE_1 = [
    "A couple of capricious capybaras chatted coolly by the cactus, curiously considering another "
    "capy capably chewing on cantaloupe",
    "A pair of capricious capybaras chatted coolly by the cactus, curiously considering another "
    "capy capably chewing",
    "Yesterday, a pair of capricious pigeons prattled placidly by the cactus, curiously "
    "considering another pigeon capably pecking at cantaloupe",
    "The pair of capricious capybaras chatted placidly by the cactus, curiously pondering another "
    "capy capably chewing on cantaloupe",
    "The lazy llama lightly limped through the lilacs, laboriously longing for a lozenge",
]
NRC = Settings.load(preset="nrc-gphin", environment={})
# The first seed whose five numbers give the collisions printed in Table 1.
TABLE_1_SEED = 19
TABLE_1_SETTINGS = replace(NRC, permutations=5, seed=TABLE_1_SEED)


def articles(texts: list[str]) -> list[Document]:
    return [Document(id=f"{i}", text=text) for i, text in enumerate(texts, 1)]


def signatures(texts: list[str], settings: Settings) -> list[Signature]:
    return [signed.signature for signed in sign_many(articles(texts), settings)]


def collisions(a: Signature, b: Signature) -> int:
    return int(sketch.compare(a.keys["sketch"], b.keys["sketch"], Settings()))


def test_fingerprint_of_abc() -> None:
    tokens = tokenise(["abc"], BASE_POLY31)
    assert tokens.shingles(1).tolist() == [96354]


def test_table_1_counts_of_3_grams() -> None:
    grams = [set(c.shingles.tolist()) for c in read_contents(articles(TABLE_1), NRC)]
    assert [len(g) for g in grams] == [16, 14, 17, 16, 11]
    shared = [len(grams[a - 1] & grams[b - 1]) for a, b in ((1, 2), (1, 3), (1, 4), (3, 4), (1, 5))]
    assert shared == [12, 4, 8, 4, 0]


def test_table_1_overlap_is_dice_over_4_grams() -> None:
    settings = replace(NRC, shingle_words=4)
    one, two, _, four, _ = sign_many(articles(TABLE_1), settings)
    assert verify(one, two, settings).overlap == pytest.approx(22 / 28)
    assert verify(one, four, settings).overlap == pytest.approx(10 / 30)


def test_table_1_collisions() -> None:
    one, two, three, four, five = signatures(TABLE_1, TABLE_1_SETTINGS)
    found = [collisions(a, b) for a, b in ((one, two), (one, three), (one, four), (three, four))]
    assert found == [5, 1, 4, 1]
    assert collisions(one, five) == collisions(three, five) == 0


def test_table_1_decisions() -> None:
    with Deduplicator(open_store("sqlite://:memory:", TABLE_1_SETTINGS)) as deduplicator:
        decisions = []
        for i, text in enumerate(TABLE_1, 1):
            items = prepare([Document(id=f"{i}", text=text)], TABLE_1_SETTINGS)
            decisions.append(deduplicator.write(items)[0].decision)
    assert [(d.role, d.group) for d in decisions] == [
        ("original", "1"),
        ("duplicate", "1"),
        ("original", "3"),
        ("duplicate", "1"),
        ("original", "5"),
    ]
    assert decisions[3].evidence[0].found_by == {"sketch": 4}


def test_presets_have_the_parameters_of_the_paper() -> None:
    expected = {
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
    }
    values = NRC.to_json()
    assert {name: values[name] for name in expected} == expected
    precise = Settings.load(preset="nrc-gphin-precise", environment={}).to_json()
    differing = {name: precise[name] for name in values if precise[name] != values[name]}
    assert differing == {"preset": "nrc-gphin-precise", "compared_part": 0.8, "min_overlap": 0.5}


VOCABULARY = ["river", "mayor", "flood", "the", "said"]
short_texts = st.lists(st.sampled_from(VOCABULARY), max_size=14).map(" ".join)


@given(st.lists(short_texts, min_size=1, max_size=8), st.integers(1, 3), st.integers(0, 4))
@hypothesis_settings(max_examples=100, deadline=None)
def test_decisions_of_the_paper_preset_are_the_naive_ones(
    texts: list[str], chance: int, seed: int
) -> None:
    """One candidate, dice over the first f, copies of copies to the original."""
    settings = replace(
        NRC,
        permutations=6,
        max_collisions_by_chance=chance,
        seed=seed,
        compared_part=0.6,
        short_text=8,
        min_overlap=0.5,
    )
    texts = [f"{text} end" for text in texts]  # a document without words is a failure
    expected = [f"{place}" for place in reference.online_originals(texts, settings)]
    documents = [Document(id=f"{i}", text=text) for i, text in enumerate(texts)]
    with Deduplicator(open_store("sqlite://:memory:", settings)) as deduplicator:
        outcomes = deduplicator.write(prepare(documents, settings))
    assert [outcome.decision.group for outcome in outcomes] == expected


def test_a_long_text_and_its_copy_sample_the_same_shingles() -> None:
    """Sampling depends on content alone: a moved paragraph changes no more keys than it must."""
    words = [f"w{i}" for i in range(4000)]
    moved = words[2000:] + words[:2000]
    a, b = signatures([" ".join(words), " ".join(moved)], replace(NRC, sample_size=500))
    assert collisions(a, b) >= 18


def test_shared_keys_follow_the_jaccard_similarity() -> None:
    """Half of the shingles in common: about half of the permutations agree."""
    common, left, right = ([f"{c}{i}" for i in range(400)] for c in "abc")
    texts = [" ".join(common + left[:200]), " ".join(common + right[:200])]
    a, b = signatures(texts, Settings(permutations=99))
    assert 35 <= collisions(a, b) <= 64  # 3 sigma around 99 / 2


def test_every_method_has_the_same_functions() -> None:
    functions = {"sign", "keys", "min_shared_keys", "compare", "matches"}
    for name, module in METHODS.items():
        assert functions <= set(dir(module)), name


def test_keys_of_different_permutations_never_meet() -> None:
    (signature,) = signatures(["to be or not to be that is the question"], Settings())
    keys = signature.keys["sketch"]
    assert [key[:2] for key in keys] == [f"s{letter}" for letter in "ABCDEFGHIJKLMNOPQRST"]
    assert all(len(key) == 10 for key in keys)
    assert not any(a == b for a, b in itertools.combinations(keys, 2))
