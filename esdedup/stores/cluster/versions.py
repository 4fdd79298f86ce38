"""Which servers are supported: from the oldest version that the tests run on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from esdedup.errors import UnsupportedVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from esdedup.stores.cluster.connection import Connection, Product

OLDEST: Mapping[Product, tuple[int, int]] = {"elasticsearch": (8, 19), "opensearch": (2, 19)}
NAMES: Mapping[Product, str] = {"elasticsearch": "Elasticsearch", "opensearch": "OpenSearch"}


def check_version(connection: Connection) -> str | None:
    """The version of the server; raises UnsupportedVersion if it is too old.

    None if it is not known: the user may not read it (`mappings/roles` grants that), or the
    deployment is serverless and its number means nothing.
    """
    number = _number(connection)
    parts = re.match(r"(\d+)\.(\d+)", number or "")
    if parts is None:
        return None
    if (int(parts[1]), int(parts[2])) < OLDEST[connection.product]:
        raise UnsupportedVersion(
            f"{connection.target.shown} is {NAMES[connection.product]} {number}; esdedup works "
            f"with {describe_supported()}: upgrade the server"
        )
    return number


def describe_supported() -> str:
    return " and ".join(
        f"{NAMES[product]} {major}.{minor} or later" for product, (major, minor) in OLDEST.items()
    )


def _number(connection: Connection) -> str | None:
    from esdedup.stores.cluster.connection import ClusterRefused, PrivilegeMissing

    try:
        answer = connection.send("GET", "/")
        version = answer.get("version", {}) if isinstance(answer, dict) else {}
        is_serverless = version.get("build_flavor") == "serverless"
        return None if is_serverless else version.get("number")
    except PrivilegeMissing:
        return None
    except ClusterRefused as refusal:
        if refusal.status not in (404, 405):
            raise
    # A distribution without the root document.
    try:
        path = "/_nodes/_local"
        answer = connection.send("GET", path, params={"filter_path": "nodes.*.version"})
    except ClusterRefused:
        return None
    nodes: dict[str, Any] = answer.get("nodes", {})
    return next((node["version"] for node in nodes.values()), None)
