"""The main job on the embedded store: what each kind of article becomes."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.outcomes import Outcome
from esdedup.features.numbers import Reading, read_quantities
from esdedup.ingest.sign import Signed, prepare
from esdedup.matching import content as content_module
from esdedup.matching.content import content_of
from esdedup.model import Decision, Document, Failure
from esdedup.settings import Settings
from esdedup.stores.sqlite.quarantine import SQLiteQuarantine
from tests.ingest.test_workers import begin_and_never_end
from tests.support.articles import FERRY, FLOOD, article


def ferry_with(dead: int) -> str:
    """The ferry article with another number of dead: an update, not a copy."""
    return FERRY.replace("12 people", f"{dead} people")


def index(deduplicator: Deduplicator, *documents: Document | Failure) -> list[Outcome]:
    items: list[Signed | Failure] = []
    for document in documents:
        if isinstance(document, Failure):
            items.append(document)
        else:
            items += prepare([document], deduplicator.settings)
    return deduplicator.write(items)


def decision_of(deduplicator: Deduplicator, document: Document) -> Decision:
    return deduplicator.store.documents.get([document.id])[document.id].decision


# --- candidates that cannot be compared -----------------------------------------------------------


def test_a_candidate_that_cannot_be_compared_costs_only_itself(
    deduplicator: Deduplicator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its facts are read when it is compared, long after it was stored."""
    bad, good = article("bad", FERRY), article("good", ferry_with(17), 1)
    index(deduplicator, bad, good)

    def read(text: str, lang: str | None) -> Reading:
        if text.endswith(FERRY):
            raise ZeroDivisionError("a text that nobody foresaw")
        return read_quantities(text, lang)

    monkeypatch.setattr(content_module, "read_quantities", read)
    monkeypatch.setattr(content_module._cache, "_contents", OrderedDict())
    copy, other = article("copy", f"{ferry_with(17)} More later.", 2), article("other", FLOOD, 2)
    done = {o.decision.id: o.decision for o in index(deduplicator, copy, other)}
    assert (done["copy"].role, done["copy"].group) == ("duplicate", "good")
    assert done["other"].role == "original"
    (evidence,) = (e for e in done["copy"].evidence if e.other == "bad")
    assert evidence.verdict == "different"
    assert evidence.reason.startswith("not compared: unexpected ZeroDivisionError")
    assert "copy and bad were not compared" in caplog.text


# --- updates --------------------------------------------------------------------------------------


def test_changed_counts_are_an_update_with_its_own_group(deduplicator: Deduplicator) -> None:
    first, second = article("a", FERRY), article("b", ferry_with(17), 1)
    _, outcome = index(deduplicator, first, second)
    decision = outcome.decision
    assert (decision.role, decision.group, decision.story) == ("update", "b", "a")
    assert decision.reason == "numbers"
    (change, *_) = decision.evidence[0].numbers
    assert (change.old, change.new) == ("12", "17")
    assert "people" in change.context


def test_a_chain_of_updates_is_one_story(deduplicator: Deduplicator) -> None:
    versions = [article(f"v{dead}", ferry_with(dead), dead) for dead in (12, 17, 23)]
    decisions = [outcome.decision for outcome in index(deduplicator, *versions)]
    assert [d.role for d in decisions] == ["original", "update", "update"]
    assert [d.group for d in decisions] == ["v12", "v17", "v23"]
    assert {d.story for d in decisions} == {"v12"}
    assert decisions[2].link.parent == "v17", "the latest version is what it updates"
    (change, *_) = decisions[2].evidence[0].numbers
    assert (change.old, change.new) == ("17", "23")


def test_a_copy_of_an_update_joins_the_update(deduplicator: Deduplicator) -> None:
    index(deduplicator, article("a", FERRY), article("u", ferry_with(17), 1))
    copy = article("c", "HAVERFORD (Agency) - " + ferry_with(17), 2)
    (outcome,) = index(deduplicator, copy)
    decision = outcome.decision
    assert (decision.role, decision.group, decision.story) == ("duplicate", "u", "a")


def test_a_clearly_longer_text_around_an_old_one_is_an_update(deduplicator: Deduplicator) -> None:
    brief, long = article("brief", FLOOD), article("long", FLOOD + " " + FERRY, 1)
    _, outcome = index(deduplicator, brief, long)
    assert (outcome.decision.role, outcome.decision.reason) == ("update", "extended")
    assert outcome.decision.story == "brief"


