"""How long the command line takes to start, against Python itself."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from tests.bench.timing import best_seconds, headline, line

REPEATS = 5


def run() -> None:
    headline("Starting")
    floor = best_seconds(partial(_run, "-c", "pass"), repeats=REPEATS)
    line("python -c pass", f"{floor:.2f} s")
    ours = best_seconds(partial(_run, "-m", "esdedup", "--help"), repeats=REPEATS)
    line("esdedup --help", f"{ours:.2f} s", ours / floor, "bar 0.5 s")


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
