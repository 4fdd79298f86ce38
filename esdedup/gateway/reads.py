"""Searches and counts: folded on the way in, their totals set right on the way out."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from esdedup.encoding import parse_json
from esdedup.errors import QueryError
from esdedup.gateway import folding, http, routes
from esdedup.gateway.folding import Asked, Fold, How
from esdedup.gateway.http import Headers, HttpError

if TYPE_CHECKING:
    from esdedup.gateway.clients import Request
    from esdedup.gateway.server import Gateway
    from esdedup.gateway.upstream import Answer
    from esdedup.model import JSON

# Below this, packing an answer gains nothing.
_WORTH_PACKING = 1_400


@dataclass(frozen=True, slots=True)
class _Sent:
    """What was asked, so that it can be asked in another way."""

    request: Request
    body: bytes  # as the caller wrote it, without compression
    raw: bytes
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
        gateway = self._gateway
        raw = await gateway.whole_body(request)
        try:
            plain = http.decoded(
                raw, request.head.get("content-encoding"), gateway.options.max_body
            )
            sent = _Sent(request, plain or b"", raw, request.fold is not None)
            gateway.counts["folded"] += 1
            try:
                await self._folded(sent, is_json=plain is not None)
            except QueryError as error:
                if sent.is_told:
                    raise HttpError(400, str(error), "illegal_argument_exception") from error
                await self._as_it_came(sent)
        finally:
            gateway.release(len(raw))

    async def _folded(self, sent: _Sent, *, is_json: bool) -> None:
        kind = sent.request.route.kind
        if not is_json or not _is_json(sent.request.head.get("content-type")):
            raise QueryError("only searches written in JSON can be folded")
        if kind == "msearch":
            await self._msearch(sent)
            return
        told = sent.request.fold
        fold = self._named(told) if told is not None else self._default(sent.request.route.index)
        search = folding.asked(sent.body, routes.parameters(sent.request.query))
        if kind == "count":
            await self._count(sent, search, fold)
        else:
            await self._search(sent, search, fold)

    # --- one search --------------------------------------------------------------------------

    async def _search(self, sent: _Sent, search: Asked, fold: Fold) -> None:
        product = self._gateway.cluster.known_product
        how = folding.how(search, fold, product, is_json=_wants_json(sent.request, search))
        answer = await self._ask(sent, search, folding.folded(search.body, fold, how), how)
        if how == "filter":
            await self._give(sent, answer, answer.body, "canonical")
            return
        text = answer.body.decode("utf-8", "surrogateescape")
        number = folding.counted(_parsed(text)) if answer.head.status == 200 else None
        if answer.head.status == 400 and not sent.is_told:
            await self._as_it_came(sent)  # an index without our fields, most likely
        elif number is None:
            await self._give(sent, answer, answer.body, fold)
        elif number.ungrouped:
            body = folding.folded(search.body, fold, "filter")
            answer = await self._ask(sent, search, body, "filter")
            await self._give(sent, answer, answer.body, "canonical")
        else:
            wants = folding.wants_total(search.value("filter_path"))
            shown = folding.shown(text, wants).encode("utf-8", "surrogateescape")
            await self._give(sent, answer, shown, fold)

    async def _count(self, sent: _Sent, search: Asked, fold: Fold) -> None:
        """Native where stories are counted by leaving copies out; else as a search."""
        by_filter = fold == "canonical" or not _wants_json(sent.request, search)
        if by_filter or search.value("filter_path") is not None:
            answer = await self._ask(
                sent, search, folding.folded(search.body, fold, "filter"), "filter"
            )
            await self._give(sent, answer, answer.body, "canonical")
            return
        counting = folding.count_search(search, fold)
        path = sent.request.path.rstrip("/").removesuffix("_count") + "_search"
        answer = await self._ask(sent, counting, counting.body, "filter", path=path)
        told = None
        if answer.head.status == 200:
            told = folding.count_answer(answer.body.decode("utf-8", "surrogateescape"))
        if told is None and not sent.is_told:
            await self._as_it_came(sent)
            return
        body = answer.body if told is None else told.encode("utf-8", "surrogateescape")
        await self._give(sent, answer, body, fold)

    # --- several -----------------------------------------------------------------------------

    async def _msearch(self, sent: _Sent) -> None:
        request = sent.request
        pairs = routes.parameters(request.query)
        whole = Asked({}, tuple(pairs))
        lines = sent.body.split(b"\n")
        plan = self._plan(sent, lines)
        is_json = _wants_json(request, whole)
        answer = await self._ask_many(sent, whole, lines, plan, is_json=is_json)
        if is_json and answer.head.status == 200:
            text = answer.body.decode("utf-8", "surrogateescape")
            responses = _parsed(text).get("responses", [])
            if again := self._again(sent, plan, responses):
                plan = again
                answer = await self._ask_many(sent, whole, lines, plan, is_json=is_json)
                text = answer.body.decode("utf-8", "surrogateescape")
            places = [i for i, (_, _, how, _) in enumerate(plan) if how == "collapse"]
            wants = folding.wants_total(whole.value("filter_path"))
            shown = folding.responses_shown(text, places, wants_total=wants)
            body = shown.encode("utf-8", "surrogateescape")
        else:
            body = answer.body
        done: set[Fold] = {
            fold if is_json and how == "collapse" else "canonical"
            for _, fold, how, _ in plan
            if fold != "off"
        }
        await self._give(sent, answer, body, ",".join(sorted(done)) or "off")

    def _plan(self, sent: _Sent, lines: Sequence[bytes]) -> list[tuple[int, Fold, How, JSON]]:
        """(line of the body, fold, how, body) of each search."""
        told = sent.request.fold
        product = self._gateway.cluster.known_product
        plan: list[tuple[int, Fold, How, JSON]] = []
        for entry in folding.entries(lines, sent.request.route.index):
            fold = self._named(told) if told is not None else self._default(entry.index)
            how: How = "filter"
            body = entry.body
            if fold != "off":
                try:
                    one = folding.asked(json.dumps(body).encode(), ())
                    how = folding.how(one, fold, product, is_json=True)
                except QueryError:
                    if sent.is_told:
                        raise
                    fold = "off"
            plan.append((entry.body_line, fold, how, body))
        return plan

    def _again(
        self, sent: _Sent, plan: Sequence[tuple[int, Fold, How, JSON]], responses: Sequence[JSON]
    ) -> list[tuple[int, Fold, How, JSON]] | None:
        """Where a collapse would hide articles without a group, or an index lacks our fields."""
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
        self,
        sent: _Sent,
        whole: Asked,
        lines: Sequence[bytes],
        plan: Sequence[tuple[int, Fold, How, JSON]],
        *,
        is_json: bool,
    ) -> Answer:
        out = list(lines)
        for line, fold, how, body in plan:
            if fold != "off":
                way: How = how if is_json else "filter"
                out[line] = _dumps(folding.folded(body, fold, way))
        query = _query(whole, "collapse")
        return await self._exchange(sent, sent.request.path, query, b"\n".join(out))

    # --- asking and answering ----------------------------------------------------------------

    async def _ask(
        self, sent: _Sent, search: Asked, body: JSON, how: How, *, path: str | None = None
    ) -> Answer:
        return await self._exchange(
            sent, path or sent.request.path, _query(search, how), _dumps(body)
        )

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

    async def _as_it_came(self, sent: _Sent) -> None:
        request = sent.request
        answer = await self._gateway.upstream.exchange(
            request.head.method, request.target, request.headers, sent.raw, repeatable=True
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
            body = gzip.compress(body, 1)
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


def _parsed(text: str) -> JSON:
    try:
        value = parse_json(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
