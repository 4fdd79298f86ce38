"""Requests to Elasticsearch and OpenSearch as plain dicts: pure functions, the same for both.

What each engine does with them was measured; the reasons stand beside the choices.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from esdedup.model import (
    JSON,
    Candidate,
    Decision,
    Document,
    Evidence,
    Link,
    Order,
    Signature,
    pack,
    parse_time,
    unpack,
)
from esdedup.numbers import NumberContext
from esdedup.settings import FORMAT, Settings
from esdedup.stores import Probe, Record
from esdedup.stores.fulltext import query_terms

# Version of the templates; raised with every change of the mapping.
TEMPLATE_VERSION = 1
# Verified are the best few; more than twice as many need not be fetched.
_CANDIDATES_PER_VERIFIED = 3
# Scores are float32: sums of boosts are exact below 2^24.
_EXACT_SCORES = 1 << 24
# OpenSearch refuses more than 1,024 clauses in one query.
MAX_CLAUSES = 1_000
# Evidence kept with a decision: the match and the runner-ups.
_KEPT_EVIDENCE = 3

_KEYWORD_KEY: JSON = {"type": "keyword", "doc_values": False}
# Field of `dedup` each method's keys are stored in.
KEY_FIELDS = {
    "sketch": "sketch",
    "exact": "exact",
    "lengths": "windows",
    "phrases": "phrases",
    "spotsigs": "spots",
    "simhash": "blocks",
    "imatch": "imatch",
    "entities": "entities",
}

# Methods whose keys meet by chance so seldom that nearly every document with one is a candidate:
# 48 bits and more of a hash. Not blocks of 16 bits, which 610 of 10 million share by chance.
_RARE_KEYS = ("sketch", "exact")

# French articles and pronouns that melt into the next word, and the letters they do it before.
_ELIDED = ("l", "d", "j", "m", "t", "s", "c", "n", "qu")
_ELIDED_BEFORE = "aàâeéèêëhiîïoôuùûœæy"

_VERIFICATION_FIELDS = [
    f"dedup.{name}"
    for name in (
        "format", "shingles", "words", "digest", "numbers", "lang",
        "moment", "role", "group", "story", "parent",
    )
]  # fmt: skip


def properties() -> JSON:
    """The `dedup` object: the only field added to a user's index."""
    return {
        "dedup": {
            "type": "object",
            "dynamic": False,
            "properties": {
                "format": {"type": "keyword"},
                **dict.fromkeys(KEY_FIELDS.values(), _KEYWORD_KEY),
                "digest": {"type": "keyword", "doc_values": False, "index": False},
                # Read back for verification, never searched: in the source only.
                "shingles": {"type": "binary"},
                "numbers": {"type": "object", "enabled": False},
                "evidence": {"type": "object", "enabled": False},
                "words": {"type": "integer", "index": False},
                "score": {"type": "float", "index": False},
                "method": {"type": "keyword"},
                "reason": {"type": "keyword"},
                "lang": {"type": "keyword"},
                # Set on every document: a collapse folds all documents without it into one.
                "group": {"type": "keyword"},
                # 64-bit hash of the group: counting stories by it costs half as much.
                "gid": {"type": "long", "index": False},
                "story": {"type": "keyword"},
                "parent": {"type": "keyword", "doc_values": False},
                "role": {"type": "keyword"},
                "canonical": {"type": "boolean"},
                # The total order: microseconds of published, else first seen.
                "moment": {"type": "long"},
                "first_seen": {"type": "long", "index": False},
                # When the link last changed: what `sweep` looks at after a crash.
                "at": {"type": "date"},
            },
        }
    }


def news_properties() -> JSON:
    """A ready-made news index around it; users with their own mapping need only `dedup`."""
    return {
        "title": {"type": "text"},
        "text": {"type": "text"},
        "url": {"type": "keyword", "ignore_above": 2048},
        "source": {"type": "keyword", "ignore_above": 512},
        "lang": {"type": "keyword", "ignore_above": 32},
        "published": {"type": "date"},
    }


