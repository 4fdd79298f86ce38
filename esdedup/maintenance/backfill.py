"""Adds signatures, groups and roles to an index that already has articles, in place.

Articles are read in the order of time, so that the earliest becomes the original at once and few
links change later; the order does not change the result. Each batch is signed, decided, written
with conditional updates, and reconciled before the next. A stopped run resumes on any machine:
signed documents are recognised by their format, and the position is in a small document beside the
index.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.epoch import Epoch
from esdedup.clustering.records import undecided_record
from esdedup.errors import InputError, StoreError
from esdedup.ingest.readers.dates import UnreadDates, parse_date
from esdedup.ingest.readers.records import FieldMap, to_document
from esdedup.ingest.sign import Signed, prepare
from esdedup.ingest.workers import Workers
from esdedup.model import JSON, Decision, Document, Failure
from esdedup.model.json_form import JsonField, Result
from esdedup.stores import Record
from esdedup.stores.cluster.documents import version_of
from esdedup.stores.cluster.foreign_index import (
    WHOLE,
    ForeignIndex,
    Part,
    State,
    TimeField,
    every_query,
    ours_of,
    source_of,
    unsigned_query,
)
from esdedup.stores.cluster.requests import documents as document_requests

# HTML pages read at once: they are larger than texts.
_PAGES_AT_ONCE = 50
# Clocks of several machines differ; reconciling a link once more costs little.
OVERLAP = timedelta(minutes=5)
# Each pass takes what was written during the one before it; a few are enough unless articles
# come faster than they are signed, and then `sweep` is the remedy.
_MAX_PASSES = 50
_SAMPLE = 1_000
_RUN = "run"
_HIDDEN = JsonField(hidden=True)
_Unread = Annotated[UnreadDates, JsonField(convert=UnreadDates.to_json)]


@dataclass(frozen=True, slots=True)
class BackfillPlan:
    """What to work on."""

    fields: Mapping[str, str] = field(default_factory=dict)  # ours -> theirs
    part: Part = WHOLE
    since: datetime | None = None
    until: datetime | None = None
    restart: bool = False  # sign again what is signed
    throttle: float = 0.0  # documents a second; 0 is no limit

    def to_json(self) -> JSON:
        """What slices of one run have in common."""
        return {
            "fields": dict(self.fields),
            "since": self.since.isoformat() if self.since else None,
            "until": self.until.isoformat() if self.until else None,
            "restart": self.restart,
        }


@dataclass(slots=True)
class Progress(Result):
    """How far a run is; the same object is yielded after every batch."""

    total: Annotated[int, _HIDDEN] = 0
    done: Annotated[int, JsonField("documents")] = 0
    roles: Counter[str] = field(default_factory=Counter)
    relinked: int = 0
    changed_meanwhile: Annotated[int, _HIDDEN] = 0  # left to the next pass
    passes: int = 0
    resumed: bool = False
    failures: dict[str, str] = field(default_factory=dict)  # refused by the server: id -> reason
    unread_dates: _Unread = field(default_factory=UnreadDates)
    # Indices read in the order of arrival, and why they cannot be sorted by time.
    arrival_order: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Preview(Result):
    """What a run would do, from counting and from a sample."""

    documents: int
    unsigned: Annotated[int, JsonField("to_do")]
    sampled: int
    without_text: int
    without_date: int
    unread_dates: _Unread
    fields: dict[str, str]
    time_field: str | None
    arrival_order: dict[str, str]
    example: str = ""  # why one of the articles has no text


@dataclass(frozen=True, slots=True)
class Throttle:
    """At most so many documents a second; 0 is no limit."""

    rate: float
    sleep: Callable[[float], None] = time.sleep

    def wait(self, documents: int, started: float) -> None:
        """Sleep as long as these documents should have taken and did not."""
        if self.rate and (left := documents / self.rate - (time.monotonic() - started)) > 0:
            self.sleep(left)


class Backfill:
    """One run over one index, or over one part of it."""

    def __init__(
        self,
        deduplicator: Deduplicator,
        plan: BackfillPlan,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        index = deduplicator.store.maintenance.foreign_index
        if index is None:
            raise StoreError(
                "every article in an SQLite store is signed: there is nothing to do; to add a "
                "method use --only METHOD"
            )
        if "id" in plan.fields:
            raise InputError("the id of an article is its _id: --field id=… cannot be used here")
        self._deduplicator = deduplicator
        self._builder = deduplicator.writer.builder
        self._settings = deduplicator.settings
        self.index: ForeignIndex = index
        self._store = deduplicator.store
        self._plan = replace(plan, fields={**self.index.recorded_fields(), **plan.fields})
        self._names = FieldMap(self._plan.fields)
        self._mapped = self.index.field_types()
        self._orders = self.index.orders(self._names.names("published"))
        self._throttle = Throttle(plan.throttle, sleep)
        self._state_name = _state_name(plan.part)
        self._filters = self._time_filters()

    # --- before a run --------------------------------------------------------------------------

    def preview(self) -> Preview:
        """Count articles and read a sample; nothing is written."""
        query = self._query()
        sample: list[JSON] = []
        for hits in self.pages(query):
            sample += hits
            if len(sample) >= _SAMPLE:
                break
        read = [self.document(hit) for hit in sample[:_SAMPLE]]
        texts = [d for d in read if isinstance(d, Document)]
        unread = UnreadDates()
        for document in texts:
            unread.add(document.id, document.unread_date)
        return Preview(
            documents=self.index.count(every_query()),
            unsigned=self.index.count(query),
            sampled=len(read),
            without_text=len(read) - len(texts),
            without_date=sum(d.published is None for d in texts),
            unread_dates=unread,
            fields=self._used_names(sample[:_SAMPLE]),
            time_field=self._orders[0].time.name if self._orders[0].time else None,
            arrival_order=self.arrival_order(),
            example=next((d.reason for d in read if isinstance(d, Failure)), ""),
        )

    def arrival_order(self) -> dict[str, str]:
        return self.index.explain_missing_times(self._names.names("published"))

    @property
    def _time(self) -> TimeField | None:
        """The field that all articles are read in the order of, where there is one."""
        return self._orders[0].time if len(self._orders) == 1 else None

    def _used_names(self, hits: Sequence[JSON]) -> dict[str, str]:
        """Which of the names each of our fields was found under, in this sample."""
        found: dict[str, str] = {}
        for ours in ("title", "text", "published", "lang", "url"):
            for name in self._names.names(ours):
                if any(
                    document_requests.at_path(source_of(hit), name) not in (None, "")
                    for hit in hits
                ):
                    found[ours] = name
                    break
        return found

    def mapped_names(self) -> dict[str, list[str]]:
        """Our fields with their names in the index; names given by the plan need no mapping."""
        found = {}
        for ours in ("title", "text", "url", "source", "lang", "published"):
            names = self._names.names(ours)
            is_given = ours in self._plan.fields
            if mapped := [name for name in names if is_given or name in self._mapped]:
                found[ours] = mapped
        return found

    # --- a run ---------------------------------------------------------------------------------

    def run(self) -> Iterator[Progress]:
        """Sign batch by batch; a caller may stop between two batches and run it again."""
        names = self.mapped_names()
        if self._plan.fields or any(list(found) != [ours] for ours, found in names.items()):
            self.index.record_names(self._plan.fields, names)
        run = self._join_run()
        progress = Progress(total=self._count(), arrival_order=self.arrival_order())
        state = self._resume(run, progress)
        yield from self._passes(run["started"], progress, state)
        self._finish(run, state)

    def catch_up(self) -> Iterator[Progress]:
        """Sign only articles without a signature; no state of a run is recorded."""
        now = time.time_ns() // 1000
        progress = Progress(total=self._count(), arrival_order=self.arrival_order())
        yield from self._passes(now, progress, None)

    def _passes(
        self, first_seen: int, progress: Progress, state: JSON | None
    ) -> Iterator[Progress]:
        """Until a pass finds nothing: articles that come in meanwhile are taken as well."""
        with Workers(1, prepare, self._settings) as pool:
            for number in range(1, _MAX_PASSES + 1):
                progress.passes = number
                before = progress.done + progress.changed_meanwhile
                everything = self._plan.restart and number == 1
                position = state["position"] if state else None
                for hits in self.pages(self._query(everything=everything, after=position)):
                    wanted = [h for h in hits if everything or self._is_wanted(h, progress)]
                    if wanted:
                        started, at = time.monotonic(), datetime.now(UTC)
                        arrivals = dict.fromkeys((h["_id"] for h in wanted), first_seen)
                        self.sign_batch(wanted, arrivals, pool, progress)
                        if state is not None:
                            place = _position(hits, self._time) if everything else None
                            state |= {"at": at.isoformat(), "position": place}
                            self._save(state, progress)
                        yield progress
                        self._throttle.wait(len(wanted), started)
                self._store.concurrency.make_visible()
                if progress.done + progress.changed_meanwhile == before and not everything:
                    return

    def sign_batch(
        self,
        hits: Sequence[JSON],
        arrivals: Mapping[str, int],
        pool: Workers[Signed | Failure],
        progress: Progress,
    ) -> None:
        """Sign, decide and write; `arrivals` are those of documents that were never signed."""
        store = self._store
        epoch = Epoch.begin(store)
        read = [self.document(hit) for hit in hits]
        signed = [item for chunk in pool.map(read, self._settings.batch) for item in chunk]
        pairs = list(zip(hits, signed, strict=True))
        records = [self._build_record(h, s, arrivals) for h, s in pairs if isinstance(s, Signed)]
        failed = [
            self._build_failed_record(h, f, arrivals) for h, f in pairs if isinstance(f, Failure)
        ]
        decided = [*epoch.place(records, hidden={hit["_id"] for hit in hits}), *failed]
        old = self._old_records(hits)
        epoch.note_replaced(list(old.values()))
        report = self.index.annotate_many(decided, {hit["_id"]: hit for hit in hits}, set(old))
        written = [r for r in decided if report.is_accepted(r.document.id)]
        epoch.must_recheck = bool(report.conflicts or report.failures)
        epoch.written = {r.document.id for r in written}
        # Another program may have replaced an original that copies depend on.
        epoch.affected |= store.candidates.dependents(epoch.written)
        relinked = epoch.reconcile()
        self._count_roles(written, relinked, progress)
        progress.failures.update(report.failures)
        progress.changed_meanwhile += len(report.conflicts)
        progress.total = max(progress.total, progress.done)

    def _count_roles(
        self, written: Sequence[Record], relinked: Mapping[str, Decision], progress: Progress
    ) -> None:
        ids = {r.document.id for r in written}
        for record in written:
            decision = relinked.get(record.document.id, record.decision)
            progress.roles[decision.role] += 1
            progress.unread_dates.add(record.document.id, record.document.unread_date)
        progress.done += len(ids)
        progress.relinked += len(set(relinked) - ids)

    def _is_wanted(self, hit: JSON, progress: Progress) -> bool:
        """Whether a hit is unsigned. False if the server refused it before."""
        dedup = ours_of(hit)
        signed = dedup.get("format") == self._settings.fingerprint_of_format() and "group" in dedup
        return not signed and hit["_id"] not in progress.failures

    # --- documents -----------------------------------------------------------------------------

    def document(self, hit: JSON) -> Document | Failure:
        """The article under its `_id`, whatever its fields are called."""
        own = {k: v for k, v in source_of(hit).items() if k not in ("dedup", "id")}
        return to_document({**own, "id": hit["_id"]}, hit["_id"], self._names)

    def _build_record(self, hit: JSON, signed: Signed, arrivals: Mapping[str, int]) -> Record:
        first_seen = _first_seen(hit, arrivals)
        order = self._builder.order(signed.document, signed.signature.words, first_seen)
        return replace(undecided_record(signed, order, first_seen), version=version_of(hit))

    def _build_failed_record(
        self, hit: JSON, failure: Failure, arrivals: Mapping[str, int]
    ) -> Record:
        """An article without a text is a group of its own, or a collapse would fold them all."""
        own = {k: v for k, v in source_of(hit).items() if k != "dedup"}
        published = parse_date(self._names.take(own, "published"))
        record = self._builder.build_unprocessed(
            Document(hit["_id"], published=published), _first_seen(hit, arrivals), failure.reason
        )
        return replace(record, version=version_of(hit))

    def _old_records(self, hits: Sequence[JSON]) -> dict[str, Record]:
        """The stored records of documents that are signed again."""
        marked = [h["_id"] for h in hits if "moment" in ours_of(h)]
        return self._store.documents.get(marked) if marked else {}

    # --- reading -------------------------------------------------------------------------------

    def _query(self, *, everything: bool = False, after: Any = None) -> JSON:
        if not everything:
            return unsigned_query(self._settings.fingerprint_of_format(), *self._filters)
        filters = [*self._filters]
        if self._time is not None and after is not None:
            filters.append(_from_position(self._time, after))
        return every_query(*filters)

    def pages(self, query: JSON) -> Iterator[list[JSON]]:
        ours = ["title", "text", "lang", "published", "url", "source"]
        size = self._settings.batch
        if not any(name in self._mapped for name in self._names.names("text")):
            ours.append("html")
            size = min(size, _PAGES_AT_ONCE)
        if self._plan.throttle:  # short steps, not a burst every minute
            size = max(1, min(size, round(self._plan.throttle)))
        names = [name for field_ in ours for name in self._names.names(field_)]
        # Read for every pass: a new index may have other types.
        self._orders = self.index.orders(self._names.names("published"))
        return self.index.pages(
            query, size=size, source=[*names, "dedup"], orders=self._orders, part=self._plan.part
        )

    def _time_filters(self) -> list[JSON]:
        plan = self._plan
        if plan.since is None and plan.until is None:
            return []
        names = self._names.names("published")
        others = self.index.explain_other_types(names)
        times = dict.fromkeys(order.time for order in self._orders if order.time is not None)
        if others or not times:
            found = "; ".join(f"in {index} {what}" for index, what in others.items())
            raise InputError(
                "--since and --until need a field of type date (looked for "
                f"{', '.join(names)}{f'; {found}' if found else ''}); name it: "
                "--field published=NAME"
            )
        ranges = [time.range(plan.since, plan.until) for time in times]
        return [{"bool": {"should": ranges, "minimum_should_match": 1}}]

    def _count(self) -> int:
        """Estimate the documents of this part: a hash cuts evenly."""
        whole = self.index.count(self._query(everything=self._plan.restart))
        return round(whole / self._plan.part.of)

    # --- the state of a run --------------------------------------------------------------------

    def _join_run(self) -> JSON:
        """The run that is under way, or a new one.

        Its start is the moment of every article without a date, so that several slices, on
        several machines, put the articles into one order.
        """
        wanted = {
            "parts": self._plan.part.of,
            "format": self._settings.fingerprint_of_format(),
            "plan": self._plan.to_json(),
        }
        for _ in range(10):
            old = self.index.read_state(_RUN)
            if old is not None and self._is_under_way(old, wanted):
                return old.values
            values = {**wanted, "started": time.time_ns() // 1000, "finished": False}
            if self.index.replace_state(_RUN, values, old):
                return values
        raise StoreError("another backfill keeps starting on this index; try again when it is done")

    def _is_under_way(self, run: State, wanted: JSON) -> bool:
        values = run.values
        if values["finished"] or any(values[name] != wanted[name] for name in wanted):
            return False
        mine = self.index.read_state(self._state_name)
        # A finished part with `restart` begins the next run.
        return not (self._plan.restart and _is_finished(mine, values))

    def _resume(self, run: JSON, progress: Progress) -> JSON:
        """The state of this part; a batch that was cut short is reconciled first."""
        found = self.index.read_state(self._state_name)
        if found is None or found.values["run"] != run["started"]:
            state = {"run": run["started"], "at": datetime.now(UTC).isoformat(), "position": None}
        else:
            state = dict(found.values)
            progress.resumed = not state["finished"]
            since = datetime.fromisoformat(state["at"])
            progress.relinked += len(reconcile_since(self._deduplicator, since))
        self._save(state, progress)
        return state

    def _save(self, state: JSON, progress: Progress) -> None:
        state |= {"finished": False, "documents": progress.done, "total": progress.total}
        self.index.write_state(self._state_name, state)

    def _finish(self, run: JSON, state: JSON) -> None:
        self.index.write_state(self._state_name, {**state, "finished": True})
        for number in range(1, self._plan.part.of + 1):
            part = Part(number, self._plan.part.of)
            if not _is_finished(self.index.read_state(_state_name(part)), run):
                return
        current = self.index.read_state(_RUN)
        if current is not None and current.values["started"] == run["started"]:
            self.index.replace_state(_RUN, {**run, "finished": True}, current)


def reconcile_since(deduplicator: Deduplicator, since: datetime) -> dict[str, Decision]:
    """Reconcile every link written since then: a killed run may not have reconciled them."""
    return deduplicator.sweep(since - OVERLAP)


def sweep(
    deduplicator: Deduplicator,
    since: datetime,
    *,
    fields: Mapping[str, str] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Progress:
    """Sign articles that other programs wrote, and reconcile what a crash left incomplete.

    An SQLite store has no unsigned articles; there only the second step applies.
    """
    progress = Progress()
    if deduplicator.store.maintenance.foreign_index is not None:
        deduplicator.store.concurrency.make_visible()
        job = Backfill(deduplicator, BackfillPlan(fields=fields or {}))
        progress.arrival_order = job.arrival_order()
        for latest in job.catch_up():
            progress = latest
            if stopped():
                return progress
    progress.relinked += len(reconcile_since(deduplicator, since))
    return progress


def _is_finished(state: State | None, run: JSON) -> bool:
    if state is None or state.values["run"] != run["started"]:
        return False
    return bool(state.values["finished"])


def _state_name(part: Part) -> str:
    return f"part-{part.number}-of-{part.of}"


def _first_seen(hit: JSON, arrivals: Mapping[str, int]) -> int:
    """When the article was first seen, which stays when it is signed again."""
    known = ours_of(hit).get("first_seen")
    return known if isinstance(known, int) else arrivals[hit["_id"]]


def _position(hits: Iterable[JSON], time_field: TimeField | None) -> JSON | None:
    """How far a run that signs everything again has come."""
    if time_field is None or time_field.type == "date_nanos":  # its sort values are no dates
        return None
    *_, last = hits
    value = last["sort"][0]
    # Without a date the engines sort by the largest or smallest number there is.
    dated = isinstance(value, str) or (value is not None and abs(value) < 1 << 62)
    return {"value": value if dated else None}


def _from_position(time_field: TimeField, position: JSON) -> JSON:
    """From there on, the same moment included; then everything without a date."""
    missing: JSON = {"bool": {"must_not": [{"exists": {"field": time_field.name}}]}}
    if position["value"] is None:
        return missing
    bounds: JSON = {"gte": position["value"]}
    if time_field.type == "date":
        bounds["format"] = "epoch_millis"
    dated: JSON = {"range": {time_field.name: bounds}}
    return {"bool": {"should": [dated, missing], "minimum_should_match": 1}}
