"""Enables a method on a store whose documents are signed already.

First the keys are added, batch by batch, while the store works with its old methods; documents
without the keys are those left to do. Then the settings of the store change at once, and every link
is reconciled: groups become those of a store that had the method from the beginning. A stopped run
resumes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import reconcile
from esdedup.errors import SettingsError, StoreError
from esdedup.ingest.sign import Signed, check_settings, prepare
from esdedup.ingest.workers import Workers
from esdedup.maintenance.backfill import OVERLAP, Backfill, BackfillPlan, Progress, Throttle
from esdedup.methods import method as find_method
from esdedup.model import JSON, Failure
from esdedup.model.batching import batched
from esdedup.settings import Settings
from esdedup.stores.ports import Addition, Waiting

# Each pass takes what was written during the one before it.
_MAX_PASSES = 50


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
        the plan, `fields`, `restart` and `throttle` apply."""
        find_method(method)
        recorded = deduplicator.settings
        place = "the store"
        replace(settings, methods=recorded.methods).check_against(recorded.shaping(), store=place)
        if method in recorded.methods:
            settings.check_against(recorded.shaping(), store=place)
        check_settings(settings)
        self._deduplicator = deduplicator
        self._method = method
        self._settings = settings
        self._was_on = method in recorded.methods
        plan = plan or BackfillPlan()
        self._restart, self._throttle = plan.restart, Throttle(plan.throttle)
        maintenance = deduplicator.store.maintenance
        reader = None if maintenance.foreign_index is None else Backfill(deduplicator, plan)
        self._added = maintenance.key_backfill(method, settings.batch, reader)

    def count(self) -> int:
        """The number of documents to process."""
        return self._added.count()

    def run(self) -> Iterator[Progress]:
        """Work batch by batch; a caller may stop between two batches and run it again."""
        progress = Progress(total=self._added.count())
        state = self._join(progress)
        if state["phase"] == "keys":
            yield from self._add_keys(progress)
            if self._was_on and not progress.done and not progress.resumed:
                self._added.save(None)  # nobody had been left out: all links are right
                yield progress
                return
        yield from self._relink(progress)

    # --- keys ----------------------------------------------------------------------------------

    def _add_keys(self, progress: Progress) -> Iterator[Progress]:
        store = self._deduplicator.store
        alone = replace(self._settings, methods=(self._method,), number_check=False)
        since: datetime | None = None
        with Workers(1, prepare, alone) as pool:
            for number in range(1, _MAX_PASSES + 1):
                progress.passes = number
                started = datetime.now(UTC)
                before = progress.done + progress.changed_meanwhile
                everything = self._restart and number == 1
                for page in self._added.pages(everything=everything, since=since):
                    began = time.monotonic()
                    self._batch(page, pool, progress)
                    yield progress
                    self._throttle.wait(len(page), began)
                store.concurrency.make_visible()
                since = started - OVERLAP
                if progress.done + progress.changed_meanwhile == before:
                    break
            # In a file nobody else writes between the last look and the change of the settings.
            with store.concurrency.transaction():
                for page in self._added.pages(everything=False, since=since):
                    self._batch(page, pool, progress)
                self._added.record(self._settings)
                self._added.save({**self._run_key(), "phase": "links", "after": None})

    def _batch(
        self, page: Sequence[Waiting], pool: Workers[Signed | Failure], progress: Progress
    ) -> None:
        documents = [waiting.document for waiting in page]
        signed = [item for chunk in pool.map(documents, self._settings.batch) for item in chunk]
        additions = []
        for waiting, item in zip(page, signed, strict=True):
            if isinstance(item, Failure):
                progress.failures[item.id] = item.reason
                continue
            signature = item.signature
            keys = tuple(signature.keys.get(self._method, ()))
            additions.append(Addition(waiting, keys, signature.query_seed.get(self._method, "")))
        news = [addition for addition in additions if addition.is_change]
        report = self._added.write(news)
        progress.failures.update(report.failures)
        progress.changed_meanwhile += len(report.conflicts)
        progress.done += len(news) - len(report.conflicts) - len(report.failures)
        progress.total = max(progress.total, progress.done)

    # --- links ---------------------------------------------------------------------------------

    def _relink(self, progress: Progress) -> Iterator[Progress]:
        """Reconcile every document once; with `attract=all` links are never changed."""
        store = self._deduplicator.store
        store.settings = self._settings
        self._deduplicator.settings = self._settings
        state = self._added.state() or {}
        after = state.get("after")
        if self._settings.attract != "all":
            store.concurrency.snapshot()
            ids = sorted(store.documents.changed_ids())
            ids = [id_ for id_ in ids if after is None or id_ > after]
            for part in batched(ids, self._settings.batch):
                with store.concurrency.transaction():
                    progress.relinked += len(reconcile(store, part, forced=part))
                    self._added.save({**state, "after": part[-1]})
                yield progress
        self._added.save(None)
        yield progress

    # --- the state of a run --------------------------------------------------------------------

    def _run_key(self) -> JSON:
        return {"method": self._method, "settings": fields_of(self._method, self._settings)}

    def _join(self, progress: Progress) -> JSON:
        """The run that is under way, or a new one."""
        state = self._added.state()
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
        self._added.save(state)
        return state


def fields_of(method: str, settings: Settings) -> JSON:
    """The settings that shape the keys of one method."""
    values = settings.to_json()
    return {f.name: values[f.name] for f in fields(settings) if f.metadata["method"] == method}


def _describe_differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    other = [name for name in here if there.get(name) != here[name]]
    return ", ".join(f"{n} is {there.get(n)!r} there and {here[n]!r} here" for n in other)
