"""Searches and counts: folded on the way in, their totals set right on the way out."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from esdedup.errors import QueryError, UnsupportedVersion
from esdedup.gateway import folding, http, jsontext, limits, routes
from esdedup.gateway.folding import Fold, Means, OneAnswer, SearchCall, StoryCount
from esdedup.gateway.http import Headers, HttpError
from esdedup.gateway.limits import MemoryShare, TooMuch

if TYPE_CHECKING:
    from esdedup.gateway.clients import Request
    from esdedup.gateway.server import Gateway
    from esdedup.gateway.upstream import Answer
    from esdedup.model import JSON

# Below this, packing an answer gains nothing.
_WORTH_PACKING = 1_400

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Sent:
    """A search as the client sent it, so that it can be sent in another way."""

    request: Request
    body: bytes  # without compression
    size: int  # of it when it is parsed: 60 kB may be 10,000 searches
    is_explicit: bool  # whether this request asks for the fold, not a default
    share: MemoryShare


@dataclass(frozen=True, slots=True)
class _Planned:
    """One search of an _msearch: the line of its body, and how it is folded."""

    line: int
    body: JSON
    fold: Fold
    means: Means


class Reads:
    """See `handle`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._folds = gateway.options.folds
        self._folds_any = any(fold != "off" for fold in self._folds.values())

    def wants(self, request: Request) -> bool:
        if request.fold is not None:
            return self._parse_fold(request.fold) != "off"
        if request.route.kind == "msearch":
            return self._folds_any  # its lines name their indices
        return self._default(request.route.index) != "off"

    def _parse_fold(self, text: str) -> Fold:
        try:
            return folding.fold_named(text)
        except QueryError as error:
            raise HttpError(400, str(error), "illegal_argument_exception") from error

    def _default(self, expression: str) -> Fold:
        for pattern, fold in self._folds.items():
            if routes.covers(pattern, expression):
                return fold
        return "off"

    async def handle(self, request: Request) -> None:
        """Fold a search. One that only a default folds passes as it came where it cannot be
        folded, or is too much."""
        gateway = self._gateway
        await self._check_version(request)
        with gateway.memory.share() as share:
            raw = await gateway.read_whole_body(request, share)
            is_explicit = request.fold is not None
            gateway.counts["folded"] += 1
            try:
                plain = await self._unpack(request, raw, share)
                body = plain or b""
                size = await gateway.apart(len(body), partial(limits.read_size, body))
                share.add(size)
                sent = _Sent(request, body, size, is_explicit, share)
                await self._fold(sent, is_json=plain is not None)
            except (QueryError, TooMuch) as error:
                if not is_explicit:
                    await gateway.forwarder.send(request, raw, ("X-Esdedup-Fold", "off"))
                elif isinstance(error, TooMuch):
                    raise
                else:
                    raise HttpError(400, str(error), "illegal_argument_exception") from error

    async def _unpack(self, request: Request, raw: bytes, share: MemoryShare) -> bytes | None:
        encoding, limit = request.head.get("content-encoding"), self._gateway.options.max_body
        if not encoding or len(raw) <= limits.INLINE_PACKED:
            try:
                return limits.unpack(raw, encoding, limits.INLINE if encoding else limit)
            except TooMuch:
                pass  # more than may be done here
        return await self._gateway.apart(
            limit, partial(limits.unpack, raw, encoding, limit, share.add)
        )

    async def _apart(self, size: int, function: Callable[[], T]) -> T:
        """Off the event loop where the text is long; QueryError where it is nested too deeply."""
        try:
            return await self._gateway.apart(size, function)
        except RecursionError as error:
            raise QueryError("the search, or its answer, is nested too deeply") from error

    async def _check_version(self, request: Request) -> None:
        cluster = self._gateway.cluster
        if cluster.is_checked:
            return
        try:
            await asyncio.to_thread(cluster.check, self._gateway.tenant_of(request))
        except UnsupportedVersion as error:
            raise HttpError(503, str(error), "esdedup_unavailable_exception") from error

    async def _fold(self, sent: _Sent, *, is_json: bool) -> None:
        request = sent.request
        if not is_json or not _is_json(request.head.get("content-type")):
            raise QueryError("only searches written in JSON can be folded")
        if request.route.kind == "msearch":
            await self._fold_msearch(sent)
            return
        fold = self._fold_of(request, request.route.index)
        pairs = routes.parameters(request.query)
        search = await self._apart(sent.size, partial(folding.parse_search, sent.body, pairs))
        if request.route.kind == "count":
            await self._fold_count(sent, search, fold)
        else:
            await self._fold_search(sent, search, fold)

    def _fold_of(self, request: Request, index: str) -> Fold:
        return self._default(index) if request.fold is None else self._parse_fold(request.fold)

    # --- one search --------------------------------------------------------------------------

    async def _fold_search(self, sent: _Sent, search: SearchCall, fold: Fold) -> None:
        product, is_json = self._gateway.cluster.known_product, _wants_json(sent.request, search)
        means = await self._apart(
            sent.size, lambda: folding.choose_means(search, fold, product, is_json=is_json)
        )
        if means == "collapse":
            answer = await self._send_search(sent, search, fold, "collapse")
            if answer.head.status == 400 and not sent.is_explicit:
                raise QueryError("an index without our fields, most likely")
            count, body = None, answer.body
            if answer.head.status == 200:
                wants = folding.wants_total(search.value("filter_path"))
                count, body = await self._apart(len(body), partial(_restore, body, wants))
            if count is None or not count.ungrouped:
                await self._send_back(sent, answer, body, fold)
                return
        answer = await self._send_search(sent, search, fold, "filter")
        await self._send_back(sent, answer, answer.body, "canonical")

    async def _fold_count(self, sent: _Sent, search: SearchCall, fold: Fold) -> None:
        """A native count where copies are left out; else a search that counts stories."""
        by_filter = fold == "canonical" or not _wants_json(sent.request, search)
        if by_filter or search.value("filter_path") is not None:
            answer = await self._send_search(sent, search, fold, "filter")
            await self._send_back(sent, answer, answer.body, "canonical")
            return
        counting = folding.count_search(search, fold)
        path = sent.request.path.rstrip("/").removesuffix("_count") + "_search"
        body = await self._apart(sent.size, partial(_dumps, counting.body))
        answer = await self._exchange(sent, path, _query(counting, "filter"), body)
        counted = folding.count_answer(_text(answer.body)) if answer.head.status == 200 else None
        if counted is None and not sent.is_explicit:
            raise QueryError("an index without our fields, most likely")
        body = answer.body if counted is None else _encode(counted)
        await self._send_back(sent, answer, body, fold)

    # --- several -----------------------------------------------------------------------------

    async def _fold_msearch(self, sent: _Sent) -> None:
        request = sent.request
        whole = SearchCall({}, tuple(routes.parameters(request.query)))
        is_json = _wants_json(request, whole)
        wants = folding.wants_total(whole.value("filter_path"))
        lines, plan = await self._apart(sent.size, partial(self._plan, sent, is_json=is_json))
        answer = await self._send_msearch(sent, whole, lines, plan)
        body = answer.body
        if is_json and answer.head.status == 200:
            read = partial(_restore_all, body, plan, wants)
            answers, body = await self._apart(len(body), read)
            if (again := _replan(sent, plan, answers)) is not None:
                plan = again
                answer = await self._send_msearch(sent, whole, lines, plan)
                read = partial(_restore_all, answer.body, plan, wants)
                _, body = await self._apart(len(answer.body), read)
        done: set[Fold] = {
            one.fold if one.means == "collapse" else "canonical"
            for one in plan
            if one.fold != "off"
        }
        await self._send_back(sent, answer, body, ",".join(sorted(done)) or "off")

    def _plan(self, sent: _Sent, *, is_json: bool) -> tuple[list[bytes], list[_Planned]]:
        """The lines of the body, and how each search is folded."""
        most, product = self._gateway.options.max_searches, self._gateway.cluster.known_product
        lines = limits.lines_of(sent.body, most, "searches", "--max-searches")
        plan = []
        for entry in folding.parse_msearch(lines, sent.request.route.index, most):
            fold = self._fold_of(sent.request, entry.index)
            means: Means = "filter"
            if fold != "off":
                try:
                    one = folding.check_search(entry.body)
                    means = folding.choose_means(one, fold, product, is_json=is_json)
                except QueryError:
                    if sent.is_explicit:
                        raise
                    fold = "off"
            plan.append(_Planned(entry.body_line, entry.body, fold, means))
        return lines, plan

    async def _send_msearch(
        self, sent: _Sent, whole: SearchCall, lines: Sequence[bytes], plan: Sequence[_Planned]
    ) -> Answer:
        def assemble() -> bytes:
            out = list(lines)
            for one in plan:
                if one.fold != "off":
                    out[one.line] = _dumps(folding.fold_search(one.body, one.fold, one.means))
            return b"\n".join(out)

        body = await self._apart(sent.size, assemble)
        return await self._exchange(sent, sent.request.path, _query(whole, "collapse"), body)

    # --- sending -----------------------------------------------------------------------------

    async def _send_search(
        self, sent: _Sent, search: SearchCall, fold: Fold, means: Means
    ) -> Answer:
        body = await self._apart(
            sent.size, lambda: _dumps(folding.fold_search(search.body, fold, means))
        )
        return await self._exchange(sent, sent.request.path, _query(search, means), body)

    async def _exchange(self, sent: _Sent, path: str, query: str, body: bytes) -> Answer:
        head = sent.request.head
        dropped = ("content-encoding", "accept-encoding")
        headers = [(n, v) for n, v in head.forwarded if n.lower() not in dropped]
        if not head.get("content-type"):
            accepted = head.get("accept")
            versioned = "compatible-with" in accepted and "," not in accepted
            headers.append(("Content-Type", accepted if versioned else "application/json"))
        target = f"{path}?{query}" if query else path
        answer = await self._gateway.upstream.exchange(
            head.method, target, headers, body, repeatable=True, count=sent.share.add
        )
        sent.share.add(2 * len(answer.body))  # as text, and as the body that is sent back
        self._gateway.cluster.note_product(answer.head.get("x-elastic-product"))
        return answer

    async def _send_back(self, sent: _Sent, answer: Answer, body: bytes, fold: str) -> None:
        headers: Headers = http.end_to_end(answer.head.headers)
        headers.append(("X-Esdedup-Fold", fold))
        packs = "gzip" in sent.request.head.get("accept-encoding").lower()
        if packs and len(body) > _WORTH_PACKING and not answer.head.get("content-encoding"):
            body = await self._gateway.apart(len(body), partial(gzip.compress, body, 1))
            headers.append(("content-encoding", "gzip"))
        await self._gateway.answer(
            sent.request, answer.head.status, answer.head.reason, headers, body
        )


