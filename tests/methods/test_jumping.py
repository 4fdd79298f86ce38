"""Static and dynamic jumping of paper 003, end to end: fewer windows stored, all of them asked."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.ingest.sign import prepare, sign_many
from esdedup.methods import lengths
from esdedup.model import Document, Link, Signature
from esdedup.settings import Settings
from esdedup.stores import open_store
from esdedup.text.batch import Batch
from tests.methods import naive_lengths as naive

CHANG_WANG = Settings.load(preset="chang-wang", environment={}, flags={"clause_marks": ""})
# Only originals attract, so that groups are settled.
SETTLED = replace(CHANG_WANG, attract="originals", keep="earliest")
DAY = datetime(2024, 3, 1, tzinfo=UTC)


def written(counts: Sequence[int], word: str = "word") -> str:
    return " ".join(f"{' '.join([word] * n)}." for n in counts)


def drawn(seed: int, count: int) -> list[int]:
    return random.Random(seed).choices(range(4, 40), k=count)


def jumping(
    size: int, step: int, threshold: int, *, dynamic: bool, base: Settings = CHANG_WANG
) -> Settings:
    return replace(
        base,
        window_sentences=size,
        window_step=step,
        min_windows=threshold,
        dynamic_jumping=dynamic,
    )


def signature(counts: Sequence[int], settings: Settings) -> Signature:
    (signed,) = sign_many([Document(id="a", text=written(counts))], settings)
    return signed.signature


def key(window: Sequence[int]) -> str:
    return "w:" + "-".join(map(str, window))


# Few different lengths, so that windows repeat, say nothing, and are left out by jumping.
strings = st.one_of(
    st.lists(st.integers(1, 3), max_size=30),
    st.lists(st.integers(1, 9), max_size=30),
    st.tuples(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 9)).map(
        lambda pair: pair[0] * pair[1]
    ),
)
sizes, steps, thresholds = st.integers(1, 5), st.integers(1, 4), st.integers(1, 3)


@given(strings, sizes, steps, thresholds, st.booleans())
@hypothesis_settings(max_examples=200, deadline=None)
def test_stored_and_asked_windows_are_the_naive_ones(
    counts: list[int], size: int, step: int, threshold: int, dynamic: bool
) -> None:
    settings = jumping(size, step, threshold, dynamic=dynamic)
    signed = signature(counts, settings)
    starts = naive.stored(counts, size, step, threshold, jumping=dynamic)
    stored = [key(counts[i : i + size]) for i in starts]
    assert list(signed.keys.get("lengths", ())) == list(dict.fromkeys(stored))
    if step == 1 and not dynamic:
        assert signed.query_seed == {}
        return
    long_enough = len(counts) >= size + step * (threshold - 1)
    assert signed.query_seed == (
        {"lengths": "-".join(map(str, counts))} if long_enough and counts else {}
    )
    if signed.query_seed:
        every = naive.stored(counts, size, 1, 1, jumping=False)
        asked = [key(counts[i : i + size]) for i in every]
        assert list(lengths.query_keys(signed.query_seed["lengths"], settings)) == list(
            dict.fromkeys(asked)
        )
        assert set(lengths.query_keys(signed.query_seed["lengths"], settings)) == set(
            lengths.all_keys(Document("a", text=written(counts)), settings)
        )


@given(strings, strings, strings, strings, sizes, steps, st.booleans())
@hypothesis_settings(max_examples=300, deadline=None)
def test_the_measure_is_the_naive_one(
    head: list[int],
    shared: list[int],
    tail: list[int],
    other: list[int],
    size: int,
    step: int,
    dynamic: bool,
) -> None:
    settings = jumping(size, step, 1, dynamic=dynamic)
    old, new = head + shared + tail, other + shared
    starts = naive.stored(old, size, step, 1, jumping=dynamic)
    expected = naive.most_stored_in_a_stretch(old, new, starts, size)
    kept = ["-".join(map(str, string)) for string in (old, new)]
    assert lengths.compare_seeds(kept[0], kept[1], settings) == expected


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("step", [1, 2, 3, 4])
@pytest.mark.parametrize("shift", range(4))
def test_a_partial_copy_is_found_at_any_shift(step: int, shift: int, dynamic: bool) -> None:
    """A passage that holds t stored windows wherever it begins; the paper's way of indexing."""
    settings = jumping(8, step, 3, dynamic=dynamic)
    shared = drawn(1, 8 + step * 3 - 1)
    old, new = drawn(2, 5) + shared + drawn(3, 6), drawn(4, 7 + shift) + shared + drawn(5, 3)
    with Deduplicator(open_store("sqlite://:memory:", settings)) as deduplicator:
        deduplicator.add(Document(id="old", text=written(old)))
        decision = deduplicator.add(Document(id="new", text=written(new)))
        apart = deduplicator.add(Document(id="apart", text=written(drawn(6, 40))))
    assert (decision.role, decision.group) == ("duplicate", "old")
    assert decision.evidence[0].overlap >= 3
    assert apart.role == "original"


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_the_shortest_match_is_length_min(step: int) -> None:
    """A passage of WS + SW (t - 1) sentences that begins with a stored window; one less is none."""
    settings = jumping(8, step, 3, dynamic=False)
    shortest = lengths.min_sentences(settings)
    for missing, role in ((0, "duplicate"), (1, "original")):
        shared = drawn(1, shortest)[missing:]
        old = [*shared, 50, *drawn(2, 10)] if not missing else drawn(7, 1) + shared + drawn(2, 10)
        with Deduplicator(open_store("sqlite://:memory:", settings)) as deduplicator:
            deduplicator.add(Document(id="old", text=written(old)))
            new = deduplicator.add(Document(id="new", text=written([*drawn(3, 9), 60, *shared])))
        assert new.role == role


