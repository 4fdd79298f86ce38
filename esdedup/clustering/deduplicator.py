"""The public API of the write path: documents in, decisions out, links in the store.

`Deduplicator` joins the pure stages (extract, sign, decide) with a store. A batch is written whole
or not at all. Indexing the same input again changes nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache, partial
from itertools import islice
from typing import Literal, Self

from esdedup.clustering.outcomes import Outcome, unprocessed_decision
from esdedup.clustering.pipelined import SMALLEST_BATCH, Stream
from esdedup.clustering.place import decide_alone
from esdedup.clustering.reconcile import QueryBuilder, positions_of, reconcile
from esdedup.clustering.records import undecided_record
from esdedup.clustering.transactional import BatchWriter
from esdedup.errors import EsdedupError
from esdedup.ingest.failures import run_for_document
from esdedup.ingest.sign import (
    Signed,
    attach_document,
    check_settings,
    prepare,
    prepare_in_worker,
)
from esdedup.matching.canonical_order import is_ordered_by_arrival
from esdedup.matching.constraints import Positions
from esdedup.model import Candidate, Decision, Document, Failure
from esdedup.model.batching import batched
from esdedup.settings import Settings
from esdedup.stores import CandidateQuery, Record, Store, open_store

# Small at first: the first outcomes come soon, and the store has work while more is signed.
_FIRST_BATCH = 125


class Deduplicator:
    """Finds copies and updates among news articles and links them in a store.

    Used with `with`, which closes the store:

        with Deduplicator.open("sqlite:///news.db") as news:
            for outcome in news.add_many(read(["feed.ndjson"])):
                print(outcome.decision.id, outcome.decision.role)
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.settings = store.settings
        self.writer = BatchWriter(store)

    @classmethod
    def open(
        cls,
        url: str = "sqlite://:memory:",
        settings: Settings | None = None,
        *,
        mode: Literal["write", "read"] = "write",
    ) -> Self:
        """Open the store at a URL (see `open_store`); the default is an SQLite store in memory."""
        if mode == "write" and settings is not None:
            check_settings(settings)  # before a store is made that nothing can be added to
        opened = cls(open_store(url, settings, mode=mode))
        try:
            if mode == "write":
                check_settings(opened.settings)
        except EsdedupError:
            opened.close()
            raise
        return opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def check(self, document: Document) -> Decision:
        """Decide without writing. A page that cannot be processed has the role `unprocessed`.

        For more than a few use `check_many`, which looks up many documents at once.
        """
        (decision,) = self.check_signed(prepare([document], _checking_settings(self.settings)))
        return decision

    def check_many(
        self, documents: Iterable[Document | Failure], *, workers: int = 0
    ) -> Iterator[Decision]:
        """Decide about a stream without writing: each document as if it came alone, in input order.

        `workers` is that of `add_many`.
        """
        for batch in self._sign_batches(documents, workers, _checking_settings(self.settings)):
            yield from self.check_signed(batch)

    def check_signed(self, items: Sequence[Signed | Failure]) -> list[Decision]:
        """Decide about documents that `sign.prepare` signed, without writing."""
        signed = [item for item in items if isinstance(item, Signed)]
        builder = QueryBuilder.of(self.settings)
        queries = [self._build_query(item, builder) for item in signed]
        self.store.concurrency.make_visible(own_only=True)
        found = self.store.candidates.find(queries)
        named = self.store.constraints.recent().related_to(item.document.id for item in signed)
        positions = positions_of(self.store, named)
        decided = (
            run_for_document(item.document, self._decide_in_place, item, query, near, positions)
            for item, query, near in zip(signed, queries, found, strict=True)
        )
        done = (item if isinstance(item, Failure) else next(decided) for item in items)
        return [unprocessed_decision(item) if isinstance(item, Failure) else item for item in done]

    def _build_query(self, signed: Signed, queries: QueryBuilder) -> CandidateQuery:
        """The query has no id, so that a stored version of the document is found as well."""
        builder = self.writer.builder
        order = builder.order(signed.document, signed.signature.words, builder.clock.now())
        return queries.build(signed, order, id_="")

    def with_evidence(self, record: Record) -> Record:
        """A stored record with all evidence of its decision, computed from the texts.

        A store keeps the match alone. If the article would be linked otherwise now, its evidence
        is left as it is stored.
        """
        if record.decision.role == "unprocessed":
            return record
        constraints = self.store.constraints.recent()
        query = QueryBuilder.of(self.settings).build(record, record.order)
        (near,) = self.store.candidates.find([query])
        positions = positions_of(self.store, constraints.related_to([record.document.id]))
        decision = decide_alone(
            record,
            query,
            near,
            self.settings,
            constraints=constraints,
            positions=dict(positions),
        )
        return record if decision.link != record.decision.link else record.with_decision(decision)

    def _decide_in_place(
        self, signed: Signed, query: CandidateQuery, near: Sequence[Candidate], positions: Positions
    ) -> Decision:
        """Decide as indexing would. A stored document that is ordered by arrival keeps its place;
        otherwise its own update would precede it."""
        id_, order = signed.document.id, query.order
        if is_ordered_by_arrival(signed.document, self.settings):
            order = next((c.order for c in near if c.id == id_), order)
        return decide_alone(
            undecided_record(signed, order, order[0]),
            query,
            [c for c in near if c.order < order],
            self.settings,
            constraints=self.store.constraints.recent(),
            positions=dict(positions),
        )

    def add(self, document: Document) -> Decision:
        """Index one document: decide, store it, and reconcile the documents that it affects.

        For more than a few use `add_many`, whose batches share lookups and writes.
        """
        *_, outcome = (o for o in self.add_many([document]) if o.status != "relinked")
        return outcome.decision

    def add_many(
        self, documents: Iterable[Document | Failure], *, workers: int = 0
    ) -> Iterator[Outcome]:
        """Index a stream; outcomes come batch by batch, in the order of the input.

        Nothing is read or written before the first outcome is taken. `workers` is the number of
        processes for extraction and signing; 0 uses none. Stored documents that change their group
        are among the outcomes, with the status `relinked`.
        """
        for batch in self.add_batches(documents, workers=workers):
            yield from batch

    def add_batches(
        self, documents: Iterable[Document | Failure], *, workers: int = 0
    ) -> Generator[list[Outcome], None, None]:
        """Like `add_many`; yields each batch as a list once it is written."""
        prepared = self._sign_batches(documents, workers, self.settings)
        consistency = self.store.concurrency.consistency
        if consistency.read_your_writes or self.settings.batch < SMALLEST_BATCH:
            yield from map(self.writer.write, prepared)
        else:
            yield from Stream(self.writer).batches(prepared)
        self.store.concurrency.make_visible()

    def write(self, items: Sequence[Signed | Failure]) -> list[Outcome]:
        """Decide and store one batch of `sign.prepare`: all of it, or nothing on an error."""
        return self.writer.write(items)

    def delete(self, ids: Iterable[str]) -> set[str]:
        """Remove documents. If an original is removed, the next of its group becomes the original.

        Returns the ids that were stored.
        """
        return self.writer.delete(ids)

    def sweep(self, since: datetime) -> dict[str, Decision]:
        """Reconcile what was written since then, as after a killed run; returns what changed.

        A killed run may have relinked a document, but not its dependents. Indexing the same
        articles again corrects their own links; `sweep` corrects those of their dependents. Name a
        time some minutes before the run began, since clocks differ.
        """
        if self.settings.attract == "all":
            return {}
        changed: dict[str, Decision] = {}
        with self.store.concurrency.transaction():
            self.store.concurrency.snapshot()
            ids = sorted(self.store.documents.changed_ids(since))
            for part in batched(ids, self.settings.batch):
                changed |= reconcile(self.store, part, forced=part)
        return changed

    def retry(self) -> Iterator[Outcome]:
        """Process the quarantine again; articles that succeed are indexed and leave it.

        Pages are read in a worker process with limits: a page may be there for exceeding them.
        """
        from esdedup.ingest.workers import Workers

        with Workers(1, prepare, self.settings) as pool:
            for failure in self.store.quarantine.entries():
                if failure.final or failure.document is None:
                    continue
                ((item,),) = pool.map([failure.document])
                with self.store.concurrency.transaction():
                    if isinstance(item, Signed) and item.document.id != failure.id:
                        # It was stored under a makeshift id.
                        self.store.documents.delete([failure.id])
                    outcomes = self.write([item])
                yield from outcomes

    # --- one batch ---------------------------------------------------------------------------

    def _sign_batches(
        self, documents: Iterable[Document | Failure], workers: int, settings: Settings
    ) -> Iterator[list[Signed | Failure]]:
        from esdedup.ingest.workers import Workers, growing_sizes

        check_settings(settings)
        join = partial(attach_document, settings)
        with Workers(workers, prepare_in_worker, settings, join) as pool:
            whole = settings.batch
            chunks = pool.map(documents, whole, first=_FIRST_BATCH)
            ready = (item for chunk in chunks for item in chunk)
            for size in growing_sizes(_FIRST_BATCH, whole):
                if not (batch := list(islice(ready, size))):
                    return
                yield batch


@lru_cache(maxsize=16)
def _checking_settings(settings: Settings) -> Settings:
    """Those of documents that are not stored: only keys that find or verify candidates are made."""
    used = {*settings.candidate_methods, settings.verified_by}
    return replace(settings, methods=tuple(m for m in settings.methods if m in used))
