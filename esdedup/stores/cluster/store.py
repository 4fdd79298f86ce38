"""The store on Elasticsearch or OpenSearch: the same requests for both.

A written document is seen by searches only after a refresh, and several writers work at once.
So links are reconciled after the write (`clustering.reconcile`), every change of a link compares
the version it was decided on, and nothing rests on what one worker has in memory.
"""

from __future__ import annotations

from typing import Literal

from esdedup.settings import Settings
from esdedup.stores.cluster.candidates import ClusterCandidates
from esdedup.stores.cluster.concurrency import ClusterConcurrency
from esdedup.stores.cluster.connection import Connection, Target, connect
from esdedup.stores.cluster.constraints import ClusterConstraints
from esdedup.stores.cluster.documents import ClusterDocuments
from esdedup.stores.cluster.index import Index
from esdedup.stores.cluster.maintenance import ClusterMaintenance
from esdedup.stores.cluster.msearch import Searches
from esdedup.stores.cluster.quarantine import ClusterQuarantine
from esdedup.stores.cluster.requests import mapping as mapping_requests
from esdedup.stores.cluster.revisions import ClusterRevisions
from esdedup.stores.cluster.search import ClusterSearch


class ClusterStore:
    """See `ports.Store`."""

    topics = None  # its full-text index answers as quickly

    def __init__(
        self,
        target: Target,
        settings: Settings | None = None,
        *,
        mode: Literal["write", "read"] = "write",
        connection: Connection | None = None,
    ) -> None:
        self.target = target
        self.connection: Connection = connection or connect(target)
        self.index = index = Index(self.connection, target, mode)
        self.searches = searches = Searches(self.connection, target)
        try:
            index.open(settings)
            searches.preference = index.read_preference()
        except BaseException:
            self.connection.close()
            raise
        self.quarantine = ClusterQuarantine(
            self.connection, mapping_requests.side_index("quarantine", target.index)
        )
        self.revisions = ClusterRevisions(
            index, mapping_requests.side_index("revisions", target.index)
        )
        self.constraints = ClusterConstraints(
            self.connection, mapping_requests.side_index("corrections", target.index)
        )
        self.candidates = ClusterCandidates(searches, index, self.constraints)
        self.concurrency = ClusterConcurrency(index, self.constraints, self.candidates.forget)
        self.documents = ClusterDocuments(
            index, searches, self.concurrency, self.quarantine, self.revisions
        )
        self.maintenance = ClusterMaintenance(index, searches, self.documents, self.quarantine)
        self._search: ClusterSearch | None = None

    @property
    def settings(self) -> Settings:
        return self.index.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self.index.settings = settings

    @property
    def search(self) -> ClusterSearch:
        """Made when it is first used: it reads the mapping."""
        if self._search is None:
            self._search = ClusterSearch(self.index, self.searches, self.documents.read_record)
        return self._search

    def close(self) -> None:
        self.connection.close()