def test_the_example_of_section_3_2_end_to_end() -> None:
    """Feature strings 0123456789 and 1234567890, each length one more, as none is empty."""
    settings = jumping(4, 2, 3, dynamic=False)
    one, other = list(range(1, 11)), [2, 3, 4, 5, 6, 7, 8, 9, 10, 1]
    assert signature(one, settings).keys["lengths"] == (
        "w:1-2-3-4",
        "w:3-4-5-6",
        "w:5-6-7-8",
        "w:7-8-9-10",
    )
    with Deduplicator(open_store("sqlite://:memory:", settings)) as deduplicator:
        deduplicator.add(Document(id="one", text=written(one)))
        decision = deduplicator.add(Document(id="other", text=written(other)))
    assert decision.role == "duplicate"
    assert decision.evidence[0].overlap == 3  # 2345, 4567, 6789


def test_jumping_stores_less() -> None:
    counts = drawn(1, 200)
    keys = {step: len(signature(counts, jumping(8, step, 5, dynamic=False)).keys["lengths"])
            for step in (1, 2, 4)}  # fmt: skip
    assert keys == {1: 193, 2: 97, 4: 49}
    repeated = [n for n in counts for _ in range(3)]
    assert len(signature(repeated, jumping(8, 1, 5, dynamic=True)).keys["lengths"]) < len(
        signature(repeated, jumping(8, 1, 5, dynamic=False)).keys["lengths"]
    )


def test_what_is_kept_has_a_limit() -> None:
    settings = replace(jumping(8, 4, 5, dynamic=False), max_windows=50)
    signed = signature(drawn(1, 5_000), settings)
    assert len(signed.keys["lengths"]) == 50
    assert signed.query_seed["lengths"].count("-") + 1 == 50 * 4 + 8
    assert len(lengths.query_keys(signed.query_seed["lengths"], settings)) == 50


# --- groups are a fixed point ------------------------------------------------------------------


