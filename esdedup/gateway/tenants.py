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
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from esdedup.errors import StoreError, StoreUnavailable, UnsupportedVersion
from esdedup.gateway.http import Headers
from esdedup.model.encoding import encode_json
from esdedup.stores.cluster.bulk import Written
from esdedup.stores.cluster.causes import describe_error, error_of
from esdedup.stores.cluster.connection import (
    OPAQUE_ID,
    Connection,
    PrivilegeMissing,
    Product,
    Target,
    Unanswered,
    lines,
    parse_answer,
    tls_message,
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
        self._pool: Any = None
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
                answer = self._request(tenant, "GET", "/", {}, None)
            except Unanswered as later:
                raise StoreUnavailable(f"{self.target.shown} does not answer ({later})") from later
            if answer.status == 401:
                raise StoreError("the cluster refused the caller's credentials (401)")
            named = answer.headers.get("x-elastic-product") == "Elasticsearch"
            # A caller that may write to an index need not be one that may ask for the version.
            if answer.status == 403 and not named:
                raise TenantDenied(403, parse_answer(answer.data), "GET /", self.target)
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
        if self._pool is not None:
            self._pool.clear()

    def _perform(
        self,
        tenant: Tenant,
        target: Target,
        method: str,
        path: str,
        params: Mapping[str, Any],
        body: Any,
    ) -> tuple[int, Any]:
        headers, data = {}, None
        if isinstance(body, bytes | list | tuple):
            data, headers["content-type"] = lines(body), "application/x-ndjson"
        elif body is not None:
            data, headers["content-type"] = encode_json(body), "application/json"
        if params:
            path = f"{path}{'&' if '?' in path else '?'}{urlencode(params)}"
        answer = self._request(tenant, method, path, headers, data)
        value = parse_answer(answer.data) if answer.data else {}
        if answer.status == 401:
            reason = error_of(value)[1]
            raise StoreError(f"the cluster refused the caller's credentials (401 {reason})")
        if answer.status == 403 and error_of(value)[0] != "cluster_block_exception":
            raise TenantDenied(403, value, f"{method} {path.partition('?')[0]}", target)
        return answer.status, value

    def _request(
        self, tenant: Tenant, method: str, path: str, headers: Mapping[str, str], data: Any
    ) -> Any:
        import urllib3

        own = urllib3.HTTPHeaderDict({"x-opaque-id": OPAQUE_ID, "accept": "application/json"})
        own.update(headers)
        for name, value in tenant.headers:
            own.add(name, value)
        problem: Exception | None = None
        for host in self.target.hosts:
            try:
                return self._manager().request(
                    method, f"{host}{path}", body=data, headers=own, retries=False, redirect=False
                )
            except urllib3.exceptions.SSLError as error:
                raise StoreError(tls_message(self.target, error)) from error
            except urllib3.exceptions.HTTPError as error:
                problem = error
        raise Unanswered(type(problem).__name__) from problem

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


class TenantDenied(PrivilegeMissing):
    """The caller lacks a privilege: its own to get, or left to `esdedup sweep`."""

    def _describe(self) -> str:
        reason = "" if self.denial.action else f" {describe_error(self.body)}"
        return (
            f"the caller may not: {self.denial} ({self.status}{reason}); give it the rights in "
            "mappings/roles, or let `esdedup sweep` sign what it writes"
        )
