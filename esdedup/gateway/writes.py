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
from esdedup.gateway import bulk, bulk_split, http, limits, routes
from esdedup.gateway.bulk import Operation
from esdedup.gateway.http import HttpError, UpstreamError
from esdedup.gateway.limits import MemoryShare
from esdedup.gateway.session_manager import cause_of
from esdedup.gateway.write_job import PatternWrite, SplitPipeline, Unsigned, WriteJob, abort
from esdedup.model import JSON
from esdedup.model.encoding import encode_json

if TYPE_CHECKING:
    from concurrent.futures import Future

    from esdedup.gateway.clients import Request
    from esdedup.gateway.server import Gateway
    from esdedup.gateway.tenants import Tenant
    from esdedup.gateway.upstream import Answer

log = logging.getLogger("esdedup.gateway")

# The same failure is logged once in so many seconds.
_WARN_SECONDS = 60.0


class Writes:
    """See `handle`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._options = gateway.options
        self._warned: dict[str, float] = {}
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
        gateway = self._gateway
        with gateway.memory.share() as share:
            raw = await gateway.read_whole_body(request, share)
            arrived, tenant = time.time_ns() // 1000, gateway.tenant_of(request)
            job = await self._detect(self._read, request, tenant, WriteJob(raw, arrived), share)
            if job.split:
                answer, body = await self._send_split(request, tenant, share, job)
            else:
                answer, _ = await self._send_job(request, share, job)
                body = answer.body
            # What was put together from parts is not compressed.
            dropped = () if body is answer.body else ("content-encoding",)
            headers = http.end_to_end(answer.head.headers, dropped)
            await gateway.answer(request, answer.head.status, answer.head.reason, headers, body)

    async def _send_job(
        self, request: Request, share: MemoryShare, job: WriteJob
    ) -> tuple[Answer, JSON | None]:
        """The answer of the cluster, as it came and parsed; the sessions learn what was written."""
        with job:
            answer = await self._send(request, share, job)
            read = partial(_parse_answer, answer, share)
            parsed = await self._gateway.apart(len(answer.body), read)
            job.confirm(_results(job, parsed, is_bulk=request.route.kind == "bulk"))
        counts = self._gateway.counts
        counts["enriched"] += job.enriched
        counts["unenriched"] += job.unenriched
        counts["unread_dates"] += job.unread_dates
        return answer, parsed

    async def _send_split(
        self, request: Request, tenant: Tenant, share: MemoryShare, whole: WriteJob
    ) -> tuple[Answer, bytes]:
        """One part after the other: while the cluster writes one, the next is decided and the one
        after that is signed.

        If the cluster refuses the first part, its answer is that of all. If a later part fails,
        its items say so, and the others keep what the cluster said of them.
        """
        first: Answer | None = None
        answers: list[JSON] = []
        pipeline = SplitPipeline(
            whole.split,
            whole.arrived,
            partial(self._detect, self._prepare, tenant),
            partial(self._detect, self._decide, request),
        )
        coming: asyncio.Task[WriteJob] | None = asyncio.create_task(pipeline.next())
        try:
            while coming is not None:
                job = await coming
                coming = asyncio.create_task(pipeline.next()) if pipeline.has_more else None
                try:
                    answer, parsed = await self._send_job(request, share, job)
                except UpstreamError as error:
                    if first is None:
                        raise
                    log.warning("%s: %s", request.what, error)
                    answers.append(bulk_split.lost_answer(job.bulk, str(error)))
                else:
                    if first is None and not bulk_split.is_answer(parsed):
                        return answer, answer.body
                    first = first or answer
                    answers.append(bulk_split.part_answer(job.bulk, answer.head.status, parsed))
        finally:
            pipeline.abort()
            if coming is not None:
                coming.add_done_callback(abort)
                coming.cancel()
        assert first is not None  # there are two parts or more
        size = 100 * sum(len(part.operations) for part in whole.split)  # about that of the answer
        return first, await self._gateway.apart(size, lambda: encode_json(bulk_split.join(answers)))

    async def _detect(self, function: Callable[..., WriteJob], *given: Any) -> WriteJob:
        """Run a step of detection in a thread; of a client that goes away, no session is kept."""
        made: Future[WriteJob] = self._gateway.threads.submit(function, *given)
        waiting = asyncio.wrap_future(made)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            made.add_done_callback(abort)
            waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.wait((waiting,))  # what it holds is counted until it ends
            raise

    async def _send(self, request: Request, share: MemoryShare, job: WriteJob) -> Answer:
        gateway, head = self._gateway, request.head
        target, headers = request.target, head.forwarded
        if job.is_changed:
            # The answers to parts are joined here.
            dropped = ("content-encoding", "accept-encoding" if job.is_part else "")
            headers = [(n, v) for n, v in headers if n.lower() not in dropped]
        if job.new_id is not None:
            path = f"{request.path.rstrip('/')}/{quote(job.new_id, safe='')}"
            create = "op_type=create"
            query = f"{request.query}&{create}" if request.query else create
            target = f"{path}?{query}"
        answer = await gateway.upstream.exchange(
            head.method, target, headers, job.body, repeatable=False, count=share.charge
        )
        gateway.cluster.note_product(answer.head.get("x-elastic-product"))
        return answer

    # --- in a thread -------------------------------------------------------------------------

    def _read(
        self, request: Request, tenant: Tenant, job: WriteJob, share: MemoryShare
    ) -> WriteJob:
        """What is sent instead; what came where detection fails, unless that is forbidden."""
        encoding = request.head.get("content-encoding")
        plain = limits.unpack(job.body, encoding, self._options.max_body, share.add)
        if plain is None:
            if self._options.fail_closed:
                raise HttpError(
                    415, "nothing was written: the body has a compression that is not known here"
                )
            return job
        share.add(limits.read_size(plain))
        try:
            parsed = self._parse(request, plain)
        except bulk.Malformed as error:
            if self._options.fail_closed:
                raise HttpError(400, str(error), "illegal_argument_exception") from error
            return job  # the cluster says what is wrong
        if self._is_divisible(request, parsed):
            job.split = bulk_split.divide(parsed)
            return job
        job.bulk = parsed
        return self._decide(request, self._prepare(tenant, job))

    def _is_divisible(self, request: Request, parsed: bulk.Bulk) -> bool:
        """Not where one failure refuses all."""
        names = [name for name, _ in routes.parameters(request.query)]
        return (
            request.route.kind == "bulk"
            and not self._options.fail_closed
            and bulk_split.is_divisible(parsed, names, request.head.get("accept"))
            and sum(map(len, self._by_pattern(parsed.operations).values()))
            == len(parsed.operations)
        )

    def _prepare(self, tenant: Tenant, job: WriteJob) -> WriteJob:
        """Sign the documents of a job, as far as detection goes."""
        assert job.bulk is not None
        sessions = self._gateway.sessions
        with _closed_on_error(job):
            for pattern, operations in self._by_pattern(job.bulk.operations).items():
                part = PatternWrite(pattern, operations)
                with (
                    self._pass_on_failure(part, job, partial(sessions.note_missing, tenant)),
                    sessions.open(tenant, pattern) as session,
                ):
                    part.note_unsigned = session.note_unsigned
                    part.write = job.enter(session.write(operations))
                    job.prepared.append(part)
        return job

    def _decide(self, request: Request, job: WriteJob) -> WriteJob:
        """Put together what is sent instead of the bulk, or of this part of it."""
        assert job.bulk is not None
        changes: dict[int, bytes] = {}
        with _closed_on_error(job):
            for part in job.prepared:
                with self._pass_on_failure(part, job):
                    changes |= self._enrich(request, part, job)
        if changes or job.is_part:
            job.body, job.is_changed = job.bulk.assembled(changes), True
        return job

    def _parse(self, request: Request, plain: bytes) -> bulk.Bulk:
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

    def _enrich(self, request: Request, part: PatternWrite, job: WriteJob) -> dict[int, bytes]:
        assert part.write is not None
        alone = request.route.kind != "bulk"
        lines = part.write.decide(alone=alone)
        prepared = part.write.prepared
        if prepared.unsigned and self._options.fail_closed:
            raise self._closed(part.pattern, "the index is not there yet")
        job.leave_unsigned(part, prepared.unsigned)
        drafts = prepared.plan.drafts
        job.enriched += len(drafts)
        job.unenriched += part.documents - len(drafts)
        job.unread_dates += prepared.unread_dates
        if alone and drafts and part.operations[0].id is None:
            job.new_id = drafts[0].id
        return lines

    @contextmanager
    def _pass_on_failure(
        self,
        part: PatternWrite,
        job: WriteJob,
        note_missing: Callable[[str, Unsigned], None] | None = None,
    ) -> Iterator[None]:
        """Documents that detection fails on pass without our fields, unless that is forbidden, and
        are signed after the write."""
        try:
            yield
        except StoreMissing as error:  # this very write makes the index
            if self._options.fail_closed:
                raise self._closed(part.pattern, str(error)) from error
            if note_missing is not None:
                part.note_unsigned = partial(note_missing, part.pattern)
        except UnsupportedVersion as error:  # nor would any sweep sign it later
            self._gateway.counts["detection_failed"] += 1
            raise self._closed(part.pattern, str(error)) from error
        except EsdedupError as error:
            self._note_failure(part.pattern, cause_of(error))
        except HttpError:
            raise
        except Exception:
            log.exception("detection for %s failed", part.pattern)
            self._note_failure(part.pattern, "a defect; the log has it")
        else:
            return
        job.leave_unsigned(part, part.operations)
        job.unenriched += part.documents

    def _note_failure(self, pattern: str, reason: str) -> None:
        self._gateway.counts["detection_failed"] += 1
        if self._options.fail_closed:
            raise self._closed(pattern, reason)
        now = time.monotonic()
        if now - self._warned.get(pattern, -1e9) > _WARN_SECONDS:
            self._warned[pattern] = now
            log.warning("writes to %s pass without our fields: %s", pattern, reason)

    def _closed(self, pattern: str, reason: str) -> HttpError:
        return HttpError(
            503,
            f"nothing was written: detection for {pattern} failed ({reason})",
            "esdedup_unavailable_exception",
        )


@contextmanager
def _closed_on_error(job: WriteJob) -> Iterator[None]:
    try:
        yield
    except BaseException:
        job.close()
        raise


def _parse_answer(answer: Answer, share: MemoryShare) -> JSON | None:
    """An answer without its compression, parsed; None where that cannot be done."""
    try:
        encoding = answer.head.get("content-encoding")
        body = limits.unpack(answer.body, encoding, 1 << 30, share.charge)
    except HttpError:
        return None
    if not body:
        return None
    share.charge(limits.read_size(body))
    return bulk.parse_answer(body)


def _results(job: WriteJob, parsed: JSON | None, *, is_bulk: bool) -> dict[int, JSON]:
    """What became of each action, by its line; nothing where the answer does not tell."""
    if job.bulk is None or parsed is None:
        return {}
    results = bulk.results_of(parsed) if is_bulk else [parsed]
    operations = job.bulk.operations
    if results is None or len(results) != len(operations):
        return {}
    return {op.action_line: result for op, result in zip(operations, results, strict=True)}
