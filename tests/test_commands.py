"""How tests start commands."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.commands import restore_interrupt

ASKED = "import signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)"


@pytest.fixture
def _ignoring_interrupts() -> Iterator[None]:
    """As in a job that a shell has put into the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


def ignores_interrupts() -> bool:
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True)
    return done.stdout.strip() == "True"


@pytest.mark.usefixtures("_ignoring_interrupts")
def test_commands_of_a_background_job_end_on_ctrl_c() -> None:
    assert ignores_interrupts()
    with restore_interrupt():
        assert not ignores_interrupts()
    assert ignores_interrupts()
