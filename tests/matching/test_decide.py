"""Which of several candidates decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from esdedup.ingest.sign import Signed
from esdedup.matching.content import Content
from esdedup.matching.decide import decide, find_mutual
from esdedup.methods import METHODS
from esdedup.model import Candidate, Document, Link, Signature
from esdedup.settings import Settings

SETTINGS = Settings(measure="dice", min_overlap=0.3, extended_ratio=0.0)
NEW = list(range(10))


_CONTENTS: dict[str, Content] = {}


@pytest.fixture(autouse=True)
def _contents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contents as the tests draw them up, in place of those computed from texts."""

    def read(documents: Sequence[Document], settings: Settings) -> list[Content]:
        del settings
        return [_CONTENTS[document.text] for document in documents]

    monkeypatch.setattr("esdedup.matching.decide.read_contents", read)


def article(id_: str, shingles: Sequence[int], dead: int = 12) -> Signed:
    others = " ".join(f"w{shingle}" for shingle in shingles)
    text = f"The coastguard said {dead} people were killed on the ferry.\n{others}"
    content = Content(text, "en", 50, np.array(shingles, np.uint32), "")
    _CONTENTS[text] = content
    return Signed(Document(id_, text=text), Signature("f", {}))


def candidate(
    id_: str,
    shingles: Sequence[int],
    moment: int = 0,
    shared: int = 5,
    dead: int = 12,
    group: str | None = None,
    story: str | None = None,
) -> Candidate:
    role = "original" if group is None else "duplicate"
    story = story or f"story of {group or id_}"
    link = Link(role, group or id_, story)  # type: ignore[arg-type]  # any role
    made = article(id_, shingles, dead)
    return Candidate(made.document, {"sketch": shared}, made.signature, (moment, id_), link)


def test_without_candidates_an_original() -> None:
    decision = decide(article("x", NEW), [], SETTINGS)
    assert (decision.role, decision.group, decision.story) == ("original", "x", "x")
    assert decision.evidence == ()


def test_candidates_that_fail_are_kept_as_evidence() -> None:
    decision = decide(article("x", NEW), [candidate("far", [99, 98])], SETTINGS)
    assert decision.role == "original"
    assert [(e.other, e.verdict) for e in decision.evidence] == [("far", "different")]
    assert decision.link.parent is None


def test_the_closest_duplicate_not_the_one_with_most_collisions() -> None:
    near, half = candidate("near", NEW[:9], shared=4), candidate("half", NEW[:5], shared=9)
    decision = decide(article("x", NEW), [half, near], SETTINGS)
    assert (decision.role, decision.group, decision.story) == ("duplicate", "near", "story of near")
    assert [e.other for e in decision.evidence] == ["near", "half"]
    assert decision.score == decision.evidence[0].overlap
    assert decision.method == "sketch"


def test_a_short_text_is_the_copy_of_what_it_covers_not_of_what_holds_it() -> None:
    settings = Settings(measure="containment", min_overlap=0.5, extended_ratio=0.0)
    holds, covered = candidate("holds", range(100), 1), candidate("covered", NEW[:9], 2)
    assert decide(article("x", NEW), [holds, covered], settings).group == "covered"


def test_equally_close_the_earliest() -> None:
    found = [candidate("b", NEW, 2), candidate("c", NEW, 1), candidate("a", NEW, 2)]
    assert decide(article("x", NEW), found, SETTINGS).group == "c"


def test_a_duplicate_goes_before_an_update() -> None:
    updated = candidate("updated", NEW, dead=7, story="one")
    copied = candidate("copied", NEW[:4], story="one")
    decision = decide(article("x", NEW), [updated, copied], SETTINGS)
    assert (decision.role, decision.group) == ("duplicate", "copied")


def test_an_update_of_the_closest_story_goes_before_a_copy_of_another() -> None:
    updated = candidate("updated", NEW, dead=7, story="one")
    copied = candidate("copied", NEW[:4], story="other")
    decision = decide(article("x", NEW), [updated, copied], SETTINGS)
    assert (decision.role, decision.story) == ("update", "one")