def test_a_part_of_an_older_text_is_no_update(deduplicator: Deduplicator) -> None:
    long, brief = article("long", FLOOD + " " + FERRY), article("brief", FLOOD, 1)
    _, outcome = index(deduplicator, long, brief)
    assert outcome.decision.role == "duplicate"
    evidence = outcome.decision.evidence[0]
    assert evidence.of_new == 1.0
    assert evidence.of_old < 0.6, "containment has its direction in the evidence"


def test_number_check_off_makes_it_a_duplicate() -> None:
    settings = Settings(number_check=False)
    with Deduplicator.open(settings=settings) as deduplicator:
        versions = [article(f"v{dead}", ferry_with(dead), dead) for dead in (12, 17)]
        _, outcome = index(deduplicator, *versions)
    assert (outcome.decision.role, outcome.decision.evidence[0].numbers) == ("duplicate", ())


# --- short and empty texts ------------------------------------------------------------------------


def test_short_texts_match_word_for_word_only(deduplicator: Deduplicator) -> None:
    texts = ["Fire out!", "fire  OUT", "fire in", "", "", "..."]
    documents = [article(f"t{i}", text, i) for i, text in enumerate(texts)]
    roles = [(o.decision.role, o.decision.group) for o in index(deduplicator, *documents)]
    assert roles == [
        ("original", "t0"),
        ("duplicate", "t0"),
        ("original", "t2"),
        ("unprocessed", "t3"),
        ("unprocessed", "t4"),
        ("unprocessed", "t5"),
    ]
    record = deduplicator.store.documents.get(["t1"])["t1"]
    assert deduplicator.with_evidence(record).decision.evidence[0].measure == "exact"


def test_a_short_text_never_meets_a_long_one(deduplicator: Deduplicator) -> None:
    (_, outcome) = index(deduplicator, article("long", FLOOD), article("short", "The river", 1))
    assert outcome.decision.role == "original"


def test_an_empty_document_waits_in_quarantine_and_leaves_it_when_it_has_text(
    deduplicator: Deduplicator,
) -> None:
    (outcome,) = index(deduplicator, article("a", " \n"))
    assert outcome.status == "failed"
    assert outcome.failure is not None
    assert "there are no words in its title and text" in outcome.failure.reason
    assert [f.id for f in deduplicator.store.quarantine.entries()] == ["a"]
    (outcome,) = index(deduplicator, article("a", FLOOD))
    assert (outcome.status, outcome.decision.role) == ("changed", "original")
    assert deduplicator.store.quarantine.entries() == []


def test_a_failed_new_version_does_not_replace_a_good_one(deduplicator: Deduplicator) -> None:
    good = article("a", FLOOD)
    index(deduplicator, good)
    index(deduplicator, article("a", ""))
    assert deduplicator.store.documents.get(["a"])["a"].document == good
    assert [f.id for f in deduplicator.store.quarantine.entries()] == ["a"]


def test_retry_indexes_what_works_now_and_keeps_the_rest(deduplicator: Deduplicator) -> None:
    waiting = Failure("makeshift", "x.html", "later", document=article("real", FLOOD))
    hopeless = Failure("f", "y.html", "never", final=True, document=article("f", FLOOD))
    empty = Failure("e", "z.html", "empty", document=article("e", ""))
    index(deduplicator, waiting, hopeless, empty)
    first = next(deduplicator.retry())
    assert (first.decision.id, first.decision.role) == ("real", "original")
    assert set(deduplicator.store.documents.get(["real", "makeshift"])) == {"real"}, (
        "written although nobody asked for the second outcome"
    )
    assert {o.status for o in deduplicator.retry()} == {"failed"}
    assert {f.id for f in deduplicator.store.quarantine.entries()} == {"e", "f"}


