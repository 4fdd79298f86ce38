"""A small corpus with known groups, and the naive searches that judge the real ones."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from esdedup.features.numbers import NumberChange
from esdedup.model import Decision, Document, Evidence, Role, Signature
from esdedup.model.queries import By, Query
from esdedup.settings import Settings
from esdedup.stores import Record, Store
from esdedup.stores.cluster.store import ClusterStore

WORDS = (
    "river",
    "flood",
    "bridge",
    "ferry",
    "council",
    "fire",
    "strike",
    "harvest",
    "vote",
    "snow",
)
SOURCES = ("Herald", "Gazette", "Wire", "Courier")
SECTIONS = ("world", "sport", "science")
START = datetime(2026, 3, 1, tzinfo=UTC)
DAY = 86_400_000_000


def stored_article(
    id_: str,
    day: float,
    title: str = "",
    text: str = "",
    *,
    of: str | None = None,
    updates: str | None = None,
    story: str | None = None,
    source: str | None = None,
    section: str | None = None,
    words: int = 0,
) -> Record:
    """A record with a decision: a duplicate of `of`, an update of `updates`, or an original."""
    published = START + timedelta(days=day)
    moment = int(published.timestamp() * 1e6)
    role: Role = "duplicate" if of else "update" if updates else "original"
    group = of or id_
    parent = of or updates
    change = (NumberChange("12", "17", "people died"),) if updates else ()
    evidence = () if parent is None else (
        Evidence(parent, overlap=0.9, verdict="update" if updates else "duplicate",
                 reason="numbers" if updates else "overlap", numbers=change),
    )  # fmt: skip
    decision = Decision(
        id_, role, group, story or updates or group, score=0.9 if parent else 0.0, evidence=evidence
    )
    document = Document(
        id=id_, title=title, text=text, source=source, published=published,
        extra={"section": section} if section else {},
    )  # fmt: skip
    signature = Signature(Settings().fingerprint_of_format(), {}, id_, words)
    return Record(document, signature, (moment, id_), moment, decision)


def put(store: Store, *records: Record) -> Store:
    if isinstance(store, ClusterStore):  # a news index of ours has no sections
        body = {"properties": {"section": {"type": "keyword"}}}
        store.connection.send("PUT", f"/{store.target.index}/_mapping", body=body)
    report = store.documents.put(records)
    assert not report.failures
    assert not report.conflicts
    store.concurrency.make_visible()
    return store


def random_corpus(seed: int, size: int) -> list[Record]:
    """Originals, copies and updates; copies say partly other words, so that queries divide them."""
    pick = random.Random(seed)
    records: list[Record] = []
    leaders: list[Record] = []
    for number in range(size):
        words = pick.choices(WORDS, weights=range(len(WORDS), 0, -1), k=pick.randrange(3, 12))
        kind = pick.random()
        of = pick.choice(leaders) if leaders and kind < 0.35 else None
        updated = pick.choice(leaders) if leaders and of is None and kind < 0.45 else None
        story = (of or updated).decision.story if (of or updated) else None  # type: ignore[union-attr]  # one of them is there
        record = stored_article(
            f"d{number:04d}",
            # Ties in time, and some copies long after.
            pick.randrange(20) + (200 if kind < 0.05 else 0),
            " ".join(words[:2]),
            " ".join(words),
            of=of.document.id if of else None,
            updates=updated.document.id if updated else None,
            story=story,
            source=pick.choice(SOURCES),
            section=pick.choice(SECTIONS),
            words=len(words),
        )
        records.append(record)
        if of is None:
            leaders.append(record)
    return records


def random_query(pick: random.Random) -> Query:
    words = " ".join(pick.sample(WORDS, pick.choice((1, 1, 1, 2))))
    filters = {"source": pick.sample(SOURCES, 2)} if pick.random() < 0.3 else {}
    since = START + timedelta(days=5) if pick.random() < 0.2 else None
    until = START + timedelta(days=15) if pick.random() < 0.2 else None
    sort = pick.choice(((), (), ("-published",), ("published",), ("source", "-published")))
    return Query(None if pick.random() < 0.05 else words, filters, since, until, sort)


@dataclass(frozen=True)
class Judge:
    """Reads every article for every query."""

    records: Sequence[Record]

    def matching(self, query: Query) -> list[Record]:
        return [record for record in self.records if matches(record, query)]

    def stories(self, query: Query, by: By) -> set[str]:
        return {key(record, by) for record in self.matching(query)}

    def folded(self, ranked: Iterable[str], by: By) -> list[str]:
        """The first of each story, in the order of all articles."""
        by_id = {record.document.id: record for record in self.records}
        first: dict[str, str] = {}
        for id_ in ranked:
            first.setdefault(key(by_id[id_], by), id_)
        return list(first.values())

    def episodes(self, by: By, window: int) -> dict[str, tuple[str, int]]:
        """Article -> (story, number of the episode)."""
        out = {}
        groups: dict[str, list[Record]] = {}
        for record in self.records:
            groups.setdefault(key(record, by), []).append(record)
        for name, members in groups.items():
            number, last = 0, None
            for record in sorted(members, key=lambda r: r.order):
                if last is not None and record.order[0] - last > window:
                    number += 1
                last = record.order[0]
                out[record.document.id] = (name, number)
        return out

    def copies(self, query: Query, by: By, story: str) -> int:
        return sum(key(record, by) == story for record in self.matching(query)) - 1


def key(record: Record, by: By) -> str:
    return record.decision.group if by == "group" else record.decision.story


def matches(record: Record, query: Query) -> bool:
    document = record.document
    have = set(f"{document.title} {document.text}".split())
    wanted = set() if query.words is None else set(query.words.split())
    moment = START + timedelta(microseconds=record.order[0] - int(START.timestamp() * 1e6))
    return (
        wanted <= have
        and all(document.source in values for values in query.filters.values())
        and (query.since is None or moment >= query.since)
        and (query.until is None or moment < query.until)
    )


def is_sorted(records: Sequence[Record], query: Query) -> bool:
    """By what the query names; scores are the engine's own affair."""
    keys = []
    for record in records:
        row: list[object] = []
        for name, falling in query.orders:
            moment = record.order[0]
            row.append((-moment if falling else moment) if name == "published"
                       else record.document.source)  # fmt: skip
        keys.append(row)
    return keys == sorted(keys)
