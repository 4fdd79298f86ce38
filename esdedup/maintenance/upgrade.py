"""Upgrades a store of format 1 to format 2, in place, while it is in use.

First the store gets its new settings, with `reads_format_1`: candidate queries then use the keys
of both formats, and what is written has keys of format 2. Then every other document is signed
again from its text and reconciled, batch by batch. At the end `reads_format_1` is switched off. A
stopped run resumes: documents of format 1 are those that are left.

An index that other programs fill is signed again by `backfill`, which finds these documents by
their format as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import is_keyless, reconcile
from esdedup.errors import StoreError
from esdedup.ingest.sign import sign_many
from esdedup.maintenance.backfill import Backfill, BackfillPlan, Throttle
from esdedup.methods.key_text import translate_key
from esdedup.model.batching import batched
from esdedup.model.json_form import Result
from esdedup.settings import Settings
from esdedup.stores import Record
from esdedup.stores.cluster.foreign_index import unsigned_query
from esdedup.stores.ports import scan

# Documents of which the sizes before and after are compared.
_SAMPLE = 100
# Each pass takes what was written during the one before it.
_MAX_PASSES = 50


@dataclass(slots=True)
class UpgradeProgress(Result):
    """Documents upgraded and left, those with another group, and bytes of our fields in each."""

    total: int
    done: int = 0
    relinked: int = 0
    bytes_before: float = 0.0
    bytes_after: float = 0.0


def upgraded_settings(settings: Settings) -> Settings:
    """The settings of a store after its upgrade.

    A store with the default method gets the three default methods. One that was made as a paper
    has it keeps its methods.
    """
    changes: dict[str, object] = {"format": 2, "reads_format_1": False}
    if settings.preset in ("hybrid", "precise") and settings.methods == ("sketch",):
        default = Settings()
        names = ("methods", "entity_keys", "entity_in_sentence")
        changes |= {name: getattr(default, name) for name in names}
    hot = tuple(translate_key(key) or key for key in settings.hot_keys)
    return replace(settings, hot_keys=hot, **changes)  # type: ignore[arg-type]  # of many types


class Upgrade:
    """One run over a store that is opened with its own settings."""

    def __init__(
        self,
        deduplicator: Deduplicator,
        *,
        throttle: float = 0.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._deduplicator = deduplicator
        self._store = deduplicator.store
        self._settings = upgraded_settings(deduplicator.settings)
        self._rate = throttle
        self._throttle = Throttle(throttle, sleep)

    def preview(self) -> UpgradeProgress:
        """What a run would do; nothing is written."""
        total, ids = self._sample()
        progress = UpgradeProgress(total)
        sample = list(self._store.documents.get(ids).values())
        if sample:
            ids = [record.document.id for record in sample]
            measure = self._store.maintenance.own_bytes
            progress.bytes_before = measure(ids) / len(ids)
            progress.bytes_after = sum(map(_own_bytes, self._sign(sample))) / len(ids)
        return progress

    def _sample(self) -> tuple[int, list[str]]:
        """How many documents are left, and some of them."""
        if (index := self._store.maintenance.foreign_index) is not None:
            query = unsigned_query(self._settings.fingerprint_of_format())
            return index.count(query), index.sample_ids(query, _SAMPLE)
        left = self._find_left()
        return len(left), left[:_SAMPLE]

    def run(self) -> Iterator[UpgradeProgress]:
        """Work batch by batch; a caller may stop between two batches and run it again."""
        if self._deduplicator.settings.attract == "all":
            raise StoreError(
                "this store decides once, as in the paper (attract = all), and cannot be upgraded "
                "in place; index its articles into a new store"
            )
        progress = self.preview()
        self._record(replace(self._settings, reads_format_1=True))
        if self._store.maintenance.foreign_index is not None:
            yield from self._run_backfill(progress)
        else:
            for _ in range(_MAX_PASSES):
                left = self._find_left()
                if not left:
                    break
                progress.total = max(progress.total, progress.done + len(left))
                for part in batched(left, self._settings.batch):
                    began = time.monotonic()
                    with self._store.concurrency.transaction():
                        self._upgrade(part, progress)
                    yield progress
                    self._throttle.wait(len(part), began)
        self._record(self._settings)
        yield progress

    def _run_backfill(self, progress: UpgradeProgress) -> Iterator[UpgradeProgress]:
        job = Backfill(self._deduplicator, BackfillPlan(throttle=self._rate))
        for done in job.run():
            progress.done, progress.relinked = done.done, done.relinked
            yield progress

    def _record(self, settings: Settings) -> None:
        self._store.settings = self._deduplicator.settings = settings
        self._store.maintenance.record_settings()

    def _find_left(self) -> list[str]:
        format_ = self._settings.fingerprint_of_format()
        records = chain.from_iterable(scan(self._store.documents))
        return [r.document.id for r in records if r.signature.format != format_]

    def _upgrade(self, ids: Sequence[str], progress: UpgradeProgress) -> None:
        records = self._sign(list(self._store.documents.get(ids).values()))
        report = self._store.documents.rewrite(records)
        written = [r.document.id for r in records if report.is_accepted(r.document.id)]
        progress.done += len(written)
        progress.relinked += len(reconcile(self._store, written, forced=written))

    def _sign(self, records: Sequence[Record]) -> list[Record]:
        """Documents that have no keys (`expire --keys-only`, or unprocessed ones) get none."""
        signed = sign_many([record.document for record in records], self._settings)
        return [
            replace(
                old,
                signature=replace(new.signature, keys={}, query_seed={})
                if is_keyless(old)
                else new.signature,
            )
            for old, new in zip(records, signed, strict=True)
        ]


def _own_bytes(record: Record) -> int:
    return len(str(record.signature.to_json()))
