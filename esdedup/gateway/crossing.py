"""A short request that is with the cluster while no task waits for its answer.

A change of tasks costs more than all the rest of such a request. It is followed in the callbacks
of its link; an answer that is not short and whole is left to the task of the client.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from esdedup.gateway.clients import Job, Request, raised
from esdedup.gateway.http import Head, UpstreamError
from esdedup.gateway.upstream import Link
from esdedup.gateway.wire import BUFFER

if TYPE_CHECKING:
    from esdedup.gateway.passing import Passing

# Of an answer that comes in chunks, what is waited for before the first byte is handed back.
MOST_HELD = 64 * 1024


class Crossing:
    """From the request that was sent to the answer that is handed back, or to the task."""

    __slots__ = ("_answer", "_body", "_link", "_passing", "_request")

    def __init__(self, passing: Passing, request: Request, body: bytes, link: Link) -> None:
        self._passing = passing
        self._request = request
        self._body = body
        self._link = link
        self._answer: Head | None = None  # as soon as its head came

    def go_on(self) -> None:
        """More of the answer came, or the link was lost."""
        request, link, passing = self._request, self._link, self._passing
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
            self._forget()
            passing.crossed(request, link, answer, whole)
        elif link.is_closing or not _may_come_at_once(link, answer):
            self._leave(partial(passing.hand_back, request, link, answer))

    def end(self) -> None:
        """The client went away: the cluster is told by a connection that ends."""
        self._forget()
        self._link.close()

    def _leave(self, job: Job) -> None:
        """To the task."""
        self._forget()
        self._request.client.give(job)

    def _forget(self) -> None:
        self._link.waiting = self._request.client.crossing = None


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
