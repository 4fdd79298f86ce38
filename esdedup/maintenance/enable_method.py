"""A method switched on later: its keys for documents that are signed already, and only these.

First the keys, batch by batch; the store goes on with the methods it had, and what is done is told
by the documents themselves. When no document is left, the settings of the store change, at once,
and every link is looked at again with the new method: groups become those of a store that had the
method from the beginning. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, Self

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import reconcile
from esdedup.errors import SettingsError, StoreError
from esdedup.ingest.sign import Signed, check_settings, prepare
from esdedup.ingest.workers import Workers
from esdedup.maintenance.backfill import OVERLAP, Backfill, Plan, Progress
from esdedup.methods import method as find_method
from esdedup.model import JSON, Failure
from esdedup.settings import Settings
from esdedup.stores.cluster.key_backfill import Added, AddedFields, AddedRows, Addition, Waiting

# Each pass takes what was written during the one before it.
_MAX_PASSES = 50
_EVER = datetime.fromtimestamp(0, UTC)


def with_method(recorded: Settings, method: str, changed: Settings) -> Settings:
    """The settings of a store with one more method, as `changed` has it."""
    find_method(method)  # an unknown one is told of here
    methods = tuple(dict.fromkeys([*recorded.methods, method]))
    return replace(changed, methods=methods)


class SwitchOn:
    """One run: the keys of `method`, then the settings, then the links."""

    def __init__(
        self,
        deduplicator: Deduplicator,
        method: str,
        settings: Settings,
        *,
        names: Mapping[str, str] | None = None,
        throttle: float = 0.0,
        restart: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`deduplicator` is open with the settings of the store, `settings` are those to come."""
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
        self._restart = restart
        self._was_on = method in recorded.methods
        self._throttle = throttle
        self._sleep = sleep
        plan = Plan(fields=names or {}, throttle=throttle)
        self._added = _added(deduplicator, method, plan, settings.batch)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._deduplicator.close()

    def count(self) -> int:
        """Documents to look at."""
        return self._added.count()

    def run(self) -> Iterator[Progress]:
        """Batch by batch; stopping between two of them loses nothing."""
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
                    self._wait(len(page), began)
                store.refresh()
                since = started - OVERLAP
                if progress.done + progress.changed_meanwhile == before:
                    break
            # In a file nobody else writes between the last look and the change of the settings.
            with store.transaction():
                for page in self._added.pages(everything=False, since=since):
                    self._batch(page, pool, progress)
                self._added.record(self._settings)
                self._added.save({**self._wanted(), "phase": "links", "after": None})

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
            additions.append(Addition(waiting, keys, signature.kept.get(self._method, "")))
        news = [addition for addition in additions if addition.is_news]
        report = self._added.write(news)
        progress.failures.update(report.failures)
        progress.changed_meanwhile += len(report.conflicts)
        progress.done += len(news) - len(report.conflicts) - len(report.failures)
        progress.total = max(progress.total, progress.done)

    def _wait(self, documents: int, began: float) -> None:
        if self._throttle:
            left = documents / self._throttle - (time.monotonic() - began)
            if left > 0:
                self._sleep(left)

    # --- links ---------------------------------------------------------------------------------

    def _relink(self, progress: Progress) -> Iterator[Progress]:
        """Every document once, with all that follows; the papers' online way mends nothing."""
        store = self._deduplicator.store
        store.adopt(self._settings)
        self._deduplicator.settings = self._settings
        state = self._added.state() or {}
        after = state.get("after")
        if self._settings.attract != "all":
            store.begin()
            ids = sorted(store.changed_since(_EVER))
            ids = [id_ for id_ in ids if after is None or id_ > after]
            size = self._settings.batch
            for start in range(0, len(ids), size):
                part = ids[start : start + size]
                with store.transaction():
                    progress.relinked += len(reconcile(store, part, forced=part))
                    self._added.save({**state, "after": part[-1]})
                yield progress
        self._added.save(None)
        yield progress

    # --- the state of a run --------------------------------------------------------------------

    def _wanted(self) -> JSON:
        return {"method": self._method, "settings": fields_of(self._method, self._settings)}

    def _join(self, progress: Progress) -> JSON:
        """The run that is under way, or a new one."""
        state = self._added.state()
        wanted = self._wanted()
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
                raise SettingsError(
                    f"{self._method} is being switched on with other settings "
                    f"({_told(state['settings'], wanted['settings'])}); give the same ones to go "
                    "on, or --restart to begin anew with these"
                )
        state = {**wanted, "phase": "keys"}
        self._added.save(state)
        return state


def fields_of(method: str, settings: Settings) -> JSON:
    """The settings that shape the keys of one method."""
    values = settings.to_json()
    return {f.name: values[f.name] for f in fields(settings) if f.metadata["method"] == method}


def _told(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    other = [name for name in here if there.get(name) != here[name]]
    return ", ".join(f"{n} is {there.get(n)!r} there and {here[n]!r} here" for n in other)


def _added(deduplicator: Deduplicator, method: str, plan: Plan, size: int) -> Added:
    from esdedup.stores.sqlite.store import SQLiteStore

    if isinstance(deduplicator.store, SQLiteStore):
        return AddedRows(deduplicator.store, method, size)
    reader = Backfill(deduplicator, plan)
    return AddedFields(reader.index, reader, method)
