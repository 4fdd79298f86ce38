"""Connections to a search cluster: one way to send, two official clients behind it.

    elasticsearch+https://host:9200/news      stated by the scheme
    opensearch+http://a:9200,b:9200/news      several hosts
    https://user:password@host:9200/news      plain: the product is found by asking
    elasticsearch+cloud:///news               the cloud id from ES_CLOUD_ID

Credentials come from the URL or from ES_API_KEY, ES_USERNAME and ES_PASSWORD, a CA file from
ES_CA_CERTS. They are never part of a message.
"""

from __future__ import annotations

import base64
import json
import os
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self
from urllib.parse import quote, unquote, urlencode, urlsplit

from esdedup.errors import StoreError, StoreUnavailable
from esdedup.model import JSON
from esdedup.model.encoding import decoded, encoded
from esdedup.stores.cluster.causes import denial_of, error_of, told
from esdedup.stores.cluster.versions import check_version

Product = Literal["elasticsearch", "opensearch"]

OPAQUE_ID = "esdedup"
_RETRIED = (429, 502, 503, 504)
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
# What a header can carry; and of what goes there in Base64 all but control characters and halves
# of surrogate pairs, which bytes of the environment that are no UTF-8 become.
_VISIBLE = re.compile("[!-~]+")
_LEGIBLE = re.compile("[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


class ClusterRefused(StoreError):
    """The cluster answered with an error that another try would meet again."""

    def __init__(self, status: int, body: Any, what: str) -> None:
        self.status = status
        self.body = body
        self.type = error_of(body)[0]
        super().__init__(f"{what}: {self._told()}")

    def _told(self) -> str:
        return f"{self.status} {told(self.body)}".strip()


class PrivilegeMissing(ClusterRefused):
    """The user is known, and may not do this (403)."""

    def __init__(self, status: int, body: Any, what: str, target: Target) -> None:
        self.denial = denial_of(body, what, target.index)
        super().__init__(status, body, f"{target.shown}: {what}")

    def _told(self) -> str:
        reason = "" if self.denial.action else f"; {told(self.body)}"
        return (
            f"{self.denial} ({self.status}{reason}); give the user the rights in mappings/roles, "
            "or another user in ES_API_KEY or ES_USERNAME"
        )


@dataclass(frozen=True, slots=True)
class Target:
    """Where and as whom: a parsed store URL with what the environment adds."""

    product: Product | None
    hosts: tuple[str, ...]
    index: str
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    ca_certs: str | None = None
    cloud_id: str | None = None
    request_seconds: float = 30.0
    retry_seconds: float = 60.0
    opening_seconds: float = 10.0  # for a server that has not answered yet at all

    def __post_init__(self) -> None:
        """Credentials that no request could carry are refused here, by name: what a client says
        of them would hold them."""
        for value, is_usable, name in (
            (self.api_key, _VISIBLE.fullmatch, "ES_API_KEY"),
            (self.username, _LEGIBLE.fullmatch, "ES_USERNAME, or the user in the store's URL,"),
            (self.password, _LEGIBLE.fullmatch, "ES_PASSWORD, or the password in the URL,"),
        ):
            if value and not is_usable(value):
                raise StoreError(
                    f"{name} has a character that cannot be sent, such as a line break; set it "
                    "again without"
                )

    @property
    def shown(self) -> str:
        """For messages: no credentials."""
        where = ",".join(self.hosts) or "cloud"
        return f"{where}/{self.index}"

    @classmethod
    def parse(cls, url: str, environment: Mapping[str, str] = os.environ) -> Self:
        scheme, _, rest = url.partition("://")
        product, _, transport = scheme.rpartition("+")
        known: dict[str, Product | None] = {
            "elasticsearch": "elasticsearch",
            "es": "elasticsearch",
            "opensearch": "opensearch",
            "os": "opensearch",
            "": None,
        }
        if product not in known or transport not in ("http", "https", "cloud"):
            shown = f" {scheme}://" if re.fullmatch(r"[\w+.-]+", scheme) and rest else ""
            raise StoreError(
                f"unknown store{shown} ; use sqlite:///file.db, elasticsearch+https://…, "
                "opensearch+https://… or https://…"
            )
        authority, _, path = rest.partition("/")
        credentials, _, hosts = authority.rpartition("@")
        user, _, password = credentials.partition(":")
        index = path.strip("/").partition("?")[0] or "news"
        port = authority.rpartition(":")[2]
        if "@" in path and not credentials and ("/" in index or not port.isdecimal()):
            # Either side of the slash may be a part of a password.
            raise StoreError(
                "the store's URL has an @ behind a slash; write / as %2F in a user or a password"
            )
        if index != index.lower() or any(c in index for c in ' "\\<>|#/'):
            raise StoreError(
                f"{index!r} is no name for an index: lower case, no / \\ < > | # space"
            )
        is_cloud = transport == "cloud"
        if is_cloud and (known[product] == "opensearch" or not environment.get("ES_CLOUD_ID")):
            raise StoreError(
                f"{scheme}:// is a deployment on Elastic Cloud: set ES_CLOUD_ID to its cloud id, "
                "and write elasticsearch+cloud:///INDEX"
            )
        return cls(
            product=known[product],
            hosts=() if is_cloud else tuple(_host(transport, h) for h in hosts.split(",")),
            index=index,
            username=unquote(user) or environment.get("ES_USERNAME"),
            password=unquote(password) or environment.get("ES_PASSWORD"),
            api_key=environment.get("ES_API_KEY"),
            ca_certs=environment.get("ES_CA_CERTS"),
            cloud_id=environment.get("ES_CLOUD_ID") if is_cloud else None,
            request_seconds=_seconds(environment, "ES_REQUEST_SECONDS", 30.0),
            retry_seconds=_seconds(environment, "ES_RETRY_SECONDS", 60.0),
            opening_seconds=_seconds(environment, "ES_OPENING_SECONDS", 10.0),
        )


def _host(transport: str, host: str) -> str:
    address = f"{transport}://{host}"
    try:
        parts = urlsplit(address)
        is_one = bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port that is no number
        is_one = False
    if not is_one:
        raise StoreError(f"{address} names no server; write {transport}://HOST:9200/INDEX")
    return address


def _seconds(environment: Mapping[str, str], name: str, otherwise: float) -> float:
    try:
        return float(environment.get(name, otherwise))
    except ValueError as error:
        raise StoreError(f"{name} is {environment[name]!r}, not a number of seconds") from error


@dataclass(slots=True)
class Connection:
    """Sends requests, tries again what may succeed later, raises what will not."""

    product: Product
    target: Target
    _perform: Callable[[str, str, Mapping[str, Any], Any], Any]
    _close: Callable[[], None]
    repeated: int = 0  # requests sent again: the first may have done its work all the same
    is_closed: bool = False
    _is_reached: bool = False  # there is a server: it has answered, or taken a request

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: JSON | Sequence[JSON] | bytes | None = None,
    ) -> Any:
        """One request; a sequence of bodies is sent as NDJSON, and bytes are that already."""
        begun = time.monotonic()
        pause = _FIRST_PAUSE
        while True:
            try:
                answer = self._perform(method, path, params or {}, body)
            except _Later as later:
                self._is_reached |= not isinstance(later, _NobodyThere)
                # Half to whole of the pause, so that many workers do not come back at once.
                wait = pause * (0.5 + random.random() / 2)
                if time.monotonic() + wait > begun + self._patience():
                    raise self._given_up(later) from later
                self.repeated += 1
                time.sleep(wait)
                pause = min(pause * 2, _LONGEST_PAUSE)
            else:
                self._is_reached = True
                return answer

    def _patience(self) -> float:
        """Who works with a server waits until it is back; a wrong address is told soon."""
        longest = self.target.retry_seconds
        return longest if self._is_reached else min(longest, self.target.opening_seconds)

    def _given_up(self, later: _Later) -> StoreUnavailable:
        shown = self.target.shown
        if not self._is_reached:
            return StoreUnavailable(
                f"{shown} cannot be reached ({later}); check host and port, and that the server "
                "runs; ES_OPENING_SECONDS=60 waits longer for one that is starting"
            )
        return StoreUnavailable(
            f"{shown} did not answer for {self._patience():.0f} s ({later}); run the same command "
            "again when it is back"
        )

    def close(self) -> None:
        self.is_closed = True
        self._close()


