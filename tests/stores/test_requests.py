"""Requests to the engines, as dicts; what the engines make of them is in the other tests here."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from esdedup.model import JSON, Candidate, Decision, Document, Evidence, Link, Signature, place_of
from esdedup.model.encoding import encode_json
from esdedup.model.methods import key_fields
from esdedup.model.numbers import NumberChange
from esdedup.settings import Settings
from esdedup.stores import CandidateQuery, Record
from esdedup.stores.cluster.requests import candidates as candidate_requests
from esdedup.stores.cluster.requests import documents as document_requests
from esdedup.stores.cluster.requests import mapping as mapping_requests
from esdedup.stores.cluster.requests import searching as search_fields
from esdedup.stores.cluster.requests.topics import topic_search
from esdedup.stores.topical import TopicQuery
from esdedup.text.fulltext import query_terms

SETTINGS = Settings()


def term(field: str, key: str, boost: int) -> dict[str, object]:
    return {"constant_score": {"filter": {"term": {field: key}}, "boost": boost}}


PROBE = CandidateQuery(
    "d7",
    {"sketch": ("s00:a", "s01:b", "s02:c"), "exact": ("x:1",)},
    {"sketch": 2, "exact": 1},
    (100, "d7"),
)


def test_one_candidate_request_for_all_methods() -> None:
    assert candidate_requests.candidate_search(PROBE, SETTINGS) == {
        "size": 24,
        "_source": [
            *("title", "text", "lang", "source", "url"),
            *("dedup.format", "dedup.digest", "dedup.words", "dedup.kept", "dedup.signed"),
            "dedup.moment",
            *("dedup.rank", "dedup.role", "dedup.group", "dedup.story", "dedup.parent"),
            "dedup.attracts",
        ],
        "track_total_hits": False,
        "query": {
            "bool": {
                "filter": [
                    {"range": {"dedup.moment": {"lte": 100}}},
                    {"term": {"dedup.attracts": True}},
                ],
                "minimum_should_match": 1,
                "should": [
                    {
                        "bool": {
                            "minimum_should_match": 2,
                            "should": [
                                term("dedup.sketch", "s00:a", 1),
                                term("dedup.sketch", "s01:b", 1),
                                term("dedup.sketch", "s02:c", 1),
                            ],
                        }
                    },
                    {
                        "bool": {
                            "minimum_should_match": 1,
                            "should": [term("dedup.exact", "x:1", 4)],
                        }
                    },
                ],
            }
        },
    }


def test_candidates_come_back_with_their_texts_under_the_names_of_the_index() -> None:
    names = {"text": ["body", "content"]}
    fields = candidate_requests.candidate_search(PROBE, SETTINGS, names)["_source"]
    assert fields[:4] == ["title", "body", "content", "lang"]


def test_keys_come_back_where_their_own_measure_decides() -> None:
    settings = replace(SETTINGS, verified_by="phrases", methods=("phrases",))
    fields = candidate_requests.candidate_search(PROBE, settings)["_source"]
    assert "dedup.phrases" in fields
    assert "dedup.windows" not in fields


def test_the_window_and_who_attracts_are_filters() -> None:
    open_to_all = replace(PROBE, window=30, representatives_only=False)
    query = candidate_requests.candidate_search(open_to_all, SETTINGS)["query"]["bool"]
    assert query["filter"] == [{"range": {"dedup.moment": {"lte": 100, "gte": 70}}}]
    later = candidate_requests.successor_search(open_to_all)["query"]["bool"]
    assert later["filter"] == [{"range": {"dedup.moment": {"gte": 100, "lte": 130}}}]


def test_ties_can_be_told_apart_on_the_server() -> None:
    search = candidate_requests.candidate_search(PROBE, SETTINGS, in_order=True)
    assert search["sort"] == [{"_score": "desc"}, {"dedup.moment": "asc"}, {"dedup.id": "asc"}]
    query = search["query"]["bool"]
    assert query["filter"][1] == {
        "bool": {
            "should": [
                {"range": {"dedup.moment": {"lt": 100}}},
                {"range": {"dedup.id": {"lt": "d7"}}},
            ],
            "minimum_should_match": 1,
        }
    }


def test_a_batch_asks_for_all_its_keys_in_one_list() -> None:
    other = replace(PROBE, id="d9", keys={"sketch": ("s00:a", "s01:z")}, order=(300, "d9"))
    body = candidate_requests.gathering_search([PROBE, other], SETTINGS, later=False, size=50)
    assert body["query"]["bool"]["filter"] == [
        {"range": {"dedup.moment": {"lte": 300}}},
        {"term": {"dedup.attracts": True}},
        {
            "bool": {
                "should": [
                    {"terms": {"dedup.sketch": ["s00:a", "s01:b", "s01:z", "s02:c"]}},
                    {"terms": {"dedup.exact": ["x:1"]}},
                ],
                "minimum_should_match": 1,
            }
        },
    ]
    assert (body["size"], body["track_total_hits"]) == (50, False)
    # As a counting search fetches, and the keys that are counted here.
    fetched = candidate_requests.candidate_search(PROBE, SETTINGS)["_source"]
    assert body["_source"] == [*fetched, "dedup.exact", "dedup.sketch"]
    phrases = replace(PROBE, keys={"phrases": ("p:1",)})
    by_phrases = candidate_requests.gathering_search(
        [PROBE, phrases], SETTINGS, later=False, size=50
    )
    assert "dedup.phrases" in by_phrases["_source"]
    near = [replace(p, window=30) for p in (PROBE, other)]
    later = candidate_requests.gathering_search(near, SETTINGS, later=True, size=50)
    assert later["query"]["bool"]["filter"][0] == {
        "range": {"dedup.moment": {"gte": 100, "lte": 330}}
    }
    assert later["_source"] == ["dedup.moment", "dedup.rank", "dedup.sketch", "dedup.exact"]
    unbounded = candidate_requests.gathering_search([near[0], other], SETTINGS, later=True, size=50)
    assert unbounded["query"]["bool"]["filter"][0] == {"range": {"dedup.moment": {"gte": 100}}}


def test_where_documents_have_ranks_the_order_is_by_rank_first() -> None:
    ranked = replace(PROBE, order=(place_of(3, 100), "d7"), window=30, ranked=True)
    order, near = candidate_requests.candidate_search(ranked, SETTINGS)["query"]["bool"]["filter"][
        :2
    ]
    unranked = {"bool": {"must_not": [{"exists": {"field": "dedup.rank"}}]}}
    here = [{"term": {"dedup.rank": 3}}, {"range": {"dedup.moment": {"lte": 100}}}]
    assert order["bool"]["should"] == [
        {"range": {"dedup.rank": {"lt": 3}}},
        {"bool": {"filter": here}},
        unranked,
    ]
    assert near == {"range": {"dedup.moment": {"gte": 70, "lte": 130}}}
    (order, _) = candidate_requests.successor_search(ranked)["query"]["bool"]["filter"]
    assert order["bool"]["should"][0] == {"range": {"dedup.rank": {"gt": 3}}}
    gathered = candidate_requests.gathering_search([ranked, ranked], SETTINGS, later=False, size=9)
    assert gathered["query"]["bool"]["filter"][0] == near


def test_what_was_gathered_is_counted_for_each_probe() -> None:
    def hit(id_: str, moment: int, *keys: str) -> dict[str, object]:
        return {"_id": id_, "_source": {"dedup": {"moment": moment, "sketch": list(keys)}}}

    hits = [
        hit("two", 10, "s00:a", "s01:b", "s02:x"),
        hit("one", 20, "s00:a"),
        hit("late", 200, "s00:a", "s02:c"),
        hit("d7", 50, "s00:a", "s01:b", "s02:c"),
    ]
    near = replace(
        PROBE, id="d8", keys={"sketch": ("s00:a",)}, min_shared_keys={"sketch": 1}, window=85
    )
    first, second = candidate_requests.count_gathered([PROBE, near], hits)
    assert {h["_id"]: shared for h, shared in first} == {
        "two": {"sketch": 2},
        "late": {"sketch": 2},
    }
    assert {h["_id"]: shared for h, shared in second} == {"one": {"sketch": 1}, "d7": {"sketch": 1}}


MIXED = replace(
    PROBE,
    keys={"sketch": ("s00:a", "s01:b", "s02:c"), "simhash": ("h0:1", "h1:2")},
    min_shared_keys={"sketch": 2, "simhash": 1},
)


def test_keys_that_meet_by_chance_are_not_gathered_but_counted() -> None:
    assert dict(candidate_requests.without_chance_keys(MIXED).keys) == {
        "sketch": MIXED.keys["sketch"]
    }
    by_chance = candidate_requests.only_chance_keys(MIXED)
    assert by_chance is not None
    assert dict(by_chance.keys) == {"simhash": MIXED.keys["simhash"]}
    assert (
        candidate_requests.only_chance_keys(candidate_requests.without_chance_keys(MIXED)) is None
    )
    body = candidate_requests.gathering_search([MIXED], SETTINGS, later=False, size=50)
    (shared,) = body["query"]["bool"]["filter"][-1]["bool"]["should"]
    assert list(shared["terms"]) == ["dedup.sketch"]
    dedup = {"moment": 5, "sketch": ["s00:a", "s01:b"], "blocks": ["h1:2", "h2:9"]}
    ((found,),) = candidate_requests.count_gathered(
        [MIXED], [{"_id": "x", "_source": {"dedup": dedup}}]
    )
    assert found[1] == {"sketch": 2, "simhash": 1}
    assert not candidate_requests.has_common_keys([MIXED])
    assert candidate_requests.has_common_keys([replace(PROBE, keys={"phrases": ("p:1",)})])
    assert candidate_requests.are_all_selective([PROBE])
    assert not candidate_requests.are_all_selective([PROBE, MIXED])


def test_chance_has_the_low_digits_of_a_score_wherever_it_is_named() -> None:
    first, second = candidate_requests.candidate_search(MIXED, SETTINGS)["query"]["bool"]["should"]
    assert first["bool"]["should"][0] == term("dedup.blocks", "h0:1", 1)
    assert second["bool"]["should"][0] == term("dedup.sketch", "s00:a", 4)
    assert candidate_requests.shared_by_method(MIXED, 4 * 3 + 1) == {"sketch": 3, "simhash": 1}


def test_of_many_gathered_the_same_are_best_as_of_many_counted() -> None:
    """The server ranks by score: three sketch keys go before any number of chance meetings."""
    settings = replace(SETTINGS, verified_candidates=1)
    signature = Signature("f", {})

    def candidate(id_: str, **shared: int) -> Candidate:
        return Candidate(Document(id_), shared, signature, (1, id_), Link("original", id_, id_))

    by_chance = [candidate(f"c{n}", simhash=2) for n in range(5)]
    close = [candidate("z", sketch=2), candidate("y", sketch=2, simhash=1)]
    best = candidate_requests.best_of(MIXED, [*by_chance, *close], settings)
    assert {c.id for c in best} == {"y", "z", "c0"}


@pytest.mark.parametrize(
    ("score", "counts"),
    [
        (2.0, {"sketch": 2}),
        (3.0, {"sketch": 3}),
        (4.0, {"exact": 1}),
        (7.0, {"sketch": 3, "exact": 1}),
    ],
)
def test_a_score_holds_the_count_of_each_method(score: float, counts: dict[str, int]) -> None:
    assert candidate_requests.shared_by_method(PROBE, score) == counts


def test_counts_that_do_not_fit_into_a_float_are_refused() -> None:
    many = tuple(str(n) for n in range(5000))
    probe = replace(
        PROBE, keys={"sketch": many, "exact": many}, min_shared_keys={"sketch": 1, "exact": 1}
    )
    with pytest.raises(ValueError, match="do not fit into one score"):
        candidate_requests.candidate_search(probe, SETTINGS)


def record() -> Record:
    evidence = Evidence("a", overlap=0.9, verdict="duplicate", reason="overlap")
    return Record(
        Document(id="b", title="T", text="X", published=datetime(2024, 5, 1, tzinfo=UTC)),
        Signature("f", {"sketch": ("s00:a",)}, "dig", 2),
        (100, "b"),
        90,
        Decision("b", "duplicate", "a", "a", 0.9, "sketch", (evidence,), "overlap"),
    )


def stored(one: Record, now: str) -> JSON:
    """As a cluster has it, which is told in JSON."""
    source: JSON = json.loads(encode_json(document_requests.source_of(one, now)))
    return source


def test_what_is_stored() -> None:
    assert stored(record(), "2024-05-02T00:00:00Z") == {
        "title": "T",
        "text": "X",
        "published": "2024-05-01T00:00:00Z",
        "dedup": {
            "format": "f",
            "sketch": ["s00:a"],
            "digest": "dig",
            "words": 2,
            "id": "b",
            "moment": 100,
            "first_seen": 90,
            "role": "duplicate",
            "group": "a",
            "gid": document_requests.group_number("a"),
            "story": "a",
            "parent": "a",
            "canonical": False,
            "attracts": False,
            "score": 0.9,
            "method": "sketch",
            "reason": "overlap",
            "changes": None,
            "at": "2024-05-02T00:00:00Z",
        },
    }


def test_what_is_stored_comes_back() -> None:
    source = stored(record(), "2024-05-02T00:00:00Z")
    assert document_requests.record_from("b", source, None) == record()


def test_what_changed_is_stored_of_updates_alone() -> None:
    change = NumberChange("12", "17", "people died")
    evidence = Evidence("a", overlap=0.9, verdict="update", reason="numbers", numbers=(change,))
    decision = Decision("b", "update", "b", "a", 0.9, "sketch", (evidence,), "numbers")
    one = replace(record(), decision=decision)
    source = stored(one, "now")
    assert source["dedup"]["changes"] == {"list": [["12", "17", "people died"]]}
    assert document_requests.record_from("b", source, None) == one


def test_the_evidence_of_format_1_is_read_whole() -> None:
    evidence = Evidence("a", {"sketch": 3}, "dice", 0.9, verdict="duplicate", reason="overlap")
    source = stored(record(), "now")
    source["dedup"]["evidence"] = {"list": [evidence.to_json()]}
    assert document_requests.record_from("b", source, None).decision.evidence == (evidence,)


def test_a_signed_text_that_is_not_in_the_source_is_stored_beside_it() -> None:
    """Of a page, or of a text in parts; verification reads it there."""
    one = record()
    assert document_requests.signed_fields(one, {"title": "T", "text": "X"}, {}) == {}
    assert document_requests.signed_fields(one, {"headline": "T", "text": "X"}, {}) == {
        "signed": {"title": "T"}
    }
    names = {"title": ["headline"]}
    assert document_requests.signed_fields(one, {"headline": "T", "text": "X"}, names) == {}
    page = {"html": "<p>X</p>"}
    signed = document_requests.signed_fields(one, page, {})
    assert signed == {"signed": {"title": "T", "text": "X"}}
    read = document_requests.document_from("b", {**page, "dedup": signed})
    assert (read.title, read.text) == ("T", "X")


def test_a_link_rewrites_nothing_else() -> None:
    source = document_requests.source_of(record(), "now")["dedup"]
    link = document_requests.link_fields(record().decision, "now")
    assert {name: source[name] for name in link} == link
    assert not set(link) & {"sketch", "shingles", "moment", "first_seen", "format"}


def test_group_numbers_are_stable_and_signed() -> None:
    assert document_requests.group_number("a") == 4681665781835383343
    assert -(2**63) <= document_requests.group_number("ç" * 200) < 2**63


def test_every_field_of_a_document_is_mapped() -> None:
    mapped = mapping_requests.properties()["dedup"]["properties"]
    assert set(document_requests.source_of(record(), "now")["dedup"]) <= set(mapped)
    assert set(key_fields().values()) <= set(mapped)


def test_no_group_is_ever_left_out_of_the_index() -> None:
    """An ignored group is a missing one, and a collapse folds all those into one."""
    assert mapping_requests.properties()["dedup"]["properties"]["group"] == {"type": "keyword"}


def test_followers_by_group_and_by_parent() -> None:
    assert search_fields.dependents_query(["a", "b"]) == {
        "bool": {
            "should": [
                {"terms": {"dedup.group": ["a", "b"]}},
                {"terms": {"dedup.parent": ["a", "b"]}},
            ],
            "minimum_should_match": 1,
        }
    }


def test_the_field_that_holds_whole_values() -> None:
    properties = {
        "source": {"type": "keyword"},
        "title": {"type": "text"},
        "headline": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
        "meta": {"properties": {"desk": {"type": "keyword"}, "lead": {"type": "text"}}},
        "a.b": {"type": "date"},
    }
    found = {
        name: search_fields.exact_field(properties, name)
        for name in ("source", "title", "headline", "headline.raw", "meta.desk", "meta.lead",
                     "a.b", "absent", "meta.absent", "_index")
    }  # fmt: skip
    assert found == {
        "source": "source", "title": None, "headline": "headline.raw",
        "headline.raw": "headline.raw", "meta.desk": "meta.desk", "meta.lead": None,
        "a.b": "a.b", "absent": None, "meta.absent": None, "_index": "_index",
    }  # fmt: skip


def test_words_are_phrases_in_all_their_forms() -> None:
    def phrase(form: str) -> dict[str, object]:
        return {"multi_match": {"query": form, "type": "phrase", "fields": ["title^2", "text"]}}

    def folded(form: str) -> dict[str, object]:
        fields = ["dedup.plain"]
        return {"multi_match": {"query": form, "type": "phrase", "fields": fields, "boost": 0.01}}

    assert search_fields.words_query("Dead") == {
        "bool": {"must": [{"dis_max": {"queries": [phrase("dead"), folded("dead")]}}]}
    }
    assert search_fields.words_query("Dőad") == {
        "bool": {"must": [{"dis_max": {"queries": [phrase("dőad")]}}]}
    }
    query = search_fields.words_query('"two words" il')
    assert query is not None
    first, second = (must["dis_max"]["queries"] for must in query["bool"]["must"])
    assert first == [phrase("two words"), folded("two words")]
    assert second[:2] == [phrase("il"), phrase("ıl")]
    assert phrase("d’il") in second
    assert search_fields.words_query(' * - "" ') is None


def test_terms_of_a_query() -> None:
    assert query_terms('Flood "in Tollmere" İZMİR -') == ["flood", "in tollmere", "izmir"]


def test_the_quarantine_is_matched_by_no_pattern_of_the_articles() -> None:
    assert mapping_requests.side_index("quarantine", "news") == "esdedup-quarantine-news"
    assert mapping_requests.side_index("state", "news-*,old") == "esdedup-state-news---old"
    assert mapping_requests.quarantine_mapping()["properties"]["document"] == {
        "type": "object",
        "enabled": False,
    }


def test_an_index_of_ours_refuses_no_unknown_field() -> None:
    mapping = mapping_requests.news_mapping(SETTINGS)
    assert mapping["dynamic"] is False
    assert mapping["_meta"]["esdedup"]["shaping"] == SETTINGS.shaping()


def test_methods_that_one_score_cannot_count_are_asked_apart() -> None:
    keys = {
        "sketch": tuple(f"s{i:02d}:x" for i in range(20)),
        "simhash": tuple(f"b{i}:x" for i in range(4)),
        "phrases": tuple(f"p{i:02d}:x" for i in range(64)),
        "lengths": tuple(f"w:{i}" for i in range(900)),
    }
    probe = CandidateQuery("a", keys, dict.fromkeys(keys, 1), (5, "a"))
    parts = candidate_requests.split_query(probe)
    assert [list(part.keys) for part in parts] == [["sketch", "simhash", "phrases"], ["lengths"]]
    assert {m: k for part in parts for m, k in part.keys.items()} == keys
    for part in parts:  # counted exactly, and within what OpenSearch allows
        body = candidate_requests.candidate_search(part, Settings())
        assert sum(len(c["bool"]["should"]) for c in body["query"]["bool"]["should"]) <= 1_000
    few = CandidateQuery("a", {"sketch": keys["sketch"]}, {"sketch": 2}, (5, "a"))
    assert candidate_requests.split_query(few) == [few]


def _matched(query: str) -> JSON:
    fields = ["title^2", "text"]
    return {"multi_match": {"query": query, "type": "phrase", "fields": fields}}


def test_who_has_any_of_the_words() -> None:
    query = topic_search(TopicQuery(["ferry", "ışık"], group="g"))["query"]["bool"]
    assert query["filter"] == [{"term": {"dedup.canonical": True}}]
    assert query["must_not"] == [{"term": {"dedup.group": "g"}}]
    assert query["should"][0] == _matched("ferry")
    assert query["should"][1] == _matched("ışık")
    kin = topic_search(TopicQuery(["évinde"]))["query"]["bool"]["should"]
    assert kin == [{"dis_max": {"queries": [_matched("évinde"), _matched("évınde")]}}]


@pytest.mark.parametrize(("low", "high"), [(5, 1 << 62), (-(1 << 62), 7), (5, 7)])
def test_who_has_them_in_a_span_of_time(low: int, high: int) -> None:
    _, span = topic_search(TopicQuery(["ferry"], low, high))["query"]["bool"]["filter"]
    assert span == {"range": {"dedup.moment": {"gte": low, "lte": high}}}
