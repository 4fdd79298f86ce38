"""Writes on their way in: our fields added where they belong, everything else as it came."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from esdedup.errors import EsdedupError, StoreMissing, UnsupportedVersion
from esdedup.gateway import bulk, http, limits, routes
from esdedup.gateway import bulk_split as parts
from esdedup.gateway.bulk import Operation
from esdedup.gateway.http import HttpError, UpstreamError
from esdedup.gateway.tenants import Caller
from esdedup.gateway.write_job import Ahead, Share, Work, let_go
from esdedup.model import JSON
from esdedup.model.encoding import encoded

if TYPE_CHECKING:
    from concurrent.futures import Future

    from esdedup.gateway.clients import Request
    from esdedup.gateway.server import Gateway
    from esdedup.gateway.upstream import Answer

log = logging.getLogger("esdedup.gateway")

# The same trouble is told once in so many seconds.
_TOLD_SECONDS = 60.0


class Writes:
    """See `handle`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._options = gateway.options
        self._told: dict[str, float] = {}
        # A bulk names the same few indices a thousand times.
        self._pattern_of_index = lru_cache(1_000)(self._pattern)

    def wants(self, request: Request) -> bool:
        route = request.route
        if not self._options.indices:
            return False
        if route.kind != "bulk":  # the lines of a bulk may name any index
            return self._pattern(route.index) is not None
        # Another language than JSON passes as it is; `sweep` signs what comes that way.
        kind = request.head.get("content-type").lower()
        return "json" in kind or not kind

    def _pattern(self, index: str) -> str | None:
        return routes.pattern_of(index, self._options.indices)

    async def handle(self, request: Request) -> None:
        gateway, head = self._gateway, request.head
        with gateway.memory.share() as share:
            raw = await gateway.whole_body(request, share)
            caller = Caller.of(head.headers)
            work = await self._detected(self._work, request, caller, raw, share)
            if work.parts:
                answer, body = await self._in_parts(request, caller, work.parts)
            else:
                answer = await self._at_once(request, caller, raw, work)
                body = answer.body
            # What was put together from parts is not compressed.
            dropped = () if body is answer.body else ("content-encoding",)
            headers = http.end_to_end(answer.head.headers, *dropped)
            await gateway.answer(request, answer.head.status, answer.head.reason, headers, body)

    async def _at_once(self, request: Request, caller: Caller, raw: bytes, work: Work) -> Answer:
        done: int | None = None
        try:
            answer = await self._send(request, raw, work)
            size = len(answer.body)
            done = await self._gateway.apart(size, partial(_operations, request, answer))
        finally:
            work.release(done)
        self._note(caller, work)
        return answer

    async def _in_parts(
        self, request: Request, caller: Caller, divided: Sequence[bulk.Bulk]
    ) -> tuple[Answer, bytes]:
        """One after the other: while the cluster writes one, the next is decided and the one
        after that is signed.

        What refuses the first refuses all. Of one after it that fails the items tell so, and those
        before and after it keep what the cluster said of them.
        """
        first: Answer | None = None
        told: list[JSON] = []
        ahead = Ahead(
            divided,
            partial(self._detected, self._prepared, caller),
            partial(self._detected, self._decided, request),
        )
        coming: asyncio.Task[Work] | None = asyncio.create_task(ahead.next())
        try:
            while coming is not None:
                work = await coming
                coming = asyncio.create_task(ahead.next()) if ahead.has_more else None
                try:
                    answer = await self._at_once(request, caller, b"", work)
                except UpstreamError as error:
                    if first is None:
                        raise
                    log.warning("%s: %s", request.client.what, error)
                    told.append(parts.lost(work.bulk, str(error)))
                else:
                    said = bulk.json_object(_plain(answer))
                    if first is None and not parts.is_answer(said):
                        return answer, answer.body
                    first = first or answer
                    told.append(parts.answered(work.bulk, answer.head.status, said))
        finally:
            ahead.let_go()
            if coming is not None:
                coming.add_done_callback(let_go)
                coming.cancel()
        assert first is not None  # there are two parts or more
        size = 100 * sum(len(part.operations) for part in divided)  # about that of the answer
        return first, await self._gateway.apart(size, lambda: encoded(parts.joined(told)))

    async def _detected(self, function: Callable[..., Work], *given: Any) -> Work:
        """In a thread; a client that goes away leaves no desk waiting."""
        job: Future[Work] = self._gateway.threads.submit(function, *given)
        waiting = asyncio.wrap_future(job)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            job.add_done_callback(let_go)
            waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.wait((waiting,))  # what it holds is counted until it ends
            raise

    async def _send(self, request: Request, raw: bytes, work: Work) -> Answer:
        gateway, head = self._gateway, request.head
        target, headers, body = request.target, request.headers, raw
        if work.is_changed:
            body = work.body
            # The answers to parts are put together here.
            dropped = ("content-encoding", "accept-encoding" if work.is_part else "")
            headers = [(n, v) for n, v in headers if n.lower() not in dropped]
        if work.new_id is not None:
            path = f"{request.path.rstrip('/')}/{quote(work.new_id, safe='')}"
            create = "op_type=create"
            query = f"{request.query}&{create}" if request.query else create
            target = f"{path}?{query}"
        answer = await gateway.upstream.exchange(
            head.method, target, headers, body, repeatable=False
        )
        gateway.cluster.saw_product(answer.head.get("x-elastic-product"))
        return answer

    def _note(self, caller: Caller, work: Work) -> None:
        newsroom, counts = self._gateway.newsroom, self._gateway.counts
        counts["enriched"] += work.enriched
        counts["unenriched"] += work.unenriched
        for pattern in work.missing:
            newsroom.note_missing(caller, pattern)

    # --- in a thread -------------------------------------------------------------------------

    def _work(self, request: Request, caller: Caller, raw: bytes, share: limits.Share) -> Work:
        """What is sent instead; where detection fails, what came, unless that is forbidden."""
        work, encoding = Work(raw), request.head.get("content-encoding")
        plain = limits.unpacked(raw, encoding, self._options.max_body, share.add)
        if plain is None:
            return self._unread(work, "a compression that is not known here")
        share.add(limits.read_size(plain))
        try:
            parsed = self._parsed(request, plain)
        except bulk.Malformed as error:
            if self._options.fail_closed:
                raise HttpError(400, str(error), "illegal_argument_exception") from error
            return work  # the cluster says what is wrong
        if self._is_divisible(request, parsed):
            work.parts = parts.divided(parsed)
            return work
        work.bulk = parsed
        return self._decided(request, self._prepared(caller, work))

    def _is_divisible(self, request: Request, parsed: bulk.Bulk) -> bool:
        """Not where all is to be refused because of one."""
        names = [name for name, _ in routes.parameters(request.query)]
        return (
            request.route.kind == "bulk"
            and not self._options.fail_closed
            and parts.is_divisible(parsed, names, request.head.get("accept"))
            and sum(map(len, self._by_pattern(parsed.operations).values()))
            == len(parsed.operations)
        )

    def _prepared(self, caller: Caller, work: Work) -> Work:
        """Signed, as far as detection goes."""
        assert work.bulk is not None
        try:
            for pattern, operations in self._by_pattern(work.bulk.operations).items():
                share = Share(pattern, operations)
                with self._passing_as_it_came(share, work):
                    share.desk = self._gateway.newsroom.desk(caller, pattern)
                    share.prepared = share.desk.prepare(operations)
                    work.prepared.append(share)
        except BaseException:
            work.release(None)
            raise
        return work

    def _decided(self, request: Request, work: Work) -> Work:
        """With what is sent instead of the bulk, or of this part of it."""
        assert work.bulk is not None
        changes: dict[int, bytes] = {}
        try:
            while work.prepared:
                share = work.prepared.pop(0)
                with self._passing_as_it_came(share, work):
                    changes |= self._enriched(request, share, work)
        except BaseException:
            work.release(None)
            raise
        if changes or work.is_part:
            work.body, work.is_changed = work.bulk.assembled(changes), True
        return work

    def _parsed(self, request: Request, plain: bytes) -> bulk.Bulk:
        route = request.route
        pairs = dict(routes.parameters(request.query))
        meta = bulk.request_meta(pairs)
        if route.kind == "bulk":
            return bulk.parse(
                plain,
                route.index,
                meta,
                lambda index: self._pattern_of(index) is not None,
                self._options.max_actions,
            )
        verb = "create" if pairs.get("op_type") == "create" else route.kind
        operation = Operation(
            verb,  # type: ignore[arg-type]  # kinds of routes that write are verbs
            route.index,
            route.id,
            meta,
            text=plain,
            source=None if verb == "delete" else bulk.sent_object(plain),
        )
        return bulk.Bulk([plain], [operation])

    def _by_pattern(self, operations: Sequence[Operation]) -> dict[str, list[Operation]]:
        out: dict[str, list[Operation]] = {}
        for op in operations:
            pattern = self._pattern_of(op.index)
            if pattern is not None and not op.is_routed:
                out.setdefault(pattern, []).append(op)
        return out

    def _pattern_of(self, name: str) -> str | None:
        """Only names of indices are kept: others may be as long as a body."""
        return self._pattern_of_index(name) if routes.is_index(name) else None

    def _enriched(self, request: Request, share: Share, work: Work) -> dict[int, bytes]:
        desk, prepared = share.desk, share.prepared
        assert desk is not None
        assert prepared is not None
        alone = request.route.kind != "bulk"
        try:
            lines = desk.decide(prepared, alone=alone)
        except BaseException:
            desk.written(None)
            raise
        work.desks.append(desk)
        if not prepared.is_complete and self._options.fail_closed:
            raise self._closed(share.pattern, "the index is not there yet")
        drafts = prepared.plan.drafts
        work.enriched += len(drafts)
        work.unenriched += share.writes - len(drafts)
        if alone and drafts and share.operations[0].id is None:
            work.new_id = drafts[0].id
        return lines

    @contextmanager
    def _passing_as_it_came(self, share: Share, work: Work) -> Iterator[None]:
        """What detection fails on is signed later, unless that is forbidden."""
        try:
            yield
        except StoreMissing as error:
            work.missing.append(share.pattern)
            self._failed(share.pattern, str(error), quiet=True)
        except UnsupportedVersion as error:  # nor would any sweep sign it later
            self._gateway.counts["detection_failed"] += 1
            raise self._closed(share.pattern, str(error)) from error
        except EsdedupError as error:
            self._failed(share.pattern, str(error))
        except HttpError:
            raise
        except Exception:
            log.exception("detection for %s failed", share.pattern)
            self._failed(share.pattern, "a defect; the log has it")
        else:
            return
        if share.desk is not None:
            work.unsigned.append(share.desk)
        work.unenriched += share.writes

    def _failed(self, pattern: str, reason: str, *, quiet: bool = False) -> None:
        self._gateway.counts["detection_failed"] += 1
        if self._options.fail_closed:
            raise self._closed(pattern, reason)
        now = time.monotonic()
        if not quiet and now - self._told.get(pattern, -1e9) > _TOLD_SECONDS:
            self._told[pattern] = now
            log.warning("writes to %s pass without our fields: %s", pattern, reason)

    def _closed(self, pattern: str, reason: str) -> HttpError:
        return HttpError(
            503,
            f"nothing was written: detection for {pattern} failed ({reason})",
            "esdedup_unavailable_exception",
        )

    def _unread(self, work: Work, reason: str) -> Work:
        if self._options.fail_closed:
            raise HttpError(415, f"nothing was written: the body has {reason}")
        return work


def _operations(request: Request, answer: Answer) -> int | None:
    """How many writes the cluster did; None where it cannot be told."""
    if answer.head.status >= 300:
        return None
    body = _plain(answer)
    if request.route.kind == "bulk":
        return bulk.operations_done(body)
    result = bulk.json_object(body)
    return None if result is None else bulk.operation_done(result)


def _plain(answer: Answer) -> bytes:
    """Its body without compression; nothing where that cannot be read."""
    try:
        body = limits.unpacked(answer.body, answer.head.get("content-encoding"), 1 << 30)
    except HttpError:
        return b""
    return body or b""
