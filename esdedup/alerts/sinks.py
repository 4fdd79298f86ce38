"""Feeds of decisions: a line, or a request to one address, for each thing worth telling.

A notification has an id that is made from what it tells, so that who hears of it twice can tell.
It is handed over after the batch it is about is stored, and then delivered at least once: what an
address did not take is kept in a file, and sent first the next time. A run that was killed before
that tells nothing of its last batches; `told_since` tells them again.

Nothing is ever asked of any address but the one that was named: no redirect is followed, and no
proxy is used.
"""

from __future__ import annotations

import base64
import hashlib
import json
import queue
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO
from urllib.parse import urlsplit, urlunsplit

from esdedup.errors import InputError
from esdedup.model import JSON, iso

if TYPE_CHECKING:
    from esdedup.clustering.outcomes import Outcome
    from esdedup.stores import Record, Store

# Of the kinds told here; events and copies of protected texts are told by who finds them.
STORY, UPDATE = "story", "update"
_MANY = 500
# Notifications that wait for an address; how long a batch waits for room, and the end of a run for
# what is left.
_WAITING = 10_000
_LONGEST_WAIT = 30.0
_LONGEST_END = 120.0
_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 15.0
# An address that took nothing for this long is left alone; what is left is kept.
_GIVE_UP = 60.0
_ANSWER_SECONDS = 10.0
# The server may do better later; other refusals are about the message itself.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Notification:
    """One thing worth telling; `key` is what makes it another one than the last."""

    kind: str
    key: tuple[str, ...]
    about: JSON

    @property
    def id(self) -> str:
        text = "\0".join((self.kind, *self.key)).encode("utf-8", "surrogatepass")
        return hashlib.sha256(text).hexdigest()[:32]

    def to_json(self) -> JSON:
        return {
            "notification": self.id,
            "kind": self.kind,
            "at": iso(datetime.now(UTC)),
            **self.about,
        }


class Sink(Protocol):
    """Where notifications go."""

    def tell(self, lines: Sequence[JSON]) -> None: ...
    def close(self) -> Delivery: ...


@dataclass(slots=True)
class Delivery:
    """What became of them; `kept` are in a file and are sent first the next time."""

    told: int = 0
    kept: int = 0
    refused: int = 0
    file: str = ""
    reason: str = ""


# --- what is told ------------------------------------------------------------------------------


def notifications(outcomes: Iterable[Outcome], store: Store) -> list[Notification]:
    """New stories and updates of a batch, with what is known of the articles."""
    wanted = {
        o.decision.id: o.decision
        for o in outcomes
        if o.status in ("new", "changed") and o.decision.role in ("original", "update")
    }
    return list(_of_records(store.get_many(wanted).values())) if wanted else []


def told_since(store: Store, moment: datetime) -> Iterator[list[Notification]]:
    """The same for all that was written since then, for runs that were killed."""
    ids = sorted(store.changed_since(moment))
    for start in range(0, len(ids), _MANY):
        yield list(_of_records(store.get_many(ids[start : start + _MANY]).values()))


def _of_records(records: Iterable[Record]) -> Iterator[Notification]:
    for record in sorted(records, key=lambda r: r.order):
        decision, document = record.decision, record.document
        if decision.role not in ("original", "update"):
            continue  # meanwhile a copy of something earlier
        kind = STORY if decision.role == "original" else UPDATE
        about: JSON = {
            "id": document.id,
            "group": decision.group,
            "story": decision.story,
            "title": document.title,
            "url": document.url,
            "source": document.source,
            "published": iso(document.published) if document.published else None,
        }
        if kind == UPDATE:
            about["updates"] = decision.link.parent
            about["reason"] = decision.reason
            numbers = decision.evidence[0].numbers if decision.evidence else ()
            about["numbers"] = [[c.old, c.new, c.context] for c in numbers]
        parent = decision.link.parent or ""
        yield Notification(kind, (document.id, record.signature.exact, parent), about)


@dataclass(frozen=True, slots=True)
class Notifier:
    """One feed for all that finds something worth telling."""

    sink: Sink

    def tell(self, found: Iterable[Notification]) -> None:
        if lines := [n.to_json() for n in found]:
            self.sink.tell(lines)

    def close(self) -> Delivery:
        return self.sink.close()


def sink_for(name: str, undelivered: Path) -> Sink:
    """`-` is standard output, an http(s) address a webhook, everything else a file."""
    if name == "-":
        return Lines(None)
    if "://" in name:
        return Webhook(Address.parse(name), undelivered)
    return Lines(Path(name))


# --- lines -------------------------------------------------------------------------------------


class Lines:
    """NDJSON appended to a file, or written to a stream."""

    def __init__(self, path: Path | None, stream: TextIO | None = None) -> None:
        self._path = path
        self._stream = stream or sys.stdout
        self._delivery = Delivery()
        if path is not None:
            _end_last_line(path)

    def tell(self, lines: Sequence[JSON]) -> None:
        if self._path is None:
            self._stream.writelines(json.dumps(line) + "\n" for line in lines)
            self._stream.flush()
        else:
            append(self._path, lines)
        self._delivery.told += len(lines)

    def close(self) -> Delivery:
        return self._delivery


