"""What every store promises; the same tests run on each backend of `conftest`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from esdedup.errors import SettingsError, SettingsMismatch, StoreError
from esdedup.features.numbers import NumberChange, NumberContext
from esdedup.ingest.sign import sign_many
from esdedup.model import Decision, Document, Evidence, Failure, Link, Signature
from esdedup.settings import Settings
from esdedup.stores import Fold, Probe, Record, Store, WriteReport
from tests.stores.conftest import Backend

FORMAT = Settings().fingerprint_of_format()


def sketch_keys(numbers: Iterable[int]) -> tuple[str, ...]:
    """A key each; equal numbers at equal places collide."""
    return tuple(f"s{i:02d}:{n:012x}" for i, n in enumerate(numbers))


def record(
    id_: str,
    moment: int = 0,
    keys: Iterable[int] = (),
    *,
    exact_key: str | None = None,
    title: str = "",
    text: str = "text",
    of: str | None = None,
    decision: Decision | None = None,
) -> Record:
    """An original, or with `of` a duplicate of that document."""
    by_method = {"sketch": own} if (own := sketch_keys(keys)) else {}
    if exact_key is not None:
        by_method["exact"] = (exact_key,)
    if decision is None:
        role, group = ("original", id_) if of is None else ("duplicate", of)
        evidence = () if of is None else (Evidence(of, verdict="duplicate"),)
        decision = Decision(id_, role, group, group, evidence=evidence)  # type: ignore[arg-type]  # any role
    signature = Signature(FORMAT, by_method, np.zeros(0, np.uint32), 3, "")
    document = Document(id=id_, title=title, text=text)
    return Record(document, signature, (moment, id_), moment, decision)


def update(id_: str, moment: int, of: str, story: str) -> Record:
    evidence = (Evidence(of, verdict="update", reason="numbers"),)
    return record(id_, moment, decision=Decision(id_, "update", id_, story, evidence=evidence))


def put(store: Store, *records: Record) -> None:
    """As the pipeline does: what is replaced is replaced in the version that was read."""
    with store.transaction():
        there = store.get_many(r.document.id for r in records)
        versions = {id_: old.version for id_, old in there.items()}
        report = store.put_many([replace(r, version=versions.get(r.document.id)) for r in records])
        assert report == WriteReport()
    store.refresh()


def probe(id_: str, moment: int, keys: Iterable[int], needed: int = 1, **options: object) -> Probe:
    return Probe(
        id_,
        {"sketch": sketch_keys(keys)},
        {"sketch": needed},
        (moment, id_),
        **options,  # type: ignore[arg-type]  # fields of a document by name
    )


def found(store: Store, question: Probe) -> dict[str, dict[str, int]]:
    (candidates,) = store.candidates_many([question])
    return {c.id: dict(c.shared) for c in candidates}


# --- documents ------------------------------------------------------------------------------------


def test_a_record_comes_back_as_it_went_in(store: Store) -> None:
    document = Document(
        id="https://example.org/a?b=ç",
        title="İstanbul'da yangın",
        text="On iki ölü.\n\n東京 \0 🙂",
        url="https://example.org/a",
        source="Example",
        lang="tr",
        published=datetime(2024, 5, 1, 12, 30, 15, 123456, UTC),
        extra={"score": 1.5, "tags": ["a", {"b": None}], "dedup_like": True, "ç": "ğ", "n": 2**60},
    )
    signature = Signature(
        FORMAT,
        {"sketch": sketch_keys(range(20)), "exact": ("x:0f",)},
        np.array([0, 1, 2**32 - 1, 1], np.uint32),
        words=42,
        exact="00ff",
        numbers=(NumberContext("12", "count", "yangında", "ölü"),),
        lang="tr",
    )
    evidence = Evidence(
        "other",
        {"sketch": 7},
        "dice",
        0.75,
        0.5,
        1.0,
        {"min_overlap": 0.5},
        "update",
        "numbers",
        (NumberChange("12", "17", "ölü"),),
    )
    decision = Decision(
        document.id, "update", document.id, "other", 0.75, "sketch", (evidence,), "numbers"
    )
    put(store, Record(document, signature, (5, document.id), 7, decision))
    back = store.get_many([document.id, "absent"])
    assert list(back) == [document.id]
    assert replace(back[document.id], version=None) == Record(
        document, signature, (5, document.id), 7, decision
    )


def test_missing_optional_fields_stay_missing(store: Store) -> None:
    put(store, record("a"))
    assert store.get_many(["a"])["a"].document.to_json() == {"id": "a", "title": "", "text": "text"}


def test_put_replaces_a_document_with_its_keys_and_words(store: Store) -> None:
    put(store, record("a", 1, [1, 2, 3], text="former words"))
    put(store, record("a", 1, [7, 8, 9], text="present words"))
    assert store.stats()["documents"] == 1
    assert found(store, probe("x", 9, [1, 2, 3])) == {}
    assert found(store, probe("x", 9, [7, 8, 9])) == {"a": {"sketch": 3}}
    assert store.search("former").articles == 0
    assert store.search("present").articles == 1


def test_many_documents_in_one_call(store: Store) -> None:
    ids = [f"d{i}" for i in range(1203)]
    put(store, *(record(id_, i) for i, id_ in enumerate(ids)))
    assert sorted(store.get_many(ids)) == sorted(ids)
    assert store.delete(ids[:1200]) == set(ids[:1200])
    store.refresh()
    assert store.stats()["documents"] == 3


def test_a_transaction_is_all_or_nothing(store: Store) -> None:
    if not store.serial:
        pytest.skip("this store has no transactions and says so")
    put(store, record("a", 1, [1]))

    def write_then_fail() -> None:
        with store.transaction():
            store.put_many([record("b", 2, [1])])
            store.delete(["a"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_then_fail()
    assert set(store.get_many(["a", "b"])) == {"a"}
    assert found(store, probe("x", 9, [1])) == {"a": {"sketch": 1}}


# --- candidates -----------------------------------------------------------------------------------


def test_candidates_with_counts_the_most_shared_first(store: Store) -> None:
    put(
        store,
        record("three", 1, [1, 2, 3, 0]),
        record("four", 2, [1, 2, 3, 4]),
        record("two", 3, [1, 2, 0, 0]),
        record("moved", 4, [0, 1, 2, 3]),
    )
    question = probe("x", 9, [1, 2, 3, 4], needed=3)
    assert found(store, question) == {"four": {"sketch": 4}, "three": {"sketch": 3}}
    assert list(found(store, question)) == ["four", "three"]


def test_candidates_that_share_equally_come_in_order(store: Store) -> None:
    put(store, record("b", 2, [1, 2]), record("z", 1, [1, 2]), record("a", 2, [1, 2]))
    assert list(found(store, probe("x", 9, [1, 2]))) == ["z", "a", "b"]


def test_a_candidate_carries_what_verification_needs(store: Store) -> None:
    put(store, record("o", 1, [1]))
    whole = record("a", 2, [1, 2], of="o")
    signature = replace(
        whole.signature,
        shingles=np.array([5, 4], np.uint32),
        words=9,
        exact="ab",
        numbers=(NumberContext("3", "count", "", "dead"),),
        lang="en",
    )
    put(store, replace(whole, signature=signature))
    ((candidate, _),) = store.candidates_many([probe("x", 9, [1, 2], attracting_only=False)])
    assert candidate.id == "a"
    assert candidate.order == (2, "a")
    assert candidate.link == Link("duplicate", "o", "o", "o")
    got = candidate.signature
    assert got.shingles.tolist() == [5, 4]
    assert (got.words, got.exact, got.numbers, got.lang, got.format) == (
        (9, "ab", signature.numbers, "en", FORMAT)
    )


def test_only_leaders_are_candidates_unless_all_are_asked_for(store: Store) -> None:
    put(store, record("a", 1, [1]), record("b", 2, [1], of="a"), update("u", 3, "a", "a"))
    put(store, replace(update("u", 3, "a", "a"), signature=record("u", 3, [1]).signature))
    assert set(found(store, probe("x", 9, [1]))) == {"a", "u"}
    assert set(found(store, probe("x", 9, [1], attracting_only=False))) == {"a", "b", "u"}


def test_candidates_come_before_in_the_order_ties_by_id(store: Store) -> None:
    put(store, *(record(id_, moment, [1]) for id_, moment in [("a", 5), ("c", 5), ("b", 6)]))
    assert set(found(store, probe("b", 5, [1]))) == {"a"}
    assert set(found(store, probe("d", 5, [1]))) == {"a", "c"}
    assert set(found(store, probe("a", 7, [1]))) == {"b", "c"}, (
        "its own older version is no candidate"
    )


def test_candidates_before_1970_are_in_order_too(store: Store) -> None:
    put(store, record("a", -5, [1]), record("b", 5, [1]))
    assert set(found(store, probe("x", 0, [1]))) == {"a"}
    assert store.later([probe("x", 0, [1])]) == {"b"}


def test_candidates_within_the_window_only(store: Store) -> None:
    put(store, *(record(f"m{moment}", moment, [1]) for moment in (10, 19, 20, 21, 30)))
    assert set(found(store, probe("x", 30, [1], window=10))) == {"m20", "m21", "m30"}
    assert store.later([probe("a", 10, [1], window=10)]) == {"m10", "m19", "m20"}


def test_each_method_has_its_own_number_of_needed_keys(store: Store) -> None:
    put(
        store, record("few", 1, [1, 2], exact_key="x:1"), record("none", 2, [1, 2], exact_key="x:2")
    )
    question = Probe(
        "x",
        {"sketch": sketch_keys([1, 2, 3]), "exact": ("x:1",)},
        {"sketch": 3, "exact": 1},
        (9, "x"),
    )
    assert found(store, question) == {"few": {"exact": 1}}
    enough = replace(question, needed={"sketch": 2, "exact": 1})
    assert found(store, enough) == {"few": {"sketch": 2, "exact": 1}, "none": {"sketch": 2}}


def test_probes_are_answered_one_by_one_and_none_without_keys(store: Store) -> None:
    put(store, record("a", 1, [1]), record("b", 1, [2]))
    empty = Probe("x", {}, {}, (9, "x"))
    answers = store.candidates_many([probe("x", 9, [2]), empty, probe("y", 9, [1])])
    assert [[c.id for c in answer] for answer in answers] == [["b"], [], ["a"]]
    assert store.candidates_many([]) == []


def test_more_candidates_than_a_statement_takes(store: Store) -> None:
    """A story of thousands of copies, all of them attracting."""
    put(store, *(record(f"d{i:05d}", i, [1, 2, i]) for i in range(1, 2500)))
    (candidates,) = store.candidates_many([probe("x", 9999, [1, 2, 2000], needed=2)])
    assert candidates[0].id == "d02000", "the one that shares most is among those returned"
    assert len(store.later([probe("a", 0, [1, 2, 3], needed=2)])) == 2499


def test_later_documents_leaders_or_not(store: Store) -> None:
    put(
        store,
        record("a", 1, [1, 2]),
        record("b", 2, [1, 2]),
        record("c", 3, [1, 2], of="b"),
        record("d", 4, [1, 0]),
    )
    assert store.later([probe("b", 2, [1, 2], needed=2)]) == {"c"}
    assert store.later([probe("a", 1, [1, 2], needed=2), probe("x", 0, [1], needed=1)]) == {
        "a",
        "b",
        "c",
        "d",
    }
    assert store.later([]) == set()


# --- links ----------------------------------------------------------------------------------------


def test_a_link_changes_the_decision_and_who_leads(store: Store) -> None:
    put(store, record("a", 1, [1]), record("b", 2, [1], text="unchanged"))
    stored = store.get_many(["b"])["b"]
    demoted = record("b", 2, of="a").decision
    assert store.link_many([(stored, demoted)]).conflicts == frozenset()
    store.refresh()
    now = store.get_many(["b"])["b"]
    assert now.decision.link == Link("duplicate", "a", "a", "a")
    assert now.document == stored.document
    assert now.signature == stored.signature
    assert set(found(store, probe("x", 9, [1]))) == {"a"}
    store.link_many([(now, record("b", 2).decision)])
    store.refresh()
    assert set(found(store, probe("x", 9, [1]))) == {"a", "b"}


def test_of_two_links_from_one_reading_the_second_conflicts(store: Store) -> None:
    put(store, record("a", 1), record("b", 2), record("c", 3))
    read = store.get_many(["b", "c"])
    store.link_many([(read["b"], record("b", of="a").decision)])
    report = store.link_many(
        [(read["b"], record("b", of="c").decision), (read["c"], record("c", of="a").decision)]
    )
    assert report.conflicts == {"b"}
    now = store.get_many(["b", "c"])
    assert {id_: r.decision.group for id_, r in now.items()} == {"b": "a", "c": "a"}


def test_linking_what_was_replaced_or_deleted_conflicts(store: Store) -> None:
    put(store, record("a", 1), record("b", 2), record("c", 3))
    read = store.get_many(["b", "c"])
    put(store, record("b", 2, text="another version"))
    store.delete(["c"])
    store.refresh()
    report = store.link_many([(r, record(id_, of="a").decision) for id_, r in read.items()])
    assert report.conflicts == {"b", "c"}
    assert store.get_many(["b"])["b"].decision.role == "original"


def test_what_changed_since_a_moment(store: Store) -> None:
    put(store, record("a", 1), record("b", 2))
    time.sleep(0.01)  # clocks of stores count milliseconds
    moment = datetime.now(UTC)
    assert store.changed_since(moment) == set()
    put(store, record("c", 3))
    store.link_many([(store.get_many(["b"])["b"], record("b", of="a").decision)])
    store.refresh()
    assert store.changed_since(moment) == {"b", "c"}
    assert store.changed_since(moment - timedelta(minutes=1)) == {"a", "b", "c"}


def test_members_in_order_and_followers_by_group_and_parent(store: Store) -> None:
    put(
        store,
        record("late", 9, of="first"),
        record("first", 1),
        record("early", 5, of="first"),
        update("u", 6, "first", "first"),
        record("other", 2),
    )
    assert [r.document.id for r in store.members("first")] == ["first", "early", "late"]
    assert [r.document.id for r in store.members("u")] == ["u"]
    assert store.members("absent") == []
    assert store.followers(["first"]) == {"early", "late", "u"}
    assert store.followers(["u", "other"]) == set()


def test_groups_largest_first(store: Store) -> None:
    put(
        store,
        *(
            record(id_, i, of=of)
            for i, (id_, of) in enumerate(
                zip("abcdef", [None, "a", "a", None, "d", None], strict=True)
            )
        ),
    )
    assert store.groups() == [("a", 3), ("d", 2)]
    assert store.groups(smallest=1, size=2) == [("a", 3), ("d", 2)]
    assert store.groups(smallest=3) == [("a", 3)]


def test_delete_tells_what_was_there_and_leaves_nothing(store: Store) -> None:
    put(store, record("a", 1, [1, 2], text="gone words"), record("b", 2, [1, 2]))
    store.quarantine([Failure("a", "a.html", "broken")])
    store.refresh()
    assert store.delete(["a", "absent"]) == {"a"}
    store.refresh()
    assert store.get_many(["a"]) == {}
    assert set(found(store, probe("x", 9, [1, 2]))) == {"b"}
    assert store.search("gone").articles == 0
    assert store.quarantined() == []
    assert store.check() == []


# --- searching ------------------------------------------------------------------------------------


@pytest.fixture
def searchable_store(store: Store) -> Store:
    put(
        store,
        record("a", 1, title="Flood in Tollmere", text="The river rose."),
        record("b", 2, title="River rises", text="A flood in Tollmere, again a flood.", of="a"),
        record("c", 3, title="Nothing here", text="Dry land.", of="a"),
        replace(
            update("u", 4, "a", "a"),
            document=Document(id="u", title="Flood update", text="Tollmere is dry."),
        ),
        record("z", 5, title="Flood elsewhere", text="In another valley."),
    )
    return store


@pytest.mark.parametrize(
    ("fold", "stories", "shown"),
    [
        ("none", 4, {"a", "b", "u", "z"}),
        ("group", 3, {"a", "u", "z"}),
        ("story", 2, {"a", "z"}),
    ],
)
def test_search_folds_and_counts_honestly(
    searchable_store: Store, fold: Fold, stories: int, shown: set[str]
) -> None:
    result = searchable_store.search("flood", fold=fold)
    column: Callable[[str], str] = {
        "none": lambda id_: id_,
        "group": lambda id_: "a" if id_ == "b" else id_,
        "story": lambda id_: "z" if id_ == "z" else "a",
    }[fold]
    assert (result.stories, result.articles) == (stories, 4)
    assert {column(hit.document.id) for hit in result.hits} == shown
    assert sum(1 + hit.copies for hit in result.hits) == 4, "c does not match and is no copy here"
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)


def test_a_hit_tells_its_place(searchable_store: Store) -> None:
    (hit,) = searchable_store.search("flood update", fold="none").hits
    assert (hit.document.id, hit.group, hit.story, hit.role) == ("u", "u", "a", "update")
    assert "dry" in hit.snippet


def test_search_words_and_phrases(searchable_store: Store) -> None:
    def ids(query: str) -> set[str]:
        return {hit.document.id for hit in searchable_store.search(query, fold="none").hits}

    assert ids("tollmere flood") == {"a", "b", "u"}, "every word must occur"
    assert ids('"flood in tollmere"') == {"a", "b"}
    assert ids("FLOOD") == {"a", "b", "u", "z"}
    assert ids("unheard") == set()
    for harmless in ("", '"', "* OR title:", "NEAR(", "flood AND", 'a"b', "-", "^x"):
        searchable_store.search(harmless)


def test_search_folds_letters_and_reads_scripts_without_spaces(store: Store) -> None:
    put(
        store,
        record("tr", 1, text="İSTANBUL IŞIKLARI"),
        record("ja", 2, text="東京都は新しい計画を発表した"),
        record("fr", 3, text="L\N{RIGHT SINGLE QUOTATION MARK}ÉTÉ"),
    )
    for query, id_ in [("istanbul", "tr"), ("ışıkları", "tr"), ("計画", "ja"), ("été", "fr")]:
        assert [hit.document.id for hit in store.search(query).hits] == [id_], query
    assert store.search("画計").hits == ()


@pytest.mark.parametrize("fold", ["none", "group"])
def test_pages_neither_repeat_nor_lose(store: Store, fold: Fold) -> None:
    """Equal scores all along: only the tie-break keeps pages apart."""
    put(
        store,
        *(
            record(
                f"d{i:02d}",
                i // 3,
                text="same words",
                of=None if i % 3 == 0 else f"d{i - i % 3:02d}",
            )
            for i in range(30)
        ),
    )
    pages = [store.search("same", fold=fold, size=4, offset=offset) for offset in range(0, 44, 4)]
    shown = [hit.document.id for page in pages for hit in page.hits]
    expected = 30 if fold == "none" else 10
    assert len(shown) == len(set(shown)) == expected
    assert {page.stories for page in pages} == {expected}
    assert {page.articles for page in pages} == {30}


# --- quarantine, figures, looking after -----------------------------------------------------------


def test_quarantine_keeps_the_page_until_released(store: Store) -> None:
    page = Document(id="p", url="https://example.org/p", html=b"\xff\xfe<html", extra={"file": "p"})
    store.quarantine([Failure("p", "p.html", "no text"), Failure("q", "in.jsonl:7", "bad", True)])
    store.quarantine([Failure("p", "p.html", "still no text", document=page)])
    store.refresh()
    kept = {failure.id: failure for failure in store.quarantined()}
    assert kept["p"] == Failure("p", "p.html", "still no text", document=page)
    assert kept["q"] == Failure("q", "in.jsonl:7", "bad", final=True)
    store.release(["p", "absent"])
    store.refresh()
    assert [failure.id for failure in store.quarantined()] == ["q"]


def test_stats_count_documents_groups_stories_and_roles(searchable_store: Store) -> None:
    searchable_store.quarantine([Failure("p", "p.html", "no text")])
    searchable_store.refresh()
    stats = searchable_store.stats()
    assert (stats["documents"], stats["groups"], stats["stories"]) == (5, 3, 2)
    assert stats["roles"] == {"original": 2, "duplicate": 2, "update": 1, "unprocessed": 0}
    assert stats["quarantine"] == 1
    assert stats["bytes"] > 0
    assert stats["format"] == FORMAT


def test_an_empty_store_answers(store: Store) -> None:
    assert store.stats()["documents"] == 0
    assert store.check() == []
    assert store.search("word").hits == ()
    assert store.groups() == []
    assert store.later([probe("x", 0, [1])]) == set()
    assert store.delete([]) == set()


def test_check_finds_planted_damage(backend: Backend) -> None:
    for sentence, damage in backend.damages.items():
        store = backend.open()
        put(store, record("a", 1, [1]), record("b", 2, [1], of="a"), record("c", 3, [2]))
        assert store.check() == []
        damage()
        assert any(sentence in problem for problem in store.check()), sentence
        store.close()
        backend.wipe()


# --- settings -------------------------------------------------------------------------------------


def test_settings_are_recorded_and_taken_up_again(backend: Backend) -> None:
    settings = Settings(shingle_words=3, min_overlap=0.4, preset="mine")
    backend.open(settings).close()
    assert backend.open().settings == settings
    assert backend.open(mode="read").settings == settings
    other_threshold = replace(settings, min_overlap=0.6)
    assert backend.open(other_threshold).settings == other_threshold


def test_other_shaping_settings_are_refused_by_name(backend: Backend) -> None:
    backend.open(Settings(shingle_words=3)).close()
    with pytest.raises(SettingsMismatch) as refusal:
        backend.open(Settings(shingle_words=4, seed=5))
    message = str(refusal.value)
    assert "shingle_words is 3 there and 4 here" in message
    assert "seed is 31 there and 5 here" in message
    assert "min_overlap" not in message
    assert "Open it with its own settings, or index the articles into a new store" in message
    assert isinstance(refusal.value, SettingsError)


def test_everything_is_there_after_reopening(backend: Backend) -> None:
    store = backend.open()
    put(store, record("a", 1, [1], text="lasting words"), record("b", 2, [1], of="a"))
    store.quarantine([Failure("p", "p.html", "no text")])
    before = store.get_many(["a", "b"])
    store.close()
    again = backend.open()
    assert again.get_many(["a", "b"]) == before
    assert found(again, probe("x", 9, [1])) == {"a": {"sketch": 1}}
    assert again.search("lasting").articles == 1
    assert [f.id for f in again.quarantined()] == ["p"]


def test_reading_what_is_not_there_is_an_error(backend: Backend) -> None:
    with pytest.raises(StoreError, match=r"no store at .*`esdedup index` makes one"):
        backend.open(mode="read")


def test_hot_keys_are_those_of_many_leaders(store: Store) -> None:
    """A key that every original has is found, once it is above the bar."""
    texts = [" ".join(f"word{i}x{j}" for j in range(9)) for i in range(30)]
    documents = [Document(id=f"d{i:02d}", text=text) for i, text in enumerate(texts)]
    records = []
    for number, signed in enumerate(sign_many(documents, store.settings)):
        keys = (*signed.signature.keys["sketch"][1:], "s00:00000000ho00")
        signature = replace(signed.signature, keys={"sketch": keys})
        id_ = signed.document.id
        decision = Decision(id_, "original", id_, id_)
        records.append(Record(signed.document, signature, (number, id_), number, decision))
    store.put_many(records)
    store.refresh()
    assert store.hot_keys(20) == {"s00:00000000ho00": 30}
    assert store.hot_keys(30) == {}
