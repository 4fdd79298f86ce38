"""Searches for documents that share keys, and how their answers are counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from esdedup.model import JSON, Candidate, Order, place_of, time_of
from esdedup.model.methods import METHOD_SPECS
from esdedup.settings import Settings
from esdedup.stores import Probe
from esdedup.stores.cluster.requests.documents import place_from
from esdedup.stores.cluster.requests.positions import BY_RANK, gathered_moments, placed

# Scores are float32: sums of boosts are exact below 2^24.
_EXACT_SCORES = 1 << 24
# OpenSearch refuses more than 1,024 clauses in one query.
MAX_CLAUSES = 1_000

_ORDER_FIELDS = ["dedup.moment", "dedup.rank"]


def candidate_search(probe: Probe, settings: Settings, *, in_order: bool = False) -> JSON:
    """One request for all methods: the score counts each method's shared keys in its own digits.

    Of documents of the same moment also those after the probe come back, to be left out by the
    caller, and the best come in any order where their scores are equal. That is enough unless
    they fill the page: then `in_order` leaves out and sorts on the server, which is dearer.
    """
    filters = placed(probe, upto=True, in_order=in_order)
    if probe.attracting_only:
        # Without it the copies of one large story fill the page, and originals are missed.
        filters.append({"term": {"dedup.attracts": True}})
    search: JSON = {
        "size": settings.ranked_candidates,
        "_source": _fetched(settings),
        "track_total_hits": False,
        "query": {
            "bool": {"filter": filters, "minimum_should_match": 1, "should": _counted(probe)}
        },
    }
    if in_order:
        by_rank = [BY_RANK] if probe.ranked else []
        by_time = [{"dedup.moment": "asc"}, {"dedup.id": "asc"}]
        search["sort"] = [{"_score": "desc"}, *by_rank, *by_time]
        search["track_scores"] = True
    return search


def _fetched(settings: Settings, counted: Sequence[Probe] = ()) -> JSON:
    """What verification reads, said in few words: OpenSearch makes an automaton of all of them for
    every request, which took longer than the search. Left out is what may be large; the keys of
    such a method only where its own measure does not decide, and they are not to be counted."""
    read = {settings.verified_by, *(method for probe in counted for method in probe.keys)}
    large = [s for s in METHOD_SPECS.values() if s.has_many_keys and s.name not in read]
    excluded = ["dedup.evidence", *(f"dedup.{spec.key_field}" for spec in large)]
    return {"includes": ["dedup"], "excludes": excluded}


def later_search(probe: Probe) -> JSON:
    """Documents of the probe's moment or later that share enough keys: ids and moments."""
    return {
        "_source": False,
        "docvalue_fields": ["dedup.moment", *(["dedup.rank"] if probe.ranked else [])],
        "track_total_hits": False,
        "query": {
            "bool": {
                "filter": placed(probe, upto=False),
                "minimum_should_match": 1,
                "should": _counted(probe),
            }
        },
    }


def seldom_met(probe: Probe) -> Probe:
    """The probe with those of its keys by which many can be asked for at once."""
    if not any(map(_matches_by_chance, probe.keys)):
        return probe
    kept = {m: keys for m, keys in probe.keys.items() if not _matches_by_chance(m)}
    return replace(probe, keys=kept)


def met_by_chance(probe: Probe) -> Probe | None:
    """The probe with the other ones, if it has any: their sharing is counted by the server."""
    if not any(map(_matches_by_chance, probe.keys)):
        return None
    kept = {m: keys for m, keys in probe.keys.items() if _matches_by_chance(m)}
    return replace(probe, keys=kept)


def may_be_common(probes: Sequence[Probe]) -> bool:
    """Whether some key may be in so many documents that they are better counted first."""
    specs = (METHOD_SPECS[method] for probe in probes for method in probe.keys)
    return any(not spec.is_selective and not spec.matches_by_chance for spec in specs)


def are_seldom_common(probes: Sequence[Probe]) -> bool:
    """Whether no key of them is in more than one story and its copies."""
    return all(METHOD_SPECS[method].is_selective for probe in probes for method in probe.keys)


def gathering_search(
    probes: Sequence[Probe], settings: Settings, *, later: bool, size: int
) -> JSON:
    """All documents that share any key with any of the probes, to be counted by `gathered`.

    A batch of 500 asked for in one list of 10,000 terms costs a tenth of 500 counting searches
    (measured on both: 60 ms against 700), a single one half of one. For candidates only those that
    attract, with what verification needs; for later documents all of them, and only their keys and
    moments. Keys that meet by chance are fetched to be counted, and not asked for.
    """
    terms: dict[str, set[str]] = {}
    fetched: dict[str, None] = {}
    for probe in probes:
        for method, keys in probe.keys.items():
            field = f"dedup.{METHOD_SPECS[method].key_field}"
            fetched[field] = None
            if not _matches_by_chance(method):
                terms.setdefault(field, set()).update(keys)
    filters = gathered_moments(probes, later=later)
    if not later and probes[0].attracting_only:
        filters.append({"term": {"dedup.attracts": True}})
    # In their order: as they come, they took both servers nearly twice as long.
    shared = [{"terms": {field: sorted(keys)}} for field, keys in terms.items()]
    filters.append({"bool": {"should": shared, "minimum_should_match": 1}})
    return {
        "size": size,
        "_source": [*_ORDER_FIELDS, *fetched] if later else _fetched(settings, probes),
        "track_total_hits": False,
        "query": {"bool": {"filter": filters}},
    }


