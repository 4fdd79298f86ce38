"""How tests start commands."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ASKED = "import signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)"


def test_what_a_test_starts_hears_ctrl_c() -> None:
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_also_in_a_background_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell lets its background jobs ignore Ctrl-C; `conftest` sets it back for all tests."""
    name = f"{Path(__file__).name}::{test_what_a_test_starts_hears_ctrl_c.__name__}"
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/cli/{name}"],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert "1 passed" in done.stdout, done.stdout
