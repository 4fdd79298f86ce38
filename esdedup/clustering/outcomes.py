"""What became of the documents of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from esdedup.ingest.sign import Signed
from esdedup.model import JSON, Decision, Failure
from esdedup.stores import Record, WriteReport

Status = Literal["new", "unchanged", "changed", "dropped", "relinked", "failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decision, and what it meant for the store.

    `relinked` decisions are about documents that were there before and found a new place, as
    when an earlier original turns up.
    """

    decision: Decision
    status: Status
    failure: Failure | None = None
    unread_date: str | None = None  # see `Document.unread_date`

    def to_json(self) -> JSON:
        out = {**self.decision.to_json(), "status": self.status}
        if self.unread_date is not None:
            out["unread_date"] = self.unread_date
        return out if self.failure is None else {**out, "failure": self.failure.to_json()}


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one part of a batch; `there` are the documents that were there before."""

    decided: Mapping[str, Decision]
    stored: set[str]
    failures: Mapping[str, Failure]
    there: Mapping[str, Record]

    def outcome(self, item: Signed | Failure) -> Outcome:
        id_ = id_of(item)
        if failure := self.failures.get(id_):
            return Outcome(unprocessed(failure), "failed", failure)
        unread = item.document.unread_date if isinstance(item, Signed) else None
        if id_ not in self.decided:
            return Outcome(self.there[id_].decision, "unchanged", unread_date=unread)
        status: Status = "dropped"
        if id_ in self.stored:
            status = "changed" if id_ in self.there else "new"
        elif id_ in self.there:
            status = "unchanged"  # as it was, in a place that settling changed
        return Outcome(self.decided[id_], status, unread_date=unread)


def id_of(item: Signed | Failure) -> str:
    return item.id if isinstance(item, Failure) else item.document.id


def unprocessed(failure: Failure) -> Decision:
    return Decision(failure.id, "unprocessed", failure.id, failure.id, reason=failure.reason)


def refused(record: Record, report: WriteReport) -> Failure:
    """A document that the store did not take."""
    id_ = record.document.id
    return Failure(id_, record.document.url or id_, report.failures[id_], document=record.document)