def gathered(
    probes: Sequence[Probe], hits: Sequence[JSON], *, later: bool = False
) -> Iterator[list[tuple[JSON, dict[str, int]]]]:
    """For each probe the hits that share enough keys with it, and how many, whatever their order
    in time; nearer in time than the window."""
    methods = {method for probe in probes for method in probe.keys}
    holders: dict[str, dict[str, list[int]]] = {method: {} for method in methods}
    for number, hit in enumerate(hits):
        dedup = hit["_source"]["dedup"]
        for method, held in holders.items():
            for key in dedup.get(METHOD_SPECS[method].key_field) or ():
                held.setdefault(key, []).append(number)
    for probe in probes:
        shared: dict[int, dict[str, int]] = {}
        for method, keys in probe.keys.items():
            held = holders[method]
            if held.keys().isdisjoint(keys):  # nearly always
                continue
            counts: dict[int, int] = {}
            for key in held.keys() & keys:
                for number in held[key]:
                    counts[number] = counts.get(number, 0) + 1
            for number, count in counts.items():
                if count >= probe.needed[method]:
                    shared.setdefault(number, {})[method] = count
        if not shared:
            yield []
            continue
        span, time = probe.reach if later else probe.window, time_of(probe.order[0])
        yield [
            (hits[number], counts)
            for number, counts in shared.items()
            if hits[number]["_id"] != probe.id
            and (not span or abs(hits[number]["_source"]["dedup"]["moment"] - time) <= span)
        ]


def order_of_hit(hit: JSON) -> Order:
    return place_from(hit["_source"]["dedup"]), hit["_id"]


def latest_moment() -> JSON:
    return {
        "size": 0,
        "track_total_hits": False,
        "aggs": {"latest": {"max": {"field": "dedup.moment"}}},
    }


def place_of_hit(hit: Mapping[str, Any]) -> int:
    """Its place in the order, from the values of its fields."""
    fields = hit["fields"]
    return place_of(int(fields.get("dedup.rank", [0])[0]), int(fields["dedup.moment"][0]))


def shared_by_method(probe: Probe, score: float) -> dict[str, int]:
    """The counts behind a score; a method below its minimum counts nothing."""
    left = round(score)
    shared = {}
    for method, weight, radix in _digits(probe):
        if count := left // weight % radix:
            shared[method] = count
    return shared


def _counted(probe: Probe) -> list[JSON]:
    clauses = []
    for method, weight, _ in _digits(probe):
        terms = [
            {
                "constant_score": {
                    "filter": {"term": {f"dedup.{METHOD_SPECS[method].key_field}": key}},
                    "boost": weight,
                }
            }
            for key in probe.keys[method]
        ]
        clauses.append({"bool": {"minimum_should_match": probe.needed[method], "should": terms}})
    return clauses


def best_of(probe: Probe, candidates: Sequence[Candidate], settings: Settings) -> list[Candidate]:
    """Of all that share keys those that counting searches would have brought: the same documents
    are verified whichever way they were asked for."""
    if len(candidates) <= settings.ranked_candidates:
        return list(candidates)
    shared: dict[str, dict[str, int]] = {}
    for part in asked_apart(probe):
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
    return [c.sharing(shared[c.id]) for c in candidates if c.id in shared]


def asked_apart(probe: Probe) -> list[Probe]:
    """The probe, or several with some of its methods each, where one score cannot count them all.

    Windows and phrases have hundreds of keys: their counts take many bits, and their clauses most
    of what OpenSearch allows in a query.
    """
    parts: list[dict[str, tuple[str, ...]]] = [{}]
    room, clauses = _EXACT_SCORES, MAX_CLAUSES
    for method, keys in probe.keys.items():
        radix = 1 << len(keys).bit_length()
        if parts[-1] and (radix > room or len(keys) > clauses):
            parts.append({})
            room, clauses = _EXACT_SCORES, MAX_CLAUSES
        parts[-1][method] = keys
        room, clauses = room // radix, clauses - len(keys)
    return [replace(probe, keys=part) for part in parts]


def _digits(probe: Probe) -> list[tuple[str, int, int]]:
    """(method, boost, radix): every method's count has a digit of its own in the score."""
    out, weight = [], 1
    for method, keys in sorted(probe.keys.items(), key=_chance_first):
        radix = 1 << len(keys).bit_length()
        out.append((method, weight, radix))
        weight *= radix
    if weight > _EXACT_SCORES:
        raise ValueError(f"the counts of {', '.join(probe.keys)} do not fit into one score")
    return out


def _chance_first(item: tuple[str, object]) -> bool:
    """Below the other digits: above them chance would fill the page, and originals be missed."""
    return not _matches_by_chance(item[0])


def random_documents(count: int, *, field: str) -> JSON:
    """Any documents, not the first ones, with their keys."""
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


def attracting_with_key(key: str, *, field: str) -> JSON:
    attract = [{"term": {f"dedup.{field}": key}}, {"term": {"dedup.attracts": True}}]
    return {"size": 0, "track_total_hits": True, "query": {"bool": {"filter": attract}}}


def _matches_by_chance(method: str) -> bool:
    return METHOD_SPECS[method].matches_by_chance