def append(path: Path, lines: Sequence[JSON]) -> None:
    import os

    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    try:
        with path.open("ab") as file:
            file.write(data.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"notifications cannot be written to {path}: {error}") from error


def _end_last_line(path: Path) -> None:
    """Half a line, left by a run that was killed, is cut off: its notification was not told."""
    try:
        with path.open("ab+") as file:
            end = file.tell()
            while end:
                start = max(0, end - 4096)
                file.seek(start)
                block = file.read(end - start)
                if (found := block.rfind(b"\n")) >= 0:
                    end = start + found + 1
                    break
                end = start
            file.truncate(end)
    except OSError as error:
        raise InputError(f"notifications cannot be written to {path}: {error}") from error


# --- a webhook ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Address:
    """The one address that is asked; credentials in it become a header and are never shown."""

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
    def shown(self) -> str:
        """The host alone: the path and the query of a webhook may be all of its secret."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


class Refused(Exception):
    """An answer that was no success; `passing` ones may be another later."""

    def __init__(self, reason: str, *, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


class Webhook:
    """One POST for each notification, by a thread of its own, so that indexing goes on meanwhile.

    A full queue slows indexing for a while, and then no longer: what finds no room is kept in the
    file of undelivered ones, as is all that is left when the address does not answer.
    """

    def __init__(
        self,
        address: Address,
        undelivered: Path,
        *,
        post: Callable[[Address, JSON], None] | None = None,
        waiting: int = _WAITING,
        give_up: float = _GIVE_UP,
        longest_wait: float = _LONGEST_WAIT,
        longest_end: float = _LONGEST_END,
    ) -> None:
        self._address = address
        self._file = undelivered
        self._post = post or _post
        self._give_up = give_up
        self._longest_wait = longest_wait
        self._longest_end = longest_end
        self._waiting: queue.Queue[JSON | None] = queue.Queue(waiting)
        self._delivery = Delivery(file=str(undelivered))
        self._lock = threading.Lock()
        self._is_given_up = False
        self._was_full = False
        self._sending = undelivered.with_name(undelivered.name + ".sending")
        self._thread = threading.Thread(target=self._work, name="esdedup-notify", daemon=True)
        self._thread.start()
        self._send_kept()

    def tell(self, lines: Sequence[JSON]) -> None:
        deadline = time.monotonic() + (self._longest_wait if self._is_patient() else 0.0)
        left = [line for line in lines if not self._put(line, deadline)]
        if left:
            self._keep(left)

    def close(self) -> Delivery:
        """Waits for what is left, for a while."""
        threading.Thread(target=self._waiting.put, args=(None,), daemon=True).start()
        self._thread.join(self._longest_end)
        self._is_given_up = True
        self._thread.join()
        self._sending.unlink(missing_ok=True)
        return self._delivery

    def _is_patient(self) -> bool:
        """Who did not find room in time waits no more before half of the others are gone."""
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
                self._keep([line])

    def _deliver(self, line: JSON) -> bool:
        """Until it is taken, refused for good, or the address is given up."""
        deadline, pause = time.monotonic() + self._give_up, _FIRST_PAUSE
        while True:
            try:
                self._post(self._address, line)
            except Refused as refusal:
                self._delivery.reason = str(refusal)
                if not refusal.passing:
                    self._delivery.refused += 1
                    return False
                if time.monotonic() + pause > deadline:
                    self._is_given_up = True
                    return False
                time.sleep(pause * (0.5 + random.random() / 2))
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self._delivery.told += 1
                return True

    def _keep(self, lines: Sequence[JSON]) -> None:
        with self._lock:
            append(self._file, lines)
            self._delivery.kept += len(lines)

    def _send_kept(self) -> None:
        """Those of earlier runs first. They stay in a second file until this run is over; what is
        not taken now either is kept again."""
        kept = [line for file in (self._sending, self._file) for line in _read(file)]
        if kept:
            append(self._sending, _read(self._file))
            self._file.unlink(missing_ok=True)
            self.tell(kept)


def _read(file: Path) -> list[JSON]:
    """Lines of notifications; not half a one of a run that was killed."""
    if not file.exists():
        return []
    lines = []
    for raw in file.read_text("utf-8", "replace").splitlines():
        try:
            line = json.loads(raw)
        except ValueError:
            continue
        if isinstance(line, dict):
            lines.append(line)
    return lines


def _post(address: Address, line: JSON) -> None:
    import http.client
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

    class Stays(HTTPRedirectHandler):
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
    opener = build_opener(Stays, ProxyHandler({}))
    try:
        with opener.open(request, timeout=_ANSWER_SECONDS) as answer:
            answer.read(1)
    except HTTPError as error:
        error.close()
        passing = error.code in _PASSING
        raise Refused(f"{address.shown} answered {error.code}", passing=passing) from error
    except (URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise Refused(f"{address.shown} does not answer: {reason}", passing=True) from error