class _Later(Exception):
    """An answer or a silence that may be another one later."""


class _NobodyThere(_Later):
    """No connection could be made: refused, or a host that nobody knows."""


def connect(target: Target) -> Connection:
    """Open a connection with the client of the product, found by asking where not stated.

    UnsupportedVersion where the server is too old.
    """
    product = target.product or ("elasticsearch" if target.cloud_id else _detect(target))
    made = _elasticsearch(target) if product == "elasticsearch" else _opensearch(target)
    try:
        check_version(made)
    except BaseException:
        made.close()
        raise
    return made


def path_of(*parts: str) -> str:
    """A path of quoted parts; commas and stars are index patterns and stay."""
    return "/" + "/".join(quote(part, safe=",*") for part in parts)


def _detect(target: Target) -> Product:
    """Elasticsearch names itself in a header of every answer, OpenSearch in its root document."""
    import urllib3

    pool = urllib3.PoolManager(ca_certs=target.ca_certs, timeout=target.request_seconds)
    headers = _credentials(target)

    def ask(*_: object) -> Product:
        later: _Later = _NobodyThere("no host")
        for host in map(_with_port, target.hosts):
            try:
                answer = pool.request("GET", host, headers=headers, retries=False)
            except urllib3.exceptions.SSLError as error:
                raise StoreError(_tls_message(target, error)) from error
            except urllib3.exceptions.HTTPError as error:
                is_slow = isinstance(error, urllib3.exceptions.ReadTimeoutError)
                later = (_Later if is_slow else _NobodyThere)(f"{type(error).__name__}: {error}")
                continue
            if answer.headers.get("x-elastic-product") == "Elasticsearch":
                return "elasticsearch"
            if answer.status in (401, 403):
                raise _refusal(target, answer.status, _as_json(answer.data), "GET /")
            if _distribution(answer.data) == "opensearch":
                return "opensearch"
            if answer.status not in _RETRIED:
                raise StoreError(
                    f"{target.shown} answers ({answer.status}) but is neither Elasticsearch nor "
                    "OpenSearch; if it is behind a proxy, say which: elasticsearch+https://… or "
                    "opensearch+https://…"
                )
            later = _Later(str(answer.status))  # a proxy, for a server that is not back yet
        raise later

    # Of no product yet, but with the patience of every connection.
    asking = Connection("elasticsearch", target, ask, pool.clear)
    try:
        found: Product = asking.send("GET", "/")
    finally:
        asking.close()
    return found


