"""Connections to a search cluster: one way to send, for Elasticsearch and OpenSearch.

    elasticsearch+https://host:9200/news      stated by the scheme
    opensearch+http://a:9200,b:9200/news      several hosts
    https://user:password@host:9200/news      plain: the product is detected
    elasticsearch+cloud:///news               the cloud id from ES_CLOUD_ID

Credentials come from the URL or from ES_API_KEY, ES_USERNAME and ES_PASSWORD, a CA file from
ES_CA_CERTS. They are never part of a message.
"""

from __future__ import annotations

import base64
import logging
import os
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from typing import Any, Literal, Self
from urllib.parse import quote, unquote, urlencode, urlsplit

from esdedup.errors import StoreError, StoreUnavailable
from esdedup.model import JSON
from esdedup.model.encoding import decode_json, encode_json
from esdedup.stores.cluster.causes import denial_of, describe_error, error_of
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
    """The cluster answered with an error that a retry would meet again."""

    def __init__(self, status: int, body: Any, what: str) -> None:
        self.status = status
        self.body = body
        self.type = error_of(body)[0]
        super().__init__(f"{what}: {self._describe()}")

    def _describe(self) -> str:
        return f"{self.status} {describe_error(self.body)}".strip()


class PrivilegeMissing(ClusterRefused):
    """The user is known, and may not do this (403)."""

    def __init__(self, status: int, body: Any, what: str, target: Target) -> None:
        self.denial = denial_of(body, what, target.index)
        super().__init__(status, body, f"{target.shown}: {what}")

    def _describe(self) -> str:
        reason = "" if self.denial.action else f"; {describe_error(self.body)}"
        return (
            f"{self.denial} ({self.status}{reason}); give the user the rights in mappings/roles, "
            "or another user in ES_API_KEY or ES_USERNAME"
        )


@dataclass(frozen=True, slots=True)
class Target:
    """A parsed store URL with the credentials and limits of the environment."""

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
        """Refuse credentials that no request can carry. The error of a client would show them."""
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
        if "@" in path and not _is_local_or_ip(hosts):
            # Either side of the slash may be a part of a password, also where a number before it
            # looks like a port.
            raise StoreError(
                "the store's URL has an @ behind a slash; write / as %2F in a user or a password, "
                "and @ as %40 in the name of an index"
            )
        index = index.replace("%40", "@")
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


