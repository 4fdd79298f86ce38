"""Searches by topic and by time."""

from __future__ import annotations

from esdedup.model import JSON
from esdedup.stores.cluster.requests.documents import NO_NAMES, Names
from esdedup.stores.cluster.requests.searching import phrase_query, searched_fields
from esdedup.stores.topical import EVER, Clock, TopicQuery


def topic_search(topic: TopicQuery, names: Names = NO_NAMES) -> JSON:
    """Leaders that have any of the words; in scripts without spaces a word is a phrase.

    Sorted by score alone: a second field costs a fifth of the request, and ties are few at the top.
    """
    fields = searched_fields(names)
    without = [{"term": {"dedup.group": topic.group}}] if topic.group else []
    filters: list[JSON] = [{"term": {"dedup.canonical": True}}]
    if topic.low > -EVER or topic.high < EVER:
        filters.append({"range": {"dedup.moment": {"gte": topic.low, "lte": topic.high}}})
    return {
        "size": topic.size,
        "seq_no_primary_term": True,
        "track_total_hits": False,
        "query": {
            "bool": {
                "filter": filters,
                "must_not": without,
                "should": [phrase_query(_forms(word), fields) for word in topic.words],
                "minimum_should_match": 1,
            }
        },
    }


def _forms(word: str) -> list[str]:
    return [word] if word.isascii() else [word, word.replace("i", "ı")]


def latest_search(clock: Clock) -> JSON:
    """The latest moment of all documents."""
    return {
        "size": 0,
        "track_total_hits": False,
        "aggs": {"latest": {"max": {"field": f"dedup.{clock}"}}},
    }


def time_order_search(clock: Clock, low: int, since: str) -> JSON:
    """All documents by time, then by id; for `first_seen` also some earlier ones.

    `first_seen` is not indexed. No link is older than its article, so the time of its last change
    is a bound.
    """
    bound: JSON = {"range": {"dedup.at": {"gte": since}}}
    if clock == "moment":
        bound = {"range": {"dedup.moment": {"gte": low}}}
    return {
        "size": 500,
        "seq_no_primary_term": True,
        "track_total_hits": False,
        "query": {"bool": {"filter": [bound, {"exists": {"field": "dedup.group"}}]}},
        "sort": [{f"dedup.{clock}": "asc"}, {"dedup.id": "asc"}],
    }
