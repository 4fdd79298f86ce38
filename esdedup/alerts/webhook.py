"""A webhook: one POST for each notification, to one address.

No redirect is followed and no proxy is used: nothing is sent to any other address.
"""

from __future__ import annotations

import base64
import json
import queue
import random
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from esdedup.alerts.sinks import Delivery, append_lines, read_lines
from esdedup.errors import InputError
from esdedup.model import JSON

# Seconds between two tries, doubled after each.
_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 15.0
_ANSWER_SECONDS = 10.0
# Status codes worth another try; other refusals are about the message itself.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class WebhookLimits:
    """How long a webhook waits, in seconds."""

    waiting: int = 10_000  # notifications in the queue
    longest_wait: float = 30.0  # of a batch for room in the queue
    give_up: float = 60.0  # after so long without success the address is given up for this run
    # `close` waits so long for an address that takes notifications, and for one that fails.
    longest_end: float = 120.0
    longest_end_failing: float = 5.0


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a webhook. Credentials in it become a header and are never shown."""

    url: str = field(repr=False)
    authorization: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, text: str) -> Address:
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
            (host or "").encode("idna")
        except ValueError:  # its text may hold a part of a password
            raise InputError(
                "--notify: the address names no host and port; write http://HOST:PORT/PATH, and / "
                "as %2F in a user or a password"
            ) from None
        if not re.fullmatch("[!-~]+", text):
            raise InputError(
                "--notify: the address has a blank, a control character or a letter beyond ASCII; "
                "write it as %20 and the like"
            )
        if parts.scheme not in ("http", "https") or not host:
            raise InputError(
                f"--notify takes a file, - or an http(s) address, not one of {parts.scheme!r}"
            )
        authorization = None
        if parts.username is not None:
            pair = f"{parts.username}:{parts.password or ''}".encode()
            authorization = f"Basic {base64.b64encode(pair).decode()}"
        place = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
        bare = urlunsplit((parts.scheme, place, parts.path or "/", parts.query, ""))
        return cls(bare, authorization)

    @property
    def origin(self) -> str:
        """The host alone: the path and the query of a webhook may be all of its secret."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


class DeliveryFailed(Exception):
    """A POST that did not succeed; a `passing` failure is worth another try."""

    def __init__(self, reason: str, *, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


class Webhook:
    """Delivers in a thread of its own, so that indexing goes on meanwhile.

    A full queue slows indexing for a while, and then no longer. Notifications that find no room in
    it, or that the address does not take, go to the file of undelivered notifications.
    """

    def __init__(
        self,
        address: Address,
        undelivered: Path,
        *,
        post: Callable[[Address, JSON], None] | None = None,
        limits: WebhookLimits = WebhookLimits(),
    ) -> None:
        self._address = address
        self._file = undelivered
        self._post = post or _post
        self._limits = limits
        self._waiting: queue.Queue[JSON | None] = queue.Queue(limits.waiting)
        self._delivery = Delivery(file=str(undelivered))
        self._lock = threading.Lock()
        self._is_given_up = False
        self._was_full = False
        self._closing = threading.Event()
        self._end_failing = float("inf")  # when a closing webhook gives up on a failing address
        self._sending = undelivered.with_name(undelivered.name + ".sending")
        self._thread = threading.Thread(target=self._work, name="esdedup-notify", daemon=True)
        self._thread.start()
        self._send_undelivered()

    def write(self, lines: Sequence[JSON]) -> None:
        deadline = time.monotonic() + (self._limits.longest_wait if self._is_patient() else 0.0)
        left = [line for line in lines if not self._put(line, deadline)]
        if left:
            self._store_undelivered(left)

    def close(self) -> Delivery:
        """Wait for what is left: two minutes at most, and a few seconds while the address fails."""
        self._end_failing = time.monotonic() + self._limits.longest_end_failing
        self._closing.set()
        threading.Thread(target=self._waiting.put, args=(None,), daemon=True).start()
        self._thread.join(self._limits.longest_end)
        self._is_given_up = True
        self._thread.join()
        self._sending.unlink(missing_ok=True)
        return self._delivery

    def _is_patient(self) -> bool:
        """Whether to wait for room: not after a wait in vain, until half of the queue is empty."""
        if self._waiting.qsize() <= self._waiting.maxsize // 2:
            self._was_full = False
        return not self._was_full

    def _put(self, line: JSON, deadline: float) -> bool:
        if self._is_given_up:
            return False
        try:
            self._waiting.put(line, timeout=max(0.001, deadline - time.monotonic()))
        except queue.Full:
            self._was_full = True
            self._delivery.reason = "it takes them too slowly"
            return False
        return True

    def _work(self) -> None:
        while (line := self._waiting.get()) is not None:
            if self._is_given_up or not self._deliver(line):
                self._store_undelivered([line])

    def _deliver(self, line: JSON) -> bool:
        """Try until it is taken, refused for good, or the address is given up."""
        deadline, pause = time.monotonic() + self._limits.give_up, _FIRST_PAUSE
        while True:
            try:
                self._post(self._address, line)
            except DeliveryFailed as failure:
                self._delivery.reason = str(failure)
                if not failure.passing:
                    self._delivery.refused += 1
                    return False
                if time.monotonic() + pause > min(deadline, self._end_failing):
                    self._is_given_up = True
                    return False
                self._sleep(pause * (0.5 + random.random() / 2))
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self._delivery.delivered += 1
                return True

    def _sleep(self, seconds: float) -> None:
        """Pause; a pause that began before `close` ends with it."""
        if self._closing.is_set():
            time.sleep(seconds)
        else:
            self._closing.wait(seconds)

    def _store_undelivered(self, lines: Sequence[JSON]) -> None:
        with self._lock:
            append_lines(self._file, lines)
            self._delivery.undelivered += len(lines)

    def _send_undelivered(self) -> None:
        """Send those of earlier runs first. They stay in a second file until this run is over; if
        they fail again, they return to the file of undelivered notifications."""
        earlier = [line for file in (self._sending, self._file) for line in read_lines(file)]
        if earlier:
            append_lines(self._sending, list(read_lines(self._file)))
            self._file.unlink(missing_ok=True)
            self.write(earlier)


def _post(address: Address, line: JSON) -> None:
    import http.client
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

    class NoRedirects(HTTPRedirectHandler):
        def redirect_request(self, *_: Any, **__: Any) -> None:
            return None

    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": str(line.get("notification", "")),
        "User-Agent": "esdedup",
    }
    if address.authorization:
        headers["Authorization"] = address.authorization
    request = Request(address.url, json.dumps(line).encode(), headers, method="POST")
    opener = build_opener(NoRedirects, ProxyHandler({}))
    try:
        with opener.open(request, timeout=_ANSWER_SECONDS) as answer:
            answer.read(1)
    except HTTPError as error:
        error.close()
        passing = error.code in _PASSING
        raise DeliveryFailed(f"{address.origin} answered {error.code}", passing=passing) from error
    except (URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise DeliveryFailed(f"{address.origin} does not answer: {reason}", passing=True) from error
