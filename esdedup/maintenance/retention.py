"""Deletes old articles, or their keys, without breaking groups.

By default a story is deleted as a whole once its youngest article is older than the limit: no copy
outlives its original, and no update the article that it updates. By group, an update may remain and
becomes an original. By article, the next of a group becomes its original, as after any deletion.
With `keys_only` articles and groups stay; only keys are deleted, always of whole stories, and new
articles are no longer compared with these.

A stopped run is completed by running it again.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.epoch import dependents_of
from esdedup.clustering.reconcile import reconcile
from esdedup.errors import InputError
from esdedup.maintenance.delete import delete
from esdedup.model import microseconds, time_of
from esdedup.model.json_form import Result
from esdedup.model.queries import By
from esdedup.stores import Record, Store


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """Which documents expire: those published, or first seen, before that moment."""

    before: datetime
    by: By | None = "story"  # as wholes; None: each article by itself
    keys_only: bool = False

    def __post_init__(self) -> None:
        if self.keys_only and self.by != "story":
            raise InputError("keys are taken from whole stories only, or places would be lost")


@dataclass(slots=True)
class RetentionProgress(Result):
    """How far a run is; the same object is yielded after every batch."""

    documents: int = 0
    wholes: int = 0  # stories, or groups
    kept: int = 0  # stories or groups with an old article and a younger one
    promoted: int = 0  # to original, by article only


def expire(
    deduplicator: Deduplicator, rule: RetentionRule, *, dry_run: bool = False
) -> Generator[RetentionProgress, None, None]:
    """Batch by batch; stopping between two of them leaves every group whole."""
    done, before = RetentionProgress(), microseconds(rule.before)
    store = deduplicator.store
    store.concurrency.snapshot()
    for page in store.maintenance.find_older(before, rule.by, keyed=rule.keys_only):
        ids = page
        if rule.by is not None:
            young = set(store.documents.ids_in(rule.by, page, since=before).values())
            leaders = [id_ for id_ in page if id_ not in young]
            done.kept += len(page) - len(leaders)
            done.wholes += len(leaders)
            # Leaders last: a killed run finds the rest by them.
            members = store.documents.ids_in(rule.by, leaders).keys() - set(leaders)
            ids = [*sorted(members), *leaders]
        # Searches lag behind other writers: a young article may have joined a story since, or have
        # replaced an old one.
        if dry_run:
            done.documents += len(ids)
        elif rule.keys_only:
            done.documents += _remove_keys(store, ids, before)
        else:
            gone = delete(deduplicator, ids, lambda record: is_older(record, before))
            done.documents += len(gone.deleted)
            done.promoted += len(gone.promoted)
        yield done


def is_older(record: Record, before: int) -> bool:
    return time_of(record.order[0]) < before


def _remove_keys(store: Store, ids: Sequence[str], before: int) -> int:
    """Remove the keys of old documents; returns how many these were."""
    done: set[str] = set()
    with store.concurrency.transaction():
        store.concurrency.snapshot()
        stored = store.documents.get(ids)
        affected = dependents_of(store, list(stored.values())) - set(ids)
        while old := [record for record in stored.values() if is_older(record, before)]:
            conflicts = store.documents.rewrite([_keyless(r) for r in old]).conflicts
            done |= {r.document.id for r in old} - conflicts
            stored = store.documents.get(conflicts)  # another writer changed them meanwhile
        # Articles of other groups that had these among those they were compared with.
        reconcile(store, affected)
    store.concurrency.make_visible()
    return len(done)


def _keyless(record: Record) -> Record:
    return replace(record, signature=replace(record.signature, keys={}, query_seed={}))
