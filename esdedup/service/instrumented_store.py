"""A store whose work is counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from esdedup.model import Candidate
from esdedup.service.metrics import Metrics
from esdedup.stores import Probe, Record, Store, WriteReport


class _Metered:
    def __init__(self, store: Store, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def candidates_many(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        with self._metrics.stages.timed("candidates"):
            found = self._store.candidates_many(probes)
        for one in found:
            self._metrics.candidates.observe(len(one))
        return found

    def put_many(self, records: Sequence[Record]) -> WriteReport:
        with self._metrics.stages.timed("put"):
            return self._store.put_many(records)


def metered(store: Store, metrics: Metrics) -> Store:
    return cast(Store, _Metered(store, metrics))
