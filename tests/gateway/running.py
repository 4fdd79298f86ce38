"""A gateway in a thread of its own or by its command, and a listener that keeps what it is sent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any

from esdedup.gateway.http import Pace
from esdedup.gateway.server import Gateway, Options
from esdedup.stores.cluster.connection import Target
from tests.servers.starting import free_ports
from tests.support.waiting import PATIENCE, wait_until

QUICK = Pace(pause=1.0, grace=2.0, bytes_a_second=1_000)


@dataclass(frozen=True)
class Answered:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(kw_only=True)
class Reached:
    """A gateway that listens; by TLS where the authority of its certificate is known."""

    port: int
    authority: Path | None = None

    @property
    def url(self) -> str:
        return f"http{'s' if self.authority else ''}://127.0.0.1:{self.port}"

    def http(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        own = {k.lower(): v for k, v in (headers or {}).items()}
        if body is not None and not isinstance(body, bytes):
            body = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        if body is not None:
            own.setdefault("content-type", "application/json")
        connection = self.connection()
        try:
            connection.request(method, path, body=body, headers=own)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answered(answer.status, found, answer.read())
        finally:
            connection.close()

    def connection(self) -> HTTPConnection:
        if self.authority is None:
            return HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        trust = ssl.create_default_context(cafile=self.authority)
        return HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=trust)

    def bulk(self, path: str, *lines: Any, headers: Mapping[str, str] | None = None) -> Answered:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        own = {"content-type": "application/x-ndjson", **(headers or {})}
        return self.http("POST", path, text, own)

    def raw(self, sent: bytes, *, wait: float = PATIENCE) -> bytes:
        """Everything that comes back for these bytes, until the gateway closes or falls silent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as line:
            line.sendall(sent)
            return read_all(line)


@dataclass(kw_only=True)
class Running(Reached):
    """A gateway in this process."""

    gateway: Gateway
    loop: asyncio.AbstractEventLoop

    def settled(self, seconds: float = PATIENCE) -> None:
        """Wait until nothing is left to settle."""

        def is_settled() -> bool:
            self.gateway.sessions.wake()
            return not self.gateway.sessions.waiting

        wait_until(is_settled, seconds=seconds)


def read_all(line: socket.socket) -> bytes:
    out = b""
    with contextlib.suppress(TimeoutError, ConnectionError):
        while piece := line.recv(65_536):
            out += piece
    return out


@contextmanager
def running(url: str, **options: Any) -> Iterator[Running]:
    """A gateway in front of this cluster; `certificate` (with its key) and `authority` for TLS."""
    target = Target.parse(url, {"ES_RETRY_SECONDS": "2", **options.pop("environment", {})})
    options.setdefault("settle_seconds", 0.2)
    loop: asyncio.AbstractEventLoop = options.pop("new_loop", asyncio.new_event_loop)()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    certificate: Path | None = options.pop("certificate", None)
    authority: Path | None = options.pop("authority", None)
    tls: ssl.SSLContext | None = None
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
    gateway = Gateway(Options(target=target, **options))
    starting = asyncio.run_coroutine_threadsafe(gateway.start("127.0.0.1", 0, tls), loop)
    port = starting.result(PATIENCE)
    try:
        yield Running(port=port, gateway=gateway, loop=loop, authority=authority)
    finally:
        asyncio.run_coroutine_threadsafe(gateway.close(20.0), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        loop.close()


@dataclass(kw_only=True)
class Commanded(Reached):
    """A gateway as people start it; what it told and how it ended are known behind the block."""

    process: subprocess.Popen[str]
    told: str = ""

    def settled(self, seconds: float = PATIENCE) -> None:
        """Wait until nothing is left to settle."""

        def is_settled() -> bool:
            return not self.http("GET", "/_esdedup/status").json()["waiting"]

        wait_until(is_settled, seconds=seconds)


@contextmanager
def commanded(*arguments: str, authority: Path | None = None) -> Iterator[Commanded]:
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "esdedup", "gateway", "--listen", f"127.0.0.1:{port}"]
    process = subprocess.Popen([*command, *arguments], stderr=subprocess.PIPE, text=True)
    made = Commanded(port=port, authority=authority, process=process)
    try:
        _wait_until_it_listens(made)
        yield made
    finally:
        process.send_signal(signal.SIGTERM)
        _, made.told = process.communicate(timeout=PATIENCE)


def _wait_until_it_listens(made: Commanded) -> None:
    def listens() -> bool:
        assert made.process.poll() is None, made.process.communicate()[1]
        try:
            made.http("GET", "/_esdedup/status")
        except ConnectionError:
            return False
        return True

    wait_until(listens)


@dataclass
class Listener:
    """Takes connections, keeps what they send, and answers each request head alike."""

    answer: bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    closes: bool = False  # the connection behind an answer
    received: list[bytes] = field(default_factory=list)
    connections: int = 0
    _socket: socket.socket = field(default_factory=socket.socket)

    def __enter__(self) -> Listener:
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._socket.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    @property
    def everything(self) -> bytes:
        return b"".join(self.received)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                line, _ = self._socket.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        seen = b""
        with line, contextlib.suppress(OSError):
            while piece := line.recv(65_536):
                self.received.append(piece)
                seen += piece
                while b"\r\n\r\n" in seen:
                    seen = seen.partition(b"\r\n\r\n")[2]
                    line.sendall(self.answer)
                    if self.closes:
                        return


# --- requests and answers as bytes ---------------------------------------------------------------

POST, HOST = "POST /other/x HTTP/1.1", "Host: a"


def request(first: str, *headers: str, body: bytes = b"") -> bytes:
    lines = "".join(f"{line}\r\n" for line in (first, *headers))
    return f"{lines}\r\n".encode("latin-1") + body


def status(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    assert found, answer
    return int(found[1])
