"""Every measure against a value computed by hand or brute force; the thesis' examples by name."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.evaluation.detectors import Replay, Ruling
from esdedup.evaluation.disagreements import Pool
from esdedup.evaluation.measures import (
    Score,
    b_cubed,
    cluster_measures,
    kappa,
    pairs_of_clusters,
    purity,
    summarise,
)
from esdedup.evaluation.significance import (
    chi_squared_test,
    f1_interval,
    paired_t_test,
    share_interval,
)

# Paper 004, Table 6.2: miss rates in per cent over 30 test sets.
MISSES_OF_IMATCH = (
    *(15.00, 45.71, 3.68, 18.28, 30.99, 10.00, 18.75, 37.10, 31.71, 15.28, 9.43, 8.82, 8.70),
    *(46.15, 3.56, 3.29, 12.93, 8.85, 2.63, 18.87, 27.87, 7.86, 1.94, 13.24, 3.33, 5.56, 14.00),
    *(4.18, 10.35, 4.19),
)
MISSES_OF_TWEEZER = (
    *(0.00, 8.57, 0.92, 6.45, 2.82, 2.22, 2.08, 6.45, 9.76, 5.56, 0.00, 0.98, 2.48),
    *(15.39, 2.14, 2.47, 0.00, 0.89, 0.66, 1.89, 0.00, 0.00, 0.97, 1.47, 0.00, 0.00, 0.00),
    *(0.00, 0.00, 0.60),
)


def test_paper_004_matched_pair_t_test_of_table_6_2() -> None:
    """One-sided over 30 test sets: t 6.695, p 1.21e-7 (Table 6.10)."""
    found = paired_t_test(MISSES_OF_IMATCH, MISSES_OF_TWEEZER)
    assert found.n == 30
    assert found.statistic == pytest.approx(6.695, abs=0.0005)
    assert found.p == pytest.approx(1.21e-7, rel=0.005)


def test_paper_004_cost_of_the_example_of_section_6_1() -> None:
    imatch, tweezer = Score(tp=9, fp=2, tn=7, fn=2), Score(tp=10, fp=2, tn=7, fn=1)
    assert [round(x, 3) for x in (imatch.precision, imatch.recall, imatch.f1)] == [0.818] * 3
    assert imatch.cost == pytest.approx(3.135, abs=0.0005)
    figures = (tweezer.precision, tweezer.recall, tweezer.f1, tweezer.cost)
    assert [round(x, 3) for x in figures] == [0.833, 0.909, 0.870, 3.044]


def test_paper_004_pooled_judging_of_figure_6_1() -> None:
    """20 documents; only those that one of the two reports are judged."""
    both = {2, 4, 5, 6, 7, 9, 16, 18}
    one, other = both | {1, 11, 17}, both | {3, 8, 15, 19}

    def replay(reported: set[int]) -> Replay:
        rulings = [Ruling(f"d{i}", "d0" if i in reported else None) for i in range(1, 21)]
        return Replay(tuple(rulings), {})

    pool = Pool(("imatch", "tweezer"), (replay(one), replay(other)))
    listed = list(pool.disagreements())
    assert {d.id for d in listed} == {f"d{i}" for i in (1, 11, 17, 3, 8, 15, 19)}
    judged = {d.id: d.id in ("d3", "d11", "d15") for d in listed}
    assert pool.scores(judged) == (Score(9, 2, 7, 2), Score(10, 2, 7, 1))


def test_matthews_correlation() -> None:
    score = Score(tp=6, fp=2, tn=9, fn=3)
    assert score.mcc == pytest.approx((6 * 9 - 2 * 3) / math.sqrt(8 * 9 * 11 * 12))
    assert Score(5, 0, 5, 0).mcc == 1
    assert Score(0, 5, 0, 5).mcc == -1
    assert Score(0, 0, 5, 5).mcc == 0


def test_t_test_without_any_difference() -> None:
    assert paired_t_test([1.0, 2.0], [1.0, 2.0]).p == 1
    assert paired_t_test([2.0, 3.0], [1.0, 2.0]).p == 0
    assert paired_t_test([1.0, 2.0], [2.0, 3.0]).p == 1
    assert paired_t_test([1.0], [0.0]).p == 1


def test_chi_squared_at_disagreement() -> None:
    """30 right for one alone, 10 for the other alone: (30 - 20)^2 / 20 twice."""
    one = [True] * 30 + [False] * 10 + [True] * 50
    other = [False] * 30 + [True] * 10 + [True] * 50
    found = chi_squared_test(one, other)
    assert found.n == 40
    assert found.statistic == pytest.approx(10.0)
    assert found.p == pytest.approx(math.erfc(math.sqrt(10 / 2)))
    assert chi_squared_test([True], [True]).p == 1


GROUPINGS = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from("abcd"), min_size=n, max_size=n),
        st.lists(st.sampled_from("wxyz"), min_size=n, max_size=n),
    )
)


@given(GROUPINGS)
def test_clusters_as_counted_pair_by_pair(labels: tuple[list[str], list[str]]) -> None:
    gold = {str(i): label for i, label in enumerate(labels[0])}
    found = {str(i): label for i, label in enumerate(labels[1])}
    counts = {"tp": 0, "fp": 0, "tn": 0, "fn": 0}
    for a, b in itertools.combinations(gold, 2):
        same, together = gold[a] == gold[b], found[a] == found[b]
        counts[("t" if same == together else "f") + ("p" if together else "n")] += 1
    assert pairs_of_clusters(gold, found) == Score(**counts)
    precision = recall = 0.0
    for one, label in gold.items():
        cluster = {i for i in gold if gold[i] == label}
        group = {i for i in gold if found[i] == found[one]}
        precision += len(cluster & group) / len(group) / len(gold)
        recall += len(cluster & group) / len(cluster) / len(gold)
    assert list(b_cubed(gold, found)) == pytest.approx([precision, recall])
    best = 0
    for name in set(found.values()):
        members = [gold[i] for i in gold if found[i] == name]
        best += max(members.count(label) for label in members)
    assert purity(gold, found) == pytest.approx(best / len(gold))


def _adjusted_rand(gold: dict[str, str], found: dict[str, str]) -> float:
    pairs = pairs_of_clusters(gold, found)
    tp, fp, tn, fn = pairs.tp, pairs.fp, pairs.tn, pairs.fn
    below = (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)
    return 2 * (tp * tn - fn * fp) / below if below else 1.0


def _entropy(labels: list[object]) -> float:
    shares = [labels.count(label) / len(labels) for label in set(labels)]
    return -sum(share * math.log(share) for share in shares)


@given(GROUPINGS)
def test_rand_index_and_v_measure_by_their_definitions(
    labels: tuple[list[str], list[str]],
) -> None:
    gold = {str(i): label for i, label in enumerate(labels[0])}
    found = {str(i): label for i, label in enumerate(labels[1])}
    measures = cluster_measures(gold, found)
    assert measures["ari"] == pytest.approx(_adjusted_rand(gold, found))
    of_gold, of_found = _entropy([*labels[0]]), _entropy([*labels[1]])
    joint = _entropy(list(zip(*labels, strict=True)))
    shared = of_gold + of_found - joint
    homogeneity = shared / of_gold if of_gold else 1.0
    completeness = shared / of_found if of_found else 1.0
    together = homogeneity + completeness
    assert measures["v_measure"] == pytest.approx(
        2 * homogeneity * completeness / together if together > 1e-12 else 0.0, abs=1e-9
    )


def test_kappa_of_a_table_by_hand() -> None:
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: observed .7, by chance .5."""
    one = [True] * 25 + [False] * 25
    other = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert kappa(one, other) == pytest.approx(0.4)
    assert kappa([True, True], [True, True]) == 1
    with pytest.raises(ValueError, match="same things"):
        kappa([True], [])


def test_bootstrap_interval_holds_the_value_and_narrows() -> None:
    draw = random.Random(1)
    few = {str(i): Score(draw.randint(5, 10), draw.randint(0, 2), 1, 1) for i in range(8)}
    many = {f"{i}-{name}": score for i in range(12) for name, score in few.items()}
    value = sum(few.values(), Score(0, 0, 0, 0)).f1
    low, high = f1_interval(few)
    closer = f1_interval(many)
    assert low < value < high
    assert closer[1] - closer[0] < high - low
    assert f1_interval({"a": Score(1, 0, 0, 0)}) == (0.0, 1.0)


def test_wilson_interval_of_a_share() -> None:
    """8 of 10, by hand with z = 1.96: .490 to .943."""
    low, high = share_interval(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
    assert share_interval(0, 0) == (0.0, 1.0)


def test_several_runs_in_one_object() -> None:
    row = summarise([Score(8, 2, 1, 0), Score(10, 0, 1, 0)])
    assert (row["tp"], row["precision"], row["runs"]) == (9, 0.9, 2)
    assert row["f1_spread"] == pytest.approx(math.sqrt(2) * (1 - 8 / 9) / 2, abs=1e-4)
