"""A real service on a real port, in a thread of the test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from esdedup.service.app import make_app
from esdedup.service.config import ServiceConfig
from esdedup.service.server import Server, make_server
from tests.support.articles import BRIDGE, FERRY
from tests.support.waiting import PATIENCE, wait_until


@dataclass(frozen=True)
class Running:
    """A service that answers; `client` talks to it."""

    app: FastAPI
    server: Server
    client: httpx.Client
    port: int

    def post(self, path: str, body: Any, **more: Any) -> httpx.Response:
        return self.client.post(path, json=body, **more)

    def bulk(self, lines: str | bytes) -> httpx.Response:
        return self.client.post(
            "/v1/articles/bulk", content=lines, headers={"Content-Type": "application/x-ndjson"}
        )

    def connected(self) -> socket.socket:
        """A bare connection, for what no client would send."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)


@contextmanager
def running(config: ServiceConfig, key: str | None = None) -> Iterator[Running]:
    app = make_app(config)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = make_server(app, grace=20)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive())
    assert server.started
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    base = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=base, headers=headers, timeout=PATIENCE) as client:
        try:
            yield Running(app, server, client, port)
        finally:
            app.state.service.stop()
            server.should_exit = True
            thread.join(PATIENCE)
    assert not thread.is_alive()


Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts services on one store, with what a test wants different."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def begin(*, key: str | None = None, **options: Any) -> Running:
            options.setdefault("store", str(tmp_path / "news.db"))
            options.setdefault("workers", 1)
            options.setdefault("readers", 2)
            return stack.enter_context(running(ServiceConfig(**options), key))

        yield begin


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One for tests that only look, with a story of three articles and one by itself in it."""
    folder = tmp_path_factory.mktemp("service")
    with running(ServiceConfig(store=str(folder / "news.db"), workers=1, readers=2)) as made:
        for article in (
            {"id": "a", "text": FERRY, "title": "Ferry fire", "source": "Wire"},
            {"id": "b", "text": FERRY + " More soon.", "title": "Ferry fire", "source": "Daily"},
            {"id": "c", "text": FERRY.replace("12", "17"), "title": "Fire", "source": "Wire"},
            {"id": "d", "text": BRIDGE, "title": "Bridge closed", "source": "Daily"},
        ):
            made.post("/v1/articles", article).raise_for_status()
        yield made
