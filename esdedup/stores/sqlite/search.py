"""Folded searches of the embedded store, in SQL. All counts are exact."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from esdedup.errors import QueryError
from esdedup.model import microseconds
from esdedup.model.batching import batched
from esdedup.model.queries import By, Mode, Query, SearchOptions, StoreQuery
from esdedup.model.results import (
    Bucket,
    Facet,
    Member,
    Members,
    StoryHit,
    StoryPage,
    Total,
    Update,
)
from esdedup.stores.ports import Record
from esdedup.stores.sqlite.database import Database
from esdedup.stores.sqlite.documents import SQLiteDocuments
from esdedup.stores.sqlite.rows import marks
from esdedup.stores.sqlite.topics import find_by_words
from esdedup.stores.sqlite.word_forms import find_forms
from esdedup.stores.topical import TopicQuery
from esdedup.text.fulltext import match_expression, snippet

_SIZE = 10
_COLUMNS = ("id", "title", "url", "source", "lang", "role", "group", "story", "agency")
_COLUMN_OF = {"group": 'd."group"', "story": "d.story"}
_NOT_CANONICAL = {"group": "('duplicate')", "story": "('duplicate', 'update')"}
_SHOWN = {
    "earliest": "moment, id",
    "newest": "moment DESC, id",
    "longest": "words DESC, moment, id",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """The common part of every statement about a search: WITH …, `matched` and its order."""

    sql: str
    parameters: tuple[Any, ...]
    order: str


class SQLiteSearch:
    """Implements the `SearchIndex` port."""

    def __init__(self, database: Database, documents: SQLiteDocuments) -> None:
        self._db = database.db
        self._errors = database.errors
        self._records = documents.get

    def search(self, query: StoreQuery, options: SearchOptions) -> StoryPage:
        query, mode = _query(query), _mode(options)
        size = _SIZE if options.size is None else options.size
        offset = options.offset or 0
        statement = self._statement(query, options, mode)
        if statement is None:
            return StoryPage((), Total(0, 0), mode, options.by, offset)
        with self._errors():
            total = self._total(query, options, mode)
            rows = self._rank(statement, size, offset)
        hits = self._hits(rows, statement, query, options)
        if mode != "collapse":
            hits = [replace(hit, copies=None) for hit in hits]
        page = StoryPage(tuple(hits), total, mode, options.by, offset)
        if mode == "canonical" and not offset and len(hits) < size:
            return self._with_only_copies(page, query, options, size)
        return page

    def pages(self, query: StoreQuery, options: SearchOptions) -> Iterator[StoryPage]:
        """All pages of one state: the ids are read first, so that later writes change nothing."""
        query, mode = _query(query), _mode(options)
        size = _SIZE if options.size is None else max(1, options.size)
        statement = self._statement(query, options, mode)
        total, rows = Total(0, 0), []
        if statement is not None:
            with self._errors():
                total = self._total(query, options, mode)
                rows = self._rank(statement, -1, 0)
        for start in range(0, max(1, len(rows)), size):
            part = rows[start : start + size]
            hits = self._hits(part, statement, query, options) if statement else []
            yield StoryPage(tuple(hits), total, mode, options.by, start)

    def deep(self, query: StoreQuery, options: SearchOptions, cursor: str | None) -> StoryPage:
        """A cursor is an offset here: nothing is too deep for it."""
        try:
            offset = int(cursor) if cursor is not None else 0
        except ValueError as error:
            raise QueryError("the cursor cannot be read; send it back as it came") from error
        page = self.search(query, replace(options, offset=max(0, offset)))
        size = _SIZE if options.size is None else options.size
        is_full = len(page.hits) >= max(1, size)
        return replace(page, cursor=str(offset + len(page.hits)) if is_full else None)

    # --- statements ------------------------------------------------------------------------------

    def _statement(self, query: Query, options: SearchOptions, mode: Mode) -> Statement | None:
        """The statement of a search; None if the words hold no word."""
        tables, rank, where = "documents d", "0.0", ["1"]
        is_other_form = "0"
        parameters: list[Any] = []
        form_parameters: list[Any] = []
        if query.words is not None:
            expression = match_expression(query.words)
            if not expression:
                return None
            tables = "fulltext JOIN documents d ON d.seq = fulltext.rowid"
            rank = "bm25(fulltext, 2.0, 1.0)"
            every_form = match_expression(query.words, partial(find_forms, self._db))
            where, parameters = ["fulltext MATCH ?"], [every_form]
            if every_form != expression:
                is_other_form = "d.seq NOT IN (SELECT rowid FROM fulltext WHERE fulltext MATCH ?)"
                form_parameters = [expression]
        if mode == "canonical":
            where.append(f"d.role NOT IN {_NOT_CANONICAL[options.by]}")
        for name, values in query.filters.items():
            clause, given = _filter(name, values)
            where.append(clause)
            parameters += given
        if query.since is not None:
            where.append("d.moment >= ?")
            parameters.append(microseconds(query.since))
        if query.until is not None:
            where.append("d.moment < ?")
            parameters.append(microseconds(query.until))
        keys, key_parameters, order = _sort_clauses(query)
        column = _COLUMN_OF[options.by] if mode == "collapse" else "d.id"
        selected = ", ".join(f"{key} AS k{place}" for place, key in enumerate(keys))
        found = f"""found AS (
            SELECT d.seq AS seq, d.id AS id, d.moment AS moment, d.role AS role,
                   {is_other_form} AS is_other_form, {rank} AS rank,
                   {column} AS folded{", " + selected if selected else ""}
            FROM {tables} WHERE {" AND ".join(where)})"""
        window = options.window_microseconds if mode == "collapse" else 0
        episodes = _episodes(column, window)
        return Statement(
            f"WITH {found}, {episodes}",
            (*form_parameters, *key_parameters, *parameters),
            ", ".join(order),
        )

    def _total(self, query: Query, options: SearchOptions, mode: Mode) -> Total:
        """Articles are all that match, however few of them a mode shows."""
        if options.total == "none":
            return Total(None, None, exact=False, precision="not counted")
        statement = self._statement(query, options, "collapse" if mode == "canonical" else mode)
        assert statement is not None
        # One pass over the matches: a story is a group, and under a window an episode of it.
        episode = " || '/' || episode" if options.window is not None else ""
        stories = _count_stories(mode, options.by, f"folded{episode}")
        row = self._db.execute(
            f"{statement.sql} SELECT count(*), {stories} FROM matched", statement.parameters
        ).fetchone()
        return Total(row[1] or 0, row[0])

    def _rank(self, statement: Statement, size: int, offset: int) -> list[sqlite3.Row]:
        return self._db.execute(
            f"""{statement.sql}, ranked AS (
                    SELECT *, row_number() OVER (
                               PARTITION BY folded, episode ORDER BY {statement.order}) AS place,
                           count(*) OVER (PARTITION BY folded, episode) - 1 AS copies
                    FROM matched)
                SELECT id, rank, copies, folded, first, last FROM ranked WHERE place = 1
                ORDER BY {statement.order} LIMIT ? OFFSET ?""",
            (*statement.parameters, size, offset),
        ).fetchall()

    # --- hits ------------------------------------------------------------------------------------

    def _hits(
        self,
        rows: Sequence[sqlite3.Row],
        statement: Statement,
        query: Query,
        options: SearchOptions,
    ) -> list[StoryHit]:
        shown = {row["id"]: self._find_shown(row, options) for row in rows}
        different = [id_ for own, id_ in shown.items() if id_ != own]
        matching = self._find_matching(statement, different)
        records = self._records(list(dict.fromkeys(shown.values())))
        hits = []
        for row in rows:
            record = records.get(shown[row["id"]])
            if record is None:
                continue  # deleted since
            hit = _hit(record, -row["rank"] if query.words is not None else None, query.words)
            hit = replace(hit, copies=row["copies"] if options.copies else None)
            if hit.id != row["id"]:
                hit = replace(hit, matched=hit.id in matching, matched_by=(row["id"],))
            hits.append(hit)
        return hits

    def _find_shown(self, row: sqlite3.Row, options: SearchOptions) -> str:
        if options.show == "best" or options.mode == "all":
            return str(row["id"])
        order, parameters = _SHOWN.get(options.show, ""), []
        if options.show == "source":
            ranks = " ".join(f"WHEN ? THEN {i}" for i in range(len(options.sources)))
            order = f"CASE source {ranks} ELSE {len(options.sources)} END, moment, id"
            parameters = list(options.sources)
        column = _COLUMN_OF[options.by].removeprefix("d.")
        with self._errors():
            (id_,) = self._db.execute(
                f"""SELECT id FROM documents WHERE {column} =
                        (SELECT {column} FROM documents WHERE id = ?)
                    AND moment BETWEEN ? AND ? ORDER BY {order} LIMIT 1""",
                (row["id"], row["first"], row["last"], *parameters),
            ).fetchone()
        return str(id_)

    def _find_matching(self, statement: Statement, ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for part in batched(ids):
            with self._errors():
                rows = self._db.execute(
                    f"{statement.sql} SELECT id FROM matched WHERE id IN ({marks(part)})",
                    (*statement.parameters, *part),
                )
                found |= {id_ for (id_,) in rows}
        return found

    def _with_only_copies(
        self, page: StoryPage, query: Query, options: SearchOptions, size: int
    ) -> StoryPage:
        """Stories of which only a copy matches, shown by their original."""
        folded = replace(options, mode="collapse", window=None, show="best")
        statement = self._statement(query, folded, "collapse")
        if statement is None:
            return page
        left_out = _NOT_CANONICAL[options.by]
        with self._errors():
            rows = self._db.execute(
                f"""{statement.sql}, ranked AS (
                        SELECT *, row_number() OVER (
                                   PARTITION BY folded ORDER BY {statement.order}) AS place
                        FROM matched WHERE folded NOT IN
                            (SELECT folded FROM matched WHERE role NOT IN {left_out}))
                    SELECT id, rank, folded, count(*) OVER () AS stories FROM ranked
                    WHERE place = 1 ORDER BY {statement.order} LIMIT ?""",
                (*statement.parameters, size - len(page.hits)),
            ).fetchall()
        if not rows:
            return page
        records = self._records([row["folded"] for row in rows])
        hits = []
        for row in rows:
            if (record := records.get(row["folded"])) is not None:
                score = -row["rank"] if query.words is not None else None
                hit = _hit(record, score, query.words)
                hits.append(replace(hit, matched=False, matched_by=(row["id"],)))
        note = (
            f"of {rows[0]['stories']} more stories only a copy matches; {len(hits)} of them are at "
            "the end, shown by their original, and not in the total (mode collapse has all of them)"
        )
        return replace(page, hits=(*page.hits, *hits), notes=(*page.notes, note))

    # --- members, facets -------------------------------------------------------------------------

    def members(self, value: str, by: By, *, size: int, offset: int) -> Members:
        column = _COLUMN_OF[by].removeprefix("d.")
        with self._errors():
            (total,) = self._db.execute(
                f"SELECT count(*) FROM documents WHERE {column} = ?", (value,)
            ).fetchone()
            rows = self._db.execute(
                f"""SELECT id FROM documents WHERE {column} = ?
                    ORDER BY moment, id LIMIT ? OFFSET ?""",
                (value, size, offset),
            ).fetchall()
        ids = [id_ for (id_,) in rows]
        records = self._records(ids)
        found = (records[id_] for id_ in ids if id_ in records)
        return Members(tuple(Member.of(r.document, r.decision) for r in found), total)

    def facets(
        self, query: StoreQuery, fields: Sequence[str], options: SearchOptions, size: int
    ) -> tuple[Facet, ...]:
        query, mode = _query(query), _mode(options)
        # Stories are counted as the mode shows them, articles always as they are.
        folded = "collapse" if mode == "canonical" else mode
        statement = self._statement(query, replace(options, window=None), folded)
        if statement is None:
            return tuple(Facet(name, ()) for name in fields)
        counted = _count_stories(mode, options.by, "matched.folded")
        out = []
        for name in fields:
            value, joined, parameters = _facet_value(name)
            with self._errors():
                rows = self._db.execute(
                    f"""{statement.sql} SELECT {value} AS value, {counted} AS stories,
                               count(DISTINCT matched.id) AS articles
                        FROM matched JOIN documents d USING (seq) {joined}
                        WHERE {value} IS NOT NULL GROUP BY 1
                        ORDER BY stories DESC, articles DESC, value LIMIT ?""",
                    (*statement.parameters, *parameters, size),
                ).fetchall()
            buckets = [Bucket(str(r["value"]), r["stories"], r["articles"]) for r in rows]
            out.append(Facet(name, tuple(buckets)))
        return tuple(out)

    # --- groups, topics --------------------------------------------------------------------------

    def groups(self, *, smallest: int = 2, size: int = 50) -> list[tuple[str, int]]:
        with self._errors():
            rows = self._db.execute(
                """SELECT "group", count(*) AS n FROM documents GROUP BY "group"
                   HAVING n >= ? ORDER BY n DESC, min(moment) LIMIT ?""",
                (smallest, size),
            )
            return [(row["group"], row["n"]) for row in rows]

    def find_by_words(self, query: TopicQuery) -> list[Record]:
        with self._errors():
            return find_by_words(self._db, query)


def _query(query: StoreQuery) -> Query:
    if isinstance(query, Query):
        return query
    raise QueryError(
        "a query body is for Elasticsearch and OpenSearch; an embedded store takes words, filters, "
        "since, until and sort"
    )


def _mode(options: SearchOptions) -> Mode:
    if options.inner_hits is not None:
        raise QueryError("inner_hits are for Elasticsearch and OpenSearch; ask for `copies`")
    return "collapse" if options.mode == "auto" else options.mode


def _count_stories(mode: Mode, by: By, story: str) -> str:
    """The number of stories among `matched`, as the mode shows them."""
    if mode == "canonical":
        return f"sum(matched.role NOT IN {_NOT_CANONICAL[by]})"
    return f"count(DISTINCT {story})"


def _episodes(column: str, window: int) -> str:
    """`matched`, with the number and bounds of the episode each article lies in: the articles of
    a story, cut where more than the window passes without one."""
    if not window:
        least, most = -(1 << 62), 1 << 62
        return f"matched AS (SELECT *, 0 AS episode, {least} AS first, {most} AS last FROM found)"
    return f"""gaps AS (
            SELECT d.seq AS seq, {column} AS folded, d.moment AS moment,
                   coalesce(d.moment - lag(d.moment) OVER (
                       PARTITION BY {column} ORDER BY d.moment, d.seq) > {window}, 0) AS is_new
            FROM documents d WHERE {column} IN (SELECT folded FROM found)),
        numbered AS (
            SELECT seq, folded, moment, sum(is_new) OVER (
                       PARTITION BY folded ORDER BY moment, seq) AS episode FROM gaps),
        bounded AS (
            SELECT seq, episode, min(moment) OVER (PARTITION BY folded, episode) AS first,
                   max(moment) OVER (PARTITION BY folded, episode) AS last FROM numbered),
        matched AS (SELECT found.*, episode, first, last FROM found JOIN bounded USING (seq))"""


# Words as typed before those with other diacritics; bm25 is smaller for the better.
_BY_SCORE = ("is_other_form", "rank")


def _sort_clauses(query: Query) -> tuple[list[str], list[Any], list[str]]:
    """Keys to select, their parameters, and the order over them; missing values come last."""
    keys: list[str] = []
    parameters: list[Any] = []
    order: list[str] = []
    for name, falling in query.orders:
        if name == "score":
            order += _BY_SCORE
            continue
        place = f"k{len(keys)}"
        key, given = _value(name)
        keys.append(key)
        parameters += given
        order += [f"{place} IS NULL", f"{place}{' DESC' if falling else ''}"]
    return keys, parameters, [*(order or _BY_SCORE), "moment", "id"]


def _value(name: str) -> tuple[str, list[Any]]:
    if name == "published":
        return "d.moment", []
    if name == "words" or _column(name) in _COLUMNS:
        return f'd."{_column(name)}"', []
    return "json_extract(d.extra, ?)", [_path(name)]


def _filter(name: str, values: Sequence[str]) -> tuple[str, list[Any]]:
    """A field of the article itself, or of what came with it, a list of values included."""
    if _column(name) in _COLUMNS:
        return f'd."{_column(name)}" IN ({marks(values)})', list(values)
    return (
        "EXISTS (SELECT 1 FROM json_each(d.extra, ?) e WHERE CAST(e.value AS TEXT) IN "
        f"({marks(values)}))",
        [_path(name), *values],
    )


def _facet_value(name: str) -> tuple[str, str, list[Any]]:
    if _column(name) in _COLUMNS:
        return f'd."{_column(name)}"', "", []
    return "CAST(e.value AS TEXT)", "JOIN json_each(d.extra, ?) e", [_path(name)]


def _column(name: str) -> str:
    """`dedup.role` as on a cluster, where an article may have a role of its own."""
    return name.removeprefix("dedup.")


def _path(name: str) -> str:
    if '"' in name or "\0" in name or not name:
        raise QueryError(f"{name!r} is no name of a field")
    return "$" + "".join(f'."{part}"' for part in name.split("."))


def _hit(record: Record, score: float | None, words: str | None) -> StoryHit:
    link = record.decision.link
    return StoryHit(
        id=record.document.id,
        group=link.group,
        story=link.story,
        role=link.role,
        read=lambda: record.document,
        score=score,
        update=Update.from_evidence(link.role, record.decision.evidence),
        excerpt=partial(snippet, query=words) if words else None,
    )
