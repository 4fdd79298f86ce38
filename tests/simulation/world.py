"""A simulated cluster with several writers: who goes on is drawn at every request, by one seed.

Every request is two moments, before the engine does it and after: at each of them another writer
may go on, or this one may be killed. Faults are drawn as well: refused requests, refused items of
a bulk, answers that are lost after the work was done, refreshes that nobody asked for.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.matching.constraints import Constraint
from esdedup.model import Document, Link
from esdedup.settings import Settings
from esdedup.stores.cluster.connection import Connection, Target, Unanswered
from esdedup.stores.cluster.requests.documents import record_from
from esdedup.stores.cluster.requests.mapping import corrections_index
from esdedup.stores.cluster.store import ClusterStore
from tests.simulation.engine import JSON, Engine
from tests.support.interleaving import Hook

INDEX = "news"
TARGET = Target(hosts=("http://simulated:9200",), index=INDEX, product="elasticsearch")
_UNAVAILABLE: JSON = {"error": {"type": "unavailable_shards_exception", "reason": "simulated"}}
_BUSY: JSON = {"error": {"type": "es_rejected_execution_exception", "reason": "simulated"}}


@dataclass(frozen=True)
class Faults:
    """How often each kind of fault happens, as a share of the requests it can happen to."""

    refused: float = 0.0  # 429 or 503, nothing was done
    lost: float = 0.0  # it was done, and the answer is lost
    refused_items: float = 0.0  # 429 for one document of a bulk
    refreshed: float = 0.0  # a refresh that nobody asked for


NO_FAULTS = Faults()
SOME_FAULTS = Faults(refused=0.03, lost=0.03, refused_items=0.05, refreshed=0.1)


@dataclass
class World:
    """The engine, and the dice that decide what happens to requests."""

    seed: object
    faults: Faults = NO_FAULTS
    engine: Engine = field(default_factory=Engine)
    injected: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._chance = random.Random(f"faults {self.seed!r}")

    def open(self, hook: Hook, settings: Settings) -> Deduplicator:
        return Deduplicator(ClusterStore(TARGET, settings, connection=self.connect(hook)))

    def connect(self, hook: Hook) -> Connection:
        def transport(
            method: str, path: str, params: Mapping[str, Any], body: Any
        ) -> tuple[int, Any]:
            name = f"{method} {path.partition('?')[0]}"
            hook(name)
            if self._happens("refused"):
                return self._chance.choice([(429, _BUSY), (503, _UNAVAILABLE)])
            if self._happens("refreshed"):
                self.refresh()
            status, answer = self.engine.request(
                method, path, params, self._with_faults(path, body)
            )
            hook(f"{name} answers")
            if self._happens("lost"):
                raise Unanswered("simulated: the answer was lost")
            return status, answer

        return Connection(
            "elasticsearch", TARGET, transport, lambda: None, pause=lambda seconds: None
        )

    def refresh(self) -> None:
        for index in self.engine.indices.values():
            index.refresh()

    def _happens(self, fault: str) -> bool:
        share: float = getattr(self.faults, fault)
        if not share or self._chance.random() >= share:
            return False
        self.injected[fault] += 1
        return True

    def _with_faults(self, path: str, body: Any) -> Any:
        """The engine refuses the first document of a bulk with 429, if that is drawn."""
        if path.startswith("/_bulk") and self._happens("refused_items"):
            self.engine.refuse_next_item()
        return body

    # --- what is there at the end ----------------------------------------------------------------

    def documents(self) -> list[Document]:
        return [record.document for record in self._records()]

    def links(self) -> dict[str, Link]:
        return {record.document.id: record.decision.link for record in self._records()}

    def constraints(self) -> list[Constraint]:
        index = self.engine.indices.get(corrections_index(INDEX))
        stored = index.documents.values() if index else ()
        return [Constraint.from_json(raw) for one in stored for raw in one.source["said"]["list"]]

    def _records(self) -> Sequence[Any]:
        stored = self.engine.indices[INDEX].documents.values()
        return [record_from(one.id, one.source, None) for one in stored]
