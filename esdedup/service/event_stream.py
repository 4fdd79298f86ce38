"""The stream of breaking events: server-sent events for any number of listeners.

One thread looks at what was indexed, however many listen; it starts with the first listener. A
listener that does not keep up is disconnected, and can connect again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from esdedup.alerts.checkpoint import Checkpoint
from esdedup.alerts.event_watch import EventWatch
from esdedup.errors import EsdedupError
from esdedup.model import JSON
from esdedup.service.responses import encode_json
from esdedup.settings import Settings
from esdedup.stores import open_store

_log = logging.getLogger("esdedup.service")
# Changes that wait for a listener who is slow.
_WAITING = 1_000
# Proxies close connections on which nothing comes.
_QUIET_SECONDS = 15.0
_AGAIN_SECONDS = 30.0


class EventStream:
    """The listeners, and the thread that looks for changes, whose sink this is.

    `changed` is called before listeners get a change.
    """

    def __init__(
        self, url: str, settings: Settings, every: float, changed: Callable[[], None]
    ) -> None:
        self._url, self._settings, self._every = url, settings, every
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._listening: set[asyncio.Queue[JSON | None]] = set()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    async def messages(self, stopping: asyncio.Event) -> AsyncIterator[bytes]:
        """Server-sent events, until the service stops or the listener falls behind."""
        queue: asyncio.Queue[JSON | None] = asyncio.Queue(_WAITING)
        self._listening.add(queue)
        self._start()
        stopped = asyncio.ensure_future(stopping.wait())
        try:
            yield f"retry: {int(_AGAIN_SECONDS * 1000)}\n\n".encode()
            while True:
                coming = asyncio.ensure_future(queue.get())
                waited: set[asyncio.Future[object]] = {coming, stopped}  # type: ignore[arg-type]  # only waited for
                await asyncio.wait(
                    waited, timeout=_QUIET_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if not coming.done():
                    coming.cancel()
                    if stopped.done():
                        return
                    yield b": quiet\n\n"
                    continue
                change = coming.result()
                if change is None:
                    return
                name = str(change.get("change", "message")).encode()
                # One line of data: JSON escapes line breaks.
                yield b"event: " + name + b"\ndata: " + encode_json(change) + b"\n\n"
        finally:
            stopped.cancel()
            self._listening.discard(queue)

    def reported_ids(self) -> Iterator[str]:
        """None: every watch is a new one."""
        return iter(())

    def write(self, lines: Sequence[JSON]) -> None:
        """Hand changes to every listener; called in the thread that looks."""
        self._loop.call_soon_threadsafe(self._hand_out, list(lines))

    def _hand_out(self, changes: Sequence[JSON]) -> None:
        self._changed()
        for queue in list(self._listening):
            for change in changes:
                if queue.qsize() >= _WAITING - 1:
                    self._listening.discard(queue)
                    queue.put_nowait(None)
                    break
                queue.put_nowait(change)

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._look, name="esdedup-events", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        """Events of before are not reported; a store that fails is tried again."""
        while not self._ended.is_set():
            try:
                self._watch()
            except EsdedupError as error:
                _log.error("events: %s", error)
                self._ended.wait(_AGAIN_SECONDS)

    def _watch(self) -> None:
        store = open_store(self._url, self._settings, mode="read")
        checkpoint = Checkpoint(":memory:", self._url)
        try:
            watch = EventWatch(store, checkpoint, self, settings=self._settings)
            while not self._ended.wait(self._every):
                watch.look(store, self._ended.is_set)
        finally:
            checkpoint.close()
            store.close()

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(_AGAIN_SECONDS)
