"""What became of the documents of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from esdedup.ingest.sign import Signed
from esdedup.model import Decision, Failure
from esdedup.model.json_form import JsonField, Result
from esdedup.model.revisions import Revision
from esdedup.stores import Record, WriteReport

Status = Literal["new", "unchanged", "changed", "dropped", "relinked", "failed"]
UnreadDate = Annotated[
    str | None,
    JsonField(
        omit_empty=True,
        description="A date that could not be read: the article is ordered by its arrival.",
    ),
]


@dataclass(frozen=True, slots=True)
class Outcome(Result):
    """A decision, and what it meant for the store.

    A `relinked` document was stored before and changed its group, as when an earlier original
    arrives.
    """

    decision: Annotated[Decision, JsonField(flat=True)]
    status: Status
    failure: Annotated[Failure | None, JsonField(omit_empty=True)] = None
    unread_date: UnreadDate = None  # see `Document.unread_date`
    revision: Annotated[
        Revision | None,
        JsonField(
            omit_empty=True,
            description="Of a changed article with another text: what it changed.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of one part of a batch; `existing` documents were stored before."""

    decided: Mapping[str, Decision]
    stored: set[str]
    failures: Mapping[str, Failure]
    existing: Mapping[str, Record]
    revisions: Mapping[str, Revision] = field(default_factory=dict)

    def outcome(self, item: Signed | Failure) -> Outcome:
        id_ = id_of(item)
        if failure := self.failures.get(id_):
            return Outcome(unprocessed_decision(failure), "failed", failure)
        unread = item.document.unread_date if isinstance(item, Signed) else None
        if id_ not in self.decided:
            return Outcome(self.existing[id_].decision, "unchanged", unread_date=unread)
        status: Status = "dropped"
        revision = None
        if id_ in self.stored:
            status = "changed" if id_ in self.existing else "new"
            revision = self.revisions.get(id_)
        elif id_ in self.existing:
            status = "unchanged"  # as it was, in a place that reconciling changed
        return Outcome(self.decided[id_], status, unread_date=unread, revision=revision)


def id_of(item: Signed | Failure) -> str:
    return item.id if isinstance(item, Failure) else item.document.id


def unprocessed_decision(failure: Failure) -> Decision:
    return Decision(failure.id, "unprocessed", failure.id, failure.id, reason=failure.reason)


def refusal_of(record: Record, report: WriteReport) -> Failure:
    """A document that the store did not take."""
    id_ = record.document.id
    return Failure(id_, record.document.url or id_, report.failures[id_], document=record.document)
