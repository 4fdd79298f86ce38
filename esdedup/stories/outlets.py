"""Who took part in a story: which outlets reported, which only copied, what each added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from esdedup.matching.content import read_contents
from esdedup.matching.verify import count_overlap
from esdedup.model.json_form import JsonField, Result
from esdedup.search.origins import source_of
from esdedup.settings import Settings
from esdedup.stores import Record

# Outlets whose first article is compared with the one that it copies; others have no `added`.
_COMPARED = 200


@dataclass(frozen=True, slots=True)
class Outlet(Result):
    """A publisher in a story, with what its first article adds to the one that it follows."""

    name: str
    articles: int
    only_copied: Annotated[bool, JsonField(description="All its articles are copies.")]
    added: Annotated[
        float | None,
        JsonField(
            digits=4,
            description="Share of its first article that the article before it lacks; "
            "null for the article that opens the story.",
        ),
    ]


def list_outlets(records: Sequence[Record], settings: Settings) -> tuple[Outlet, ...]:
    """The outlets of a story's articles, in the order in which they joined it."""
    by_id = {record.document.id: record for record in records}
    articles: dict[str, list[Record]] = {}
    for record in records:
        articles.setdefault(source_of(record.document) or "no source", []).append(record)
    return tuple(
        Outlet(
            name,
            len(own),
            all(not record.decision.link.canonical for record in own),
            _measure_added(own[0], by_id, settings) if place < _COMPARED else None,
        )
        for place, (name, own) in enumerate(articles.items())
    )


def _measure_added(record: Record, by_id: Mapping[str, Record], settings: Settings) -> float | None:
    parent = by_id.get(record.decision.link.parent or "")
    if parent is None:
        return None
    old, new = read_contents([parent.document, record.document], settings)
    shared, _, own = count_overlap(old.shingles, new.shingles)
    return 1.0 - shared / own if own else 0.0
