"""Real Elasticsearch and OpenSearch servers for tests and benchmarks, without Docker.

    from tests.servers import start

    with start("elasticsearch") as server:
        server.http("PUT", "/news/_doc/1", {"title": "one"})
        server.kill()
        server.restart()

    with start("opensearch", nodes=3) as cluster:
        cluster.nodes[1].kill()
        cluster.wait_for("yellow", nodes=2)

`python -m tests.servers` keeps them running for work by hand. Servers end with the `with` block,
with the process that started them, and also when that process is killed.
"""

from .distribution import (
    DEFAULT_VERSIONS,
    ELASTICSEARCH_8,
    ELASTICSEARCH_9,
    OPENSEARCH_3,
    Product,
    ServerError,
)
from .proxy import Proxy
from .security import PASSWORD, USERNAME, User
from .server import Answer, Server, Status
from .starting import Cluster, start

__all__ = [
    "DEFAULT_VERSIONS",
    "ELASTICSEARCH_8",
    "ELASTICSEARCH_9",
    "OPENSEARCH_3",
    "PASSWORD",
    "USERNAME",
    "Answer",
    "Cluster",
    "Product",
    "Proxy",
    "Server",
    "ServerError",
    "Status",
    "User",
    "start",
]