def news_mapping(settings: Settings) -> JSON:
    """The mapping of an index made by us. Fields it does not know are kept and not indexed, so
    that no value of theirs, whatever its type, can make the server refuse an article."""
    return {
        "dynamic": False,
        "_meta": meta(settings),
        "properties": {**news_properties(), **properties()},
    }


def quarantine_index(store: str) -> str:
    """Beside the articles, never among them: no pattern of theirs, like news-*, matches it."""
    plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in store)
    return f"esdedup-quarantine-{plain.strip('-')}"


def quarantine_mapping() -> JSON:
    """Documents that may be of any shape: kept whole, none of their fields indexed."""
    return {
        "dynamic": False,
        "properties": {
            "at": {"type": "date"},
            "final": {"type": "boolean"},
            "document": {"type": "object", "enabled": False},
        },
    }


def meta(settings: Settings) -> JSON:
    """What is recorded in the mapping, so that other settings are noticed."""
    return {
        "esdedup": {
            "format": FORMAT,
            "fingerprint": settings.fingerprint_of_format(),
            "shaping": settings.shaping(),
            "settings": settings.to_json(),
        }
    }


def component_template(settings: Settings) -> JSON:
    return {
        "version": TEMPLATE_VERSION,
        "_meta": {
            "description": "esdedup: signatures and groups of news articles",
            "format": FORMAT,
        },
        "template": {"mappings": {"_meta": meta(settings), "properties": properties()}},
    }


def index_template(settings: Settings, *, patterns: Sequence[str], component: str) -> JSON:
    return {
        "index_patterns": list(patterns),
        "composed_of": [component],
        "version": TEMPLATE_VERSION,
        "_meta": {"description": "esdedup: a news index", "format": FORMAT},
        "template": {
            "settings": {"index": {"number_of_shards": 1, "number_of_replicas": 1}},
            "mappings": {
                "dynamic": False,
                "_meta": meta(settings),
                "properties": news_properties(),
            },
        },
    }


# --- candidates --------------------------------------------------------------------------------


def candidate_search(probe: Probe, settings: Settings, *, ties_by_id: bool = False) -> JSON:
    """One request for all methods: the score counts each method's shared keys in its own digits.

    Of documents of the same moment also those after the probe come back, to be left out by the
    caller. Where they fill the page, `ties_by_id` leaves them out on the server, which is dearer
    (a range of keywords); only leaders, whose group is their id, can be told apart there.
    """
    filters: list[JSON] = [_moments(probe, upto=True)]
    if ties_by_id:
        moment, id_ = probe.order
        earlier = {"range": {"dedup.moment": {"lt": moment}}}
        smaller = {"range": {"dedup.group": {"lt": id_}}}
        filters.append({"bool": {"should": [earlier, smaller], "minimum_should_match": 1}})
    if probe.leaders_only:
        # Without it the copies of one large story fill the page, and originals are missed.
        filters.append({"term": {"dedup.canonical": True}})
    return {
        "size": settings.verified_candidates * _CANDIDATES_PER_VERIFIED,
        "_source": _fetched(settings),
        "track_total_hits": False,
        "query": {
            "bool": {"filter": filters, "minimum_should_match": 1, "should": _counted(probe)}
        },
        # Equal scores in the order of documents, so that every store sees the same candidates.
        "sort": [{"_score": "desc"}, {"dedup.moment": "asc"}, {"dedup.group": "asc"}],
        "track_scores": True,
    }


def _fetched(settings: Settings) -> list[str]:
    """What verification reads; the keys themselves only where one method's measure decides."""
    if settings.verified_by == "overlap":
        return _VERIFICATION_FIELDS
    return [*_VERIFICATION_FIELDS, f"dedup.{KEY_FIELDS[settings.verified_by]}"]


def later_search(probe: Probe) -> JSON:
    """Documents of the probe's moment or later that share enough keys: ids and moments."""
    return {
        "_source": False,
        "docvalue_fields": ["dedup.moment"],
        "track_total_hits": False,
        "query": {
            "bool": {
                "filter": [_moments(probe, upto=False)],
                "minimum_should_match": 1,
                "should": _counted(probe),
            }
        },
    }


