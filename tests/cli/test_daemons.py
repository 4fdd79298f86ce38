"""What a command that goes on for ever does while its store is away."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest
import typer

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
        assert not patience.attempt(fails_with, StoreUnavailable("away"))
        clock[0] += 1.0
    assert capsys.readouterr().err == "esdedup: waiting: away\n" * 3


def test_another_reason_is_told_at_once(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    patience = daemons.Patience()
    for error in (StoreUnavailable("away"), StoreMissing("gone"), StoreUnavailable("away")):
        patience.attempt(fails_with, error)
    assert capsys.readouterr().err.splitlines() == [
        "esdedup: waiting: away", "esdedup: waiting: gone", "esdedup: waiting: away"
    ]  # fmt: skip


def test_a_store_that_came_back_and_went_again_is_told_of(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    patience = daemons.Patience()
    patience.attempt(fails_with, StoreUnavailable("away"))
    assert patience.attempt(lambda: None)
    patience.attempt(fails_with, StoreUnavailable("away"))
    assert capsys.readouterr().err == "esdedup: waiting: away\n" * 2


def test_other_errors_end_the_daemon() -> None:
    with pytest.raises(StoreError, match="damaged"):
        daemons.Patience().attempt(fails_with, StoreError("damaged"))


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_look_between_two_batches_and_a_second_one_at_once(
    kind: signal.Signals,
) -> None:
    before, heard = signal.getsignal(kind), []

    def look(stopped: Callable[[], bool]) -> None:
        signal.raise_signal(kind)
        heard.append(stopped())
        if len(heard) == 2:
            signal.raise_signal(kind)
            raise AssertionError("the second signal ends it")

    with pytest.raises(typer.Exit) as ended:
        daemons.repeat_until_stopped(look, every=None)
    assert (ended.value.exit_code, heard) == (130, [True])
    with pytest.raises(KeyboardInterrupt):
        daemons.repeat_until_stopped(look, every=0.0)
    assert signal.getsignal(kind) == before
