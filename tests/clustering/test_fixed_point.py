"""Groups as a fixed point: any order of arrival, any batches, one outcome; the naive one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.outcomes import Outcome
from esdedup.clustering.reconcile import QueryBuilder
from esdedup.ingest.sign import Signed, prepare, sign_many
from esdedup.matching.content import content_of
from esdedup.matching.verify import verify
from esdedup.methods import METHODS
from esdedup.model import Document, Evidence, Link, Order
from esdedup.settings import Settings
from esdedup.stores import open_store
from tests.support.articles import SENTENCES, WHOLE, StoryVariant, story_sentence

SETTINGS = Settings()

chosen_sentences = st.one_of(
    st.just(WHOLE),
    st.sets(st.integers(0, SENTENCES - 1), min_size=2).map(lambda chosen: tuple(sorted(chosen))),
    st.integers(1, SENTENCES - 1).map(lambda cut: tuple(range(cut))),
    st.integers(1, SENTENCES - 1).map(lambda cut: tuple(range(cut, SENTENCES))),
)


def story_variants(days: st.SearchStrategy[int | None]) -> st.SearchStrategy[StoryVariant]:
    return st.builds(
        StoryVariant,
        story=st.integers(0, 1),
        sentences=chosen_sentences,
        dead=st.sampled_from([12, 12, 17, 23]),
        added=st.sampled_from([0, 0, 0, 2, 9]),
        day=days,
        headline=st.sampled_from([None, None, 0, 1]),
    )


def universes(days: st.SearchStrategy[int | None]) -> st.SearchStrategy[list[Document]]:
    """At most eight articles: `verified_candidates`, beyond which outcomes may depend on luck."""
    return st.lists(story_variants(days), min_size=2, max_size=8).map(
        lambda made: [article.document(f"d{i}") for i, article in enumerate(made)]
    )


dated = st.integers(0, 3)
dated_or_not = st.one_of(st.none(), dated)


def new_deduplicator(settings: Settings = SETTINGS) -> Deduplicator:
    return Deduplicator(open_store("sqlite://:memory:", settings))


def index(deduplicator: Deduplicator, documents: Sequence[Document]) -> list[Outcome]:
    return deduplicator.write(prepare(documents, deduplicator.settings))


def links_of(deduplicator: Deduplicator, documents: Sequence[Document]) -> dict[str, Link]:
    records = deduplicator.store.documents.get(d.id for d in documents)
    return {id_: record.decision.link for id_, record in records.items()}


def orders_of(deduplicator: Deduplicator, documents: Sequence[Document]) -> dict[str, Order]:
    records = deduplicator.store.documents.get(d.id for d in documents)
    return {id_: record.order for id_, record in records.items()}


def links_when_indexed(
    documents: Sequence[Document], batches: Sequence[Sequence[int]] | None = None
) -> dict[str, Link]:
    with new_deduplicator() as deduplicator:
        for batch in batches or [range(len(documents))]:
            index(deduplicator, [documents[i] for i in batch])
        return links_of(deduplicator, documents)


def naive_links(
    documents: Sequence[Document], orders: dict[str, Order], settings: Settings = SETTINGS
) -> dict[str, Link]:
    """The definition: walk the order; each document leans on what attracts before it, or leads."""
    signed = {s.document.id: s for s in sign_many(documents, settings)}
    links: dict[str, Link] = {}
    for id_ in sorted(signed, key=lambda i: orders[i]):
        attracting = [n for n, link in links.items() if link.group == n or link.branch]
        seen = {
            n: verify(signed[n], signed[id_], settings)
            for n in attracting
            if _is_candidate(signed[n], signed[id_], settings)
        }
        updates_leader = {n for n, e in seen.items() if e.verdict == "update"}
        copied = [
            n
            for n, e in seen.items()
            if e.verdict == "duplicate" and links[n].group not in updates_leader
        ]
        updated = [n for n, e in seen.items() if e.verdict == "update"]
        if copied or updated:
            story = links[_most_central([*copied, *updated], seen, signed, orders)].story
            copied = [n for n in copied if links[n].story == story]
            updated = [n for n in updated if links[n].story == story]
        if copied:
            parent = _most_central(copied, seen, signed, orders)
            leader = links[parent].group
            branch = leader in copied and 2 * _likeness(seen[parent]) < settings.branch_below
            links[id_] = Link("duplicate", leader, links[parent].story, parent, branch)
        elif updated:
            parent = max(updated, key=lambda n: (not links[n].branch, orders[n]))
            links[id_] = Link("update", id_, links[parent].story, parent)
        else:
            links[id_] = Link("original", id_, id_)
    return links


def _most_central(
    copied: Sequence[str],
    seen: dict[str, Evidence],
    signed: dict[str, Signed],
    orders: dict[str, Order],
) -> str:
    """The match that all matches speak for, by the cube of how close they are."""
    shingles = {n: set(content_of(signed[n].document, SETTINGS).shingles.tolist()) for n in copied}

    def spoken_for(one: str) -> float:
        total = 0.0
        for n in copied:
            both, a, b = shingles[one] & shingles[n], shingles[one], shingles[n]
            dice = 2 * len(both) / (len(a) + len(b)) if a or b else 1.0
            total += dice * _likeness(seen[n]) ** 3
        return round(total, 6)

    ranked = sorted(copied, key=lambda n: (-_likeness(seen[n]), orders[n]))
    return ranked[0] if len(ranked) < 3 else max(ranked, key=spoken_for)


def _likeness(evidence: Evidence) -> float:
    """Half the harmonic mean of both sides' shares."""
    return evidence.of_new * evidence.of_old / (evidence.of_new + evidence.of_old)


