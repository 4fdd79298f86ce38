"""Old articles go, and groups stay whole."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import reconcile
from esdedup.errors import InputError
from esdedup.maintenance.curation import forget, merge, split
from esdedup.maintenance.retention import RetentionProgress, RetentionRule, expire
from esdedup.model import Document
from tests.clustering.test_fixed_point import (
    assert_invariants,
    index,
    links_of,
    links_when_indexed,
    new_deduplicator,
    universes,
)
from tests.support.articles import DAY_ONE, StoryVariant

CUT = DAY_ONE + timedelta(days=5)
days = st.integers(0, 9)


def run(
    deduplicator: Deduplicator, rule: RetentionRule, *, dry_run: bool = False
) -> RetentionProgress:
    done = RetentionProgress()
    for now in expire(deduplicator, rule, dry_run=dry_run):
        done = now
    return done


@given(universes(days), st.sampled_from(["story", "group", None]))
@hypothesis_settings(max_examples=60)
def test_what_is_left_is_as_if_the_rest_had_never_been(
    documents: list[Document], by: Literal["story", "group"] | None
) -> None:
    rule = RetentionRule(CUT, by)
    old = {d.id for d in documents if d.published and d.published < CUT}
    with new_deduplicator() as deduplicator:
        index(deduplicator, documents)
        before = links_of(deduplicator, documents)
        expected = old
        if by is not None:
            young = {getattr(before[d.id], by) for d in documents if d.id not in old}
            expected = {i for i, link in before.items() if getattr(link, by) not in young}
        counted = run(deduplicator, rule, dry_run=True)
        assert links_of(deduplicator, documents) == before
        done = run(deduplicator, rule)
        assert done.documents == counted.documents == len(expected)
        rest = [d for d in documents if d.id not in expected]
        links = links_of(deduplicator, documents)
        assert links == links_when_indexed(rest)
        if by == "story":
            assert done.promoted == 0
        assert_invariants(deduplicator, rest)
        assert run(deduplicator, rule).documents == 0


def test_a_copy_without_keys_of_a_deleted_copy_is_one_of_its_original() -> None:
    with new_deduplicator() as news:
        cut = StoryVariant(0, sentences=(0, 1, 2), day=1).document("cut")
        both = [StoryVariant(0, day=0).document("whole"), cut, replace(cut, id="late")]
        index(news, both)
        link = news.store.documents.get(["late"])["late"].decision.link
        assert (link.group, link.parent) == ("whole", "cut")
        run(news, RetentionRule(CUT, keys_only=True))
        news.delete(["cut"])
        link = news.store.documents.get(["late"])["late"].decision.link
        assert (link.role, link.group, link.parent) == ("duplicate", "whole", "whole")


@given(universes(days), st.data())
@hypothesis_settings(max_examples=60)
def test_without_keys_everything_keeps_its_place(
    documents: list[Document], data: st.DataObject
) -> None:
    with new_deduplicator() as deduplicator:
        index(deduplicator, documents)
        before = links_of(deduplicator, documents)
        young = {before[d.id].story for d in documents if d.published and d.published >= CUT}
        frozen = {i for i, link in before.items() if link.story not in young}
        assert run(deduplicator, RetentionRule(CUT, keys_only=True)).documents == len(frozen)
        records = deduplicator.store.documents.get(before)
        assert {i for i, r in records.items() if not r.signature.keys} >= frozen
        after = links_of(deduplicator, documents)
        assert {i: after[i] for i in frozen} == {i: before[i] for i in frozen}
        reconcile(deduplicator.store, list(before), list(before))
        assert links_of(deduplicator, documents) == after
        assert_invariants(deduplicator, documents)
        assert run(deduplicator, RetentionRule(CUT, keys_only=True)).documents == 0
        again = data.draw(st.sampled_from(documents))
        copy = Document("copy", text=again.text, lang="en", published=CUT + timedelta(days=9))
        index(deduplicator, [copy])
        (link,) = links_of(deduplicator, [copy]).values()
        assert link.group not in frozen
        gone = data.draw(st.sampled_from(documents)).id
        deduplicator.delete([gone])
        rest = [d for d in [*documents, copy] if d.id != gone]
        assert_invariants(deduplicator, rest)
        left = links_of(deduplicator, rest)
        together = {i for i in frozen - {gone} if before[i].group == before[gone].group}
        if gone in frozen:
            assert len({left[i].group for i in together}) <= 1, "they stay one group"


def test_a_person_still_has_the_word_about_articles_without_keys() -> None:
    with new_deduplicator() as deduplicator:
        pair = [StoryVariant(0, day=n).document(i) for n, i in enumerate("ab")]
        other = StoryVariant(1, day=0).document("x")
        index(deduplicator, [*pair, other])
        run(deduplicator, RetentionRule(CUT, keys_only=True))

        def groups() -> dict[str, str]:
            return {i: link.group for i, link in links_of(deduplicator, [*pair, other]).items()}

        assert groups() == {"a": "a", "b": "a", "x": "x"}
        merge(deduplicator, ["b", "x"])
        assert len(set(groups().values())) == 1
        forget(deduplicator, ["b"])
        assert groups()["x"] == "x"
        split(deduplicator, ["a", "b"])
        assert groups()["b"] == "b"
        assert deduplicator.store.maintenance.find_problems() == []


def test_keys_go_from_whole_stories_only() -> None:
    with pytest.raises(InputError, match="whole stories"):
        RetentionRule(CUT, None, keys_only=True)


def test_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("esdedup.stores.sqlite.maintenance._PAGE", 3)
    with new_deduplicator() as deduplicator:
        made = [StoryVariant(n % 7, day=n % 3).document(f"d{n}") for n in range(21)]
        index(deduplicator, made)
        running = expire(deduplicator, RetentionRule(CUT))
        next(running)
        running.close()  # stopped after the first batch
        assert deduplicator.store.maintenance.find_problems() == []
        left = deduplicator.store.maintenance.stats()["documents"]
        assert 0 < left < 21
        assert run(deduplicator, RetentionRule(CUT)).documents == left
        assert deduplicator.store.maintenance.stats()["documents"] == 0
