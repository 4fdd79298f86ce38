"""Searches and counts: folded on the way in, their totals set right on the way out."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from esdedup.errors import QueryError, UnsupportedVersion
from esdedup.gateway import folding, http, limits, routes
from esdedup.gateway.folding import Asked, Fold, How
from esdedup.gateway.http import Headers, HttpError
from esdedup.gateway.limits import TooMuch
from esdedup.gateway.tenants import Caller
from esdedup.model.encoding import parse_json

if TYPE_CHECKING:
    from esdedup.gateway.clients import Request
    from esdedup.gateway.server import Gateway
    from esdedup.gateway.upstream import Answer
    from esdedup.model import JSON

# Below this, packing an answer gains nothing.
_WORTH_PACKING = 1_400

T = TypeVar("T")
# Of an _msearch: line of the body, fold, how, and body of each search.
Plan = list[tuple[int, Fold, How, "JSON"]]


@dataclass(frozen=True, slots=True)
class _Sent:
    """What was asked, so that it can be asked in another way."""

    request: Request
    body: bytes  # as the caller wrote it, without compression
    size: int  # of it when it is read: 60 kB may be 10,000 searches
    is_told: bool  # asked for by this request, not by a default


class Reads:
    """See `handle`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._folds = gateway.options.folds
        self._folds_any = any(fold != "off" for fold in self._folds.values())

    def wants(self, request: Request) -> bool:
        if request.fold is not None:
            return self._named(request.fold) != "off"
        if request.route.kind == "msearch":
            return self._folds_any  # its lines name their indices
        return self._default(request.route.index) != "off"

    def _named(self, text: str) -> Fold:
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
        """Folded; as it came where only a default asks for it and it cannot be, or is too much."""
        gateway = self._gateway
        await self._check_version(request)
        with gateway.memory.share() as share:
            raw = await gateway.whole_body(request, share)
            is_told = request.fold is not None
            gateway.counts["folded"] += 1
            try:
                plain = await self._unpacked(request, raw, share)
                body = plain or b""
                size = await gateway.apart(len(body), partial(limits.read_size, body))
                share.add(size)
                await self._folded(_Sent(request, body, size, is_told), is_json=plain is not None)
            except (QueryError, TooMuch) as error:
                if not is_told:
                    await self._as_it_came(request, raw)
                elif isinstance(error, TooMuch):
                    raise
                else:
                    raise HttpError(400, str(error), "illegal_argument_exception") from error

    async def _unpacked(self, request: Request, raw: bytes, share: limits.Share) -> bytes | None:
        encoding, limit = request.head.get("content-encoding"), self._gateway.options.max_body
        if not encoding or len(raw) <= limits.INLINE_PACKED:
            try:
                return limits.unpacked(raw, encoding, limits.INLINE if encoding else limit)
            except TooMuch:
                pass  # more than may be done here
        return await self._gateway.apart(
            limit, partial(limits.unpacked, raw, encoding, limit, share.add)
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
            await asyncio.to_thread(cluster.check, Caller.of(request.head.headers))
        except UnsupportedVersion as error:
            raise HttpError(503, str(error), "esdedup_unavailable_exception") from error

    async def _folded(self, sent: _Sent, *, is_json: bool) -> None:
        kind = sent.request.route.kind
        if not is_json or not _is_json(sent.request.head.get("content-type")):
            raise QueryError("only searches written in JSON can be folded")
        if kind == "msearch":
            await self._msearch(sent)
            return
        told = sent.request.fold
        fold = self._named(told) if told is not None else self._default(sent.request.route.index)
        pairs = routes.parameters(sent.request.query)
        search = await self._apart(sent.size, partial(folding.asked, sent.body, pairs))
        if kind == "count":
            await self._count(sent, search, fold)
        else:
            await self._search(sent, search, fold)

    # --- one search --------------------------------------------------------------------------

    async def _search(self, sent: _Sent, search: Asked, fold: Fold) -> None:
        product, is_json = self._gateway.cluster.known_product, _wants_json(sent.request, search)
        how = await self._apart(
            sent.size, lambda: folding.how(search, fold, product, is_json=is_json)
        )
        answer = await self._ask_folded(sent, search, fold, how)
        if how == "filter":
            await self._give(sent, answer, answer.body, "canonical")
            return
        number = None
        if answer.head.status == 200:
            number = await self._apart(len(answer.body), lambda: folding.counted(_parsed(answer)))
        if answer.head.status == 400 and not sent.is_told:
            raise QueryError("an index without our fields, most likely")
        if number is None:
            await self._give(sent, answer, answer.body, fold)
        elif number.ungrouped:
            answer = await self._ask_folded(sent, search, fold, "filter")
            await self._give(sent, answer, answer.body, "canonical")
        else:
            wants = folding.wants_total(search.value("filter_path"))
            shown = await self._apart(
                len(answer.body), lambda: _encoded(folding.shown(_text(answer), wants))
            )
            await self._give(sent, answer, shown, fold)

    async def _count(self, sent: _Sent, search: Asked, fold: Fold) -> None:
        """Native where stories are counted by leaving copies out; else as a search."""
        by_filter = fold == "canonical" or not _wants_json(sent.request, search)
        if by_filter or search.value("filter_path") is not None:
            answer = await self._ask_folded(sent, search, fold, "filter")
            await self._give(sent, answer, answer.body, "canonical")
            return
        counting = folding.count_search(search, fold)
        path = sent.request.path.rstrip("/").removesuffix("_count") + "_search"
        body = await self._apart(sent.size, partial(_dumps, counting.body))
        answer = await self._exchange(sent, path, _query(counting, "filter"), body)
        told = None
        if answer.head.status == 200:
            told = folding.count_answer(_text(answer))
        if told is None and not sent.is_told:
            raise QueryError("an index without our fields, most likely")
        await self._give(sent, answer, answer.body if told is None else _encoded(told), fold)

    # --- several -----------------------------------------------------------------------------

    async def _msearch(self, sent: _Sent) -> None:
        request = sent.request
        whole = Asked({}, tuple(routes.parameters(request.query)))
        lines, plan = await self._apart(sent.size, partial(self._plan, sent))
        is_json = _wants_json(request, whole)
        answer = await self._ask_many(sent, whole, lines, plan, is_json=is_json)
        body = answer.body
        if is_json and answer.head.status == 200:
            again = await self._apart(len(answer.body), partial(self._again, sent, plan, answer))
            if again is not None:
                plan = again
                answer = await self._ask_many(sent, whole, lines, plan, is_json=is_json)
            places = {i for i, (_, _, how, _) in enumerate(plan) if how == "collapse"}
            wants = folding.wants_total(whole.value("filter_path"))
            body = await self._apart(
                len(answer.body),
                lambda: _encoded(folding.responses_shown(_text(answer), places, wants_total=wants)),
            )
        done: set[Fold] = {
            fold if is_json and how == "collapse" else "canonical"
            for _, fold, how, _ in plan
            if fold != "off"
        }
        await self._give(sent, answer, body, ",".join(sorted(done)) or "off")

    def _plan(self, sent: _Sent) -> tuple[list[bytes], Plan]:
        """The lines of the body, and what is done with each search."""
        told, most = sent.request.fold, self._gateway.options.max_searches
        lines = limits.lines_of(sent.body, most, "searches", "--max-searches")
        product = self._gateway.cluster.known_product
        plan: Plan = []
        for entry in folding.entries(lines, sent.request.route.index, most):
            fold = self._named(told) if told is not None else self._default(entry.index)
            how: How = "filter"
            if fold != "off":
                try:
                    one = folding.search_of(entry.body)
                    how = folding.how(one, fold, product, is_json=True)
                except QueryError:
                    if sent.is_told:
                        raise
                    fold = "off"
            plan.append((entry.body_line, fold, how, entry.body))
        return lines, plan

    def _again(self, sent: _Sent, plan: Plan, answer: Answer) -> Plan | None:
        """Where a collapse would hide articles without a group, or an index lacks our fields."""
        responses: Sequence[JSON] = _parsed(answer).get("responses", [])
        if len(responses) != len(plan):
            return None
        out, differs = [], False
        for (line, fold, how, body), response in zip(plan, responses, strict=True):
            number = folding.counted(response) if how == "collapse" and fold != "off" else None
            new_fold, new_how = fold, how
            if number is not None and number.ungrouped:
                new_how = "filter"
            elif fold != "off" and response.get("status") == 400 and not sent.is_told:
                new_fold = "off"
            differs |= (new_fold, new_how) != (fold, how)
            out.append((line, new_fold, new_how, body))
        return out if differs else None

    async def _ask_many(
        self, sent: _Sent, whole: Asked, lines: Sequence[bytes], plan: Plan, *, is_json: bool
    ) -> Answer:
        def folded() -> bytes:
            out = list(lines)
            for line, fold, how, body in plan:
                if fold != "off":
                    out[line] = _dumps(folding.folded(body, fold, how if is_json else "filter"))
            return b"\n".join(out)

        body = await self._apart(sent.size, folded)
        return await self._exchange(sent, sent.request.path, _query(whole, "collapse"), body)

    # --- asking and answering ----------------------------------------------------------------

    async def _ask_folded(self, sent: _Sent, search: Asked, fold: Fold, how: How) -> Answer:
        body = await self._apart(sent.size, lambda: _dumps(folding.folded(search.body, fold, how)))
        return await self._exchange(sent, sent.request.path, _query(search, how), body)

    async def _exchange(self, sent: _Sent, path: str, query: str, body: bytes) -> Answer:
        dropped = ("content-encoding", "accept-encoding")
        headers = [(n, v) for n, v in sent.request.headers if n.lower() not in dropped]
        if not sent.request.head.get("content-type"):
            accepted = sent.request.head.get("accept")
            versioned = "compatible-with" in accepted and "," not in accepted
            headers.append(("Content-Type", accepted if versioned else "application/json"))
        target = f"{path}?{query}" if query else path
        answer = await self._gateway.upstream.exchange(
            sent.request.head.method, target, headers, body, repeatable=True
        )
        self._gateway.cluster.saw_product(answer.head.get("x-elastic-product"))
        return answer

    async def _as_it_came(self, request: Request, raw: bytes) -> None:
        answer = await self._gateway.upstream.exchange(
            request.head.method, request.target, request.headers, raw, repeatable=True
        )
        headers = http.end_to_end(answer.head.headers)
        headers.append(("X-Esdedup-Fold", "off"))
        await self._gateway.answer(
            request, answer.head.status, answer.head.reason, headers, answer.body
        )

    async def _give(self, sent: _Sent, answer: Answer, body: bytes, fold: str) -> None:
        headers: Headers = http.end_to_end(answer.head.headers)
        headers.append(("X-Esdedup-Fold", fold))
        packs = "gzip" in sent.request.head.get("accept-encoding").lower()
        if packs and len(body) > _WORTH_PACKING and not answer.head.get("content-encoding"):
            body = await self._gateway.apart(len(body), partial(gzip.compress, body, 1))
            headers.append(("content-encoding", "gzip"))
        await self._gateway.answer(
            sent.request, answer.head.status, answer.head.reason, headers, body
        )


def _is_json(content_type: str) -> bool:
    return not content_type or "json" in content_type.lower()


def _wants_json(request: Request, search: Asked) -> bool:
    """Whether the answer will be JSON: another language cannot be set right here."""
    if (given := search.value("format")) is not None:
        return given.lower() == "json"
    accepted = request.head.get("accept").lower()
    return not accepted or "json" in accepted or "*/*" in accepted


def _query(search: Asked, how: How) -> str:
    pairs = list(search.pairs)
    if how == "collapse":
        pairs = [
            (k, folding.filter_path_for(v) or "" if k == "filter_path" else v) for k, v in pairs
        ]
        pairs = [(k, v) for k, v in pairs if k != "filter_path" or v]
    return routes.query_of(pairs)


def _dumps(body: JSON) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def _text(answer: Answer) -> str:
    return answer.body.decode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _parsed(answer: Answer) -> JSON:
    try:
        value = parse_json(_text(answer))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
