"""The set of our own holds its figures everywhere; and what the gate does with better and worse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.eval.gate import OWN, Entry, check, read_baseline

OWN_ENTRIES = [entry for entry in read_baseline() if entry.set == "own"]


@pytest.mark.parametrize("entry", OWN_ENTRIES, ids=lambda entry: entry.name)
def test_the_set_of_our_own_is_as_good_as_pinned(entry: Entry) -> None:
    finding = check(entry, pin=False, lower=False)
    assert not finding.failed, finding.line


def test_every_kind_of_set_is_gated() -> None:
    """F1 on copies; false positives on same events and on pairs that only look alike."""
    there = {(entry.set, entry.metric) for entry in read_baseline()}
    assert {("spotsigs", "f1"), ("own", "f1")} <= there
    assert {(name, "false_positive_rate") for name in ("basil-triples", "wikinews-events")} <= there
    assert {
        (name, "false_positive_rate") for name in ("tgcontest-pairs", "semeval22-task8")
    } <= there


@pytest.fixture
def entry() -> Entry:
    return next(e for e in OWN_ENTRIES if e.metric == "f1" and e.preset == "hybrid")


def test_worse_than_pinned_fails_and_is_not_pinned(entry: Entry) -> None:
    high = replace(entry, value=1.5)
    assert check(high, pin=False, lower=False).failed
    finding = check(high, pin=True, lower=False)
    assert finding.failed
    assert finding.entry.value == 1.5


def test_lowering_takes_its_own_flag(entry: Entry) -> None:
    finding = check(replace(entry, value=1.5), pin=True, lower=True)
    assert not finding.failed
    assert finding.entry.value <= 1


def test_better_is_pinned_by_one_flag(entry: Entry) -> None:
    low = replace(entry, value=0.1)
    assert check(low, pin=False, lower=False).entry.value == 0.1
    assert check(low, pin=True, lower=False).entry.value > 0.9


def test_a_ceiling_is_kept_from_above(entry: Entry) -> None:
    ceiling = next(e for e in OWN_ENTRIES if e.metric == "false_positive_rate")
    assert check(replace(ceiling, value=-1.0), pin=True, lower=False).failed
    assert check(replace(ceiling, value=1.0), pin=True, lower=False).entry.value < 1


def test_another_edition_of_a_set_is_noticed(entry: Entry) -> None:
    finding = check(replace(entry, digest="0" * 16), pin=False, lower=False)
    assert finding.failed
    assert "--pin" in finding.line


def test_a_set_that_is_absent_is_skipped_with_a_notice(entry: Entry) -> None:
    finding = check(replace(entry, set="nowhere"), pin=False, lower=False)
    assert not finding.failed
    assert "skipped" in finding.line
    assert OWN.is_dir()
