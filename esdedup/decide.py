"""Candidates and settings to a decision, with all its evidence."""

from __future__ import annotations

from collections.abc import Sequence

from esdedup.model import Candidate, Decision, Evidence, Signature
from esdedup.settings import Settings
from esdedup.verify import verify


def decide(
    id_: str, signature: Signature, candidates: Sequence[Candidate], settings: Settings
) -> Decision:
    """Verify the best few candidates; a duplicate goes before an update, before an original.

    The candidates are documents that come before this one, leaders only or all of them as
    `settings.attract` has it. A duplicate joins the group of the closest match. An update opens
    a group of its own in the story of the latest article it updates, so that a chain of updates
    reads 12 -> 17 -> 23.
    """
    best = sorted(candidates, key=_most_shared)[: settings.verified_candidates]
    checked = [(c, verify(c.id, c.signature, signature, settings, found_by=c.shared)) for c in best]
    duplicates = [pair for pair in checked if pair[1].verdict == "duplicate"]
    if duplicates:
        chosen, evidence = min(duplicates, key=_closest)
        return _decision(id_, "duplicate", chosen.link.group, chosen.link.story, evidence, checked)
    updates = [pair for pair in checked if pair[1].verdict == "update"]
    if updates:
        chosen, evidence = max(updates, key=lambda pair: pair[0].order)
        return _decision(id_, "update", id_, chosen.link.story, evidence, checked)
    return Decision(
        id=id_,
        role="original",
        group=id_,
        story=id_,
        evidence=tuple(evidence for _, evidence in checked),
    )


def _decision(
    id_: str,
    role: str,
    group: str,
    story: str,
    chosen: Evidence,
    checked: Sequence[tuple[Candidate, Evidence]],
) -> Decision:
    others = [e for _, e in checked if e is not chosen]
    return Decision(
        id=id_,
        role="duplicate" if role == "duplicate" else "update",
        group=group,
        story=story,
        score=chosen.overlap,
        method="+".join(chosen.found_by),
        reason=chosen.reason,
        evidence=(chosen, *others),
    )


def _most_shared(candidate: Candidate) -> tuple[int, tuple[int, str]]:
    """Most collisions first, then the earliest."""
    return -sum(candidate.shared.values()), candidate.order


def _closest(pair: tuple[Candidate, Evidence]) -> tuple[float, tuple[int, str]]:
    """Most alike on both sides: a short text is contained in many, and the copy of few."""
    new, old = pair[1].of_new, pair[1].of_old
    return -(new * old / (new + old)), pair[0].order
