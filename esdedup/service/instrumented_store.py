"""A store that measures its lookups and writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from esdedup.model import Candidate
from esdedup.service.metrics import Metrics
from esdedup.stores import CandidateQuery, Record, Store, WriteReport


class _Delegate:
    """Passes on everything that it does not count."""

    def __init__(self, inner: Any, metrics: Metrics) -> None:
        self._inner = inner
        self._metrics = metrics

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Candidates(_Delegate):
    def find(self, queries: Sequence[CandidateQuery]) -> list[list[Candidate]]:
        with self._metrics.stages.labels("candidates").time():
            found: list[list[Candidate]] = self._inner.find(queries)
        for one in found:
            self._metrics.candidates.observe(len(one))
        return found


class _Documents(_Delegate):
    def put(self, records: Sequence[Record]) -> WriteReport:
        with self._metrics.stages.labels("put").time():
            report: WriteReport = self._inner.put(records)
        return report


class _InstrumentedStore(_Delegate):
    def __init__(self, store: Store, metrics: Metrics) -> None:
        super().__init__(store, metrics)
        self.candidates = _Candidates(store.candidates, metrics)
        self.documents = _Documents(store.documents, metrics)


def instrument(store: Store, metrics: Metrics) -> Store:
    return cast(Store, _InstrumentedStore(store, metrics))
