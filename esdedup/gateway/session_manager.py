"""All desks of a gateway: one for each caller and pattern, opened when needed, settled in turn."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from esdedup.errors import EsdedupError, StoreMissing
from esdedup.gateway.tenants import Caller, Cluster

if TYPE_CHECKING:
    from esdedup.gateway.session import Desk
    from esdedup.settings import Settings

log = logging.getLogger("esdedup.gateway")

# Callers whose desks are kept open; the one that was idle longest is closed for a new one.
_MOST_DESKS = 64
# Reconciliation that failed is tried so often, with the next epochs; then it is left to `sweep`.
_TRIES = 5


class Newsroom:
    """Opens sessions, and ends their epochs in a thread of its own."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        settings: Settings | None = None,
        fields: Mapping[str, str] | None = None,
        workers: int = 1,
        settle_seconds: float = 1.0,
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._fields = dict(fields or {})
        self._workers = workers
        self._seconds = settle_seconds
        self._desks: dict[tuple[str, str], Desk] = {}
        self._failed: Counter[tuple[str, str]] = Counter()
        # Patterns without an index when somebody wrote: looked at again after the write.
        self._missing: dict[tuple[str, str], Caller] = {}
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._is_settling = False
        self.counts: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._run, name="esdedup-settle", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def desk(self, caller: Caller, pattern: str) -> Desk:
        """EsdedupError where the caller may not, or nothing is there."""
        from esdedup.gateway.session import Desk

        key = (caller.name, pattern)
        if (found := self._desks.get(key)) is not None:
            return found
        with self._opening:
            if (found := self._desks.get(key)) is not None:
                return found
            store = self._cluster.store(caller, pattern, self._settings)
            made = Desk(store, self._fields, self._workers)
            self._make_room()
            with self._lock:
                self._desks[key] = made
            return made

    def note_missing(self, caller: Caller, pattern: str) -> None:
        with self._lock:
            if len(self._missing) < _MOST_DESKS:
                self._missing[caller.name, pattern] = caller

    def wake(self) -> None:
        self._wake.set()

    @property
    def waiting(self) -> int:
        with self._lock:
            count = sum(desk.waiting for desk in self._desks.values()) + len(self._missing)
        return count + self._is_settling

    def close(self, seconds: float = 30.0) -> None:
        """Settle what waits, as far as the time goes."""
        deadline = time.monotonic() + seconds
        while self.waiting and time.monotonic() < deadline and self._thread.is_alive():
            self._wake.set()
            time.sleep(0.05)
        self._stopped.set()
        self._wake.set()
        self._thread.join(timeout=5)
        if left := self.waiting:
            log.warning("%d documents are left to `esdedup sweep`", left)
        for desk in self._desks.values():
            desk.close()

    def _make_room(self) -> None:
        with self._lock:
            idle = [(d.used, key) for key, d in self._desks.items() if not d.waiting]
            if len(self._desks) < _MOST_DESKS or not idle:
                return
            desk = self._desks.pop(min(idle)[1])
        desk.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.wait(self._seconds)
            self._wake.clear()
            self._is_settling = True
            try:
                self._open_missing()
                for key, desk in list(self._desks.items()):
                    if desk.is_due(self._seconds):
                        self._settle(key, desk)
            finally:
                self._is_settling = False

    def _settle(self, key: tuple[str, str], desk: Desk) -> None:
        try:
            desk.settle()
        except EsdedupError as error:
            self._note_failure(key, desk, str(error))
        except Exception:
            log.exception("settling %s failed", key[1])
            self._note_failure(key, desk, "a defect; see above")
        else:
            self._failed.pop(key, None)
            self.counts["settled"] += 1

    def _note_failure(self, key: tuple[str, str], desk: Desk, reason: str) -> None:
        self._failed[key] += 1
        self.counts["settling_failed"] += 1
        if self._failed[key] < _TRIES:
            log.warning("settling %s is tried again: %s", key[1], reason)
            return
        count = desk.forget()
        self._failed.pop(key)
        with self._lock:  # the next write opens another: the index may have been made anew
            self._desks.pop(key, None)
        desk.close()
        log.error("%d documents of %s are left to `esdedup sweep`: %s", count, key[1], reason)

    def _open_missing(self) -> None:
        """An index that a write has made since: our fields, then what was written without them."""
        for (name, pattern), caller in list(self._missing.items()):
            try:
                self.desk(caller, pattern).note_unsigned()
            except StoreMissing:
                pass  # refused, most likely
            except EsdedupError as error:
                log.warning("%s stays without our fields: %s", pattern, error)
            except Exception:
                log.exception("opening %s failed", pattern)
            with self._lock:
                self._missing.pop((name, pattern), None)
