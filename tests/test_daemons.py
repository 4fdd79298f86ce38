"""What a command that goes on for ever does while its store is away."""

from __future__ import annotations

import pytest

from esdedup.cli import daemons
from esdedup.errors import StoreError, StoreMissing, StoreUnavailable


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_000.0]
    monkeypatch.setattr("esdedup.cli.daemons.time.monotonic", lambda: now[0])
    return now


def fails_with(error: Exception) -> None:
    raise error


def test_the_same_reason_is_told_once_a_minute(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    patience = daemons.Patience()
    for _ in range(130):
        assert not patience.done(fails_with, StoreUnavailable("away"))
        clock[0] += 1.0
    assert capsys.readouterr().err == "esdedup: waiting: away\n" * 3


def test_another_reason_is_told_at_once(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    patience = daemons.Patience()
    for error in (StoreUnavailable("away"), StoreMissing("gone"), StoreUnavailable("away")):
        patience.done(fails_with, error)
    assert capsys.readouterr().err.splitlines() == [
        "esdedup: waiting: away", "esdedup: waiting: gone", "esdedup: waiting: away"
    ]  # fmt: skip


def test_a_store_that_came_back_and_went_again_is_told_of(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    patience = daemons.Patience()
    patience.done(fails_with, StoreUnavailable("away"))
    assert patience.done(lambda: None)
    patience.done(fails_with, StoreUnavailable("away"))
    assert capsys.readouterr().err == "esdedup: waiting: away\n" * 2


def test_other_errors_end_the_daemon() -> None:
    with pytest.raises(StoreError, match="damaged"):
        daemons.Patience().done(fails_with, StoreError("damaged"))