def _restore(body: bytes, wants_total: bool) -> tuple[StoryCount | None, bytes]:
    """An answer as `folding.restore` makes it; as it came where it is no JSON object."""
    try:
        count, text = folding.restore(_text(body), wants_total=wants_total)
    except ValueError:
        return None, body
    return count, _encode(text)


def _restore_all(
    body: bytes, plan: Sequence[_Planned], wants_total: bool
) -> tuple[list[OneAnswer], bytes]:
    """The answers to an _msearch, none where they are not those to the plan; and its body with the
    collapsed ones restored."""
    text = _text(body)
    try:
        answers = folding.read_answers(text, wants_total=wants_total)
    except ValueError:
        return [], body
    if len(answers) != len(plan):
        return [], body
    edits = [
        edit
        for one, answer in zip(plan, answers, strict=True)
        if one.means == "collapse" and one.fold != "off"
        for edit in answer.edits
    ]
    return answers, _encode(jsontext.replace_pieces(text, edits))


def _replan(
    sent: _Sent, plan: Sequence[_Planned], answers: Sequence[OneAnswer]
) -> list[_Planned] | None:
    """Another plan where a collapse would hide articles without a group, or an index lacks our
    fields; None where the answers can stay."""
    out = list(plan)
    for place, (one, answer) in enumerate(zip(plan, answers, strict=False)):
        if one.fold == "off":
            continue
        if one.means == "collapse" and answer.count is not None and answer.count.ungrouped:
            out[place] = replace(one, means="filter")
        elif answer.status == 400 and not sent.is_explicit:
            out[place] = replace(one, fold="off")
    return out if out != plan else None


def _is_json(content_type: str) -> bool:
    return not content_type or "json" in content_type.lower()


def _wants_json(request: Request, search: SearchCall) -> bool:
    """Whether the answer will be JSON: another language cannot be set right here."""
    if (given := search.value("format")) is not None:
        return given.lower() == "json"
    accepted = request.head.get("accept").lower()
    return not accepted or "json" in accepted or "*/*" in accepted


def _query(search: SearchCall, means: Means) -> str:
    pairs = list(search.pairs)
    if means == "collapse":
        pairs = [
            (k, folding.filter_path_for(v) or "" if k == "filter_path" else v) for k, v in pairs
        ]
        pairs = [(k, v) for k, v in pairs if k != "filter_path" or v]
    return routes.query_of(pairs)


def _dumps(body: JSON) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def _text(body: bytes) -> str:
    return body.decode("utf-8", "surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