def test_several_matches_outweigh_one_that_is_a_little_closer() -> None:
    lone = candidate("lone", [*NEW[:6], *range(20, 24)])
    others = [candidate(f"o{i}", [*NEW[5:], *range(30, 35), 40 + i], i + 1) for i in range(3)]
    assert decide(article("x", NEW), [lone, *others[:1]], SETTINGS).group == "lone"
    assert decide(article("x", NEW), [lone, *others], SETTINGS).group == "o0"


def test_within_a_story_the_most_central_where_branches_attract_else_the_closest() -> None:
    lone = candidate("lone", [*NEW[:6], *range(20, 24)], story="s")
    others = [
        candidate(f"o{i}", [*NEW[5:], *range(30, 35), 40 + i], i + 1, story="s") for i in range(3)
    ]
    assert SETTINGS.attract == "branches"
    assert decide(article("x", NEW), [lone, *others], SETTINGS).group == "o0"
    of_originals = replace(SETTINGS, attract="originals")
    assert decide(article("x", NEW), [lone, *others], of_originals).group == "lone"


def test_far_copies_of_the_leader_are_branches_and_near_ones_are_not() -> None:
    settings = replace(SETTINGS, branch_below=0.6)
    far, near = candidate("first", NEW[:4]), candidate("first", NEW[:9])
    assert decide(article("x", NEW), [far], settings).branch
    assert not decide(article("x", NEW), [near], settings).branch
    of_a_copy = candidate("copy", NEW[:4], group="first")
    assert not decide(article("x", NEW), [of_a_copy], settings).branch
    assert not decide(article("x", NEW), [far], replace(settings, attract="originals")).branch


def test_an_update_is_of_the_latest_and_leads() -> None:
    first = candidate("first", NEW, 1, dead=7, story="s")
    second = candidate("second", NEW[:6], 2, dead=9, story="s")
    decision = decide(article("x", NEW), [first, second], SETTINGS)
    assert (decision.role, decision.group, decision.story) == ("update", "x", "s")
    assert decision.link.parent == "second"
    assert decision.link.canonical


def test_a_copy_of_a_copy_joins_the_group_of_the_original() -> None:
    decision = decide(article("x", NEW), [candidate("copy", NEW, group="first")], SETTINGS)
    assert (decision.group, decision.link.parent) == ("first", "copy")


def test_only_the_best_few_are_verified() -> None:
    one = Settings(measure="dice", min_overlap=0.3, verified_candidates=1)
    same, most = candidate("same", NEW, shared=3), candidate("most", [99], shared=4)
    decision = decide(article("x", NEW), [same, most], one)
    assert decision.role == "original"
    assert [e.other for e in decision.evidence] == ["most"]


def test_a_pair_counts_where_each_finds_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The method stores fewer keys than it asks with; two common ones are needed."""
    fake = SimpleNamespace(query_keys=lambda seed, _: seed.split(), min_shared_keys=lambda _: 2)
    monkeypatch.setitem(METHODS, "lengths", fake)
    own = Signature("f", {"lengths": ("a", "b", "c")}, query_seed={"lengths": "a b c d"})

    def found(kept: str, settings: Settings, **also: int) -> list[dict[str, int]]:
        other = replace(
            candidate("other", NEW),
            shared={"lengths": 5, **also},
            signature=Signature("f", {}, query_seed={"lengths": kept}),
        )
        return [dict(c.shared) for c in find_mutual(own, [other], settings)]

    assert found("a b x", SETTINGS) == [{"lengths": 5}]
    assert found("a x y", SETTINGS) == []
    assert found("a x y", SETTINGS, sketch=4) == [{"sketch": 4}]
    assert found("a b x", replace(SETTINGS, hot_keys=("b",))) == []
    assert found("a x y", replace(SETTINGS, attract="all")) == [{"lengths": 5}]