def universe(seed: int, settings: Settings) -> list[Document]:
    """Articles that share passages of all lengths around what is enough, at any shift."""
    dice = random.Random(seed)
    size, step, threshold = (
        settings.window_sentences,
        settings.window_step,
        settings.min_windows,
    )
    passages = [drawn(seed * 10 + n, 3 * size) for n in range(2)]
    out = []
    for number in range(5):
        counts = drawn(seed * 100 + number, dice.randrange(6))
        for passage in dice.sample(passages, dice.choice([1, 1, 2])):
            wanted = size + step * (threshold - 1) + dice.randrange(-1, step + 1)
            start = dice.randrange(len(passage) - wanted + 1) if dice.random() < 0.5 else 0
            counts += passage[start : start + wanted] + drawn(dice.randrange(10**6), 2)
        published = DAY + timedelta(days=dice.randrange(3))
        out.append(Document(f"d{number}", text=written(counts), published=published))
    return out


def links_when_indexed(documents: Sequence[Document], settings: Settings) -> dict[str, Link]:
    with Deduplicator(open_store("sqlite://:memory:", settings)) as deduplicator:
        for document in documents:
            deduplicator.write(prepare([document], settings))
        records = deduplicator.store.documents.get(d.id for d in documents)
        return {id_: record.decision.link for id_, record in records.items()}


@pytest.mark.parametrize(
    ("step", "threshold", "dynamic"),
    [(1, 2, False), (2, 1, False), (2, 2, False), (3, 2, True), (4, 1, True), (1, 2, True)],
)
def test_groups_are_the_same_in_any_order_of_arrival(
    step: int, threshold: int, dynamic: bool
) -> None:
    settings = jumping(4, step, threshold, dynamic=dynamic, base=SETTLED)
    linked = 0
    for seed in range(4):
        documents = universe(seed, settings)
        expected = links_when_indexed(documents, settings)
        linked += sum(not link.canonical for link in expected.values())
        orders = random.Random(seed).sample(list(permutations(documents)), 12)
        for order in orders:
            assert links_when_indexed(order, settings) == expected
    assert linked  # the universes are not trivial


def test_a_pair_that_finds_itself_from_one_side_only() -> None:
    """t = 1: a passage of WS sentences on the grid of one text and off the grid of the other."""
    settings = jumping(4, 2, 1, dynamic=False)
    passage = [11, 12, 13, 14]
    on, off = [*passage, 30, *drawn(1, 5)], [21, *passage, 31, *drawn(2, 5)]
    documents = [Document("on", text=written(on)), Document("off", text=written(off))]
    with Deduplicator(open_store("sqlite://:memory:", settings)) as deduplicator:
        roles = [deduplicator.add(document).role for document in documents]
    assert roles == ["original", "duplicate"]  # as the paper has it: the query slides
    settled = replace(settings, attract="originals")
    with Deduplicator(open_store("sqlite://:memory:", settled)) as deduplicator:
        roles = [deduplicator.add(document).role for document in documents]
    assert roles == ["original", "original"]  # both or none, so that order does not matter


def test_batches_find_each_other_inside() -> None:
    settings = jumping(8, 3, 2, dynamic=False)
    shared = drawn(1, 20)
    texts = [written(drawn(2, 4) + shared), written(drawn(3, 6) + shared)]
    with Deduplicator(open_store("sqlite://:memory:", settings)) as deduplicator:
        documents = [Document(f"d{i}", text=text) for i, text in enumerate(texts)]
        outcomes = deduplicator.write(prepare(documents, settings))
    assert [o.decision.role for o in outcomes] == ["original", "duplicate"]


def test_signatures_with_what_is_kept_as_json() -> None:
    signed = signature(drawn(1, 30), jumping(8, 2, 2, dynamic=True))
    assert signed.query_seed
    assert signed.to_json()["kept"] == signed.query_seed
    batch = Batch([Document(id="a", text="Too short.")], CHANG_WANG)
    assert lengths.query_seed(lengths.sign(batch, CHANG_WANG)[0], CHANG_WANG) == ""
