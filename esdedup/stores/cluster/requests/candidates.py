"""Searches for documents that share keys, and how their answers are counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from esdedup.model import JSON, Candidate, Order, place_of, time_of
from esdedup.model.methods import METHOD_SPECS
from esdedup.settings import Settings
from esdedup.stores import CandidateQuery
from esdedup.stores.cluster.requests.documents import NO_NAMES, READ_FIELDS, Names, place_from
from esdedup.stores.cluster.requests.positions import BY_RANK, gathered_moments, position_filter

# Scores are float32: sums of boosts are exact below 2^24.
_EXACT_SCORES = 1 << 24
# OpenSearch refuses more than 1,024 clauses in one query.
MAX_CLAUSES = 1_000

_ORDER_FIELDS = ["dedup.moment", "dedup.rank"]
# What a candidate is read from, besides its text and keys.
_LINK_FIELDS = (
    "format", "digest", "words", "kept", "signed", "moment", "rank", "role", "group", "story",
    "parent", "attracts",
)  # fmt: skip


def candidate_search(
    query: CandidateQuery,
    settings: Settings,
    names: Names = NO_NAMES,
    *,
    in_order: bool = False,
) -> JSON:
    """One request for all methods: the score counts each method's shared keys in its own digits.

    Of documents of the same moment also those after the query come back, for the caller to leave
    out, and documents of equal scores come in any order. That is enough unless they fill the page:
    then `in_order` filters and sorts on the server, which is more expensive.
    """
    filters = position_filter(query, upto=True, in_order=in_order)
    if query.representatives_only:
        # Without it the copies of one large story fill the page, and originals are missed.
        filters.append({"term": {"dedup.attracts": True}})
    search: JSON = {
        "size": settings.ranked_candidates,
        "_source": _source_filter(settings, names),
        "track_total_hits": False,
        "query": {
            "bool": {
                "filter": filters,
                "minimum_should_match": 1,
                "should": _counting_clauses(query),
            }
        },
    }
    if in_order:
        by_rank = [BY_RANK] if query.ranked else []
        by_time = [{"dedup.moment": "asc"}, {"dedup.id": "asc"}]
        search["sort"] = [{"_score": "desc"}, *by_rank, *by_time]
        search["track_scores"] = True
    return search


def _source_filter(
    settings: Settings, names: Names, counted: Sequence[CandidateQuery] = ()
) -> list[str]:
    """The fields that verification reads: the text, the link, and keys that verify or are counted.
    Few patterns: OpenSearch builds an automaton of them for every request."""
    read = {settings.verified_by, *(method for query in counted for method in query.keys)}
    keys = [METHOD_SPECS[name].key_field for name in sorted(read) if name in METHOD_SPECS]
    texts = [name for ours in READ_FIELDS for name in names.get(ours, (ours,))]
    return [*texts, *(f"dedup.{name}" for name in (*_LINK_FIELDS, *keys))]


def successor_search(query: CandidateQuery) -> JSON:
    """Documents of the query's moment or later that share enough keys: ids and moments."""
    return {
        "_source": False,
        "docvalue_fields": ["dedup.moment", *(["dedup.rank"] if query.ranked else [])],
        "track_total_hits": False,
        "query": {
            "bool": {
                "filter": position_filter(query, upto=False),
                "minimum_should_match": 1,
                "should": _counting_clauses(query),
            }
        },
    }


def without_chance_keys(query: CandidateQuery) -> CandidateQuery:
    """The query with only those keys that one search can list for many documents."""
    if not any(map(_matches_by_chance, query.keys)):
        return query
    kept = {m: keys for m, keys in query.keys.items() if not _matches_by_chance(m)}
    return replace(query, keys=kept)


def only_chance_keys(query: CandidateQuery) -> CandidateQuery | None:
    """The query with only the other keys, which the server counts; None if it has none."""
    if not any(map(_matches_by_chance, query.keys)):
        return None
    kept = {m: keys for m, keys in query.keys.items() if _matches_by_chance(m)}
    return replace(query, keys=kept)


