"""All benchmarks, or the ones named: `python -m tests.bench signing indexing`."""

from __future__ import annotations

import sys
from importlib import import_module

NAMES = (
    *("starting", "signing", "methods", "indexing"),
    *("cluster", "searching", "stories", "gateway", "growth"),
)

if __name__ == "__main__":
    for name in sys.argv[1:] or NAMES:
        import_module(f"tests.bench.{name}").run()