def _is_candidate(a: Signed, b: Signed, settings: Settings) -> bool:
    one, other = a.signature.keys, b.signature.keys
    return any(
        len(set(one.get(name, ())) & set(other.get(name, ())))
        >= METHODS[name].min_shared_keys(settings)
        for name in (*settings.candidate_methods, "exact")
    )


def assert_invariants(deduplicator: Deduplicator, documents: Sequence[Document]) -> None:
    links, orders = links_of(deduplicator, documents), orders_of(deduplicator, documents)
    for id_, link in links.items():
        leader = links[link.group]
        assert leader.canonical, "a group is led by an original or an update"
        assert leader.group == link.group, "no chains: the leader is in its own group"
        assert leader.story == link.story
        assert link.canonical == (link.group == id_)
        if link.role == "original":
            assert (link.story, link.parent) == (id_, None)
        else:
            assert link.parent is not None
            assert orders[link.parent] < orders[id_], "who is leant on comes before"
            assert link.story == links[link.parent].story
    assert deduplicator.store.maintenance.find_problems() == []


def batches_of(places: list[int], cuts: set[int]) -> list[list[int]]:
    edges = [0, *sorted(cuts), len(places)]
    return [places[a:b] for a, b in pairwise(edges) if places[a:b]]


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[list[Document], list[list[int]]]:
    documents = draw(universes(dated))
    places = draw(st.permutations(range(len(documents))))
    cuts = draw(st.sets(st.integers(1, len(documents))))
    return documents, batches_of(places, cuts)


@given(arrivals())
@hypothesis_settings(max_examples=60)
def test_any_arrival_gives_the_naive_groups(
    arrival: tuple[list[Document], list[list[int]]],
) -> None:
    documents, batches = arrival
    with new_deduplicator() as deduplicator:
        for batch in batches:
            index(deduplicator, [documents[i] for i in batch])
        links = links_of(deduplicator, documents)
        assert links == naive_links(documents, orders_of(deduplicator, documents))
        assert_invariants(deduplicator, documents)
    assert links == links_when_indexed(documents)


@given(universes(dated_or_not), st.sets(st.integers(1, 8)))
@hypothesis_settings(max_examples=25)
def test_undated_articles_are_ordered_by_arrival_however_batched(
    documents: list[Document], cuts: set[int]
) -> None:
    with new_deduplicator() as deduplicator:
        for batch in batches_of(list(range(len(documents))), cuts):
            index(deduplicator, [documents[i] for i in batch])
        orders = orders_of(deduplicator, documents)
        undated = [d.id for d in documents if d.published is None]
        assert sorted(undated, key=lambda i: orders[i]) == undated
        assert links_of(deduplicator, documents) == naive_links(documents, orders)
        assert_invariants(deduplicator, documents)


