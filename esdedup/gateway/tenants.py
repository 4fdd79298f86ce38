"""Who calls, and our own requests in their name.

The gateway has no credentials. What detection reads, and what settling writes, goes out with the
headers of the request that caused it, so that it sees and changes what the caller may see and
change, and no more. Every header that could tell who somebody is goes along; only those that are
known to be about something else are left out.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from esdedup.errors import StoreError, StoreUnavailable, UnsupportedVersion
from esdedup.gateway.http import HOP_BY_HOP, Headers
from esdedup.model.encoding import encoded
from esdedup.stores.cluster.causes import error_of, told
from esdedup.stores.cluster.connection import (
    OPAQUE_ID,
    Connection,
    PrivilegeMissing,
    Product,
    Target,
    _as_json,
    _Later,
    _refusal,
    _tls_message,
    lines,
)
from esdedup.stores.cluster.store import ClusterStore
from esdedup.stores.cluster.versions import check_version

# About the message, the client or the way it came; not about who sent it.
_NOT_IDENTITY = HOP_BY_HOP | {
    "accept", "accept-charset", "accept-encoding", "accept-language", "baggage", "cache-control",
    "content-encoding", "content-length", "content-type", "date", "elastic-apm-traceparent",
    "expect", "host", "origin", "pragma", "priority", "referer", "traceparent", "tracestate",
    "user-agent", "x-elastic-client-meta", "x-elastic-product-origin", "x-esdedup-fold",
    "x-opaque-id", "x-request-id",
}  # fmt: skip

# Callers beyond these are asked for with each of their folded searches.
_MOST_UNKNOWN = 1_000


@dataclass(frozen=True, slots=True)
class Caller:
    """The headers that tell who it is; `name` stands for them and tells nothing of them."""

    headers: tuple[tuple[str, str], ...] = field(repr=False)
    name: str

    @classmethod
    def of(cls, headers: Headers) -> Caller:
        own = tuple(sorted((n.lower(), v) for n, v in headers if n.lower() not in _NOT_IDENTITY))
        digest = hashlib.blake2b(json.dumps(own).encode(), digest_size=16)
        return cls(own, digest.hexdigest())


class CallerStore(ClusterStore):
    """A store whose documents are written by the caller's own requests."""

    def note_written(self, operations: int) -> None:
        """What went to the cluster through the gateway is no other writer's work."""
        self._own_operations += operations


class Cluster:
    """The way to the cluster for requests of our own."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._pool: Any = None
        self._lock = threading.Lock()
        self._product: Product | None = target.product
        self.is_checked = False  # of a version that is supported
        self._unknown: set[str] = set()  # callers that may not ask for it

    def store(self, caller: Caller, pattern: str, settings: Any) -> CallerStore:
        """Opens the store behind a pattern as the caller; nothing is made where nothing is."""
        from esdedup.errors import StoreMissing
        from esdedup.stores.cluster.index import Index

        target = replace(self.target, index=pattern)
        connection = self.connection(caller, target)
        if Index(connection, target).mappings() is None:
            raise StoreMissing(f"there is no index {pattern} yet")
        return CallerStore(target, settings, connection=connection)

    def connection(self, caller: Caller, target: Target) -> Connection:
        def perform(method: str, path: str, params: Mapping[str, Any], body: Any) -> Any:
            return self._perform(caller, target, method, path, params, body)

        made = Connection(self.product(caller), target, perform, lambda: None)
        if not self.is_checked:
            self.is_checked = check_version(made) is not None
        return made

    def check(self, caller: Caller) -> None:
        """UnsupportedVersion; nothing where nobody answers, or nothing to this caller: the next
        one may ask for the version."""
        if caller.name in self._unknown:
            return
        try:
            self.connection(caller, replace(self.target, opening_seconds=0.0))
        except UnsupportedVersion:
            raise
        except StoreUnavailable:
            return
        except StoreError:
            pass  # the request that follows is told
        if not self.is_checked and len(self._unknown) < _MOST_UNKNOWN:
            self._unknown.add(caller.name)

    def product(self, caller: Caller) -> Product:
        """Elasticsearch names itself in a header of every answer."""
        if self._product is None:
            try:
                answer = self._request(caller, "GET", "/", {}, None)
            except _Later as later:
                raise StoreUnavailable(f"{self.target.shown} does not answer ({later})") from later
            if answer.status == 401:
                raise StoreError("the cluster refused the caller's credentials (401)")
            named = answer.headers.get("x-elastic-product") == "Elasticsearch"
            # A caller that may write to an index need not be one that may ask for the version.
            if answer.status == 403 and not named:
                raise CallerDenied(403, _as_json(answer.data), "GET /", self.target)
            self._product = "elasticsearch" if named else "opensearch"
        return self._product

    def saw_product(self, header: str) -> None:
        """Told by an answer that passed through."""
        if self._product is None and header:
            self._product = "elasticsearch"

    @property
    def known_product(self) -> str:
        return self._product or "opensearch"

    def close(self) -> None:
        if self._pool is not None:
            self._pool.clear()

    def _perform(
        self,
        caller: Caller,
        target: Target,
        method: str,
        path: str,
        params: Mapping[str, Any],
        body: Any,
    ) -> Any:
        headers, data = {}, None
        if isinstance(body, bytes | list | tuple):
            data, headers["content-type"] = lines(body), "application/x-ndjson"
        elif body is not None:
            data, headers["content-type"] = encoded(body), "application/json"
        if params:
            path = f"{path}{'&' if '?' in path else '?'}{urlencode(params)}"
        answer = self._request(caller, method, path, headers, data)
        value = _as_json(answer.data) if answer.data else {}
        if answer.status >= 400:
            what = f"{method} {path.partition('?')[0]}"
            kind, reason = error_of(value)
            if answer.status == 401:
                raise StoreError(f"the cluster refused the caller's credentials (401 {reason})")
            if answer.status == 403 and kind != "cluster_block_exception":
                raise CallerDenied(403, value, what, target)
            raise _refusal(target, answer.status, value, what)
        return value

    def _request(
        self, caller: Caller, method: str, path: str, headers: Mapping[str, str], data: Any
    ) -> Any:
        import urllib3

        own = urllib3.HTTPHeaderDict({"x-opaque-id": OPAQUE_ID, "accept": "application/json"})
        own.update(headers)
        for name, value in caller.headers:
            own.add(name, value)
        problem: Exception | None = None
        for host in self.target.hosts:
            try:
                return self._manager().request(
                    method, f"{host}{path}", body=data, headers=own, retries=False, redirect=False
                )
            except urllib3.exceptions.SSLError as error:
                raise StoreError(_tls_message(self.target, error)) from error
            except urllib3.exceptions.HTTPError as error:
                problem = error
        raise _Later(type(problem).__name__) from problem

    def _manager(self) -> Any:
        import urllib3

        with self._lock:
            if self._pool is None:
                self._pool = urllib3.PoolManager(
                    ca_certs=self.target.ca_certs,
                    timeout=self.target.request_seconds,
                    maxsize=16,
                )
            return self._pool


class CallerDenied(PrivilegeMissing):
    """The caller lacks a privilege: its own to mend, or left to `esdedup sweep`."""

    def _told(self) -> str:
        reason = "" if self.denial.action else f" {told(self.body)}"
        return (
            f"the caller may not: {self.denial} ({self.status}{reason}); give it the rights in "
            "mappings/roles, or let `esdedup sweep` sign what it writes"
        )


__all__ = ["Caller", "CallerStore", "Cluster", "StoreUnavailable"]
