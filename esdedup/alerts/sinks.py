"""Notifications of new stories, updates and revisions, and the sinks that take them.

A notification has an id that is made from its content, so that a receiver recognises one that comes
twice. It is handed over after its batch is stored and then delivered at least once. A run that was
killed before that reports nothing of its last batches; `replay_notifications` repeats them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from esdedup.alerts.checkpoint import sha256_hex
from esdedup.errors import InputError
from esdedup.model import JSON, iso
from esdedup.model.results import Mention

if TYPE_CHECKING:
    from esdedup.clustering.outcomes import Outcome
    from esdedup.model.revisions import Revision
    from esdedup.stores import Record, Store


@dataclass(slots=True)
class Delivery:
    """What became of the notifications. The undelivered ones are in `file`; the next run sends them
    first."""

    delivered: int = 0
    undelivered: int = 0
    refused: int = 0
    file: str = ""
    reason: str = ""


class Sink(Protocol):
    """Where notifications go."""

    def write(self, lines: Sequence[JSON]) -> None: ...
    def close(self) -> Delivery: ...


class LineSink(Protocol):
    """A sink that a watch can resume on: it knows what it was given before."""

    def write(self, lines: Sequence[JSON]) -> None: ...
    def reported_ids(self) -> Iterable[str]: ...


def open_sink(name: str, undelivered: Path) -> Sink:
    """`-` is standard output, an http(s) address a webhook, everything else a file."""
    if name == "-":
        return NdjsonSink(None)
    if "://" in name:
        from esdedup.alerts.webhook import Address, Webhook

        return Webhook(Address.parse(name), undelivered)
    return NdjsonSink(Path(name))


# --- notifications of decisions ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification; two with the same kind and key are the same."""

    kind: str
    key: tuple[str, ...]
    about: JSON

    @property
    def id(self) -> str:
        return sha256_hex("\0".join((self.kind, *self.key)))[:32]

    def to_json(self) -> JSON:
        return {
            "notification": self.id,
            "kind": self.kind,
            "at": iso(datetime.now(UTC)),
            **self.about,
        }


def make_notifications(outcomes: Iterable[Outcome], store: Store) -> list[Notification]:
    """Make notifications of the new stories, updates and revisions of a batch."""
    revised: dict[str, list[Revision]] = {}
    wanted = set()
    for outcome in outcomes:
        if outcome.revision is not None:
            revised.setdefault(outcome.decision.id, []).append(outcome.revision)
        elif outcome.status in ("new", "changed"):
            wanted.add(outcome.decision.id)
    records = store.documents.get(wanted | revised.keys()) if wanted or revised else {}
    placed = sorted(records.values(), key=lambda r: r.order)
    return [
        *_notifications_of(r for r in placed if r.document.id in wanted),
        *(_revision_of(r, one) for r in placed for one in revised.get(r.document.id, ())),
    ]


def replay_notifications(store: Store, moment: datetime) -> Iterator[list[Notification]]:
    """Make the notifications of everything written since then, for runs that were killed."""
    from esdedup.stores.ports import scan
    from esdedup.stories.revisions import revisions_of

    for records in scan(store.documents, moment):
        revised = {
            id_: recent
            for id_, found in revisions_of(records, store).items()
            if (recent := [one.revision for one in found if one.revision.at >= moment])
        }
        placed = sorted(records, key=lambda r: r.order)
        yield [
            *_notifications_of(r for r in placed if r.document.id not in revised),
            *(_revision_of(r, one) for r in placed for one in revised.get(r.document.id, ())),
        ]


def _notifications_of(records: Iterable[Record]) -> Iterator[Notification]:
    for record in records:
        decision, document = record.decision, record.document
        if decision.role not in ("original", "update"):
            continue  # it has become a copy of an earlier article since
        kind = "story" if decision.role == "original" else "update"
        about = Mention.of(document).to_json()
        about |= {"group": decision.group, "story": decision.story}
        if kind == "update":
            about["updates"] = decision.link.parent
            about["reason"] = decision.reason
            about["numbers"] = [list(change) for change in decision.changes]
        parent = decision.link.parent or ""
        yield Notification(kind, (document.id, record.signature.digest, parent), about)


def _revision_of(record: Record, revision: Revision) -> Notification:
    """Of an article that was written again with another text, whatever its role is."""
    decision = record.decision
    about = Mention.of(record.document).to_json()
    about |= {"group": decision.group, "story": decision.story, "role": decision.role}
    about["revision"] = revision.to_json()
    return Notification("revision", (record.document.id, iso(revision.at)), about)


# --- lines of JSON -----------------------------------------------------------------------------


class NdjsonSink:
    """Lines of JSON, appended to a file or written to a stream (standard output).

    The lines of a file are a record of what was reported. Half a line, left by a run that was
    killed, is cut off: its notification was not reported.
    """

    def __init__(self, path: Path | None, stream: BinaryIO | None = None) -> None:
        self._path = path
        self._stream = stream
        self._delivery = Delivery()
        if path is not None:
            _cut_half_line(path)

    def write(self, lines: Sequence[JSON]) -> None:
        if self._path is not None:
            append_lines(self._path, lines)
        else:
            stream = self._stream or sys.stdout.buffer
            stream.write(_encode_lines(lines))
            stream.flush()
        self._delivery.delivered += len(lines)

    def reported_ids(self) -> Iterator[str]:
        """Ids of the notifications in the file; lines of others are ignored."""
        if self._path is not None:
            lines = read_lines(self._path)
            yield from (str(line["notification"]) for line in lines if "notification" in line)

    def close(self) -> Delivery:
        return self._delivery


def _encode_lines(lines: Sequence[JSON]) -> bytes:
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return data.encode("utf-8", "backslashreplace")  # half a surrogate pair becomes a JSON escape


def append_lines(path: Path, lines: Sequence[JSON]) -> None:
    try:
        with path.open("ab") as file:
            file.write(_encode_lines(lines))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"notifications cannot be written to {path}: {error}") from error


def read_lines(path: Path) -> Iterator[JSON]:
    """The objects in a file; other lines, and half a line of a killed run, are passed over."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for raw in file:
            try:
                line = json.loads(raw)
            except ValueError:
                continue
            if isinstance(line, dict):
                yield line


def _cut_half_line(path: Path) -> None:
    try:
        with path.open("ab+") as file:
            end = file.tell()
            while end:
                start = max(0, end - 4096)
                file.seek(start)
                block = file.read(end - start)
                if (found := block.rfind(b"\n")) >= 0:
                    end = start + found + 1
                    break
                end = start
            file.truncate(end)
    except OSError as error:
        raise InputError(f"notifications cannot be written to {path}: {error}") from error