def can_gather(probes: Sequence[Probe]) -> bool:
    """Whether keys are rare enough to fetch all documents that share any key with any probe."""
    return all(method in _RARE_KEYS for probe in probes for method in probe.keys)


def gathering_search(probes: Sequence[Probe], *, later: bool, size: int) -> JSON:
    """All documents that share any key with any of the probes, to be counted by `gathered`.

    A batch of 500 asked for in one list of 10,000 terms costs a tenth of 500 counting searches
    (measured on both: 60 ms against 700). For candidates leaders only, with what verification
    needs; for later documents all of them, and only their keys and moments.
    """
    terms: dict[str, set[str]] = {}
    for probe in probes:
        for method, keys in probe.keys.items():
            terms.setdefault(f"dedup.{KEY_FIELDS[method]}", set()).update(keys)
    moments = [probe.order[0] for probe in probes]
    window = max(probe.window for probe in probes)
    first = min(moments) if later else min(moments) - window
    last = max(moments) + window if later else max(moments)
    bounds = {"gte": first, "lte": last}
    if not window:
        del bounds["lte" if later else "gte"]
    filters: list[JSON] = [{"range": {"dedup.moment": bounds}}]
    if not later and probes[0].leaders_only:
        filters.append({"term": {"dedup.canonical": True}})
    shared = [{"terms": {field: sorted(keys)}} for field, keys in terms.items()]
    filters.append({"bool": {"should": shared, "minimum_should_match": 1}})
    return {
        "size": size,
        "_source": ["dedup.moment", *terms] if later else [*_VERIFICATION_FIELDS, *terms],
        "track_total_hits": False,
        "query": {"bool": {"filter": filters}},
    }


def gathered(
    probes: Sequence[Probe], hits: Sequence[JSON]
) -> Iterator[list[tuple[JSON, dict[str, int]]]]:
    """For each probe the hits that share enough keys with it, and how many, whatever their order
    in time; nearer in time than the window."""
    holders: dict[tuple[str, str], list[int]] = {}
    for number, hit in enumerate(hits):
        dedup = hit["_source"]["dedup"]
        for method in _RARE_KEYS:
            for key in dedup.get(KEY_FIELDS[method]) or ():
                holders.setdefault((method, key), []).append(number)
    for probe in probes:
        shared: dict[int, dict[str, int]] = {}
        for method, keys in probe.keys.items():
            counts = Counter(number for key in keys for number in holders.get((method, key), ()))
            for number, count in counts.items():
                if count >= probe.needed[method]:
                    shared.setdefault(number, {})[method] = count
        yield [
            (hits[number], counts)
            for number, counts in shared.items()
            if hits[number]["_id"] != probe.id
            and (not probe.window or abs(_moment(hits[number]) - probe.order[0]) <= probe.window)
        ]


def _moment(hit: JSON) -> int:
    return int(hit["_source"]["dedup"]["moment"])


def order_of_hit(hit: JSON) -> Order:
    return _moment(hit), hit["_id"]


def latest_moment() -> JSON:
    return {
        "size": 0,
        "track_total_hits": False,
        "aggs": {"latest": {"max": {"field": "dedup.moment"}}},
    }


def moment_of(hit: Mapping[str, Any]) -> int:
    return int(hit["fields"]["dedup.moment"][0])


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
                    "filter": {"term": {f"dedup.{KEY_FIELDS[method]}": key}},
                    "boost": weight,
                }
            }
            for key in probe.keys[method]
        ]
        clauses.append({"bool": {"minimum_should_match": probe.needed[method], "should": terms}})
    return clauses


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
    for method, keys in probe.keys.items():
        radix = 1 << len(keys).bit_length()
        out.append((method, weight, radix))
        weight *= radix
    if weight > _EXACT_SCORES:
        raise ValueError(f"the counts of {', '.join(probe.keys)} do not fit into one score")
    return out


def _moments(probe: Probe, *, upto: bool) -> JSON:
    moment, window = probe.order[0], probe.window
    bounds: dict[str, int] = {"lte" if upto else "gte": moment}
    if window:
        bounds["gte" if upto else "lte"] = moment - window if upto else moment + window
    return {"range": {"dedup.moment": bounds}}


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


