"""The same backends as for the stores."""

from tests.stores.conftest import (  # noqa: F401  (fixtures, found by name)
    backend,
    elasticsearch_backend,
    opensearch_backend,
    sqlite_backend,
)
