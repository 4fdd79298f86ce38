"""Running it: uvicorn with an end to slow headers, and a stop that finishes the batch in hand."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import socket
from types import FrameType
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from esdedup.errors import SettingsError
from esdedup.service.limits import SECURITY_HEADERS
from esdedup.service.logs import log
from esdedup.service.problems import Problem, make_response
from esdedup.service.state import Service

_log = logging.getLogger("esdedup.service")
# A request line and its headers are a few hundred bytes.
_HEADER_SECONDS = 15.0
_HEADER_BYTES = 65_536
_BACKLOG = 256


class _Protocol(H11Protocol):
    """A connection that does not get its headers across in time is closed."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as there
        super().connection_made(transport)
        self._arm()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._arm()
        elif self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP never reaches the application, and is answered as it would answer."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):  # else an answer is under way
            id_ = secrets.token_hex(8)
            answer = make_response(Problem(400, "bad-http", "this is no HTTP request"), id_)
            answer.headers.update({**SECURITY_HEADERS, "X-Request-Id": id_, "Connection": "close"})
            head = h11.Response(status_code=400, headers=answer.raw_headers, reason=b"Bad Request")
            for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _arm(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(_HEADER_SECONDS, self._give_up)

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


class Server(uvicorn.Server):
    """Signals reach the service at once, so that streams end with the batch in hand."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        service.connections = self.server_state.connections

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._service.stop()
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise SettingsError(
            f"cannot listen at {host}, port {port} ({error.strerror or error}); choose others "
            "with --host and --port"
        ) from error


def run(app: FastAPI, listener: socket.socket, *, grace: float) -> None:
    """Serve until a signal stops it."""
    host, port = listener.getsockname()[:2]
    log(_log, "listening", host=host, port=port)
    make_server(app, grace=grace).run([listener])
    log(_log, "stopped")


def make_server(app: FastAPI, *, grace: float = 60.0) -> Server:
    options: dict[str, Any] = {
        "http": _Protocol,
        "ws": "none",
        "lifespan": "on",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": 15,
        "timeout_graceful_shutdown": round(grace),
        "h11_max_incomplete_event_size": _HEADER_BYTES,
    }
    config = uvicorn.Config(app, **options)
    return Server(config, app.state.service)