def leaders_with_key(key: str, *, field: str) -> JSON:
    leads = [{"term": {f"dedup.{field}": key}}, {"term": {"dedup.canonical": True}}]
    return {"size": 0, "track_total_hits": True, "query": {"bool": {"filter": leads}}}


# --- documents ---------------------------------------------------------------------------------


def source_of(record: Record, now: str) -> JSON:
    """What is stored: the article's own fields as they came, and ours in `dedup`."""
    own = record.document.to_json()
    own.pop("id")
    own.pop("html", None)
    return {**own, "dedup": dedup_fields(record, now)}


def dedup_fields(record: Record, now: str) -> JSON:
    """Our object: the signature, the place in the order, the link."""
    signature = record.signature
    return {
        "format": signature.format,
        **{KEY_FIELDS[m]: list(keys) for m, keys in signature.keys.items()},
        "digest": signature.exact,
        "shingles": base64.b64encode(pack(signature.shingles)).decode("ascii"),
        "numbers": {"list": [n.to_json() for n in signature.numbers]},
        "words": signature.words,
        "lang": signature.lang,
        "moment": record.order[0],
        "first_seen": record.first_seen,
        **link_fields(record.decision, now),
    }


def link_fields(decision: Decision, now: str) -> JSON:
    """What a change of place rewrites."""
    link = decision.link
    return {
        "role": link.role,
        "group": link.group,
        "gid": group_number(link.group),
        "story": link.story,
        "parent": link.parent,
        "canonical": link.canonical,
        "score": decision.score,
        "method": decision.method,
        "reason": decision.reason,
        "evidence": {"list": [e.to_json() for e in decision.evidence[:_KEPT_EVIDENCE]]},
        "at": now,
    }


def group_number(group: str) -> int:
    """A signed 64-bit hash of a group's id."""
    digest = hashlib.blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


# Ours -> the names it goes by in an index that somebody else designed, in the order to look.
Names = Mapping[str, Sequence[str]]
_NO_NAMES: Names = {}


def record_from(
    id_: str, source: Mapping[str, Any], version: Any, names: Names = _NO_NAMES
) -> Record:
    """The reverse of `source_of`."""
    dedup = source["dedup"]
    return Record(
        document=document_from(id_, source, names),
        signature=signature_from(dedup),
        order=(dedup["moment"], id_),
        first_seen=dedup["first_seen"],
        decision=Decision(
            id=id_,
            role=dedup["role"],
            group=dedup["group"],
            story=dedup["story"],
            score=dedup["score"],
            method=dedup["method"],
            reason=dedup["reason"],
            evidence=tuple(Evidence.from_json(e) for e in dedup["evidence"]["list"]),
        ),
        version=version,
    )


def document_from(id_: str, source: Mapping[str, Any], names: Names = _NO_NAMES) -> Document:
    own = {k: v for k, v in source.items() if k != "dedup"}
    for ours, theirs in names.items():
        found = (value for name in theirs if (value := at_path(source, name)) is not None)
        if (value := next(found, None)) is not None:
            own[ours] = value
    return Document.from_json({**_usable(own), "id": id_})


def at_path(source: Mapping[str, Any], path: str) -> Any:
    """The value under a name, or under a path with dots; None where there is none."""
    if path in source:
        return source[path]
    head, _, tail = path.partition(".")
    inner = source.get(head)
    return at_path(inner, tail) if tail and isinstance(inner, dict) else None


def _usable(own: JSON) -> JSON:
    """Fields of our names with values of another kind are kept beside, as the readers do it."""
    out = dict(own)
    for name in ("title", "text", "url", "source", "lang", "published", "html"):
        if (value := out.get(name)) is not None and not _is_ours(name, value):
            out[f"{name}_raw"] = out.pop(name)
    return out


def _is_ours(name: str, value: Any) -> bool:
    if name != "published":
        return isinstance(value, str) and name != "html"
    try:
        parse_time(value)
    except (TypeError, ValueError, OverflowError, OSError):
        return False
    return True


