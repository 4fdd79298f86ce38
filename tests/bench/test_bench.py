"""Every benchmark runs to its end, with sizes so small that its figures mean nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import pytest

from tests.bench.__main__ import NAMES
from tests.servers import Server

# Of each benchmark its sizes, and the last line that it prints.
TINY: dict[str, tuple[dict[str, Any], str]] = {
    "starting": ({"REPEATS": 1}, "esdedup --help"),
    "signing": ({"COUNT": 8, "ROUNDS": 1}, "gaoya, 128 minima, 4-word shingles"),
    "methods": (
        {"COUNT": 8, "ROUNDS": 1, "LENGTHS": (100, 200, 400), "NEWS": {}},
        "winnowing",
    ),
    "indexing": (
        {"COUNT": 40, "PEER_COUNT": 8, "REPEATS": 1, "PROBES": 5}
        | {"LOOKUP_REPEATS": 1, "FEW": 20, "MANY": 40},
        "all ratios",
    ),
    "searching": (
        {"DOCUMENTS": 300, "QUERIES": 2, "ROUNDS": 1, "LIST": 20},
        "folded, with the total, for the first time",
    ),
    "stories": (
        {"ARTICLES": 60, "BATCH": 20, "ON_CLUSTER": 30, "ASKED_BEFORE": 2, "ASKED": 4}
        | {"CROWD": 50, "ALIGNED": 200},
        "answers",
    ),
    "cluster": (
        {"DOCUMENTS": 60, "INDEXED": 40, "ROUNDS": 1, "WARMING": 0, "PROBES": 6, "TOGETHER": 3}
        | {"WORDS": 60, "FEW": 30, "ASKED": 10, "SIZED": 30},
        "the same asked for together",
    ),
    "gateway": (
        {"DOCUMENTS": 60, "BATCH": 30, "ROUNDS": 1, "WARMING": 1}
        | {"REQUESTS": 4, "REQUESTS_AT_ONCE": 8},
        "searches by 4 clients, median",
    ),
    "growth": (
        {"SIZES": (2_000, 3_000), "ROUNDS": 1, "PROBES": 2, "COPIES": 20, "MOVES": 1},
        "3,000 articles",
    ),
}
ON_SERVERS = ("searching", "stories", "cluster", "gateway", "growth")
# All that these benchmarks leave behind on a server.
_INDICES = "portal,news,crowd,methods,min-hash,plain,passed,through,grown2000,grown3000"


@pytest.fixture
def run_tiny(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], None]:
    def run(name: str) -> None:
        module = import_module(f"tests.bench.{name}")
        sizes, last = TINY[name]
        for constant, value in sizes.items():
            monkeypatch.setattr(module, constant, value)
        module.run()
        assert last in capsys.readouterr().out.splitlines()[-1]

    return run


def test_no_benchmark_is_forgotten() -> None:
    assert set(TINY) == set(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ON_SERVERS])
def test_a_benchmark_runs_to_its_end(
    name: str, run_tiny: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr("tests.bench.signing.COPIES", tmp_path / "no such set")
    run_tiny(name)


@pytest.mark.servers
@pytest.mark.parametrize("name", ON_SERVERS)
def test_a_benchmark_on_a_server_runs_to_its_end(
    name: str, server: Server, run_tiny: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"tests.bench.{name}"
    monkeypatch.setattr(f"{module}.start", lambda *_, **__: nullcontext(server))
    monkeypatch.setattr(f"{module}.products_wanted", lambda: [server.product])
    try:
        run_tiny(name)
    finally:
        server.http("DELETE", f"/{_INDICES}?ignore_unavailable=true")
