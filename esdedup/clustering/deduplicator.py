"""The main job: documents in, decisions out, everything linked in the store.

`Deduplicator` joins the pure stages (extract, sign, decide) with a store. Whole batches are
written or nothing of them; running the same input again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Literal, Self

from esdedup.clustering.outcomes import Outcome, unprocessed
from esdedup.clustering.pipelined import SMALLEST_BATCH, Stream
from esdedup.clustering.place import decide_alone
from esdedup.clustering.reconcile import Questions, places_of, reconcile
from esdedup.clustering.records import undecided
from esdedup.clustering.transactional import BatchWriter
from esdedup.errors import EsdedupError
from esdedup.ingest.failures import alone
from esdedup.ingest.sign import (
    Signed,
    check_settings,
    joined,
    prepare,
    prepare_apart,
    prepare_to_ask,
)
from esdedup.matching.canonical_order import stands_by_arrival
from esdedup.matching.constraints import Places
from esdedup.model import Candidate, Decision, Document, Failure
from esdedup.settings import Settings
from esdedup.stores import Probe, Store, open_store

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
        """With the store behind a URL; `open_store` has what it may be. Without one: in memory."""
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

        For more than a few use `check_many`, which asks the store for many at once.
        """
        (decision,) = self.checked(prepare_to_ask([document], self.settings))
        return decision

    def check_many(
        self, documents: Iterable[Document | Failure], *, workers: int = 0
    ) -> Iterator[Decision]:
        """Decide about a stream without writing: each as if it came alone, in their order.

        `workers` are as for `add_many`.
        """
        # What is sent between processes is written out.
        sign = prepare_apart if workers else prepare_to_ask
        for batch in self._prepared(documents, workers, sign):
            yield from self.checked(batch)

    def checked(self, items: Sequence[Signed | Failure]) -> list[Decision]:
        """Decide about what `signing.prepare` made, without writing."""
        signed = [item for item in items if isinstance(item, Signed)]
        questions = Questions.of(self.settings)
        asked = [self._question(item, questions) for item in signed]
        self.store.see_own_writes()
        found = self.store.candidates_many(asked)
        named = self.store.corrections.others(item.document.id for item in signed)
        places = places_of(self.store, named)
        decided = (
            alone(item.document, self._decided_in_place, item, one, near, places)
            for item, one, near in zip(signed, asked, found, strict=True)
        )
        done = (item if isinstance(item, Failure) else next(decided) for item in items)
        return [unprocessed(item) if isinstance(item, Failure) else item for item in done]

    def _question(self, signed: Signed, questions: Questions) -> Probe:
        """Without an id: where the document is stored and leads, the answer has it as well."""
        document, signature = signed.document, signed.signature
        builder = self.writer.builder
        order = builder.order(document, signature.words, builder.clock.now())
        return questions.probe("", signature, order, document.source)

    def _decided_in_place(
        self, signed: Signed, query: Probe, near: Sequence[Candidate], places: Places
    ) -> Decision:
        """As it would be indexed: a stored document that stands where it arrived stays there, or
        its own update would be found before it."""
        id_, order = signed.document.id, query.order
        if stands_by_arrival(signed.document, self.settings):
            order = next((c.order for c in near if c.id == id_), order)
        return decide_alone(
            undecided(signed, order, order[0]),
            query,
            [c for c in near if c.order < order],
            self.settings,
            constraints=self.store.corrections,
            positions=dict(places),
        )

    def add(self, document: Document) -> Decision:
        """Index one document: decide, store it, and mend what it touches.

        For more than a few use `add_many`, whose batches share lookups and writes.
        """
        *_, outcome = (o for o in self.add_many([document]) if o.status != "relinked")
        return outcome.decision

    def add_many(
        self, documents: Iterable[Document | Failure], *, workers: int = 0
    ) -> Iterator[Outcome]:
        """Index a stream; outcomes come batch by batch, in the order of the input.

        Nothing is read or written before they are asked for. `workers` are processes for
        extraction and signing, 0 is none. Documents that were there before and found another
        place are among the outcomes, with the status `relinked`.
        """
        for batch in self.add_batches(documents, workers=workers):
            yield from batch

    def add_batches(
        self, documents: Iterable[Document | Failure], *, workers: int = 0
    ) -> Iterator[list[Outcome]]:
        """As `add_many`, each batch as a whole once it is written."""
        prepared = self._prepared(documents, workers)
        if self.store.serial or self.settings.batch < SMALLEST_BATCH:
            yield from map(self.writer.write, prepared)
        else:
            yield from Stream(self.writer).batches(prepared)
        self.store.refresh()

    def write(self, items: Sequence[Signed | Failure]) -> list[Outcome]:
        """Decide and store one batch that `sign.prepare` made: all of it, or on an error none."""
        return self.writer.write(items)

    def delete(self, ids: Iterable[str]) -> set[str]:
        """Remove documents; a group that loses its original gets the next by the order.

        Returns the ids that were there.
        """
        return self.writer.delete(ids)

    def sweep(self, since: datetime) -> dict[str, Decision]:
        """Settle what was written since then, as after a run that was killed.

        A killed run may have moved a document and not yet what leaned on it. Indexing the same
        articles again mends their own places; this mends those of their neighbours. Name a time
        some minutes before the run began, for clocks that differ. Returns what changed.
        """
        if self.settings.attract == "all":
            return {}
        changed: dict[str, Decision] = {}
        with self.store.transaction():
            self.store.begin()
            ids = sorted(self.store.changed_since(since))
            for start in range(0, len(ids), self.settings.batch):
                part = ids[start : start + self.settings.batch]
                changed |= reconcile(self.store, part, forced=part)
        return changed

    def retry(self) -> Iterator[Outcome]:
        """Work off the quarantine: what succeeds now is indexed and leaves it.

        Pages are read in a worker process, under the limits that they may be there for.
        """
        from esdedup.ingest.workers import Workers

        with Workers(1, prepare, self.settings) as pool:
            for failure in self.store.quarantined():
                if failure.final or failure.document is None:
                    continue
                ((item,),) = pool.map([failure.document])
                with self.store.transaction():
                    if isinstance(item, Signed) and item.document.id != failure.id:
                        self.store.delete([failure.id])  # it was kept under a makeshift id
                    outcomes = self.write([item])
                yield from outcomes

    # --- one batch ---------------------------------------------------------------------------

    def _prepared(
        self,
        documents: Iterable[Document | Failure],
        workers: int,
        sign: Callable[[list[Document], Settings], list[Any]] = prepare_apart,
    ) -> Iterator[list[Signed | Failure]]:
        from esdedup.ingest.workers import Workers, growing

        check_settings(self.settings)
        with Workers(workers, sign, self.settings, joined) as pool:
            whole = self.settings.batch
            chunks = pool.map(documents, whole, first=_FIRST_BATCH)
            ready = (item for chunk in chunks for item in chunk)
            for size in growing(_FIRST_BATCH, whole):
                if not (batch := list(islice(ready, size))):
                    return
                yield batch