def foreign_record(
    id_: str,
    source: Mapping[str, Any],
    settings: Settings,
    version: Any,
    names: Names = _NO_NAMES,
) -> Record:
    """A document that somebody else wrote without our fields: there, and not processed yet."""
    nothing = Signature(settings.fingerprint_of_format(), {}, unpack(b""), 0, "")
    unprocessed = Decision(id_, "unprocessed", id_, id_)
    return Record(document_from(id_, source, names), nothing, (0, id_), 0, unprocessed, version)


def signature_from(dedup: Mapping[str, Any]) -> Signature:
    keys = {m: tuple(dedup[f]) for m, f in KEY_FIELDS.items() if dedup.get(f)}
    return Signature(
        format=dedup["format"],
        keys=keys,
        shingles=unpack(base64.b64decode(dedup["shingles"])),
        words=dedup["words"],
        exact=dedup["digest"],
        numbers=tuple(NumberContext.from_json(n) for n in dedup["numbers"]["list"]),
        lang=dedup["lang"],
    )


def candidate_from(hit: Mapping[str, Any], shared: Mapping[str, int]) -> Candidate:
    dedup = hit["_source"]["dedup"]
    return Candidate(
        id=hit["_id"],
        shared=shared,
        signature=signature_from(dedup),
        order=(dedup["moment"], hit["_id"]),
        link=Link(dedup["role"], dedup["group"], dedup["story"], dedup.get("parent")),
    )


# --- groups and searching ----------------------------------------------------------------------


def followers_query(ids: Sequence[str]) -> JSON:
    """Members and updates of these documents; the documents themselves are left out by id."""
    return {
        "bool": {
            "should": [
                {"terms": {"dedup.group": list(ids)}},
                {"terms": {"dedup.parent": list(ids)}},
            ],
            "minimum_should_match": 1,
        }
    }


def words_query(query: str, names: Names = _NO_NAMES) -> JSON | None:
    """Every word must occur, in title or text; quotes make a phrase. None where there is no word.

    Words of scripts without spaces are several tokens, so each word is a phrase. The standard
    analyser knows neither that ı and i are one letter to us nor that l’ is an article in l’été:
    the other forms are asked for as well.
    """
    terms = query_terms(query)
    titles, texts = names.get("title", ("title",)), names.get("text", ("text",))
    fields = [*(f"{name}^2" for name in titles), *texts]
    return {"bool": {"must": [_any_form(term, fields) for term in terms]}} if terms else None


def _any_form(term: str, fields: Sequence[str]) -> JSON:
    forms = dict.fromkeys([term, term.replace("ı", "i"), term.replace("i", "ı")])
    if " " not in term and term[0] in _ELIDED_BEFORE:
        forms |= dict.fromkeys(f"{article}{mark}{term}" for article in _ELIDED for mark in "’'")
    return {
        "dis_max": {
            "queries": [
                {"multi_match": {"query": form, "type": "phrase", "fields": list(fields)}}
                for form in forms
            ]
        }
    }


def folded_search(query: JSON, *, field: str | None, size: int, offset: int) -> JSON:
    body: JSON = {
        "query": query,
        "size": size,
        "from": offset,
        "track_total_hits": True,
        "sort": [
            {"_score": "desc"},
            {"dedup.moment": "asc"},
            {"dedup.group": "asc"},
            {"dedup.first_seen": "asc"},
        ],
        "track_scores": True,
    }
    if field is not None:
        body["collapse"] = {"field": field}
    return body


def story_count(query: JSON, *, field: str) -> JSON:
    """How many stories match: the dear part of a folded search, so an entry of its own."""
    return {
        "query": query,
        "size": 0,
        "track_total_hits": True,
        "aggs": {"stories": {"cardinality": {"field": field, "precision_threshold": 40_000}}},
    }


def copies_counts(query: JSON, groups: Iterable[str], *, field: str) -> JSON:
    """For the groups on a page, how many matching articles each has."""
    wanted = list(groups)
    return {
        "query": {"bool": {"filter": [query, {"terms": {field: wanted}}]}},
        "size": 0,
        "track_total_hits": False,
        "aggs": {"groups": {"terms": {"field": field, "size": max(1, len(wanted))}}},
    }
