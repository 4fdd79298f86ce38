"""Enables a method on a store whose documents are signed already.

First the keys are added, batch by batch, while the store works with its old methods. Documents
without the keys are those left to do. Then the settings of the store change at once, and every link
is reconciled: groups become those of a store that had the method from the beginning. A stopped run
resumes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import reconcile
from esdedup.errors import SettingsError, StoreError
from esdedup.ingest.sign import check_settings, sign_many
from esdedup.maintenance.backfill import OVERLAP, BackfillPlan, Progress, Throttle
from esdedup.methods import method as find_method
from esdedup.model import JSON, Signature
from esdedup.model.batching import batched
from esdedup.settings import Settings
from esdedup.stores import Record
from esdedup.stores.ports import scan

# Each pass takes what was written during the one before it.
_MAX_PASSES = 50
# The name under which the store keeps the state of a run.
_STATE = "added-method"


def with_method(recorded: Settings, method: str, changed: Settings) -> Settings:
    """The settings of a store with one more method, as `changed` has it."""
    find_method(method)  # raises for an unknown one
    methods = tuple(dict.fromkeys([*recorded.methods, method]))
    return replace(changed, methods=methods)


class MethodEnabling:
    """One run: the keys of `method`, then the settings, then the links."""

    def __init__(
        self,
        deduplicator: Deduplicator,
        method: str,
        settings: Settings,
        plan: BackfillPlan | None = None,
    ) -> None:
        """`deduplicator` is open with the settings of the store, `settings` are those to come. Of
        the plan, `restart` and `throttle` apply."""
        find_method(method)
        recorded = deduplicator.settings
        if recorded.format == 1:
            raise StoreError(
                "this store has format 1; upgrade it before a method is added: "
                "esdedup backfill --upgrade"
            )
        place = "the store"
        replace(settings, methods=recorded.methods).check_against(recorded.shaping(), store=place)
        if method in recorded.methods:
            settings.check_against(recorded.shaping(), store=place)
        check_settings(settings)
        self._deduplicator = deduplicator
        self._store = deduplicator.store
        self._method = method
        self._settings = settings
        self._was_on = method in recorded.methods
        plan = plan or BackfillPlan()
        self._restart, self._throttle = plan.restart, Throttle(plan.throttle)
        self._size = settings.batch
        if plan.throttle:  # short steps, not a burst every minute
            self._size = max(1, min(self._size, round(plan.throttle)))

    def count(self) -> int:
        """The number of documents without keys of the method; it reads all of them."""
        return sum(map(self._is_lacking, chain.from_iterable(scan(self._store.documents))))

    def run(self) -> Iterator[Progress]:
        """Work batch by batch; a caller may stop between two batches and run it again."""
        progress = Progress()
        state = self._join(progress)
        if state["phase"] == "keys":
            yield from self._add_keys(progress)
            if self._was_on and not progress.done and not progress.resumed:
                self._save(None)  # nobody had been left out: all links are right
                yield progress
                return
        yield from self._relink(progress)

    # --- keys ----------------------------------------------------------------------------------

    def _add_keys(self, progress: Progress) -> Iterator[Progress]:
        concurrency = self._store.concurrency
        since: datetime | None = None
        for number in range(1, _MAX_PASSES + 1):
            progress.passes = number
            started = datetime.now(UTC)
            before = progress.done + progress.changed_meanwhile
            everything = self._restart and number == 1
            for ids in self._find_changed(since, progress):
                began = time.monotonic()
                self._sign(ids, progress, everything=everything)
                yield progress
                self._throttle.wait(len(ids), began)
            concurrency.make_visible()
            since = started - OVERLAP
            if progress.done + progress.changed_meanwhile == before:
                break
        # In a file nobody else writes between the last look and the change of the settings.
        with concurrency.transaction():
            for ids in self._find_changed(since, progress):
                self._sign(ids, progress)
            self._use_settings()
            self._store.maintenance.record_settings()
            self._save({**self._run_key(), "phase": "links", "after": None})

    def _find_changed(self, since: datetime | None, progress: Progress) -> Iterator[list[str]]:
        ids = sorted(self._store.documents.changed_ids(since))
        progress.total = max(progress.total, len(ids))
        return batched(ids, self._size)

    def _is_lacking(self, record: Record) -> bool:
        is_signed = record.decision.role != "unprocessed"
        return is_signed and self._method not in record.signature.keys

    def _sign(self, ids: Sequence[str], progress: Progress, *, everything: bool = False) -> None:
        """Write the keys of documents that lack them, or with `everything` of all."""
        records = [
            record
            for record in self._store.documents.get(ids).values()
            if self._is_lacking(record) or (everything and record.decision.role != "unprocessed")
        ]
        alone = replace(self._settings, methods=(self._method,), number_check=False)
        signed = sign_many([record.document for record in records], alone)
        added = [
            replace(record, signature=self._add_method(record.signature, new.signature))
            for record, new in zip(records, signed, strict=True)
        ]
        changed = [new for old, new in zip(records, added, strict=True) if new != old]
        report = self._store.documents.rewrite(changed)
        progress.failures.update(report.failures)
        progress.changed_meanwhile += len(report.conflicts)
        progress.done += len(changed) - len(report.conflicts) - len(report.failures)

    def _add_method(self, stored: Signature, new: Signature) -> Signature:
        """The stored signature with the keys and the query seed of the method."""

        def merge(old: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
            others = {name: value for name, value in old.items() if name != self._method}
            return others | dict(given)

        return replace(
            stored,
            keys=merge(stored.keys, new.keys),
            query_seed=merge(stored.query_seed, new.query_seed),
        )

    def _use_settings(self) -> None:
        self._store.settings = self._deduplicator.settings = self._settings

    # --- links ---------------------------------------------------------------------------------

    def _relink(self, progress: Progress) -> Iterator[Progress]:
        """Reconcile every document once; with `attract=all` links are never changed."""
        store = self._store
        self._use_settings()
        state = self._read_state() or {}
        after = state.get("after")
        if self._settings.attract != "all":
            store.concurrency.snapshot()
            ids = sorted(store.documents.changed_ids())
            ids = [id_ for id_ in ids if after is None or id_ > after]
            for part in batched(ids, self._settings.batch):
                with store.concurrency.transaction():
                    progress.relinked += len(reconcile(store, part, forced=part))
                    self._save({**state, "after": part[-1]})
                yield progress
        self._save(None)
        yield progress

    # --- the state of a run --------------------------------------------------------------------

    def _read_state(self) -> JSON | None:
        """None if no run is under way; release 0.1.0 wrote that as a state without a phase."""
        state = self._store.maintenance.read_state(_STATE)
        return state if state and state["phase"] else None

    def _save(self, state: JSON | None) -> None:
        self._store.maintenance.write_state(_STATE, state)

    def _run_key(self) -> JSON:
        return {"method": self._method, "settings": fields_of(self._method, self._settings)}

    def _join(self, progress: Progress) -> JSON:
        """The run that is under way, or a new one."""
        state = self._read_state()
        wanted = self._run_key()
        if state is not None:
            if state["method"] != self._method:
                raise StoreError(
                    f"the method {state['method']!r} is being switched on here; finish that first: "
                    f"esdedup backfill --only {state['method']}"
                )
            if state["settings"] == wanted["settings"] and not self._restart:
                progress.resumed = True
                return state
            if state["phase"] == "keys" and not self._restart:
                differences = _describe_differences(state["settings"], wanted["settings"])
                raise SettingsError(
                    f"{self._method} is being switched on with other settings ({differences}); "
                    "give the same ones to go on, or --restart to begin anew with these"
                )
        state = {**wanted, "phase": "keys"}
        self._save(state)
        return state


def fields_of(method: str, settings: Settings) -> JSON:
    """The settings that shape the keys of one method."""
    values = settings.to_json()
    return {f.name: values[f.name] for f in fields(settings) if f.metadata["method"] == method}


def _describe_differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    other = [name for name in here if there.get(name) != here[name]]
    return ", ".join(f"{n} is {there.get(n)!r} there and {here[n]!r} here" for n in other)
