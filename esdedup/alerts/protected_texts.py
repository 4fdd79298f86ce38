"""Who posts protected articles: every newly indexed article is checked against them.

The case of section 4.3 of paper 003: when something is posted, it is compared with a protected
archive, and a notification goes to whoever posted it and to the author of what it contains. The
protected texts lie in a small index in memory, cut finer than an archive is, since the words
themselves verify; each new article is asked against it. What was told stands in a checkpoint file,
so that nobody is told twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Self

from esdedup.alerts.checkpoint import Checkpoint, Output, hashed
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.maintenance.backfill import OVERLAP
from esdedup.methods.lengths import shortest
from esdedup.model import JSON, Document, Failure, iso
from esdedup.settings import Settings
from esdedup.stores import Record, Store
from esdedup.stores.cluster.requests import at_path
from esdedup.stories.text_reuse import Checked, Copy, copies
from esdedup.text.sentences import split

# Four sentences are enough: by reckoning a window of four lengths is met by chance once in about
# a million, and the words decide.
_WINDOW = 4
_MANY = 200
_EVER = datetime.fromtimestamp(0, UTC)
POSTER_FIELDS = ("poster", "posted_by", "user", "author", "byline", "creator")
AUTHOR_FIELDS = ("author", "byline", "creator", "contact", "poster")


@dataclass(frozen=True, slots=True)
class Protection:
    """What is protected in the store itself, who is to be told, and from which share on."""

    ids: frozenset[str] = frozenset()
    where: Mapping[str, str] = field(default_factory=dict)  # field -> value
    poster: Sequence[str] = POSTER_FIELDS
    author: Sequence[str] = AUTHOR_FIELDS
    # Of the words of the protected text; a quotation of a sentence or two is no copy.
    least: float = 0.2

    @property
    def in_store(self) -> bool:
        return bool(self.ids or self.where)

    def covers(self, document: Document) -> bool:
        """Whether an article of the store is itself protected."""
        if document.id in self.ids:
            return True
        own = document.to_json()
        return any(_says(at_path(own, name), value) for name, value in self.where.items())


@dataclass(frozen=True, slots=True)
class Notification:
    """A newly indexed article that contains a protected one, and who is to know."""

    record: Record
    copy: Copy
    poster: str | None
    author: str | None

    @property
    def pair(self) -> tuple[str, str]:
        return self.record.document.id, self.copy.document.id

    @property
    def id(self) -> str:
        """The same for the same two articles: they are told of once, whatever is edited later."""
        return hashed("\0".join(self.pair))[:20]

    def to_json(self, now: datetime) -> JSON:
        shared = self.copy.shared
        return {
            "notification": self.id,
            "at": iso(now),
            "to": [
                {"role": "poster", "name": self.poster},
                {"role": "author", "name": self.author},
            ],
            "article": {
                **_about(self.record.document),
                "group": self.record.decision.group,
                "role": self.record.decision.role,
            },
            "protected": _about(self.copy.document),
            "words": shared.words,
            "of_article": round(shared.of_here, 4),
            "of_protected": round(shared.of_there, 4),
            "passages": [
                {"article": list(p.here), "protected": list(p.there), "words": p.words}
                for p in shared.passages
            ],
        }


def _about(document: Document) -> JSON:
    return {
        "id": document.id,
        "title": document.title,
        "url": document.url,
        "source": document.source,
        "published": iso(document.published) if document.published else None,
    }


def _says(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted.lower() in (("true", "yes", "1") if value else ("false", "no", "0"))
    values = value if isinstance(value, list) else [value]
    return any(v is not None and str(v) == wanted for v in values)


# --- what is protected -------------------------------------------------------------------------


_SETTINGS = replace(
    Settings(),
    methods=("sketch", "lengths"),
    signed_text="body",
    window_sentences=_WINDOW,
    min_windows=1,
)


class Protected:
    """The protected texts, in memory, to be asked who is contained in an article."""

    def __init__(self) -> None:
        self._index = Deduplicator.open("sqlite://:memory:", _SETTINGS)
        # Under names of our own: a text from a file may have the id of an article of the store.
        self._own: dict[str, str] = {}

    def close(self) -> None:
        self._index.close()

    def __len__(self) -> int:
        return len(self._own)

    def add(
        self, documents: Iterable[Document | Failure], *, stored: bool = False
    ) -> Iterator[Failure | str]:
        """What cannot be used comes back, and the ids of texts too short to be told in others."""
        named = (d if isinstance(d, Failure) else self._named(d, stored) for d in documents)
        for batch in self._index.add_batches(named):
            ids = [o.decision.id for o in batch if o.status != "relinked"]
            there = self._index.store.get_many(ids)
            for outcome in batch:
                id_ = outcome.decision.id
                if outcome.failure is not None:
                    self._own.pop(id_, None)
                    yield outcome.failure
                elif id_ in there and _is_short(there[id_].document):
                    yield self._own[id_]

    def remove(self, ids: Iterable[str]) -> None:
        """Articles of the store that are protected no longer."""
        names = [_name_of(id_, stored=True) for id_ in ids]
        self._index.delete(name for name in names if self._own.pop(name, None))

    def in_article(self, document: Document, least: float) -> list[Copy]:
        """Protected texts in an article of the store, but for itself."""
        found = copies(replace(document, id="article"), self._index.store)
        if not isinstance(found, Checked):
            return []
        own = _name_of(document.id, stored=True)
        return [
            replace(copy, document=replace(copy.document, id=self._own[copy.document.id]))
            for copy in found.copies
            if copy.shared.of_there >= least and copy.document.id != own
        ]

    def _named(self, document: Document, stored: bool) -> Document:
        name = _name_of(document.id, stored=stored)
        self._own[name] = document.id
        return replace(document, id=name)


def _is_short(document: Document) -> bool:
    return split([document.text]).count(0) < shortest(_SETTINGS)


def _name_of(id_: str, *, stored: bool) -> str:
    return f"{'store' if stored else 'file'}:{hashed(id_)[:40]}"


# --- watching ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Passed:
    """What one look at the store came to."""

    articles: int = 0
    told: int = 0


class Watch:
    """Looks at what was indexed since the last time, and tells of protected texts in it."""

    def __init__(
        self,
        protection: Protection,
        checkpoint: Checkpoint,
        output: Output,
        *,
        start: datetime | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.protection = protection
        self.protected = Protected()
        self._checkpoint = checkpoint
        self._output = output
        self._clock = clock
        self._since = checkpoint.since or start or clock()
        self._loaded: set[str] = set()
        checkpoint.reached(self._since)
        with checkpoint.transaction():
            checkpoint.tell(output.told_before())

    @property
    def since(self) -> datetime:
        """Articles indexed from then on are looked at, a little earlier ones for other clocks."""
        return self._since

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.protected.close()

    def look(self, store: Store, stopped: Callable[[], bool] = lambda: False) -> Passed:
        """One pass; stopped between two batches it goes on there the next time."""
        began, passed = self._clock(), Passed()
        store.begin()
        if self.protection.in_store:
            self._protect_stored(store)
        ids = sorted(store.changed_since(self._since - OVERLAP))
        for start in range(0, len(ids), _MANY):
            if stopped():
                return passed
            records = store.get_many(ids[start : start + _MANY]).values()
            self._batch(self._checkpoint.unseen(records), passed)
        self._checkpoint.reached(began)
        self._since = began
        return passed

    def _batch(self, records: Sequence[Record], passed: Passed) -> None:
        fresh = [r for r in records if r.decision.role != "unprocessed"]
        mine = [r for r in fresh if self._covers(r)]
        self._add_stored(mine)
        self._drop_stored(r for r in fresh if not self._covers(r))
        own = {r.document.id for r in mine}
        found = [n for r in fresh if r.document.id not in own for n in self._notifications(r)]
        new = list({n.id: n for n in found if not self._checkpoint.is_told(n.id)}.values())
        now = self._clock()
        with self._checkpoint.transaction():
            self._checkpoint.tell(n.id for n in new)
            self._checkpoint.saw(records, now)
            if new:
                self._output.write([n.to_json(now) for n in new])
        passed.articles += len(fresh)
        passed.told += len(new)

    def _notifications(self, record: Record) -> Iterator[Notification]:
        document = record.document
        for copy in self.protected.in_article(document, self.protection.least):
            poster = _name(document, self.protection.poster)
            author = _name(copy.document, self.protection.author)
            if poster is None or poster != author:  # nobody is told of their own texts
                yield Notification(record, copy, poster, author)

    # --- what is protected in the store --------------------------------------------------------

    def _protect_stored(self, store: Store) -> None:
        """All protected articles of the store: looked for once, remembered, kept up to date."""
        known = self._checkpoint.protected_ids() | self.protection.ids
        rule = json.dumps(dict(self.protection.where), sort_keys=True)
        if self.protection.where and not self._checkpoint.scanned_for(rule):
            everything = sorted(store.changed_since(_EVER))
            for part in _parts(everything):
                found = [r for r in store.get_many(part).values() if self._covers(r)]
                with self._checkpoint.transaction():
                    self._checkpoint.protect(r.document.id for r in found)
                self._add_stored(found)
            with self._checkpoint.transaction():
                self._checkpoint.scanned(rule)
        for part in _parts(sorted(known - self._loaded)):
            self._add_stored([r for r in store.get_many(part).values() if self._covers(r)])

    def _covers(self, record: Record) -> bool:
        return self.protection.covers(record.document)

    def _add_stored(self, records: Sequence[Record]) -> None:
        if not records:
            return
        with self._checkpoint.transaction():
            self._checkpoint.protect(r.document.id for r in records)
        list(self.protected.add([r.document for r in records], stored=True))
        self._loaded |= {r.document.id for r in records}

    def _drop_stored(self, records: Iterable[Record]) -> None:
        gone = {r.document.id for r in records} & self._loaded
        if gone:
            self.protected.remove(gone)
            self._loaded -= gone


def _parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _MANY):
        yield ids[start : start + _MANY]


def _name(document: Document, names: Sequence[str]) -> str | None:
    """The first of these fields that says something, else the source."""
    own = document.to_json()
    for name in names:
        value = at_path(own, name)
        if isinstance(value, Mapping):  # {"name": …, "email": …}
            value = value.get("email") or value.get("name")
        if isinstance(value, list):
            value = ", ".join(str(v) for v in value if v)
        if value not in (None, ""):
            return str(value)
    return document.source