@given(universes(dated), st.data())
@hypothesis_settings(max_examples=25)
def test_deleting_is_as_if_never_indexed(documents: list[Document], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from([d.id for d in documents]), min_size=1))
    rest = [d for d in documents if d.id not in gone]
    with new_deduplicator() as deduplicator:
        index(deduplicator, documents)
        assert deduplicator.delete([*gone, "absent"]) == gone
        assert links_of(deduplicator, documents) == links_when_indexed(rest)
        assert_invariants(deduplicator, rest)


@given(universes(dated), st.data())
@hypothesis_settings(max_examples=50)
def test_indexing_a_changed_article_is_as_indexing_it_fresh(
    documents: list[Document], data: st.DataObject
) -> None:
    """Changed in text, in date or in both; alone or several at once."""
    changed = list(documents)
    places = data.draw(st.sets(st.integers(0, len(documents) - 1), min_size=1, max_size=3))
    for place in places:
        changed[place] = data.draw(story_variants(dated)).document(f"d{place}")
    with new_deduplicator() as deduplicator:
        index(deduplicator, documents)
        outcomes = index(deduplicator, [changed[i] for i in sorted(places)])
        reported = {o.decision.id: o.decision.link for o in outcomes}
        links = links_of(deduplicator, changed)
        assert links == links_when_indexed(changed)
        assert reported == {id_: links[id_] for id_ in reported}, "what is reported is stored"
        assert_invariants(deduplicator, changed)


@given(universes(dated_or_not))
@hypothesis_settings(max_examples=25)
def test_the_same_input_again_changes_nothing(documents: list[Document]) -> None:
    with new_deduplicator() as deduplicator:
        first = index(deduplicator, documents)
        before = deduplicator.store.documents.get(d.id for d in documents)
        again = index(deduplicator, documents)
        assert [(o.status, o.decision.id) for o in again] == [
            ("unchanged", d.id) for d in documents
        ]
        assert deduplicator.store.documents.get(d.id for d in documents) == before
        assert [o.decision.link for o in again] == [
            o.decision.link for o in first if o.status != "relinked"
        ]


@given(arrivals())
@hypothesis_settings(max_examples=25)
def test_outcomes_and_relinked_tell_the_whole_story(
    arrival: tuple[list[Document], list[list[int]]],
) -> None:
    """Whoever applies all outcomes in turn knows what the store holds."""
    documents, batches = arrival
    with new_deduplicator() as deduplicator:
        told: dict[str, Link] = {}
        for batch in batches:
            for outcome in index(deduplicator, [documents[i] for i in batch]):
                assert (outcome.status == "relinked") == (outcome.decision.id in told)
                told[outcome.decision.id] = outcome.decision.link
        assert told == links_of(deduplicator, documents)


@given(universes(dated), st.sets(st.integers(1, 8)))
@hypothesis_settings(max_examples=25)
def test_dropping_is_the_same_however_batched(documents: list[Document], cuts: set[int]) -> None:
    """In order of the dates. A dropped article is stored nowhere, so that nothing leans on it."""
    in_order = sorted(documents, key=lambda d: (d.published, d.id))
    settings = replace(SETTINGS, on_duplicate="drop")
    told, kept = [], []
    for batches in ([in_order], [in_order[a:b] for a, b in pairwise([0, *sorted(cuts), 9])]):
        with new_deduplicator(settings) as deduplicator:
            outcomes = [o for batch in batches for o in index(deduplicator, batch)]
            kept.append(links_of(deduplicator, in_order))
            assert_invariants(deduplicator, [d for d in in_order if d.id in kept[-1]])
        told.append({o.decision.id: (o.status, o.decision.link) for o in outcomes})
    assert told[0] == told[1]
    assert kept[0] == kept[1]
    assert kept[0].keys() == {id_ for id_, (status, _) in told[0].items() if status == "new"}


