"""Tenants: who sent a request, and our own requests with their credentials.

The gateway has no credentials. Requests of detection and reconciliation go out with the headers of
the request that caused them, so they see and change what its sender may see and change, and no
more. Only credential headers go along: any other header, such as a trace id, may differ with every
request, and each new set of credentials costs a session and the requests that open it.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from esdedup.errors import StoreError, StoreUnavailable, UnsupportedVersion
from esdedup.gateway.http import Headers
from esdedup.stores.cluster.bulk import Written
from esdedup.stores.cluster.causes import describe_error, error_of
from esdedup.stores.cluster.connection import (
    Connection,
    Exchange,
    PrivilegeMissing,
    Product,
    Target,
    Unanswered,
    open_transport,
)
from esdedup.stores.cluster.store import ClusterStore
from esdedup.stores.cluster.versions import check_version

# Headers by which the engines, and proxies in front of them, know who somebody is.
CREDENTIAL_HEADERS = frozenset(
    {
        "authorization", "cookie", "es-secondary-authorization", "es-security-runas-user",
        "opendistro_security_impersonate_as", "opensearch_security_impersonate_as",
        "remote-user", "securitytenant", "x-amz-security-token", "x-api-key", "x-auth-token",
        "x-forwarded-for", "x-forwarded-groups", "x-forwarded-user", "x-proxy-roles",
        "x-proxy-user", "x-remote-user",
    }
)  # fmt: skip

# Tenants beyond these are asked for with each of their folded searches.
_MOST_UNKNOWN = 1_000


@dataclass(frozen=True, slots=True)
class Tenant:
    """The credential headers of a request; `name` stands for them and tells nothing of them."""

    headers: tuple[tuple[str, str], ...] = field(repr=False)
    name: str

    @classmethod
    def of(cls, headers: Headers, names: Container[str] = CREDENTIAL_HEADERS) -> Tenant:
        own = tuple(sorted((n.lower(), v) for n, v in headers if n.lower() in names))
        digest = hashlib.blake2b(json.dumps(own).encode(), digest_size=16)
        return cls(own, digest.hexdigest())


class TenantStore(ClusterStore):
    """A store whose documents are written by the caller's own requests."""

    def note_written(self, operations: int) -> None:
        """What went to the cluster through the gateway is no other writer's work."""
        self.concurrency.count_writes(Written(operations))


class Cluster:
    """The way to the cluster for requests of our own."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._transport: tuple[Exchange, Callable[[], None]] | None = None
        self._lock = threading.Lock()
        self._product: Product | None = target.product
        self.is_checked = False  # of a version that is supported
        self._unknown: set[str] = set()  # callers that may not ask for it

    def store(self, tenant: Tenant, pattern: str, settings: Any) -> TenantStore:
        """Opens the store behind a pattern as the caller; nothing is made where nothing is."""
        from esdedup.errors import StoreMissing
        from esdedup.stores.cluster.index import Index

        target = replace(self.target, index=pattern)
        connection = self.connection(tenant, target)
        if Index(connection, target).mappings() is None:
            raise StoreMissing(f"there is no index {pattern} yet")
        return TenantStore(target, settings, connection=connection)

    def connection(self, tenant: Tenant, target: Target) -> Connection:
        def perform(
            method: str, path: str, params: Mapping[str, Any], body: Any
        ) -> tuple[int, Any]:
            return self._perform(tenant, target, method, path, params, body)

        made = Connection(self.product(tenant), target, perform, lambda: None)
        if not self.is_checked:
            self.is_checked = check_version(made) is not None
        return made

    def check(self, tenant: Tenant) -> None:
        """UnsupportedVersion; nothing where nobody answers, or nothing to this caller: the next
        one may ask for the version."""
        if tenant.name in self._unknown:
            return
        try:
            self.connection(tenant, replace(self.target, opening_seconds=0.0))
        except UnsupportedVersion:
            raise
        except StoreUnavailable:
            return
        except StoreError:
            pass  # the request that follows gets the error
        if not self.is_checked and len(self._unknown) < _MOST_UNKNOWN:
            self._unknown.add(tenant.name)

    def product(self, tenant: Tenant) -> Product:
        """Elasticsearch names itself in a header of every answer."""
        if self._product is None:
            try:
                status, headers, answer = self._exchange(tenant, "GET", "/")
            except Unanswered as later:
                raise StoreUnavailable(f"{self.target.shown} does not answer ({later})") from later
            if status == 401:
                raise StoreError("the cluster refused the caller's credentials (401)")
            named = headers.get("x-elastic-product") == "Elasticsearch"
            # A caller that may write to an index need not be one that may ask for the version.
            if status == 403 and not named:
                raise TenantDenied(403, answer, "GET /", self.target)
            self._product = "elasticsearch" if named else "opensearch"
        return self._product

    def note_product(self, header: str) -> None:
        """Learn the product from an answer that passed through."""
        if self._product is None and header:
            self._product = "elasticsearch"

    @property
    def known_product(self) -> str:
        return self._product or "opensearch"

    def close(self) -> None:
        if self._transport is not None:
            self._transport[1]()

    def _perform(
        self,
        tenant: Tenant,
        target: Target,
        method: str,
        path: str,
        params: Mapping[str, Any],
        body: Any,
    ) -> tuple[int, Any]:
        where = f"{path}?{urlencode(params)}" if params else path
        status, _, answer = self._exchange(tenant, method, where, body)
        if status == 401:
            reason = error_of(answer)[1]
            raise StoreError(f"the cluster refused the caller's credentials (401 {reason})")
        if status == 403 and error_of(answer)[0] != "cluster_block_exception":
            raise TenantDenied(403, answer, f"{method} {path}", target)
        return status, answer

    def _exchange(
        self, tenant: Tenant, method: str, where: str, body: Any = None
    ) -> tuple[int, Mapping[str, str], Any]:
        with self._lock:
            if self._transport is None:
                self._transport = open_transport(self.target)
        exchange, _ = self._transport
        headers: dict[str, str] = {}
        for name, value in tenant.headers:  # of repeated ones a list, which means the same
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        return exchange(method, where, body, headers)


class TenantDenied(PrivilegeMissing):
    """The caller lacks a privilege: its own to get, or left to `esdedup sweep`."""

    def _describe(self) -> str:
        reason = "" if self.denial.action else f" {describe_error(self.body)}"
        return (
            f"the caller may not: {self.denial} ({self.status}{reason}); give it the rights in "
            "mappings/roles, or let `esdedup sweep` sign what it writes"
        )
