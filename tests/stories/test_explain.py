"""Alignment of two texts, and the rule that decided, in words."""

from __future__ import annotations

import html.parser
import json
import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.ingest.sign import sign_many
from esdedup.matching.diff import MAX_WORDS, Span, align
from esdedup.model import Decision, Document
from esdedup.settings import Settings
from esdedup.stores import Record
from esdedup.stories.explain import explain
from esdedup.stories.explain_html import render_page
from tests.support import articles as sample
from tests.support.work import count_lines

FERRY = f"{sample.FERRY.partition('.')[0]}."  # one sentence


def kinds(spans: tuple[Span, ...]) -> list[tuple[str, str, str]]:
    return [(s.kind, s.old.strip(), s.new.strip()) for s in spans]


def test_a_changed_number_is_one_changed_span() -> None:
    spans, cut = align(FERRY, FERRY.replace("12 people", "17 people"))
    assert not cut
    assert kinds(spans)[:2] == [("equal", "At least", "At least"), ("changed", "12", "17")]
    assert spans[2].kind == "equal"
    assert len(spans) == 3


def test_case_and_punctuation_are_no_change() -> None:
    spans, _ = align("“We will change them,” he said.", '"we will change them" he said')
    assert [s.kind for s in spans] == ["equal"]


def test_cut_and_added_passages() -> None:
    spans, _ = align(f"{FERRY} The operator declined to comment.", f"BRACKWATER (Wire) — {FERRY}")
    assert kinds(spans) == [
        ("added", "", "BRACKWATER (Wire) —"),
        ("equal", FERRY, FERRY),
        ("removed", "The operator declined to comment.", ""),
    ]


def test_a_moved_paragraph_stands_at_its_new_place() -> None:
    first = "Helicopters and two lifeboats lifted people from the upper decks as flames spread."
    second = "Doctors said that most patients were being treated for burns and smoke inhalation."
    spans, _ = align(f"{first} {FERRY} {second}", f"{FERRY} {second} {first}")
    assert ("moved", first, first) in kinds(spans)
    assert not [s for s in spans if s.kind in ("changed", "removed", "added")]


def test_scripts_without_spaces_are_compared_by_character() -> None:
    spans, _ = align("事故で12人が死亡した", "事故で17人が死亡した")
    assert kinds(spans)[1] == ("changed", "12", "17")


def test_a_shared_word_between_rewritten_passages_is_no_shared_passage() -> None:
    spans, _ = align(
        "one two three four five said six seven eight nine ten",
        "eleven twelve thirteen fourteen said fifteen sixteen seventeen eighteen",
    )
    assert [s.kind for s in spans] == ["changed"]


texts = st.lists(
    st.sampled_from(["the", "fire", "of", "ferry", "dead", "12", "17", "said", ".", "«", "x"]),
    max_size=60,
).map(" ".join)


@given(texts, texts)
def test_no_word_is_lost_or_made_up(old: str, new: str) -> None:
    spans, _ = align(old, new)
    assert "".join(s.new for s in spans) == new
    assert Counter(w for s in spans for w in s.old.split()) == Counter(old.split())
    assert all(span.old or span.new for span in spans)


@given(texts)
def test_a_text_is_equal_to_itself(text: str) -> None:
    spans, _ = align(text, text)
    assert [s.kind for s in spans] == (["equal"] if text else [])


def _words(random_: random.Random, count: int) -> list[str]:
    vocabulary = [f"w{i}" for i in range(8000)]
    return random_.choices(vocabulary, [1 / (i + 1) for i in range(8000)], k=count)


@pytest.mark.parametrize("pair", ["edited", "shuffled", "unrelated", "one word", "two words"])
def test_the_work_for_five_thousand_words_is_bounded(pair: str) -> None:
    """difflib alone would run through thousands of lines for each word."""
    random_ = random.Random(7)
    old = _words(random_, 5000)
    paragraphs = [old[i : i + 80] for i in range(0, 5000, 80)]
    random_.shuffle(paragraphs)
    a, b = {
        "edited": (old, [w for w in old if random_.random() > 0.2]),
        "shuffled": (old, [w for p in paragraphs for w in p]),
        "unrelated": (old, _words(random_, 5000)),
        "one word": (["x"] * 5000, ["y", *["x"] * 4998, "z"]),
        "two words": (random_.choices("xy", k=5000), random_.choices("xy", k=5000)),
    }[pair]
    assert count_lines(lambda: align(" ".join(a), " ".join(b))) < 300 * 5000


def test_giant_texts_are_cut_and_say_so() -> None:
    spans, cut = align("a " * (MAX_WORDS + 10), "a " * (MAX_WORDS + 10))
    assert cut
    assert len(spans) == 1


# --- the rule ---------------------------------------------------------------------------------

BODY = (
    f"{FERRY} The Stella Corvina was carrying 286 passengers and 31 crew from Brackwater to the "
    "island of Skerrin when the alarm was raised about nine nautical miles from shore. "
    "Investigators believe the blaze began in or near a refrigerated lorry that had been "
    "connected to the power supply of the ship, according to people briefed on the inquiry."
)


def records(settings: Settings, *texts: str) -> list[Record]:
    documents = [Document(id=f"d{i}", text=text) for i, text in enumerate(texts)]
    return [
        Record(
            signed.document,
            signed.signature,
            (i, signed.document.id),
            i,
            Decision(signed.document.id, "original", signed.document.id, signed.document.id),
        )
        for i, signed in enumerate(sign_many(documents, settings))
    ]


