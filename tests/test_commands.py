"""How tests start commands."""

from __future__ import annotations

import subprocess
import sys

ASKED = "import signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)"


def test_what_a_test_starts_hears_ctrl_c_also_in_a_background_job() -> None:
    """A shell lets its background jobs ignore Ctrl-C; `conftest` sets it back for all tests."""
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