def _as_json(data: bytes) -> Any:
    """What an answer holds; its text where that is no JSON."""
    try:
        return json.loads(data)
    except ValueError:
        return data[:500].decode("utf-8", "replace")


def _distribution(data: bytes) -> str | None:
    body = _as_json(data)
    version = body.get("version", {}) if isinstance(body, dict) else {}
    return version.get("distribution") if isinstance(version, dict) else None


def _elasticsearch(target: Target) -> Connection:
    import elastic_transport
    from elasticsearch import Elasticsearch
    from elasticsearch.serializer import JsonSerializer

    class Quick(JsonSerializer):
        def json_loads(self, data: bytes) -> Any:
            return decoded(data)

    quick = Quick()
    options: dict[str, Any] = {
        "http_compress": False,
        # The client's own for lines copies what is bytes already, twice.
        "serializers": {"application/json": quick, "application/x-ndjson": quick},
    }
    if target.cloud_id:
        options["cloud_id"] = target.cloud_id
    else:
        options["hosts"] = [_with_port(h) for h in target.hosts]
    if target.ca_certs:
        options["ca_certs"] = target.ca_certs
    try:
        client = Elasticsearch(**options)
    except ValueError as error:  # of an address or a cloud id
        raise StoreError(f"{target.shown}: {error}; check --store and ES_CLOUD_ID") from error

    common = {"accept": "application/json", "x-opaque-id": OPAQUE_ID, **_credentials(target)}

    def perform(method: str, path: str, params: Mapping[str, Any], body: Any) -> Any:
        headers = dict(common)
        if isinstance(body, bytes | list | tuple):
            body, headers["content-type"] = lines(body), "application/x-ndjson"
        elif body is not None:
            body, headers["content-type"] = encoded(body), "application/json"
        where = f"{path}?{urlencode(params)}" if params else path
        try:
            # Not by the client, which asks for answers as of its own version: a server of the
            # version before refuses these.
            answer = client.transport.perform_request(
                method,
                where,
                headers=headers,
                body=body,
                request_timeout=target.request_seconds,
                max_retries=0,  # tried again by `send`, with pauses
            )
        except elastic_transport.TlsError as error:
            raise StoreError(_tls_message(target, error)) from error
        except elastic_transport.ConnectionError as error:
            raise _NobodyThere(f"{type(error).__name__}: {error.message}") from error
        except elastic_transport.TransportError as error:
            raise _Later(f"{type(error).__name__}: {error.message}") from error
        status = answer.meta.status
        if status >= 400:
            raise _refusal(target, status, answer.body, f"{method} {path}")
        if answer.meta.headers.get("x-elastic-product") != "Elasticsearch":
            raise StoreError(_product_message(target))
        return answer.body

    return Connection("elasticsearch", target, perform, client.close)