def has_common_keys(queries: Sequence[CandidateQuery]) -> bool:
    """Whether some key may be in so many documents that counting them first is cheaper."""
    specs = (METHOD_SPECS[method] for query in queries for method in query.keys)
    return any(not spec.is_selective and not spec.matches_by_chance for spec in specs)


def are_all_selective(queries: Sequence[CandidateQuery]) -> bool:
    """Whether every key belongs to one story and its copies only."""
    return all(METHOD_SPECS[method].is_selective for query in queries for method in query.keys)


def gathering_search(
    queries: Sequence[CandidateQuery],
    settings: Settings,
    names: Names = NO_NAMES,
    *,
    later: bool,
    size: int,
) -> JSON:
    """All documents that share any key with any of the queries, to be counted by `count_gathered`.

    A batch of 500 in one list of 10,000 terms costs a tenth of 500 counting searches
    (measured on both: 60 ms against 700), a single one half of one. Candidates are
    representatives, with what verification reads. Successors are all documents, with only their
    keys and moments. Keys that match by chance are fetched to be counted, and not searched for.
    """
    terms: dict[str, set[str]] = {}
    fetched: dict[str, None] = {}
    for query in queries:
        for method, keys in query.keys.items():
            field = f"dedup.{METHOD_SPECS[method].key_field}"
            fetched[field] = None
            if not _matches_by_chance(method):
                terms.setdefault(field, set()).update(keys)
    filters = gathered_moments(queries, later=later)
    if not later and queries[0].representatives_only:
        filters.append({"term": {"dedup.attracts": True}})
    # In their order: as they come, they took both servers nearly twice as long.
    shared = [{"terms": {field: sorted(keys)}} for field, keys in terms.items()]
    filters.append({"bool": {"should": shared, "minimum_should_match": 1}})
    return {
        "size": size,
        "_source": [*_ORDER_FIELDS, *fetched]
        if later
        else _source_filter(settings, names, queries),
        "track_total_hits": False,
        "query": {"bool": {"filter": filters}},
    }


def count_gathered(
    queries: Sequence[CandidateQuery], hits: Sequence[JSON], *, later: bool = False
) -> Iterator[list[tuple[JSON, dict[str, int]]]]:
    """For each query the hits that share enough keys with it, and how many, whatever their order
    in time; nearer in time than the window."""
    holders: dict[str, list[int]] = {}
    fields = {METHOD_SPECS[method].key_field for query in queries for method in query.keys}
    for number, hit in enumerate(hits):
        dedup = hit["_source"]["dedup"]
        for key in chain.from_iterable(dedup.get(field) or () for field in fields):
            holders.setdefault(key, []).append(number)
    for query in queries:
        shared = query.count_shared(query.keys, holders)
        if not shared:
            yield []
            continue
        span, time = query.reach if later else query.window, time_of(query.order[0])
        yield [
            (hits[number], counts)
            for number, counts in shared.items()
            if hits[number]["_id"] != query.id
            and (not span or abs(hits[number]["_source"]["dedup"]["moment"] - time) <= span)
        ]


def order_of_hit(hit: JSON) -> Order:
    return place_from(hit["_source"]["dedup"]), hit["_id"]


def place_of_hit(hit: Mapping[str, Any]) -> int:
    """Its place in the order, from the values of its fields."""
    fields = hit["fields"]
    return place_of(int(fields.get("dedup.rank", [0])[0]), int(fields["dedup.moment"][0]))


def shared_by_method(query: CandidateQuery, score: float) -> dict[str, int]:
    """The counts behind a score; a method below its minimum counts nothing."""
    left = round(score)
    shared = {}
    for method, weight, radix in _digits(query):
        if count := left // weight % radix:
            shared[method] = count
    return shared


