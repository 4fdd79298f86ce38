"""Small mistakes in the protocol, each in one function: does the simulation notice them?"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from esdedup.clustering import epoch, reconcile, records, transactional
from esdedup.gateway import session
from esdedup.maintenance import retention
from esdedup.model import revisions
from esdedup.stores.cluster import bulk, concurrency


@dataclass(frozen=True)
class Mutation:
    """A function in which one piece of text is another one; `seed` has a schedule that shows it."""

    name: str
    seed: int
    function: Callable[..., Any]
    old: str
    new: str

    @contextmanager
    def applied(self) -> Iterator[None]:
        source = textwrap.dedent(inspect.getsource(self.function))
        assert source.count(self.old) == 1, f"{self.name}: the text is not there, or twice"
        scope: dict[str, Any] = {}
        exec(source.replace(self.old, self.new), self.function.__globals__, scope)
        (mutant,) = scope.values()
        original = self.function.__code__
        self.function.__code__ = mutant.__code__
        try:
            yield
        finally:
            self.function.__code__ = original


_concurrency = concurrency.ClusterConcurrency
_writer = transactional.BatchWriter

MUTATIONS = (
    Mutation(
        "other writers are not noticed",
        26,
        _concurrency.unchanged_since,
        "snapshot.position.is_followed_by(position, own)",
        "True",
    ),
    Mutation(
        "no refresh before documents are decided again",
        16,
        reconcile.reconcile,
        "            return changed\n        store.concurrency.make_visible()\n",
        "            return changed\n",
    ),
    Mutation(
        "what a write changed is forgotten where its answer was lost",
        1021,
        reconcile.reconcile,
        "forced = set(report.conflicts)",
        "forced &= report.conflicts",
    ),
    Mutation(
        "constraints are those of a moment ago",
        39,
        reconcile._find_wrong,
        "store.constraints.read().value",
        "store.constraints.recent()",
    ),
    Mutation(
        "successors of a new representative are forgotten",
        0,
        reconcile._find_affected,
        "store.candidates.dependents(ceased) | later",
        "store.candidates.dependents(ceased)",
    ),
    Mutation(
        "what was written beside another writer is not decided again",
        26,
        epoch.Epoch.reconcile,
        "*(() if holds else self.written)",
        "",
    ),
    Mutation(
        "successors of what is new are forgotten",
        16,
        epoch.Epoch.place,
        "if placement.representative_queries:",
        "if False:",
    ),
    Mutation(
        "dependents of a replaced version are forgotten",
        256,
        _writer._write_part,
        "epoch.note_replaced(",
        "list(",
    ),
    Mutation(
        "conflicts of a bulk are taken for done",
        35,
        bulk._note,
        "written.conflicts.add(action.id)",
        "pass",
    ),
    Mutation(
        "a document of another program came before all others",
        703,
        records.RecordBuilder._build,
        "(old and old.first_seen) or self.clock.now()",
        "old.first_seen if old else self.clock.now()",
    ),
    Mutation(
        "retention deletes a young article that joins an old story",
        59,
        retention.expire,
        "(ids := _still_old(store, ids, before))",
        "ids",
    ),
    Mutation(
        "a version that is replaced is not kept",
        6,
        _writer._keep_versions,
        "self.store.revisions.add([old for old, _ in pairs], at)",
        "pass",
    ),
    Mutation(
        "gateway: a version that is replaced is not kept",
        6,
        session.TenantSession._keep_versions,
        "self.store.revisions.add(replaced, datetime.now(UTC))",
        "pass",
    ),
    Mutation(
        "a version that a writer adds late comes last",
        159,
        revisions.keep_version,
        "key=lambda version: version.sequence",
        "key=lambda version: version is new",
    ),
    Mutation(
        "gateway: a document that is written after its delete is not reconciled",
        10051,
        session.TenantSession._reconcile,
        "epoch.replaced.values()))",
        "epoch.replaced.values()))\n        epoch.written -= epoch.deleted",
    ),
    Mutation(
        "gateway: decisions beside a reconciliation are taken for right",
        4667,
        session.TenantSession.end_epoch,
        "self._epoch.must_recheck = True",
        "pass",
    ),
)