def _opensearch(target: Target) -> Connection:
    from opensearchpy import OpenSearch
    from opensearchpy.exceptions import ConnectionError as NoConnection
    from opensearchpy.exceptions import (
        ConnectionTimeout,
        SerializationError,
        SSLError,
        TransportError,
    )
    from opensearchpy.serializer import JSONSerializer

    class Quick(JSONSerializer):
        def loads(self, s: str) -> Any:
            try:
                return decoded(s.encode("utf-8", "surrogatepass"))
            except (ValueError, TypeError) as error:
                raise SerializationError(s, error) from error

    options: dict[str, Any] = {
        "hosts": [_with_port(h) for h in target.hosts],
        "timeout": target.request_seconds,
        "max_retries": 0,
        "opaque_id": OPAQUE_ID,
        "ssl_show_warn": False,
        "serializer": Quick(),
        "headers": _credentials(target),
    }
    if target.ca_certs:
        options["ca_certs"] = target.ca_certs
    client = OpenSearch(**options)

    def perform(method: str, path: str, params: Mapping[str, Any], body: Any) -> Any:
        headers = {}
        if isinstance(body, bytes | list | tuple):
            body, headers["content-type"] = lines(body), "application/x-ndjson"
        elif body is not None:
            body = encoded(body)
        try:
            return client.transport.perform_request(
                method, path, params=dict(params), body=body, headers=headers
            )
        except SSLError as error:
            raise StoreError(_tls_message(target, error)) from error
        except ConnectionTimeout as error:
            raise _Later(f"{type(error).__name__}: {error.error}") from error
        except NoConnection as error:
            raise _NobodyThere(f"{type(error).__name__}: {error.error}") from error
        except TransportError as error:
            raise _refusal(target, error.status_code, error.info, f"{method} {path}") from error

    return Connection("opensearch", target, perform, client.close)


def _credentials(target: Target) -> dict[str, str]:
    """As a header: the clients' own way knows the letters of Latin-1 alone, and the servers read
    UTF-8."""
    if target.api_key:
        return {"Authorization": f"ApiKey {target.api_key}"}
    if target.username:
        pair = f"{target.username}:{target.password or ''}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    return {}


def lines(bodies: bytes | Sequence[JSON]) -> bytes:
    """NDJSON; what is bytes is that already."""
    if isinstance(bodies, bytes):
        return bodies
    return b"".join([encoded(body) + b"\n" for body in bodies])


def _refusal(target: Target, status: Any, body: Any, what: str) -> Exception:
    kind, reason = error_of(body)
    if _may_pass(status, kind):
        return _Later(f"{status} {told(body)}".strip())
    if status == 401:
        return StoreError(f"{_credentials_message(target, status)} {reason}".strip())
    if status == 403 and kind != "cluster_block_exception":
        return PrivilegeMissing(status, body, what, target)
    return ClusterRefused(int(status), body, f"{target.shown}: {what}")


def _may_pass(status: Any, kind: str) -> bool:
    """OpenSearch answers 500 to a search whose nodes were lost on the way."""
    if status == 500:
        return kind == "search_phase_execution_exception"
    return status in _RETRIED and not is_lasting_block(status, kind)


def is_lasting_block(status: int, kind: str) -> bool:
    """A full disk answers 429, as a full queue does, and waiting does not make room. A block with
    503 (no master yet, state not recovered) goes by itself."""
    return kind == "cluster_block_exception" and status != 503


def _product_message(target: Target) -> str:
    return f"{target.shown} is not Elasticsearch; write opensearch+https://… for OpenSearch"


def _with_port(host: str) -> str:
    parts = urlsplit(host)
    return host if parts.port else f"{host}:{443 if parts.scheme == 'https' else 9200}"


def _tls_message(target: Target, error: Exception) -> str:
    return (
        f"{target.shown}: the certificate was not accepted ({error}); name the file of its "
        "certificate authority in ES_CA_CERTS or --ca-certs"
    )


def _credentials_message(target: Target, status: int) -> str:
    return (
        f"{target.shown} refused the credentials ({status}); set ES_API_KEY or ES_USERNAME and "
        "ES_PASSWORD of a user with the rights in mappings/roles"
    )