def test_a_page_that_is_tried_again_has_a_limit_again(
    deduplicator: Deduplicator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("esdedup.clustering.deduplicator.prepare", begin_and_never_end)
    deduplicator.settings = Settings(page_seconds=0.1)
    page = Document(id="p", html=str(tmp_path / "begun").encode())
    deduplicator.store.quarantine.add([Failure("p", "p.html", "later", document=page)])
    (outcome,) = deduplicator.retry()
    assert outcome.failure is not None
    assert outcome.failure.reason == "it took longer than 0.1 s (page_seconds)"


# --- batches --------------------------------------------------------------------------------------


def test_the_same_article_twice_in_a_batch_is_one_document(deduplicator: Deduplicator) -> None:
    first, again = index(deduplicator, article("a", FLOOD), article("a", FLOOD))
    assert (first.status, again.status) == ("new", "unchanged")
    assert deduplicator.store.maintenance.stats()["documents"] == 1


def test_of_two_versions_in_a_batch_the_second_stays(deduplicator: Deduplicator) -> None:
    outcomes = index(
        deduplicator,
        article("a", FLOOD),
        article("copy", FLOOD, 1),
        article("a", FERRY),
    )
    assert [o.status for o in outcomes] == ["new", "new", "changed", "relinked"]
    assert deduplicator.store.documents.get(["a"])["a"].document.text == FERRY
    assert outcomes[3].decision.link.group == "copy", "the copy leads now"


def test_an_interrupted_batch_leaves_whole_batches(
    deduplicator: Deduplicator, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(deduplicator, article("a", FLOOD))

    def interrupted(quarantine: SQLiteQuarantine, failures: Sequence[Failure]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SQLiteQuarantine, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index(deduplicator, article("b", FERRY), article("c", FLOOD, 1))
    monkeypatch.undo()
    assert deduplicator.store.maintenance.stats()["documents"] == 1
    assert deduplicator.store.maintenance.find_problems() == []
    assert len(index(deduplicator, article("c", FLOOD, 1))) == 1, "and it goes on working"


def test_check_decides_and_writes_nothing(deduplicator: Deduplicator) -> None:
    index(deduplicator, article("a", FLOOD))
    decision = deduplicator.check(article("b", FLOOD, 1))
    assert (decision.role, decision.group) == ("duplicate", "a")
    assert deduplicator.store.documents.get(["b"]) == {}
    assert deduplicator.check(article("c", "")).role == "unprocessed"


def test_many_are_checked_each_as_if_it_came_alone(deduplicator: Deduplicator) -> None:
    index(deduplicator, article("a", FLOOD), article("f", FERRY))
    new: list[Document | Failure] = [
        article("copy", FLOOD, 1),
        article("empty", ""),
        article("toll", ferry_with(17), 1),
        Failure("line 7", "feed.ndjson:7", "not valid JSON"),
        article("new", "Nobody has written of this harbour before, and of its ferry neither.", 1),
        article("again", "Nobody has written of this harbour before, and of its ferry neither.", 2),
    ]
    decided = list(deduplicator.check_many(new))
    assert [(d.id, d.role, d.group) for d in decided] == [
        ("copy", "duplicate", "a"),
        ("empty", "unprocessed", "empty"),
        ("toll", "update", "toll"),
        ("line 7", "unprocessed", "line 7"),
        ("new", "original", "new"),
        ("again", "original", "again"),
    ]
    assert deduplicator.store.maintenance.stats()["documents"] == 2
    documents = [item for item in new if isinstance(item, Document)]
    alone = [deduplicator.check(document) for document in documents]
    assert [d for d in decided if d.id != "line 7"] == alone


def test_a_check_counts_only_where_something_near_is_found(
    deduplicator: Deduplicator, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(deduplicator, article("f", FERRY))
    read: list[str] = []

    def noted(text: str, lang: str | None) -> Reading:
        read.append(text)
        return read_quantities(text, lang)

    monkeypatch.setattr(content_module, "read_quantities", noted)
    toll, new = article("toll", ferry_with(17), 1), article("new", FLOOD, 1)
    assert [d.role for d in deduplicator.check_many([toll, new])] == ["update", "original"]
    assert read == [FERRY, toll.text], "of two that match"


def test_a_text_whose_counts_cannot_be_read_costs_only_itself(
    deduplicator: Deduplicator, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(deduplicator, article("a", FLOOD), article("f", FERRY))

    def broken(text: str, lang: str | None) -> Reading:
        if "fire" in text.lower():
            raise ValueError("no number")
        return read_quantities(text, lang)

    monkeypatch.setattr(content_module, "read_quantities", broken)
    asked = [article("toll", ferry_with(17), 1), article("copy", f"{FLOOD} Again.", 1)]
    decided = list(deduplicator.check_many(asked))
    assert [d.role for d in decided] == ["original", "duplicate"], "as if it were added"
    (evidence,) = decided[0].evidence
    assert evidence.reason == "not compared: unexpected ValueError: no number"


def test_add_many_streams_outcomes_in_the_order_of_the_input() -> None:
    settings = Settings(batch=2)
    documents = [article(f"d{i}", f"{FLOOD} number{i} " * (i + 1), i) for i in range(5)]
    with Deduplicator.open(settings=settings) as deduplicator:
        statuses = [(o.decision.id, o.status) for o in deduplicator.add_many(documents)]
        assert statuses == [(f"d{i}", "new") for i in range(5)]
        assert deduplicator.add(documents[0]).id == "d0"


# --- order ----------------------------------------------------------------------------------------


def test_a_date_in_the_future_does_not_make_the_copies_older(deduplicator: Deduplicator) -> None:
    ahead = Document(id="ahead", text=FLOOD, published=datetime(2999, 1, 1, tzinfo=UTC))
    now = time.time_ns() // 1000
    index(deduplicator, ahead)
    index(deduplicator, Document(id="undated", text=FLOOD))
    record = deduplicator.store.documents.get(["ahead"])["ahead"]
    assert now <= record.order[0] == record.first_seen
    assert record.document.published == ahead.published, "the field itself is untouched"
    assert decision_of(deduplicator, Document(id="undated")).group == "ahead"


def test_first_seen_stays_when_an_article_changes(deduplicator: Deduplicator) -> None:
    index(deduplicator, Document(id="a", text=FLOOD))
    index(deduplicator, Document(id="b", text=FLOOD))
    before = deduplicator.store.documents.get(["a"])["a"]
    (outcome,) = index(deduplicator, Document(id="a", text=FLOOD + " Indeed."))
    assert outcome.decision.role == "original"
    assert deduplicator.store.documents.get(["a"])["a"].order == before.order


@pytest.mark.parametrize("one_batch", [True, False])
def test_candidates_only_within_the_window(one_batch: bool) -> None:
    documents = [article(f"d{day}", FLOOD, day) for day in (0, 2, 5)]
    with Deduplicator.open(settings=Settings(candidate_window=2.0)) as deduplicator:
        for batch in [documents] if one_batch else [[document] for document in documents]:
            index(deduplicator, *batch)
        groups = [decision_of(deduplicator, document).group for document in documents]
    assert groups == ["d0", "d0", "d5"]


# --- size -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" ".join(["word"] * 200_000 + ["other"] * 200_000), 400_000),
        ("Word. " * 400_000, 400_000),
        ("x" * 1_000_000, 3907),
        (" ".join(map(str, range(100_000, 110_000))), 10_000),
    ],
    ids=["many words", "many one-word sentences", "one word", "numbers only"],
)
def test_giant_texts_take_bounded_space(deduplicator: Deduplicator, text: str, words: int) -> None:
    (outcome,) = index(deduplicator, Document(id="giant", text=text))
    assert outcome.decision.role == "original"
    record = deduplicator.store.documents.get(["giant"])["giant"]
    content = content_of(record.document, deduplicator.settings)
    assert content.words == words
    assert len(content.shingles) <= deduplicator.settings.max_shingles
    assert len(content.reading.found) <= 2000
    assert len(str(record.signature.to_json())) < 2000
    (copy,) = index(deduplicator, Document(id="copy", text=text))
    assert copy.decision.link.group == "giant"


def test_a_sweep_mends_what_a_killed_run_left(deduplicator: Deduplicator) -> None:
    """The copy was written, and its original demoted it no more."""
    began = datetime.now(UTC)
    index(deduplicator, article("a", FERRY), article("b", FERRY, 1))
    store = deduplicator.store
    left = store.documents.get(["b"])["b"]
    store.documents.relink([(left, Decision("b", "original", "b", "b"))])
    assert deduplicator.sweep(datetime.now(UTC) + timedelta(minutes=1)) == {}
    assert {i: d.group for i, d in deduplicator.sweep(began).items()} == {"b": "a"}
    assert deduplicator.sweep(began) == {}


def test_a_check_makes_only_keys_that_find_or_verify(
    deduplicator: Deduplicator, monkeypatch: pytest.MonkeyPatch
) -> None:
    deduplicator.add(article("a", FLOOD))

    def refuse(*_: object) -> None:
        raise AssertionError("simhash finds no candidates without a window")

    monkeypatch.setattr("esdedup.methods.simhash.sign", refuse)
    assert deduplicator.check(article("b", FLOOD, 1)).group == "a"
    assert [d.group for d in deduplicator.check_many([article("c", FLOOD, 2)])] == ["a"]
