"""A watch on protected texts: every newly indexed article is checked for them.

The case of section 4.3 of paper 003: when something is posted, it is compared with a protected
archive, and a notification goes to whoever posted it and to the author of the text it contains.
The protected texts are in a small index in memory, with more fingerprints than an archive has: any
20 words of a protected text that an article has in a row are found.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Self

from esdedup.alerts.checkpoint import Checkpoint, sha256_hex
from esdedup.alerts.sinks import LineSink
from esdedup.alerts.watch import BATCH, LookResult, Watch
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.methods.winnowing import guaranteed_words
from esdedup.model import JSON, Document, Failure, iso
from esdedup.model.batching import batched
from esdedup.model.results import Mention
from esdedup.settings import Settings
from esdedup.stores import Record, Store
from esdedup.stores.cluster.requests.documents import at_path
from esdedup.stores.ports import scan
from esdedup.stories.text_reuse import Copy, TextReuse, TextWords, find_text_reuse

POSTER_FIELDS = ("poster", "posted_by", "user", "author", "byline", "creator")
AUTHOR_FIELDS = ("author", "byline", "creator", "contact", "poster")


@dataclass(frozen=True, slots=True)
class Protection:
    """Which articles of the store are protected, who is notified, and from which shared part on."""

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
        return any(_has_value(at_path(own, name), value) for name, value in self.where.items())


def _build_line(record: Record, copy: Copy, poster: str | None, author: str | None) -> JSON:
    """Build the notification: a newly indexed article, the protected text in it, the recipients.

    Its id is made from the two articles: a pair is reported once, whatever is edited later.
    """
    shared, document = copy.shared, record.document
    return {
        "notification": sha256_hex("\0".join((document.id, copy.document.id)))[:20],
        "at": iso(datetime.now(UTC)),
        "to": [{"role": "poster", "name": poster}, {"role": "author", "name": author}],
        "article": {
            **Mention.of(document).to_json(),
            "group": record.decision.group,
            "role": record.decision.role,
        },
        "protected": Mention.of(copy.document).to_json(),
        "words": shared.words,
        "of_article": round(shared.of_here, 4),
        "of_protected": round(shared.of_there, 4),
        "passages": [
            {"article": list(p.here), "protected": list(p.there), "words": p.words}
            for p in shared.passages
        ],
    }


def _has_value(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted.lower() in (("true", "yes", "1") if value else ("false", "no", "0"))
    values = value if isinstance(value, list) else [value]
    return any(v is not None and str(v) == wanted for v in values)


# --- what is protected -------------------------------------------------------------------------


_SETTINGS = replace(
    Settings(),
    methods=("sketch", "winnowing"),
    signed_text="body",
    # The shortest run that passages grow from; 900 keys are those of 7,200 words.
    winnow_words=6,
    winnow_window=15,
)
# So many words in a row are found wherever they stand.
FINDABLE_WORDS = guaranteed_words(_SETTINGS)


class ProtectedTexts:
    """The protected texts, in memory: finds those that an article contains."""

    def __init__(self) -> None:
        self._index = Deduplicator.open("sqlite://:memory:", _SETTINGS)
        # Own id -> original id: a text from a file may have the id of an article of the store.
        self._own: dict[str, str] = {}

    def close(self) -> None:
        self._index.close()

    def __len__(self) -> int:
        return len(self._own)

    def add(
        self, documents: Iterable[Document | Failure], *, stored: bool = False
    ) -> Iterator[Failure | str]:
        """Add texts. Yields failures, and the ids of texts too short to be found in others."""
        renamed = (d if isinstance(d, Failure) else self._rename(d, stored) for d in documents)
        for batch in self._index.add_batches(renamed):
            ids = [o.decision.id for o in batch if o.status != "relinked"]
            there = self._index.store.documents.get(ids)
            for outcome in batch:
                id_ = outcome.decision.id
                if outcome.failure is not None:
                    self._own.pop(id_, None)
                    yield outcome.failure
                elif id_ in there and _is_short(there[id_].document):
                    yield self._own[id_]

    def remove(self, ids: Iterable[str]) -> None:
        """Remove articles of the store that are no longer protected."""
        names = [_own_id(id_, stored=True) for id_ in ids]
        self._index.delete(name for name in names if self._own.pop(name, None))

    def find_in(self, document: Document, least: float) -> list[Copy]:
        """Protected texts in an article of the store, except the article itself."""
        found = find_text_reuse(replace(document, id="article"), self._index.store)
        if not isinstance(found, TextReuse):
            return []
        own = _own_id(document.id, stored=True)
        return [
            replace(copy, document=replace(copy.document, id=self._own[copy.document.id]))
            for copy in found.copies
            if copy.shared.of_there >= least and copy.document.id != own
        ]

    def _rename(self, document: Document, stored: bool) -> Document:
        name = _own_id(document.id, stored=stored)
        self._own[name] = document.id
        return replace(document, id=name)


def _is_short(document: Document) -> bool:
    return len(TextWords.of(document.text).words) < FINDABLE_WORDS


def _own_id(id_: str, *, stored: bool) -> str:
    return f"{'store' if stored else 'file'}:{sha256_hex(id_)[:40]}"


# --- watching ----------------------------------------------------------------------------------


class ReuseWatch(Watch):
    """Reports newly indexed articles that contain protected texts."""

    def __init__(
        self,
        protection: Protection,
        checkpoint: Checkpoint,
        sink: LineSink,
        *,
        start: datetime | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(checkpoint, sink, clock)
        self.protection = protection
        self.protected = ProtectedTexts()
        self._loaded: set[str] = set()
        self._advance(checkpoint.since or start or self._since)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.protected.close()

    def _prepare(self, store: Store) -> None:
        if self.protection.in_store:
            self._load_protected(store)

    def _examine(self, records: Sequence[Record], result: LookResult) -> None:
        unseen = self._checkpoint.find_unseen(records)
        usable = [r for r in unseen if r.decision.role != "unprocessed"]
        covered = [r for r in usable if self._covers(r)]
        self._add_stored(covered)
        own = {r.document.id for r in covered}
        others = [r for r in usable if r.document.id not in own]
        self._drop_stored(others)
        lines = [line for record in others for line in self._find(record)]
        result.articles += len(usable)
        result.reported += self._report({n["notification"]: n for n in lines}, seen=unseen)

    def _find(self, record: Record) -> Iterator[JSON]:
        document = record.document
        for copy in self.protected.find_in(document, self.protection.least):
            poster = _find_name(document, self.protection.poster)
            author = _find_name(copy.document, self.protection.author)
            if poster is None or poster != author:  # nobody is notified of their own texts
                yield _build_line(record, copy, poster, author)

    # --- protected articles of the store -------------------------------------------------------

    def _load_protected(self, store: Store) -> None:
        """Search the whole store once for each rule; later only load what was found then."""
        known = self._checkpoint.protected_ids() | self.protection.ids
        rule = json.dumps(dict(self.protection.where), sort_keys=True)
        if self.protection.where and not self._checkpoint.has_scanned(rule):
            for records in scan(store.documents):
                self._add_stored([r for r in records if self._covers(r)])
            with self._checkpoint.transaction():
                self._checkpoint.mark_scanned(rule)
        for part in batched(sorted(known - self._loaded), BATCH):
            self._add_stored([r for r in store.documents.get(part).values() if self._covers(r)])

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


def _find_name(document: Document, names: Sequence[str]) -> str | None:
    """The first of these fields that has a value, else the source."""
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
