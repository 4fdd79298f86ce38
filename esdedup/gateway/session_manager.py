"""All sessions of a gateway: one for each tenant and pattern, opened when needed."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from esdedup.errors import EsdedupError, StoreMissing, StoreUnavailable
from esdedup.gateway.tenants import Cluster, Tenant

if TYPE_CHECKING:
    from esdedup.gateway.session import TenantSession
    from esdedup.gateway.write_job import Unsigned
    from esdedup.settings import Settings

log = logging.getLogger("esdedup.gateway")

# Sessions that are open at most; the one that was idle longest is closed for a new one.
_MOST_SESSIONS = 64
# Reconciliation that failed is tried so often, with the next epochs; then it is left to `sweep`.
_TRIES = 5
_COMMAND = re.compile(r"[;,]?(?: then| and)? run the same command.*")


class SessionManager:
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
        self._sessions: dict[tuple[str, str], TenantSession] = {}
        self._failed: Counter[tuple[str, str]] = Counter()
        # Patterns without an index when somebody wrote: looked at again after the write.
        self._missing: dict[tuple[str, str], tuple[Tenant, Unsigned]] = {}
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._ending = threading.Lock()
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._is_ending = False
        self.counts: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._run, name="esdedup-settle", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @contextmanager
    def open(self, tenant: Tenant, pattern: str) -> Iterator[TenantSession]:
        """The session of a tenant, which is not closed meanwhile; EsdedupError where the tenant
        may not read the index, or there is none."""
        key = (tenant.name, pattern)
        session = self._pin(key)
        if session is None:
            with self._opening:
                session = self._pin(key) or self._make(tenant, pattern)
        try:
            yield session
        finally:
            with self._lock:
                session.pins -= 1

    def _pin(self, key: tuple[str, str]) -> TenantSession | None:
        with self._lock:
            session = self._sessions.get(key)
            if session is not None:
                session.pins += 1
        return session

    def _make(self, tenant: Tenant, pattern: str) -> TenantSession:
        from esdedup.gateway.session import TenantSession

        store = self._cluster.store(tenant, pattern, self._settings)
        made = TenantSession(store, self._fields, self._workers)
        try:
            self._make_room()
        except EsdedupError:
            made.close()
            raise
        made.pins = 1
        with self._lock:
            self._sessions[tenant.name, pattern] = made
        return made

    def note_missing(self, tenant: Tenant, pattern: str, documents: Unsigned) -> None:
        """A write to a pattern without an index, which it may have made."""
        key = (tenant.name, pattern)
        with self._lock:
            if key in self._missing or len(self._missing) < _MOST_SESSIONS:
                _, noted = self._missing.setdefault(key, (tenant, {}))
                noted |= documents

    def wake(self) -> None:
        self._wake.set()

    @property
    def waiting(self) -> int:
        with self._lock:
            count = sum(session.waiting for session in self._sessions.values()) + len(self._missing)
        return count + self._is_ending

    def close(self, seconds: float = 30.0) -> None:
        """Reconcile what waits, as far as the time goes."""
        deadline = time.monotonic() + seconds
        while self.waiting and time.monotonic() < deadline and self._thread.is_alive():
            self._wake.set()
            time.sleep(0.05)
        self._stopped.set()
        self._wake.set()
        self._thread.join(timeout=5)
        if left := self.waiting:
            log.warning("%d documents are left to `esdedup sweep`", left)
        for session in self._sessions.values():
            session.close()

    def _make_room(self) -> None:
        """Close the session that was idle longest, if possible one with nothing to reconcile."""
        if len(self._sessions) < _MOST_SESSIONS:
            return
        with self._ending:
            with self._lock:
                free = [
                    (s.waiting > 0, s.used, k) for k, s in self._sessions.items() if not s.is_busy
                ]
                if not free:
                    raise StoreUnavailable(
                        f"all {_MOST_SESSIONS} sessions of the gateway have writes under way; let "
                        "fewer users write at once, or let `esdedup sweep` sign what they write"
                    )
                key = min(free)[2]
                session = self._sessions.pop(key)
            reason = ""
            try:
                if session.waiting:
                    session.end_epoch()
            except EsdedupError as error:
                reason = cause_of(error)
            self._close(key, session, reason)

    def _close(self, key: tuple[str, str], session: TenantSession, reason: str) -> None:
        self._failed.pop(key, None)
        if left := session.abandon():
            log.error("%d documents of %s are left to `esdedup sweep`: %s", left, key[1], reason)
        session.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.wait(self._seconds)
            self._wake.clear()
            self._is_ending = True
            try:
                self._open_missing()
                for key, session in list(self._sessions.items()):
                    with self._ending:
                        if self._sessions.get(key) is session and session.is_due(self._seconds):
                            self._end_epoch(key, session)
            finally:
                self._is_ending = False

    def _end_epoch(self, key: tuple[str, str], session: TenantSession) -> None:
        try:
            session.end_epoch()
        except EsdedupError as error:
            self._note_failure(key, session, cause_of(error))
        except Exception:
            log.exception("reconciling %s failed", key[1])
            self._note_failure(key, session, "a defect; the log has it")
        else:
            self._failed.pop(key, None)
            self.counts["settled"] += 1

    def _note_failure(self, key: tuple[str, str], session: TenantSession, reason: str) -> None:
        self._failed[key] += 1
        self.counts["settling_failed"] += 1
        if self._failed[key] < _TRIES:
            log.warning("reconciling %s is tried again: %s", key[1], reason)
            return
        with self._lock:  # the next write opens another: the index may have been made anew
            self._sessions.pop(key, None)
        self._close(key, session, reason)

    def _open_missing(self) -> None:
        """An index that a write has made since: our fields, then what was written without them."""
        with self._lock:
            missing, self._missing = self._missing, {}
        for (_, pattern), (tenant, documents) in missing.items():
            try:
                with self.open(tenant, pattern) as session:
                    session.note_unsigned(documents)
            except StoreMissing:
                pass  # refused, most likely
            except EsdedupError as error:
                log.warning("%s stays without our fields: %s", pattern, cause_of(error))
            except Exception:
                log.exception("opening %s failed", pattern)


def cause_of(error: Exception) -> str:
    """A message of the store without its remedy for a command: nobody ran one here."""
    return _COMMAND.sub("", str(error))