@given(universes(dated))
@hypothesis_settings(max_examples=25)
def test_dropping_counts_what_linking_links(documents: list[Document]) -> None:
    """Where only originals attract, dropped are exactly the duplicates."""
    in_order = sorted(documents, key=lambda d: (d.published, d.id))
    with new_deduplicator(replace(SETTINGS, attract="originals")) as deduplicator:
        index(deduplicator, in_order)
        linked = links_of(deduplicator, in_order)
    settings = replace(SETTINGS, attract="originals", on_duplicate="drop")
    with new_deduplicator(settings) as deduplicator:
        outcomes = index(deduplicator, in_order)
        kept = links_of(deduplicator, in_order)
    assert {o.decision.id: o.decision.link for o in outcomes} == linked
    assert {o.decision.id for o in outcomes if o.status == "dropped"} == {
        id_ for id_, link in linked.items() if link.role == "duplicate"
    }
    assert kept == {id_: link for id_, link in linked.items() if link.role != "duplicate"}


@pytest.mark.parametrize("one_batch", [True, False])
def test_chains_end_at_the_second_step_by_default(one_batch: bool) -> None:
    """Each is like the one before it, and not like the one before that."""
    chain = [
        StoryVariant(0, tuple(range(2 * i, 2 * i + 4))).document(id_)
        for i, id_ in enumerate("abcd")
    ]
    paper = replace(Settings.load(preset="nrc-gphin", environment={}), max_collisions_by_chance=0)
    default = replace(SETTINGS, max_collisions_by_chance=0, measure="dice", min_overlap=0.4)
    originals = replace(default, attract="originals")
    for settings, groups in ((paper, "aaaa"), (default, "aaad"), (originals, "aacc")):
        with new_deduplicator(settings) as deduplicator:
            for batch in [chain] if one_batch else [[document] for document in chain]:
                index(deduplicator, batch)
            links = links_of(deduplicator, chain)
        assert "".join(links[id_].group for id_ in "abcd") == groups


def test_an_update_is_not_lost_by_way_of_a_cut_copy() -> None:
    """The cut copy does not have the count, so that nothing changed there."""
    before, after = (StoryVariant(0, (0, 1, 2, 3, 4, 5), dead) for dead in (12, 17))
    original, update = before.document("a"), after.document("c")
    cut = Document(id="b", text=" ".join(story_sentence(0, i) for i in (1, 2, 3)), lang="en")
    with new_deduplicator() as deduplicator:
        index(deduplicator, [original, cut, update])
        links = links_of(deduplicator, [original, cut, update])
    assert links["b"] == Link("duplicate", "a", "a", "a", branch=True)
    assert (links["c"].role, links["c"].parent) == ("update", "a")


@given(universes(st.none()), st.data())
@hypothesis_settings(max_examples=25)
def test_deleting_under_the_paper_preset_leaves_whole_groups(
    documents: list[Document], data: st.DataObject
) -> None:
    gone = data.draw(st.sets(st.sampled_from([d.id for d in documents]), min_size=1))
    paper = Settings.load(preset="nrc-gphin", environment={})
    with new_deduplicator(paper) as deduplicator:
        index(deduplicator, documents)
        deduplicator.delete(gone)
        assert deduplicator.store.maintenance.find_problems() == []


def test_an_original_that_turns_up_late_takes_over_its_copies() -> None:
    late = StoryVariant(0, day=0).document("late")
    copies = [StoryVariant(0, day=day).document(f"copy{day}") for day in (1, 2, 3)]
    with new_deduplicator() as deduplicator:
        index(deduplicator, copies)
        outcomes = index(deduplicator, [late])
        assert [(o.decision.id, o.status, o.decision.group) for o in outcomes] == [
            ("late", "new", "late"),
            ("copy1", "relinked", "late"),
            ("copy2", "relinked", "late"),
            ("copy3", "relinked", "late"),
        ]
        deduplicator.delete(["late"])
        assert {link.group for link in links_of(deduplicator, copies).values()} == {"copy1"}


def test_hot_keys_are_never_asked_for() -> None:
    signature = sign_many([Document(id="a", text="one two three four five six")], Settings())[0]
    keys = signature.signature.keys["sketch"]
    settings = replace(Settings(), hot_keys=keys[:19])
    assert QueryBuilder.of(settings).keys(signature.signature) == {"sketch": keys[19:]}
    everywhere = replace(Settings(), hot_keys=keys)
    assert QueryBuilder.of(everywhere).keys(signature.signature) == {}
