"""The gateway against going straight to the cluster: one run, taken in turns.

`python -m tests.bench gateway`; ESDEDUP_BENCH_PRODUCTS=opensearch takes one product only,
ESDEDUP_BENCH_DOCUMENTS the number of articles of a round (6,000). Every round has articles of its
own, the same ones for all ways of writing them: written twice, each would be a copy.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.bench.articles import Newsroom
from tests.bench.timing import headline, line, processor_seconds, products_wanted
from tests.servers import Product, start
from tests.servers.starting import free_ports

DOCUMENTS = int(os.environ.get("ESDEDUP_BENCH_DOCUMENTS", "6000"))
REQUESTS = 600
CLIENTS = 4
REQUESTS_AT_ONCE = 2_000  # of all clients, in a round
BATCH = 500
ROUNDS = 5
# Rounds of all ways before those that count: a server compiles its code while it runs.
WARMING = 5
WORKERS = 2


def run() -> None:
    for product in products_wanted():
        with (
            start(product, heap="2g", as_installed=True) as server,
            gateway(f"{product}+{server.url}", "through") as (port, pid),
        ):
            direct = server.port
            _enriched(product, direct, port, {"cluster": server.pids, "gateway": [pid]})
            with relay(direct) as copied:
                _passed(product, direct, port, copied)


@contextlib.contextmanager
def gateway(upstream: str, pattern: str) -> Iterator[tuple[int, int]]:
    """A process of its own, as it is run: its port, and its id."""
    (port,) = free_ports(1)
    listen = f"127.0.0.1:{port}"
    with _process(
        "esdedup",
        *("gateway", "--upstream", upstream, "--index", pattern),
        *("--listen", listen, "--workers", str(WORKERS)),
    ) as pid:
        _wait_for(port)
        yield port, pid


@contextlib.contextmanager
def relay(upstream: int) -> Iterator[int]:
    """What the gateway is measured against: see `relay`."""
    (port,) = free_ports(1)
    with _process("tests.bench.relay", str(upstream), str(port)):
        _wait_for(port)
        yield port


@contextlib.contextmanager
def _process(*arguments: str) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-m", *arguments])
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _wait_for(port: int) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on {port}")


# --- passing through ------------------------------------------------------------------------------


def _passed(product: Product, direct: int, through: int, copied: int) -> None:
    headline(f"{product}: pass-through, searches and gets of a plain index")
    index = "plain"
    searches = [
        ("POST", f"/{index}/_search", {"query": {"match": {"text": word}}, "size": 10})
        for word in _some_words(50)
    ]
    hits = [len(json.loads(_once(direct, *search))["hits"]["hits"]) for search in searches]
    gets = [("GET", f"/{index}/_doc/{_prefix(0)}{n}", None) for n in range(50)]
    for what, requests in (
        (f"search, {statistics.median(hits):.0f} hits", searches),
        ("get by id", gets),
    ):
        plain, ours = _in_turns(direct, through, requests)
        line(f"{what}, straight", f"{plain * 1e3:.2f} ms p50")
        line(f"{what}, through", f"{ours * 1e3:.2f} ms p50", ours / plain, "bar 1.2")
        plain, theirs = _in_turns(direct, copied, requests)
        line(f"{what}, bytes copied only", f"{theirs * 1e3:.2f} ms p50", theirs / plain)
    ratios = []
    for number in range(ROUNDS):
        rates = {
            port: _throughput(port, searches)
            for port in ((direct, through) if number % 2 else (through, direct))
        }
        ratios.append(rates[through] / rates[direct])
        line(f"searches by {CLIENTS} clients, straight", f"{rates[direct]:,.0f} /s")
        line(f"searches by {CLIENTS} clients, through", f"{rates[through]:,.0f} /s", ratios[-1])
    line(f"searches by {CLIENTS} clients, median", "", statistics.median(ratios), "bar 0.8")


def _in_turns(
    direct: int, through: int, requests: Sequence[tuple[str, str, Any]]
) -> tuple[float, float]:
    """The medians of both ways, in seconds."""
    times: dict[int, list[float]] = {direct: [], through: []}
    connections = {port: _connect(port) for port in times}
    for number in range(REQUESTS + 50):
        for port in (direct, through) if number % 2 else (through, direct):
            begin = time.perf_counter()
            _exchange(connections[port], *requests[number % len(requests)])
            if number >= 50:
                times[port].append(time.perf_counter() - begin)
    for connection in connections.values():
        connection.close()
    return statistics.median(times[direct]), statistics.median(times[through])


def _throughput(port: int, requests: Sequence[tuple[str, str, Any]]) -> float:
    def work(part: int) -> None:
        connection = _connect(port)
        for number in range(REQUESTS_AT_ONCE // CLIENTS):
            _exchange(connection, *requests[(number + part) % len(requests)])
        connection.close()

    begin = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(work, range(CLIENTS)))
    return REQUESTS_AT_ONCE / (time.perf_counter() - begin)


# --- enriching ------------------------------------------------------------------------------------


def _enriched(
    product: Product, direct: int, through: int, processes: Mapping[str, Sequence[int]]
) -> None:
    headline(
        f"{product}: bulks of {BATCH} articles of 400 words, {DOCUMENTS:,} in a round, "
        f"{WORKERS} workers"
    )
    mapping = {"mappings": {"properties": {"title": {"type": "text"}, "text": {"type": "text"}}}}
    # One index for all rounds: with one for each, detection would search more of them every round.
    for name in ("plain", "passed", "through"):
        _send(direct, "PUT", f"/{name}", mapping)
    ratios: dict[str, list[float]] = {"passed": [], "enriched": [], "settled": []}
    used: list[Mapping[str, float]] = []
    for number in range(WARMING + ROUNDS):
        if number == WARMING:
            line("-- the server is warm --", "")
        bodies = _bodies(number, DOCUMENTS)
        _wait_for_merges(direct)
        before = _processor_times(processes)
        plain = _bulks(direct, "plain", bodies)
        after_plain = _processor_times(processes)
        line("plain bulk, straight, one client", f"{plain:,.0f} articles/s")
        _wait_for_merges(direct)
        passed = _bulks(through, "passed", bodies)
        line("the same, through, not enriched", f"{passed:,.0f} articles/s", passed / plain)
        _wait_for_merges(direct)
        at_first = _processor_times(processes)
        ours = _bulks(through, "through", bodies)
        at_last = _processor_times(processes)
        line("enriched, until the last answer", f"{ours:,.0f} articles/s", ours / plain)
        begin = time.perf_counter()
        _settled(through)
        rest = time.perf_counter() - begin
        whole = DOCUMENTS / (DOCUMENTS / ours + rest)
        line("enriched, until all is settled", f"{whole:,.0f} articles/s", whole / plain)
        for kind, rate in (("passed", passed), ("enriched", ours), ("settled", whole)):
            ratios[kind].append(rate / plain)
        used.append(
            {
                "plain bulk: cluster": after_plain["cluster"] - before["cluster"],
                **{f"enriched: {who}": at_last[who] - at_first[who] for who in processes},
            }
        )
    for kind, what, bar in (
        ("passed", "not enriched, median", "bar 0.8"),
        ("enriched", "enriched, until the last answer, median", "bar 0.5"),
        ("settled", "enriched, until all is settled, median", ""),
    ):
        line(what, "", statistics.median(ratios[kind][WARMING:]), bar)
    for what in used[0]:
        seconds = statistics.median(one[what] for one in used[WARMING:])
        line(f"processor time, {what}", f"{seconds / DOCUMENTS * 1e3:.2f} ms/article")


def _bodies(number: int, count: int) -> list[bytes]:
    """Bulks of the articles of a round."""
    documents = [d.to_json() for d in _newsroom(number).articles(count, prefix=_prefix(number))]
    bodies = []
    for start_ in range(0, len(documents), BATCH):
        lines = []
        for document in documents[start_ : start_ + BATCH]:
            own = {k: v for k, v in document.items() if k != "id"}
            lines += [json.dumps({"create": {"_id": document["id"]}}), json.dumps(own)]
        bodies.append(("\n".join(lines) + "\n").encode())
    return bodies


def _newsroom(number: int) -> Newsroom:
    return Newsroom(seed=1 + number)


def _prefix(number: int) -> str:
    return f"round{number}-"


def _settled(port: int) -> None:
    while _send(port, "GET", "/_esdedup/status")["waiting"]:
        time.sleep(0.02)


def _processor_times(processes: Mapping[str, Sequence[int]]) -> dict[str, float]:
    return {who: processor_seconds(pids) for who, pids in processes.items()}


def _wait_for_merges(port: int) -> None:
    """Those of one way would slow the next."""
    while _send(port, "GET", "/_stats/merge")["_all"]["total"]["merges"]["current"]:
        time.sleep(0.02)


def _bulks(port: int, index: str, bodies: Sequence[bytes]) -> float:
    connection = _connect(port)
    begin = time.perf_counter()
    for body in bodies:
        answer = _ask(connection, "POST", f"/{index}/_bulk", body)
        assert not answer["errors"]
    _ask(connection, "POST", f"/{index}/_refresh", None)
    spent = time.perf_counter() - begin
    connection.close()
    return BATCH * len(bodies) / spent


# --- requests -------------------------------------------------------------------------------------


def _some_words(count: int) -> list[str]:
    """Of the articles that are searched."""
    words: list[str] = []
    for document in _newsroom(0).articles(5):
        words += [w for w in document.text.split() if len(w) > 5 and w.isalpha()][: count // 5]
    return words


def _connect(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=120)


def _ask(connection: http.client.HTTPConnection, method: str, path: str, body: Any) -> Any:
    return json.loads(_exchange(connection, method, path, body))


def _exchange(connection: http.client.HTTPConnection, method: str, path: str, body: Any) -> bytes:
    """Nothing is read out of the answer: the client is to be no bottleneck of its own."""
    headers = {}
    if isinstance(body, bytes):
        headers["content-type"] = "application/x-ndjson"
    elif body is not None:
        body, headers["content-type"] = json.dumps(body), "application/json"
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    data = answer.read()
    assert answer.status < 300, data[:300]
    return data


def _once(port: int, method: str, path: str, body: Any) -> bytes:
    connection = _connect(port)
    try:
        return _exchange(connection, method, path, body)
    finally:
        connection.close()


def _send(port: int, method: str, path: str, body: Any = None) -> Any:
    return json.loads(_once(port, method, path, body))


if __name__ == "__main__":
    run()
