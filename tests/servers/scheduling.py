"""Which tests run in one process under `pytest -n 3 --dist loadgroup`: those of one server.

The groups of pytest-xdist itself are not seen by pytest 9.2, which builds the ids of tests anew.
"""

from __future__ import annotations

import re

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # has no types

# As fixtures and tests name them in parameters; those of which another is a part come first.
SERVERS = (
    "elasticsearch_cluster",
    "opensearch_cluster",
    "elasticsearch_secure",
    "elasticsearch",
    "opensearch",
)


class ServerScheduling(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """A server a process; tests that name none stay together by file."""

    def _split_scope(self, nodeid: str) -> str:
        return server_of(nodeid) or nodeid.partition("::")[0]


def server_of(nodeid: str) -> str | None:
    """The server that the parameters of a test name."""
    parameters = re.search(r"\[(.*)\]$", nodeid)
    if parameters is None:
        return None
    return next((name for name in SERVERS if name in parameters[1]), None)
