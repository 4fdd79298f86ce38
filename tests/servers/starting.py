"""Start one node or a cluster: ports, settings, and waiting until it answers."""

from __future__ import annotations

import contextlib
import random
import socket
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, overload

from . import security as secure
from .distribution import (
    DEFAULT_VERSIONS,
    Product,
    ServerError,
    find_java,
    unpacked,
)
from .server import HOST, START_SECONDS, Answer, Server, Status, close_all, started

# Below the ports that systems hand out to outgoing connections (32768 and up on Linux), so that
# none of those sits on a server's port while it restarts.
PORTS = range(20_000, 32_000)


class Cluster:
    """Several nodes that found each other. What asks the cluster asks its first living node."""

    def __init__(self, nodes: Sequence[Server]) -> None:
        self.nodes = list(nodes)
        self.product: Product = nodes[0].product
        self.version = nodes[0].version

    @property
    def first(self) -> Server:
        """The first node that is alive."""
        for node in self.nodes:
            if node.alive:
                return node
        raise ServerError("no node of the cluster is alive")

    @property
    def url(self) -> str:
        return self.first.url

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    @property
    def pids(self) -> list[int]:
        return [pid for node in self.nodes for pid in node.pids]

    def http(self, method: str, path: str, body: object = None) -> Answer:
        """One request to the first living node."""
        return self.first.http(method, path, body)

    def wait_for(
        self, status: Status = "yellow", nodes: int | None = None, timeout: float = START_SECONDS
    ) -> None:
        """Wait until the cluster has this status or better, and exactly this many nodes."""
        self.first.wait_for(status, nodes, timeout)

    def elected(self) -> Server:
        """The node that is master (Elasticsearch) or cluster manager (OpenSearch)."""
        state = self.http("GET", "/_cluster/state/master_node,nodes").json()
        name = state["nodes"][state["master_node"]]["name"]
        return next(node for node in self.nodes if node.name == name)

    def stop(self) -> None:
        for node in self.nodes:
            node.terminate()
        for node in self.nodes:
            node.stop()

    def close(self) -> None:
        close_all(self.nodes)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@overload
def start(
    product: Product,
    *,
    version: str | None = ...,
    nodes: Literal[1] = ...,
    heap: str = ...,
    as_installed: bool = ...,
    settings: Mapping[str, object] | None = ...,
    security: bool = ...,
    tls: bool = ...,
    users: Mapping[str, secure.User] | None = ...,
    roles: Mapping[str, Mapping[str, Any]] | None = ...,
    timeout: float = ...,
) -> Server: ...


@overload
def start(
    product: Product,
    *,
    version: str | None = ...,
    nodes: Literal[2, 3, 4, 5],
    heap: str = ...,
    as_installed: bool = ...,
    settings: Mapping[str, object] | None = ...,
    security: bool = ...,
    tls: bool = ...,
    users: Mapping[str, secure.User] | None = ...,
    roles: Mapping[str, Mapping[str, Any]] | None = ...,
    timeout: float = ...,
) -> Cluster: ...


@overload
def start(
    product: Product,
    *,
    version: str | None = ...,
    nodes: int,
    heap: str = ...,
    as_installed: bool = ...,
    settings: Mapping[str, object] | None = ...,
    security: bool = ...,
    tls: bool = ...,
    users: Mapping[str, secure.User] | None = ...,
    roles: Mapping[str, Mapping[str, Any]] | None = ...,
    timeout: float = ...,
) -> Server | Cluster: ...


def start(
    product: Product,
    *,
    version: str | None = None,
    nodes: int = 1,
    heap: str = "512m",
    as_installed: bool = False,
    settings: Mapping[str, object] | None = None,
    security: bool = False,
    tls: bool = False,
    users: Mapping[str, secure.User] | None = None,
    roles: Mapping[str, Mapping[str, Any]] | None = None,
    timeout: float = START_SECONDS,
) -> Server | Cluster:
    """Start one node, or several as a cluster, and wait until it answers; use it in a `with`.

    `settings` are the server's own (`-E`) and win over ours; booleans become true and false.
    With `as_installed`, for figures, it runs as in an installation; without, it is quick for tests:
    it boots in half the time, and its data lies in memory where there is room.
    With `security` the superuser is `elastic` with `security.PASSWORD`; `users` and `roles` go
    into the file realm. `tls` serves HTTP under a CA made for this server, its file in `ca`.
    """
    if security and product != "elasticsearch":
        raise ValueError("the OpenSearch zip has no security plugin; use Elasticsearch")
    if (tls or users or roles) and not security:
        raise ValueError("tls, users and roles need security=True")
    version = version or DEFAULT_VERSIONS[product]
    java = find_java(product, version)
    home = unpacked(product, version, java)
    for attempt in range(3):
        ports = free_ports(2 * nodes)
        common = _common_settings(product, ports[1::2], security)
        common |= {key: _as_text(value) for key, value in (settings or {}).items()}
        servers: list[Server] = []
        try:
            for number in range(nodes):
                server = Server(
                    product,
                    version,
                    home=home,
                    java=java,
                    name=f"n{number}",
                    heap=heap,
                    as_installed=as_installed,
                    settings=common,
                    ports=(ports[2 * number], ports[2 * number + 1]),
                    security=security,
                    tls=tls,
                    users=users,
                    roles=roles,
                )
                servers.append(server)
                started.add(server)
            for server in servers:
                server.spawn()
            deadline = time.monotonic() + timeout
            for server in servers:
                server.wait_for("green", nodes, max(1.0, deadline - time.monotonic()))
            return servers[0] if nodes == 1 else Cluster(servers)
        except BaseException as error:
            # Somebody may have taken a port between our look and the server's bind.
            taken = any("Address already in use" in server.log_tail(1000) for server in servers)
            close_all(servers)
            if not (taken and isinstance(error, ServerError)) or attempt == 2:
                raise
    raise AssertionError("unreachable")


def _common_settings(
    product: Product, transport_ports: Sequence[int], security: bool
) -> dict[str, str]:
    settings = {
        "cluster.name": f"esdedup-{transport_ports[0]}",
        # A nearly full disk must not turn indices read-only in the middle of a test.
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    if product == "elasticsearch":
        settings["xpack.security.enabled"] = _as_text(security)
    if len(transport_ports) == 1:
        settings["discovery.type"] = "single-node"
        return settings
    settings["discovery.seed_hosts"] = ",".join(f"{HOST}:{port}" for port in transport_ports)
    names = ",".join(f"n{number}" for number in range(len(transport_ports)))
    role = "master" if product == "elasticsearch" else "cluster_manager"
    settings[f"cluster.initial_{role}_nodes"] = names
    return settings


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def free_ports(count: int) -> list[int]:
    """Distinct ports on which nobody listens now."""
    found: list[int] = []
    with contextlib.ExitStack() as stack:
        # The system's generator: tests seed the global one, and parallel runs would agree.
        for port in random.SystemRandom().sample(PORTS, len(PORTS)):
            probe = stack.enter_context(socket.socket())
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            found.append(port)
            if len(found) == count:
                return found
    raise ServerError(f"no {count} free ports in {PORTS}")