def _is_local_or_ip(host: str) -> bool:
    """Whether this is a host for certain, and no user: localhost or an IP address."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or bool(ip_address(name))
    except ValueError:
        return False


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


def _sleep(seconds: float) -> None:
    time.sleep(seconds)


# One request: method, path, parameters and body to status and answer. Raises `Unanswered` if
# there is none.
Transport = Callable[[str, str, Mapping[str, Any], Any], tuple[int, Any]]


@dataclass(slots=True)
class Connection:
    """Sends requests. Retries what may succeed later and raises what will not."""

    product: Product
    target: Target
    _transport: Transport
    _close: Callable[[], None]
    pause: Callable[[float], None] = _sleep  # before a request is sent again
    repeated: int = 0  # requests sent again: the first may have done its work all the same
    is_closed: bool = False
    _is_reached: bool = False  # a server has answered, or taken a request

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
                return self.send_once(method, path, params=params, body=body)
            except Unanswered as later:
                # Half to whole of the pause, so that many workers do not come back at once.
                wait = pause * (0.5 + random.random() / 2)
                if time.monotonic() + wait > begun + self._patience():
                    raise self._timeout_error(later) from later
                self.repeated += 1
                self.pause(wait)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def send_once(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: JSON | Sequence[JSON] | bytes | None = None,
    ) -> Any:
        """Like `send`; raises `Unanswered` where that would send the request again."""
        try:
            status, answer = self._transport(method, path, params or {}, body)
            if status >= 400:
                raise _refusal(self.target, status, answer, f"{method} {path}")
        except Unanswered as later:
            self._is_reached |= not isinstance(later, Unreachable)
            raise
        self._is_reached = True
        return answer

    def send_or_none(self, method: str, path: str, **request: Any) -> Any:
        """Like `send`; None if there is no such index or document (404)."""
        try:
            return self.send(method, path, **request)
        except ClusterRefused as refusal:
            if refusal.status == 404:
                return None
            raise

    def put_if(
        self, index: str, id_: str, body: JSON, expected: tuple[int, int] | None
    ) -> JSON | None:
        """Compare-and-set of one document by its sequence number and primary term.

        With None it must not exist yet. Returns None on a conflict.
        """
        params: JSON = {"op_type": "create"}
        if expected is not None:
            params = {"if_seq_no": expected[0], "if_primary_term": expected[1]}
        try:
            answer: JSON = self.send("PUT", path_of(index, "_doc", id_), params=params, body=body)
        except ClusterRefused as refusal:
            if refusal.status == 409:
                return None
            raise
        return answer

    def mappings(self, name: str) -> dict[str, JSON]:
        """Concrete index -> mapping; empty if nothing has that name."""
        answer = self.send_or_none("GET", path_of(name, "_mapping")) or {}
        return {index: entry.get("mappings", {}) for index, entry in answer.items()}

    def create_index(self, name: str, body: JSON) -> None:
        """Create an index; one that another worker has just created will do."""
        try:
            self.send("PUT", path_of(name), body=body)
        except ClusterRefused as refusal:
            if refusal.type != "resource_already_exists_exception":
                raise

    def _patience(self) -> float:
        """How long to retry: longer for a server that has answered before."""
        longest = self.target.retry_seconds
        return longest if self._is_reached else min(longest, self.target.opening_seconds)

    def _timeout_error(self, later: Unanswered) -> StoreUnavailable:
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


class Unanswered(Exception):
    """No answer, or one that a retry may change."""


class Unreachable(Unanswered):
    """No connection could be made: it was refused, or the host is unknown."""


def connect(target: Target) -> Connection:
    """Open a connection; detects the product if the URL does not name it.

    Raises UnsupportedVersion if the server is too old.
    """
    exchange, close = open_transport(target)
    exchange = partial(exchange, headers=_credentials(target))
    try:
        product = target.product or _detect(target, exchange)
        made = Connection(product, target, _transport_to(product, target, exchange), close)
        check_version(made)
    except BaseException:
        close()
        raise
    return made


def path_of(*parts: str) -> str:
    """A path of quoted parts; commas and stars are index patterns and stay."""
    return "/" + "/".join(quote(part, safe=",*") for part in parts)


# One request: method, path with its parameters, body and further headers to status, headers and
# answer. Raises `Unanswered` if there is none.
Exchange = Callable[..., tuple[int, Mapping[str, str], Any]]


def _detect(target: Target, exchange: Exchange) -> Product:
    """Elasticsearch names itself in a header of every answer, OpenSearch in its root document."""
    if target.cloud_id:
        return "elasticsearch"

    def ask(method: str, path: str, *_: object) -> tuple[int, Product]:
        status, headers, answer = exchange(method, path, None)
        if _is_elasticsearch(headers):
            return 200, "elasticsearch"
        if status in (401, 403):
            raise _refusal(target, status, answer, "GET /")
        version = answer.get("version") if isinstance(answer, dict) else None
        if isinstance(version, dict) and version.get("distribution") == "opensearch":
            return 200, "opensearch"
        if status not in _RETRIED:
            raise StoreError(
                f"{target.shown} answers ({status}) but is neither Elasticsearch nor OpenSearch; "
                "if it is behind a proxy, say which: elasticsearch+https://… or opensearch+https://…"
            )
        raise Unanswered(str(status))  # a proxy, for a server that is not back yet

    # The product does not matter yet; the connection is used for its retries.
    found: Product = Connection("elasticsearch", target, ask, lambda: None).send("GET", "/")
    return found


def _is_elasticsearch(headers: Mapping[str, str]) -> bool:
    return headers.get("x-elastic-product") == "Elasticsearch"


def open_transport(target: Target) -> tuple[Exchange, Callable[[], None]]:
    """How to send a request, and how to close. Both products have one transport, which knows
    nothing of either.

    The client of Elasticsearch itself is not used. It refuses OpenSearch, and asks for answers in
    a form of its own version, which a server of the version before refuses.
    """
    import elastic_transport
    from elasticsearch import Elasticsearch
    from elasticsearch.serializer import JsonSerializer

    # At DEBUG it writes every header and body: a caller's cookie, for one.
    logging.getLogger("elastic_transport.node").setLevel(logging.INFO)

    class Quick(JsonSerializer):
        def json_loads(self, data: bytes) -> Any:
            return decode_json(data)

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
        transport = Elasticsearch(**options).transport
    except ValueError as error:  # of an address or a cloud id
        raise StoreError(f"{target.shown}: {error}; check --store and ES_CLOUD_ID") from error

    common = {"accept": "application/json", "x-opaque-id": OPAQUE_ID}

    def exchange(
        method: str, where: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], Any]:
        headers = common | dict(headers)
        if isinstance(body, bytes | list | tuple):
            body, headers["content-type"] = lines(body), "application/x-ndjson"
        elif body is not None:
            body, headers["content-type"] = encode_json(body), "application/json"
        try:
            answer = transport.perform_request(
                method,
                where,
                headers=headers,
                body=body,
                request_timeout=target.request_seconds,
                max_retries=0,  # tried again by `send`, with pauses
            )
        except elastic_transport.TlsError as error:
            raise StoreError(
                f"{target.shown}: the certificate was not accepted ({error}); name the file of its "
                "certificate authority in ES_CA_CERTS or --ca-certs"
            ) from error
        except elastic_transport.ConnectionError as error:
            raise Unreachable(f"{type(error).__name__}: {error.message}") from error
        except elastic_transport.TransportError as error:
            raise Unanswered(f"{type(error).__name__}: {error.message}") from error
        return answer.meta.status, answer.meta.headers, answer.body

    return exchange, transport.close


def _transport_to(product: Product, target: Target, exchange: Exchange) -> Transport:
    def perform(method: str, path: str, params: Mapping[str, Any], body: Any) -> tuple[int, Any]:
        where = f"{path}?{urlencode(params)}" if params else path
        status, headers, answer = exchange(method, where, body)
        if status < 400 and product == "elasticsearch" and not _is_elasticsearch(headers):
            raise StoreError(
                f"{target.shown} is not Elasticsearch; write opensearch+https://… for OpenSearch"
            )
        return status, answer

    return perform


def _credentials(target: Target) -> dict[str, str]:
    """The header with the credentials, in UTF-8 as servers read it; the clients write Latin-1."""
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
    return b"".join([encode_json(body) + b"\n" for body in bodies])


def _refusal(target: Target, status: Any, body: Any, what: str) -> Exception:
    kind, reason = error_of(body)
    if _may_pass(status, kind):
        return Unanswered(f"{status} {describe_error(body)}".strip())
    if status == 401:
        return StoreError(
            f"{target.shown} refused the credentials ({status}); set ES_API_KEY or ES_USERNAME and "
            f"ES_PASSWORD of a user with the rights in mappings/roles {reason}".strip()
        )
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


def _with_port(host: str) -> str:
    parts = urlsplit(host)
    return host if parts.port else f"{host}:{443 if parts.scheme == 'https' else 9200}"
