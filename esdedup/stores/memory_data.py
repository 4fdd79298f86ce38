"""What a store in memory holds, and several clients share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import RLock

from esdedup.matching.constraints import NO_CONSTRAINTS, Constraints
from esdedup.model import JSON, Failure, stored_evidence
from esdedup.model.revisions import ArticleVersion
from esdedup.settings import Settings
from esdedup.stores import Record
from esdedup.stores.key_index import KeyIndex
from esdedup.stores.ports import Versioned
from esdedup.stores.sqlite.rows import clock

_UNCONSTRAINED = Versioned(NO_CONSTRAINTS, 0)


@dataclass(slots=True)
class MemoryData:
    """The data that several clients share."""

    delayed: bool = False
    settings: Settings | None = None
    documents: dict[str, Record] = field(default_factory=dict)
    visible: KeyIndex = field(default_factory=KeyIndex)
    changed: dict[str, int] = field(default_factory=dict)  # when each was written last
    unrefreshed: set[str] = field(default_factory=set)
    writes: int = 0  # a record's version is the number of the write that made it
    generation: int = 0  # of what searches and statistics show
    failures: dict[str, Failure] = field(default_factory=dict)
    states: dict[str, JSON | None] = field(default_factory=dict)  # of long runs
    versions: dict[str, tuple[ArticleVersion, ...]] = field(default_factory=dict)
    constraints: Versioned[Constraints] = _UNCONSTRAINED
    lock: RLock = field(default_factory=RLock)

    def write(self, id_: str, record: Record | None) -> None:
        """Store a record, or with None remove it."""
        self.writes += 1
        if record is None:
            del self.documents[id_]
        else:
            own = record.decision
            evidence = stored_evidence(own.link, own.score, own.reason, own.changes)
            decision = replace(own, evidence=evidence)
            self.documents[id_] = replace(record, decision=decision, version=self.writes)
            self.changed[id_] = clock()
        self.unrefreshed.add(id_)
        if not self.delayed:
            self.refresh()

    def refresh(self) -> None:
        for id_ in self.unrefreshed:
            if record := self.documents.get(id_):
                self.visible.put(record)
            else:
                self.visible.discard(id_)
        self.generation += bool(self.unrefreshed)
        self.unrefreshed.clear()
