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
from esdedup.matching import decide
from esdedup.model import revisions
from esdedup.stores.cluster import bulk, concurrency, documents


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
        mutant = inspect.unwrap(*scope.values())
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
        256,
        _concurrency.unchanged_since,
        "snapshot.position.is_followed_by(position, own)",
        "True",
    ),
    Mutation(
        "no refresh before documents are decided again",
        18,
        reconcile.reconcile,
        "            return changed\n        store.concurrency.make_visible()\n",
        "            return changed\n",
    ),
    Mutation(
        "successors of a new representative are forgotten",
        1,
        reconcile._find_affected,
        "store.candidates.dependents(ceased) | later",
        "store.candidates.dependents(ceased)",
    ),
    Mutation(
        "what was written beside another writer is not decided again",
        256,
        epoch.Epoch.reconcile,
        "*(() if holds else self.written)",
        "",
    ),
    Mutation(
        "successors of what is new are forgotten",
        0,
        epoch.Epoch.place,
        "if placement.representative_queries:",
        "if False:",
    ),
    Mutation(
        "conflicts of a bulk are taken for done",
        4,
        bulk._note,
        "written.conflicts.add(action.id)",
        "pass",
    ),
    Mutation(
        "a document of another program came before all others",
        257,
        records.RecordBuilder._build,
        "(old and old.first_seen) or self.clock.now()",
        "old.first_seen if old else self.clock.now()",
    ),
    Mutation(
        "retention deletes a young article that joins an old story",
        19,
        retention.is_older,
        "time_of(record.order[0]) < before",
        "True",
    ),
    Mutation(
        "a link is changed whatever the version of its document",
        920,
        documents.update_of,
        '{"update": _conditional(id_, version)}',
        '{"update": {"_index": version.index, "_id": id_}}',
    ),
    Mutation(
        "a bulk without an answer is sent again behind a rollover",
        1300,
        bulk.write,
        "stored = find_stored([action.id for action in left])",
        "stored = set()",
    ),
    Mutation(
        "a document may join its own group",
        789,
        decide._freed,
        "candidate.link.without_leader(id_, candidate.id)",
        "candidate.link",
    ),
    Mutation(
        "a version that is replaced is not kept",
        0,
        _writer._keep_versions,
        "self.store.revisions.add([old for old, _ in pairs], at)",
        "pass",
    ),
    Mutation(
        "gateway: a version that is replaced is not kept",
        0,
        session.TenantSession._keep_versions,
        "self.store.revisions.add(replaced, datetime.now(UTC))",
        "pass",
    ),
    Mutation(
        "a version that a writer adds late comes last",
        306,
        revisions.keep_version,
        "key=lambda version: version.sequence",
        "key=lambda version: version is new",
    ),
    Mutation(
        "gateway: the epoch ends beside a write under way",
        149,
        inspect.unwrap(session.TenantSession._quiet),
        "is_quiet = self._state.wait_for(lambda: not self._under_way, timeout=_QUIET_SECONDS)",
        "is_quiet = True",
    ),
)
