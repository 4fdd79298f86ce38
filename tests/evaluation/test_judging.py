"""Judging one's own store: even samples, honest weights, two judges."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from esdedup.cli import app
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import InputError
from esdedup.evaluation.judging import (
    Sampled,
    agreed_pairs,
    agreement,
    estimate,
    read,
    sample,
    write,
)
from esdedup.model import Document
from esdedup.settings import Settings

WORDS = [f"word{i}" for i in range(60)]


def store_of(file: Path) -> str:
    """Articles that share from a fifth to nearly all of their words, and their order."""
    url = f"sqlite:///{file}"
    with Deduplicator.open(url, Settings(max_collisions_by_chance=0)) as deduplicator:
        for share in range(12, 60, 2):
            own = [f"own{share}x{i}" for i in range(60 - share)]
            deduplicator.add(Document(id=f"d{share}", text=" ".join([*WORDS[:share], *own])))
    return url


def test_samples_are_even_over_the_bins(tmp_path: Path) -> None:
    with Deduplicator.open(store_of(tmp_path / "s.db"), mode="read") as deduplicator:
        drawn = sample(deduplicator.store, per_bin=3, most=1000)
        everything = sample(deduplicator.store, per_bin=10_000, most=1000)
        few = sample(deduplicator.store, per_bin=3, most=2)
    by_bin = Counter(pair.bin for pair in drawn)
    population = Counter(pair.bin for pair in everything)
    assert len(by_bin) >= 5
    assert by_bin == {place: min(3, n) for place, n in population.items()}
    assert all(pair.population == population[pair.bin] for pair in drawn)
    assert all(pair.bin == min(int(pair.score * 10), 9) for pair in drawn)
    assert len({(p.old, p.new) for p in everything}) == len(everything)
    assert len({p.new for p in few}) <= 2


def pair(number: int, place: int, population: int, reported: bool, **said: bool) -> Sampled:
    return Sampled(f"a{number}", f"b{number}", place / 10, reported, place, population, said)


def test_a_pair_stands_for_its_share_of_the_bin() -> None:
    """9 of 10 in the top bin are copies of 100; half of what is drawn of 1,000 below is one."""
    top = [pair(i, 9, 100, True, me=i > 0) for i in range(10)]
    low = [pair(10 + i, 2, 1000, False, me=i < 2) for i in range(4)]
    found = estimate([*top, *low])
    assert found.precision.value == pytest.approx(0.9)
    assert found.recall.value == pytest.approx(90 / (90 + 500))
    assert found.precision.low < 0.9 < found.precision.high <= 1
    assert found.pairs == 14
    # All in: P 590/1100, R 1; the top bin alone: P .9, R .15.
    assert found.best_threshold == pytest.approx(0.2)


def test_pairs_that_judges_differ_on_are_left_out() -> None:
    drawn = [
        pair(0, 5, 1, True, first=True, second=True),
        pair(1, 5, 1, True, first=True, second=False),
        pair(2, 5, 1, True, first=False, second=False),
        pair(3, 5, 1, True, first=False),
    ]
    assert [is_copy for _, is_copy in agreed_pairs(drawn)] == [True, False, False]
    # Three judged by both: two agree; yes 2/3 and 1/3.
    assert agreement(drawn) == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
    assert agreement(drawn[3:]) is None
    with pytest.raises(InputError, match="no pair is judged"):
        estimate([pair(0, 1, 1, True)])


def test_a_list_is_kept_and_a_broken_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    write(file, [pair(0, 5, 7, True, me=True)])
    assert read(file) == [pair(0, 5, 7, True, me=True)]
    file.write_text("no json\n")
    with pytest.raises(InputError, match="no list of judged pairs"):
        read(file)


def test_a_sitting_at_the_terminal_and_a_second_judge(tmp_path: Path) -> None:
    url, file = store_of(tmp_path / "s.db"), tmp_path / "pairs.jsonl"
    arguments = ["tune", "--store", url, "--pairs", str(file), "--per-bin", "1", "--json"]
    first = CliRunner().invoke(app, arguments, input="y\nwhat\nn\nq\n")
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout.splitlines()[-1])["pairs"] == 2
    rest = CliRunner().invoke(app, arguments, input="y\n" * 50)  # goes on with the third
    assert json.loads(rest.stdout.splitlines()[-1])["pairs"] == len(read(file))
    second = CliRunner().invoke(app, [*arguments, "--judge", "second"], input="y\n" * 50)
    row = json.loads(second.stdout.splitlines()[-1])
    assert row["pairs"] == len(read(file)) - 1
    assert row["kappa"] is not None
