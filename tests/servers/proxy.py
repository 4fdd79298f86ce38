"""A TCP proxy that misbehaves on request, to stand between a client and a server in fault tests.

    with Proxy(server.url) as proxy:
        client = connect(proxy.url)
        proxy.delay = 2.0  # every chunk of an answer comes two seconds late
        proxy.hold()  # accept, and never answer; `release` lets it through
        proxy.close_after(100)  # each connection breaks after 100 bytes of answers
        proxy.close_after(100, "request")  # ... or before the request is through
        proxy.cut()  # break all connections now
        proxy.refuse()  # connection refused, and the open ones broken
        proxy.restore()  # all of it off again

It sees bytes only, so TLS passes through.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from types import TracebackType
from typing import Literal
from urllib.parse import urlsplit

Direction = Literal["answer", "request"]

CHUNK = 65_536


class Proxy:
    """Forwards to the host and port of a URL, from a port of its own that stays the same."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        if parts.hostname is None or parts.port is None:
            raise ValueError(f"{target!r} names no host and port")
        self._target = (parts.hostname, parts.port)
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._closed = threading.Event()
        self._through = threading.Event()
        self._through.set()
        self._limits: dict[Direction, int | None] = {"answer": None, "request": None}
        self.delay = 0.0
        self.connections = 0
        self.bytes: dict[Direction, int] = {"answer": 0, "request": 0}
        self._listener: socket.socket | None = None
        self.port = self._listen(0)
        # The host of the target is kept, so that its TLS certificate still fits.
        self.url = f"{parts.scheme}://{parts.hostname}:{self.port}"

    def _listen(self, port: int) -> int:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return int(listener.getsockname()[1])

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            if listener is not self._listener:  # came in while `refuse` was closing up
                _reset(client)
                return
            self.connections += 1
            # Connecting takes its time when the target hangs; others must not wait for it.
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._target, timeout=10)
        except OSError:
            _reset(client)
            return
        server.settimeout(None)
        pair = (client, server)
        with self._lock:
            self._pairs.add(pair)
        for side in pair:
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for direction in ("request", "answer"):
            threading.Thread(target=self._pump, args=(pair, direction), daemon=True).start()

    def _pump(self, pair: tuple[socket.socket, socket.socket], direction: Direction) -> None:
        source, sink = pair if direction == "request" else pair[::-1]
        sent = 0
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                if direction == "answer" and self.delay:
                    self._closed.wait(self.delay)
                self._through.wait()
                limit = self._limits[direction]
                part = data if limit is None else data[: max(0, limit - sent)]
                with self._lock:  # first, or who has its answer may find it uncounted
                    self.bytes[direction] += len(part)
                sink.sendall(part)
                sent += len(part)
                if len(part) < len(data):
                    break
        self._break(pair)

    def _break(self, pair: tuple[socket.socket, socket.socket]) -> None:
        with self._lock:
            known = pair in self._pairs
            self._pairs.discard(pair)
        if known:
            for side in pair:
                _reset(side)

    def cut(self) -> None:
        """Break every open connection; new ones are taken."""
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            self._break(pair)

    def refuse(self) -> None:
        """Stop listening and break what is open: the client sees `connection refused`."""
        listener, self._listener = self._listener, None
        if listener is not None:
            # Closing alone does not wake the thread that waits in `accept` on it.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.cut()

    def hold(self) -> None:
        """Take connections and requests, and let nothing through in either direction."""
        self._through.clear()

    def release(self) -> None:
        """Let through what was held, in order."""
        self._through.set()

    def close_after(self, count: int | None, direction: Direction = "answer") -> None:
        """Break each connection after so many bytes in this direction; None takes it back."""
        self._limits[direction] = count

    def restore(self) -> None:
        """Behave again. Connections broken before stay broken."""
        self.delay = 0.0
        self.close_after(None, "answer")
        self.close_after(None, "request")
        self.release()
        if self._listener is None and not self._closed.is_set():
            self._listen(self.port)

    def close(self) -> None:
        self._closed.set()
        self.refuse()
        self.release()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _reset(side: socket.socket) -> None:
    """Close with RST: an orderly end would let the client think that the answer was complete."""
    with contextlib.suppress(OSError):
        side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        side.shutdown(socket.SHUT_RD)
    side.close()