@pytest.mark.parametrize(
    ("new", "rule"),
    [
        (BODY.replace("Investigators", "Detectives"), "duplicate: containment"),
        (BODY.replace("12 people", "17 people"), "update: containment"),
        (BODY + " " + " ".join(f"and the word{i} of" for i in range(40)), "times as long"),
        ("Something else happened " + " ".join(f"w{i}" for i in range(80)), "not compared: 0"),
    ],
)
def test_the_rule_is_named(new: str, rule: str) -> None:
    settings = Settings()
    old, other = records(settings, BODY, new)
    explanation = explain(other, old, settings)
    assert rule in explanation.rule
    assert explanation.old.document.id == "d0", "the earlier one is the old one, however given"


def test_the_rule_of_short_texts() -> None:
    settings = Settings()
    old, same, other = records(settings, "Fire out", "fire out", "Fire over")
    assert "the same word for word" in explain(old, same, settings).rule
    assert explain(old, other, settings).rule.startswith("not compared")


def test_overlap_below_the_threshold() -> None:
    settings = Settings(min_overlap=1.0)
    old, new = records(settings, BODY, BODY.replace("Investigators", "Detectives"))
    assert "is not above min_overlap 1" in explain(old, new, settings).rule


def test_the_explanation_as_json() -> None:
    settings = Settings()
    old, new = records(settings, BODY, BODY.replace("12 people", "17 people"))
    out = explain(old, new, settings).to_json()
    assert out["evidence"]["numbers"][0][:2] == ["12", "17"]
    assert out["keys"]["sketch"]["needed"] == settings.max_collisions_by_chance + 1
    assert {"kind": "changed", "old": "12 ", "new": "17 "} in out["spans"]


# --- what each method says, who lost, and the page ------------------------------------------------


def stored(settings: Settings, *documents: Document) -> list[Record]:
    from esdedup.clustering.deduplicator import Deduplicator

    with Deduplicator.open("sqlite://:memory:", settings) as news:
        for document in documents:
            news.add(document)
        records = news.store.documents.get(d.id for d in documents)
    return [records[d.id] for d in documents]


def test_every_method_that_is_on_has_its_say() -> None:
    chosen = replace(Settings(), methods=("sketch", "simhash", "entities", "imatch"))
    old, new = stored(
        chosen,
        Document(id="a", text=f"{FERRY} Captain Maria Lindqvist spoke in Hamburg.", lang="en"),
        Document(id="b", text=f"{FERRY} Captain Maria Lindqvist was in Hamburg.", lang="en"),
    )
    explanation = explain(old, new, chosen)
    said = {m.method: m.says for m in explanation.measures}
    assert set(said) == {"sketch", "simhash", "entities", "imatch"}
    assert said["simhash"].startswith("Hamming distance")
    assert said["entities"].endswith("of the contexts of names are in both")
    assert "Hamburg" in explanation.names
    shown = explanation.to_json()
    assert shown["measures"]["simhash"]["value"] == explanation.measures[1].value
    json.dumps(shown)


def test_matched_windows_of_lengths() -> None:
    chosen = replace(Settings(), methods=("sketch", "lengths"))
    text = " ".join(
        " ".join(f"w{n}x{i}" for i in range(4 + n * 7 % 11)).capitalize() + "." for n in range(30)
    )
    old, new = stored(chosen, Document(id="a", text=text), Document(id="b", text=text + " End."))
    said = {m.method: m for m in explain(old, new, chosen).measures}
    assert said["lengths"].is_copy
    assert "windows in a row match" in said["lengths"].says


def test_the_runner_up_and_why_it_lost() -> None:
    other = FERRY.replace("fire swept through", "smoke rose from").replace("early", "late")
    records = stored(
        Settings(),
        Document(id="a", text=FERRY, published=datetime(2024, 3, 1, tzinfo=UTC)),
        Document(id="b", text=other, published=datetime(2024, 3, 2, tzinfo=UTC)),
        Document(id="c", text=f"{FERRY} It sank.", published=datetime(2024, 3, 3, tzinfo=UTC)),
    )
    with Deduplicator.open() as news:
        list(news.add_many(record.document for record in records))
        old, _, new = (news.with_evidence(record) for record in records)
    assert new.decision.evidence[0].other == "a"
    explanation = explain(old, new, Settings())
    assert explanation.runner_up is not None
    assert explanation.runner_up.other == "b"
    assert "less close" in explanation.runner_up.why or "makes no copy" in explanation.runner_up.why


def test_the_page_is_escaped_and_loads_nothing() -> None:
    bad = '<script>alert("1")</script> & \u202e\x07 <img src=x onerror=y>'
    old, new = stored(
        Settings(),
        Document(id='<a href="x">', title=bad, text=f"{FERRY} {bad}", source=bad),
        Document(id="b'\"", title="12", text=f"{bad} {FERRY.replace('12', '17')}"),
    )
    shown = render_page(explain(old, new, Settings()))
    assert "<script" not in shown
    assert "<img" not in shown
    assert "\u202e" not in shown
    assert "\x07" not in shown
    assert 'href="x"' not in shown
    assert "http" not in shown.replace("http-equiv", "")
    parser = html.parser.HTMLParser()
    parser.feed(shown)
    assert "<del>12 </del><ins>17 </ins>" in shown
    assert "12 -&gt; 17" in shown
