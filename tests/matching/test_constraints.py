"""A person's word: the naive fixed point with it, any order of arrival, and taking it back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import Contradiction, InputError, UnknownDocument
from esdedup.ingest.sign import sign_many
from esdedup.maintenance.curation import forget, import_lines, merge, pin, set_constraints, split
from esdedup.matching.canonical_order import PINNED
from esdedup.matching.constraints import NO_CONSTRAINTS, Constraint, Constraints
from esdedup.matching.verify import verify
from esdedup.model import Document, Link, Order, rank_of
from esdedup.settings import Settings
from esdedup.stores import open_store
from tests.clustering.test_fixed_point import (
    SETTINGS,
    _is_candidate,
    _likeness,
    _most_central,
    batches_of,
    dated,
    index,
    links_of,
    links_when_indexed,
    new_deduplicator,
    orders_of,
    universes,
)
from tests.support.articles import WHOLE, StoryVariant

# --- what can be said together -------------------------------------------------------------------


def same(a: str, b: str) -> Constraint:
    return Constraint("same", (a, b))


def different(a: str, b: str) -> Constraint:
    return Constraint("different", (a, b))


def original(a: str) -> Constraint:
    return Constraint("original", (a,))


def test_same_is_transitive_and_so_is_what_follows_from_different() -> None:
    said = Constraints.of([same("a", "b"), same("c", "b"), different("c", "x"), same("x", "y")])
    assert said.must_link("a") == {"b", "c"}
    assert said.cannot_link("a") == {"x", "y"}
    assert said.cannot_link("y") == {"a", "b", "c"}
    assert said.must_link("z") == said.cannot_link("z") == frozenset()
    assert said.describe_pair("a", "c") == "said always to be the same"
    assert said.describe_pair("y", "a") == "said never to be the same"
    assert said.describe_pair("a", "z") == ""


@pytest.mark.parametrize(
    ("before", "new", "named"),
    [
        ([same("a", "b")], different("b", "a"), "a and b are always the same"),
        ([same("a", "b"), same("b", "c")], different("a", "c"), "b and c are always the same"),
        ([different("a", "b")], same("a", "b"), "a and b are never the same"),
        ([different("a", "b"), same("b", "c")], same("c", "a"), "a and b are never the same"),
        ([original("a"), same("a", "b")], original("b"), "a is the original"),
        ([original("a"), original("b")], same("a", "b"), "b is the original"),
    ],
)
def test_a_contradiction_names_both(before: list[Constraint], new: Constraint, named: str) -> None:
    with pytest.raises(Contradiction) as raised:
        Constraints.of(before).with_constraint(new)
    assert named in str(raised.value)
    assert new.sentence in str(raised.value)
    assert "forget" in str(raised.value)


@pytest.mark.parametrize("ids", [("a",), ("a", "a"), ("a", "b", "c"), ()])
def test_a_pair_is_two(ids: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="2 different ids"):
        Constraint("same", ids)


# --- the fixed point -----------------------------------------------------------------------------


def naive(
    documents: Sequence[Document], orders: dict[str, Order], said: Iterable[Constraint]
) -> dict[str, Link]:
    """The definition, word for word; parts by walking, everything else by looking at all."""
    said = list(said)
    signed = {s.document.id: s for s in sign_many(documents, SETTINGS)}

    def part(id_: str) -> set[str]:
        reached = {id_}
        while True:
            more = {
                x for c in said if c.kind == "same" and reached & set(c.ids) for x in c.ids
            } - reached
            if not more:
                return reached
            reached |= more

    def are_apart(a: str, b: str) -> bool:
        return any(
            c.kind == "different" and {x, y} == set(c.ids)
            for c in said
            for x in part(a)
            for y in part(b)
        )

    links: dict[str, Link] = {}
    for id_ in sorted(signed, key=lambda i: orders[i]):
        forbidden = {link.group for n, link in links.items() if are_apart(n, id_)}
        mine = sorted((n for n in part(id_) & links.keys()), key=lambda n: orders[n])
        if mine:
            first = links[mine[0]]
            links[id_] = Link("duplicate", first.group, first.story, mine[0], True)
            continue
        seen = {
            n: verify(signed[n], signed[id_], SETTINGS)
            for n, link in links.items()
            if (link.canonical or link.branch)
            and link.group not in forbidden
            and _is_candidate(signed[n], signed[id_], SETTINGS)
        }
        leads = {
            n
            for n in seen
            if links[n].canonical or any(orders[m] < orders[n] for m in part(n) & links.keys())
        }  # originals, and those that were joined to one by a word
        updated = [n for n, e in seen.items() if e.verdict == "update"]
        copied = [
            n
            for n, e in seen.items()
            if e.verdict == "duplicate" and (n in leads or links[n].group not in updated)
        ]
        if copied or updated:
            story = links[_most_central([*copied, *updated], seen, signed, orders)].story
            copied = [n for n in copied if links[n].story == story]
            updated = [n for n in updated if links[n].story == story]
        if copied:
            parent = _most_central(copied, seen, signed, orders)
            leader = links[parent].group
            is_direct = leader in copied or parent in leads
            branch = is_direct and 2 * _likeness(seen[parent]) < SETTINGS.branch_below
            links[id_] = Link("duplicate", leader, links[parent].story, parent, branch)
        elif updated:
            parent = max(updated, key=lambda n: (not links[n].branch, orders[n]))
            links[id_] = Link("update", id_, links[parent].story, parent)
        else:
            links[id_] = Link("original", id_, id_)
    return links


def words(ids: Sequence[str]) -> st.SearchStrategy[list[Constraint]]:
    pairs = st.sampled_from(list(combinations(ids, 2)))
    word = st.one_of(
        st.builds(Constraint, st.sampled_from(["same", "different"]), pairs),
        st.builds(original, st.sampled_from(ids)),
    )
    return st.lists(word, min_size=1, max_size=5)


def without_contradictions(wanted: Iterable[Constraint]) -> list[Constraint]:
    said, kept = NO_CONSTRAINTS, []
    for one in wanted:
        try:
            said = said.with_constraint(one)
        except Contradiction:
            continue
        kept.append(one)
    return list({c.key: c for c in kept}.values())


@given(universes(dated), st.data())
@hypothesis_settings(max_examples=60)
def test_any_arrival_and_any_words_give_the_naive_groups(
    documents: list[Document], data: st.DataObject
) -> None:
    """Said before, between or after the articles come, in any order; then taken back."""
    ids = [d.id for d in documents]
    said = wanted = without_contradictions(data.draw(words(ids)))
    places = data.draw(st.permutations(range(len(documents))))
    batches = batches_of(places, data.draw(st.sets(st.integers(1, len(documents)))))
    at = data.draw(st.lists(st.integers(0, len(batches)), min_size=len(said), max_size=len(said)))
    with new_deduplicator() as deduplicator:
        for number in range(len(batches) + 1):
            for word in [w for w, when in zip(wanted, at, strict=True) if when == number]:
                try:
                    set_constraints(deduplicator, [word], ahead=True)
                except Contradiction:
                    said = [w for w in said if w is not word]  # two pinned in one group
            if number < len(batches):
                index(deduplicator, [documents[i] for i in batches[number]])
        orders = orders_of(deduplicator, documents)
        pinned = {c.ids[0] for c in said if c.kind == "original"}
        assert {i for i, (place, _) in orders.items() if rank_of(place) == PINNED} == pinned
        links = links_of(deduplicator, documents)
        assert links == naive(documents, orders, said)
        for c in said:
            if c.kind != "original":
                one, other = (links[i].group for i in c.ids)
                assert (one == other) == (c.kind == "same")
        assert deduplicator.store.maintenance.find_problems() == []
        for c in said:
            forget(deduplicator, c.ids)
        assert not deduplicator.store.constraints.recent()
        assert links_of(deduplicator, documents) == links_when_indexed(documents)
        assert deduplicator.store.maintenance.find_problems() == []


@given(universes(dated), st.data())
@hypothesis_settings(max_examples=40)
def test_words_survive_another_version_deleting_and_sweeping(
    documents: list[Document], data: st.DataObject
) -> None:
    said = without_contradictions(data.draw(words([d.id for d in documents])))
    gone = data.draw(st.sampled_from(documents))
    with new_deduplicator() as deduplicator:
        index(deduplicator, documents)
        for word in list(said):
            try:
                set_constraints(deduplicator, [word])
            except Contradiction:
                said.remove(word)
        expected = links_of(deduplicator, documents)
        deduplicator.delete([gone.id])
        rest = [d for d in documents if d is not gone]
        left = links_of(deduplicator, rest)
        assert left == naive(rest, orders_of(deduplicator, rest), said)
        index(deduplicator, [gone])
        assert links_of(deduplicator, documents) == expected
        for d in documents:
            assert deduplicator.check(d).link == expected[d.id]
        assert list(deduplicator.store.constraints.recent().items) == sorted(
            said, key=lambda c: c.key
        )


# --- what people do ------------------------------------------------------------------------------


def fire(*kept: int, dead: int = 12, day: int = 0, id_: str) -> Document:
    return StoryVariant(0, kept, dead, day=day).document(id_)


@pytest.fixture
def news() -> Iterable[Deduplicator]:
    """Two copies and a copy of another story, with a copy of its own."""
    with new_deduplicator() as made:
        index(
            made,
            [
                fire(0, 1, 2, 3, 4, 5, id_="a"),
                fire(0, 1, 2, 3, 4, 5, day=1, id_="b"),
                StoryVariant(1, day=2).document("x"),
                StoryVariant(1, WHOLE[1:], day=3).document("y"),
            ],
        )
        yield made


def groups(deduplicator: Deduplicator) -> dict[str, str]:
    there = deduplicator.store.documents.get("abxy")
    return {id_: there[id_].decision.group for id_ in "abxy"}


def test_merging_takes_the_copies_along_and_forgetting_gives_them_back(
    news: Deduplicator,
) -> None:
    assert groups(news) == {"a": "a", "b": "a", "x": "x", "y": "x"}
    done = merge(news, ["b", "x"], by="desk", note="one agency report")
    assert groups(news) == dict.fromkeys("abxy", "a")
    assert set(done.changed) == {"b", "x", "y"}, "b too, since it is said to be where it was"
    joined = news.store.documents.get("x")["x"].decision
    assert (joined.reason, joined.method) == ("said always to be the same", "said")
    assert joined.evidence[0].reason == joined.reason
    assert forget(news, ["x"]).corrections[0].note == "one agency report"
    assert groups(news) == {"a": "a", "b": "a", "x": "x", "y": "x"}


def test_splitting_shows_in_the_decision(news: Deduplicator) -> None:
    split(news, ["a", "b"])
    decision = news.with_evidence(news.store.documents.get("b")["b"]).decision
    assert (decision.role, decision.reason) == ("original", "said never to be the same")
    assert decision.evidence[0].other == "a"
    assert decision.evidence[0].verdict == "different"


def test_who_is_kept_apart_does_not_come_back_by_way_of_a_copy() -> None:
    with new_deduplicator() as news:
        index(news, [fire(*range(8), id_="a"), fire(*range(7), day=1, id_="b")])
        index(news, [fire(*range(1, 8), day=2, id_="c")])
        split(news, ["c", "b"])
        there = news.store.documents.get("abc")
        assert {i: r.decision.group for i, r in there.items()} == {"a": "a", "b": "a", "c": "c"}
        assert there["c"].decision.reason == "said never to be the same as b"


def test_pinning_makes_a_later_article_the_original(news: Deduplicator) -> None:
    pin(news, "b")
    assert groups(news) == {"a": "b", "b": "b", "x": "x", "y": "x"}
    with pytest.raises(Contradiction, match=r"a is the original, and b is the original.*one group"):
        pin(news, "a")
    forget(news, ["b"])
    assert groups(news)["b"] == "a"


def test_unknown_ids_are_named_and_nothing_is_kept(news: Deduplicator) -> None:
    with pytest.raises(UnknownDocument, match="no article nobody, nothing in"):
        merge(news, ["a", "nothing", "nobody"])
    assert not news.store.constraints.recent()


def test_a_store_that_links_online_is_not_corrected() -> None:
    with Deduplicator.open(settings=Settings.load(preset="nrc-gphin")) as online:
        index(online, [fire(*range(8), id_="a"), fire(*range(8), id_="b")])
        with pytest.raises(InputError, match="links online"):
            split(online, ["a", "b"])


def test_exported_lines_come_back_and_bad_ones_are_named(news: Deduplicator) -> None:
    merge(news, ["a", "x"], by="desk")
    split(news, ["b", "a"], note="other town")
    lines = [json.dumps(c.to_json()) for c in news.store.constraints.recent().items]
    with new_deduplicator() as other:
        bad = ["{", '{"kind": "same", "ids": ["a"]}', '{"kind": "so", "ids": []}', "[]", ""]
        against = ['{"kind": "same", "ids": ["a", "b"]}']
        done = import_lines(other, [*bad, *lines, *against], ahead=True)
        assert other.store.constraints.recent() == news.store.constraints.recent()
        assert set(done.refused) == {"line 1", "line 2", "line 3", "line 4", "line 8"}
        assert "a and b are never the same" in done.refused["line 8"]
        assert import_lines(other, lines).refused["line 1"] == (
            "there is no article a, b in this store"
        )
        documents = [r.document for r in news.store.documents.get("abxy").values()]
        index(other, documents)
        assert groups(other) == groups(news)


def test_words_are_in_the_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'news.db'}"
    with Deduplicator.open(url) as first, Deduplicator.open(url) as second:
        index(first, [fire(*range(8), id_="a"), fire(*range(7), day=1, id_="b")])
        assert not second.store.constraints.recent()
        split(first, ["a", "b"])
        assert second.store.constraints.recent().cannot_link("a") == {"b"}, (
            "seen by who had it open before"
        )
        pin(second, "b")
        assert first.store.constraints.recent().pinned == {"b"}
    reader = open_store(url, mode="read")
    assert len(reader.constraints.recent().items) == 2
    reader.close()


def test_merging_later_copies_of_two_groups_joins_the_groups() -> None:
    """b would leave a for x, which comes before it; so the originals are joined as well."""
    with new_deduplicator() as news:
        index(news, [fire(*range(8), id_="a"), fire(*range(8), day=2, id_="b")])
        index(news, [StoryVariant(1, day=1).document("x")])
        done = merge(news, ["b", "x"])
        assert [c.to_json().get("of") for c in done.corrections] == [None, ["b", "x"]]
        there = news.store.documents.get("abx")
        assert {r.decision.group for r in there.values()} == {"a"}
        forget(news, ["x", "b"])
        assert not news.store.constraints.recent()
        split(news, ["a", "x"])
        merge(news, ["b", "x"])
        there = news.store.documents.get("abx")
        assert {i: r.decision.group for i, r in there.items()} == {"a": "a", "b": "x", "x": "x"}
