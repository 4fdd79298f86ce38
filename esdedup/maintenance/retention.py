"""Old articles go, groups stay whole.

By default a story goes as a whole, once its youngest article is older than asked for: no copy
outlives its original, no update what it updates, and no id that a reader may hold changes. By group
an update may be left, and becomes an original; by article where an original goes the next of its
group takes its place, as after any deletion. With `keys_only` articles stay, with their groups as
they are; only what finds copies of them is taken away, always from whole stories, and from then on
they attract nothing.

Batches are done one after the other; what is done is gone, so that a run that was stopped goes on
when it is run again.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.epoch import dependents_of
from esdedup.clustering.reconcile import reconcile
from esdedup.errors import InputError
from esdedup.model import JSON, microseconds
from esdedup.model.queries import By
from esdedup.stores import Record


@dataclass(frozen=True, slots=True)
class Rule:
    """What goes: documents published, or first seen, before that moment."""

    before: datetime
    by: By | None = "story"  # as wholes; None: each article by itself
    keys_only: bool = False

    def __post_init__(self) -> None:
        if self.keys_only and self.by != "story":
            raise InputError("keys are taken from whole stories only, or places would be lost")


@dataclass(slots=True)
class Expired:
    """How far a run has come; the same object is handed out after every batch."""

    documents: int = 0
    wholes: int = 0  # stories, or groups
    kept: int = 0  # that begin early enough, and have a younger article
    promoted: int = 0

    def to_json(self) -> JSON:
        return {
            "documents": self.documents,
            "wholes": self.wholes,
            "kept": self.kept,
            "promoted": self.promoted,
        }


def expire(
    deduplicator: Deduplicator, rule: Rule, *, dry_run: bool = False
) -> Generator[Expired, None, None]:
    """Batch by batch; stopping between two of them leaves every group whole."""
    done, before = Expired(), microseconds(rule.before)
    store = deduplicator.store
    store.begin()
    for page in store.aged(before, rule.by, keyed=rule.keys_only):
        ids = page
        if rule.by is not None:
            young = set(store.gathered(rule.by, page, since=before).values())
            leaders = [id_ for id_ in page if id_ not in young]
            done.kept += len(page) - len(leaders)
            done.wholes += len(leaders)
            # Those that lead last: a run that is killed finds the rest by them.
            members = store.gathered(rule.by, leaders).keys() - set(leaders)
            ids = [*sorted(members), *leaders]
        if ids and not dry_run:
            _expire(deduplicator, ids, rule, done)
        done.documents += len(ids)
        yield done


def _expire(deduplicator: Deduplicator, ids: Sequence[str], rule: Rule, done: Expired) -> None:
    store = deduplicator.store
    if not rule.keys_only:
        with store.transaction():
            left = store.get_many(store.followers(ids))
            deduplicator.delete(ids)
            after = store.get_many(left)
        done.promoted += sum(
            record.decision.link.canonical and not left[id_].decision.link.canonical
            for id_, record in after.items()
        )
        return
    with store.transaction():
        store.begin()
        there = store.get_many(ids)
        touched = dependents_of(store, list(there.values())) - set(ids)
        conflicts = store.rewrite_many([_keyless(r) for r in there.values()]).conflicts
        while conflicts:  # another writer was quicker: what is there now
            again = store.get_many(conflicts)
            conflicts = store.rewrite_many([_keyless(r) for r in again.values()]).conflicts
        # Articles of other groups that had these among those they were compared with.
        reconcile(store, touched)
    store.refresh()


def _keyless(record: Record) -> Record:
    return replace(record, signature=replace(record.signature, keys={}, kept={}))