def _counting_clauses(query: CandidateQuery) -> list[JSON]:
    clauses = []
    for method, weight, _ in _digits(query):
        terms = [
            {
                "constant_score": {
                    "filter": {"term": {f"dedup.{METHOD_SPECS[method].key_field}": key}},
                    "boost": weight,
                }
            }
            for key in query.keys[method]
        ]
        clauses.append(
            {"bool": {"minimum_should_match": query.min_shared_keys[method], "should": terms}}
        )
    return clauses


def best_of(
    query: CandidateQuery, candidates: Sequence[Candidate], settings: Settings
) -> list[Candidate]:
    """The candidates that counting searches would have returned: both ways of searching verify the
    same documents."""
    if len(candidates) <= settings.ranked_candidates:
        return list(candidates)
    shared: dict[str, dict[str, int]] = {}
    for part in split_query(query):
        digits = _digits(part)
        scores = {
            c.id: sum(c.shared.get(m, 0) * weight for m, weight, _ in digits) for c in candidates
        }
        ranked = sorted(
            (c for c in candidates if scores[c.id]), key=lambda c: (-scores[c.id], c.order)
        )
        for candidate in ranked[: settings.ranked_candidates]:
            counts = {m: n for m, n in candidate.shared.items() if m in part.keys}
            shared.setdefault(candidate.id, {}).update(counts)
    return [c.with_shared(shared[c.id]) for c in candidates if c.id in shared]


def split_query(query: CandidateQuery) -> list[CandidateQuery]:
    """The query, or several with some of its methods each, if one score cannot count them all.

    Windows and phrases have hundreds of keys: their counts take many bits, and their clauses most
    of what OpenSearch allows in a query.
    """
    parts: list[dict[str, tuple[str, ...]]] = [{}]
    room, clauses = _EXACT_SCORES, MAX_CLAUSES
    for method, keys in query.keys.items():
        radix = 1 << len(keys).bit_length()
        if parts[-1] and (radix > room or len(keys) > clauses):
            parts.append({})
            room, clauses = _EXACT_SCORES, MAX_CLAUSES
        parts[-1][method] = keys
        room, clauses = room // radix, clauses - len(keys)
    return [replace(query, keys=part) for part in parts]


def _digits(query: CandidateQuery) -> list[tuple[str, int, int]]:
    """(method, boost, radix): every method's count has a digit of its own in the score."""
    out, weight = [], 1
    for method, keys in sorted(query.keys.items(), key=_chance_first):
        radix = 1 << len(keys).bit_length()
        out.append((method, weight, radix))
        weight *= radix
    if weight > _EXACT_SCORES:
        raise ValueError(f"the counts of {', '.join(query.keys)} do not fit into one score")
    return out


def _chance_first(item: tuple[str, object]) -> bool:
    """Sorts chance matches into the lowest digits: in higher ones they would fill the page, and
    originals would be missed."""
    return not _matches_by_chance(item[0])


def random_documents(count: int, *, field: str) -> JSON:
    """Random documents with their keys."""
    return {
        "size": count,
        "_source": [f"dedup.{field}"],
        "track_total_hits": False,
        "query": {
            "function_score": {
                "query": {"exists": {"field": f"dedup.{field}"}},
                "random_score": {},
                "boost_mode": "replace",
            }
        },
    }


def frequencies(keys: Sequence[str], *, field: str) -> JSON:
    """In how many documents of one shard each key occurs."""
    return {
        "doc": {"dedup": {field: list(keys)}},
        "fields": [f"dedup.{field}"],
        "term_statistics": True,
        "field_statistics": False,
        "positions": False,
        "offsets": False,
        "payloads": False,
    }


def count_representatives(key: str, *, field: str) -> JSON:
    attract = [{"term": {f"dedup.{field}": key}}, {"term": {"dedup.attracts": True}}]
    return {"size": 0, "track_total_hits": True, "query": {"bool": {"filter": attract}}}


def _matches_by_chance(method: str) -> bool:
    return METHOD_SPECS[method].matches_by_chance
