"""A short request that is with the cluster while no task waits for its answer.

A change of tasks costs more than all the rest of such a request. It is followed in the callbacks
of its link; an answer that is not short and whole is left to the task of the client.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING

from esdedup.gateway import header_cache as plain
from esdedup.gateway.clients import Client, Job, Request, raised
from esdedup.gateway.connection import BUFFER
from esdedup.gateway.http import Head, UpstreamError
from esdedup.gateway.upstream import Link

if TYPE_CHECKING:
    from esdedup.gateway.server import Gateway

# Of an answer that comes in chunks, what is waited for before the first byte is handed back.
MOST_HELD = 64 * 1024


class Crossing(ABC):
    """From the request that was sent to the answer that is handed back, or to the task."""

    __slots__ = ("_client", "_gateway", "_link")

    def __init__(self, gateway: Gateway, client: Client) -> None:
        self._gateway = gateway
        self._client = client

    def follow(self, link: Link) -> None:
        """From now on: the request was written to it."""
        self._link = link
        link.waiting = self._client.crossing = self

    def take(self, data: bytes) -> bool:
        """Whether this is the whole answer and goes back as it came."""
        link, client = self._link, self._client
        if not plain.is_answer(data, link.plain):
            return False
        client.transport.write(data)
        link.waiting = client.crossing = None
        self._gateway.upstream.keep(link)
        self._gateway.finish(client)
        return True

    @abstractmethod
    def go_on(self) -> None:
        """More of the answer came, or the link was lost."""

    def end(self) -> None:
        """The client went away: the cluster is told by a connection that ends."""
        self._link.waiting = self._client.crossing = None
        self._link.close()


class CrossingRead(Crossing):
    """The plain reads of a client, one after the other; of the latest only the bytes are known."""

    __slots__ = ("_raw",)

    def begin(self, raw: bytes) -> bool:
        """Whether what just came is one, and a link is at hand: then it is on its way."""
        client = self._client
        parts = plain.read_of(raw, client.plain)
        if parts is None or (link := self._gateway.upstream.idle()) is None:
            return False
        first, lines = parts
        link.transport.write(b"".join((first, link.end_and_host, lines)))
        self._raw = raw
        self.follow(link)
        self._gateway.began_read(client)
        return True

    def go_on(self) -> None:
        """Not the usual answer, or not all of it: the request is read after all."""
        request = self._gateway.request_of(self._client, self._raw)
        crossing = CrossingRequest(self._gateway, request, b"")
        crossing.follow(self._link)
        crossing.go_on()


class CrossingRequest(Crossing):
    """One that was read, and its body."""

    __slots__ = ("_answer", "_body", "_request")

    def __init__(self, gateway: Gateway, request: Request, body: bytes) -> None:
        super().__init__(gateway, request.client)
        self._request = request
        self._body = body
        self._answer: Head | None = None  # as soon as its head came

    def take(self, data: bytes) -> bool:
        return self._request.takes_plain_answers and super().take(data)

    def go_on(self) -> None:
        """More of the answer came, or the link was lost."""
        request, link, passing = self._request, self._link, self._gateway.passing
        try:
            if self._answer is None:
                self._answer = link.answer_head_at_hand(request.head.method)
            answer = self._answer
            if answer is None:
                if link.is_closing:
                    self._leave(partial(passing.hand_on_again, request, self._body))
                return
            whole = _body_at_hand(link, answer)
        except UpstreamError as error:
            link.close()
            self._leave(partial(raised, error))
            return
        if whole is not None:
            link.waiting = self._client.crossing = None
            passing.crossed(request, link, answer, whole)
        elif link.is_closing or not _may_come_at_once(link, answer):
            self._leave(partial(passing.hand_back, request, link, answer))

    def _leave(self, job: Job) -> None:
        """To the task."""
        self._link.waiting = self._client.crossing = None
        self._client.give(job)


def _body_at_hand(link: Link, answer: Head) -> bytes | None:
    """The whole body if it came; None if not, or if it is too long to be held."""
    if answer.framing in ("none", "length"):
        return link.take(answer.length) if answer.length <= min(link.unread, BUFFER) else None
    if answer.framing != "chunked" or link.unread > MOST_HELD or not link.ends_with(b"\r\n\r\n"):
        return None
    return link.whole_chunks()


def _may_come_at_once(link: Link, answer: Head) -> bool:
    if answer.framing == "length":
        return answer.length <= BUFFER
    return answer.framing == "chunked" and link.unread <= MOST_HELD
