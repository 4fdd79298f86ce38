"""Candidates and settings to a decision, with all its evidence."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from esdedup.matching.constraints import BY_CONSTRAINT, UNCONSTRAINED, DocumentConstraints
from esdedup.matching.content import read_contents
from esdedup.matching.verify import SignedDocument, dice_matrix, verify
from esdedup.methods import METHODS
from esdedup.model import Candidate, Decision, Evidence, Order, Role, Signature
from esdedup.settings import Settings

log = logging.getLogger("esdedup.matching")

# Candidates refused by a cannot-link that are shown with a decision.
_SHOWN_REFUSALS = 2


def decide(
    new: SignedDocument,
    candidates: Sequence[Candidate],
    settings: Settings,
    constraints: DocumentConstraints = UNCONSTRAINED,
) -> Decision:
    """Verify the best few candidates; a duplicate goes before an update, before an original.

    The candidates are documents that come before this one, of the kind that `settings.attract`
    names. The story is that of the most central match. A duplicate joins the group of its most
    central match there; one that is a copy of the group's leader, and yet far from it, becomes a
    branch. An update opens a group of its own, after the latest article it updates, so that a chain
    of updates reads 12 -> 17 -> 23. Constraints go before all that is measured.
    """
    id_ = new.document.id
    if not candidates and constraints.joins is None:  # most documents
        return Decision(id_, "original", id_, id_)
    found = find_mutual(new.signature, [_freed(c, id_) for c in candidates], settings)
    refused: tuple[Evidence, ...] = ()
    if constraints.forbidden:
        near = list(found)
        found = iter([c for c in near if c.link.group not in constraints.forbidden])
        refused = tuple(
            constraints.evidence_against(c.link.group, c.id, c.shared)
            for c in near
            if c.link.group in constraints.forbidden
        )
    checked = _verify_each(new, _select_best(found, settings), settings)
    verdicts = {candidate.id: evidence.verdict for candidate, evidence in checked}
    # What updates an original does not become its copy by way of a copy that was cut before the
    # count that changed.
    matches = [
        (candidate, evidence)
        for candidate, evidence in checked
        if evidence.verdict == "update"
        or (
            evidence.verdict == "duplicate"
            and not (
                candidate.link.branch
                and verdicts.get(candidate.link.group) == "update"
                and not constraints.whole.is_linked_representative(candidate.id, candidate.link)
            )
        )
    ]
    if constraints.joins is not None:
        link = constraints.joins[1]
        evidence = constraints.evidence_for_link()
        joined = _decision(id_, "duplicate", link.group, link.story, evidence, checked, branch=True)
        return replace(joined, method=BY_CONSTRAINT)
    if settings.attract == "branches" and matches:
        story = _most_central(matches, settings)[0].link.story
        matches = [pair for pair in matches if pair[0].link.story == story]
    duplicates = [pair for pair in matches if pair[1].verdict == "duplicate"]
    if duplicates:
        central = settings.attract == "branches"
        chosen, evidence = (
            _most_central(duplicates, settings) if central else min(duplicates, key=_closest)
        )
        link = chosen.link
        is_direct = verdicts.get(link.group) == "duplicate" or (
            constraints.whole.is_linked_representative(chosen.id, link)
        )
        branch = is_direct and _is_far(evidence, settings)
        return _decision(id_, "duplicate", link.group, link.story, evidence, checked, branch=branch)
    if matches:
        chosen, evidence = max(matches, key=_latest_leader)
        return _decision(id_, "update", id_, chosen.link.story, evidence, checked)
    return Decision(
        id=id_,
        role="original",
        group=id_,
        story=id_,
        evidence=(*refused[:_SHOWN_REFUSALS], *(evidence for _, evidence in checked)),
        reason=refused[0].reason if refused else "",
    )


def _freed(candidate: Candidate, id_: str) -> Candidate:
    """A candidate comes before the document `id_`, so it cannot be in its group: its link is one
    to an earlier version, and the document would become a copy of itself."""
    link = candidate.link.without_leader(id_, candidate.id)
    return candidate if link is candidate.link else replace(candidate, link=link)


def _verify_each(
    new: SignedDocument, candidates: Sequence[Candidate], settings: Settings
) -> list[tuple[Candidate, Evidence]]:
    """Every candidate with its evidence; the texts are read together."""
    if not candidates:
        return []
    if settings.verified_by != "overlap":  # by the keys alone
        return [(c, verify(c, new, settings, c.shared)) for c in candidates]
    try:
        own, *others = read_contents([new.document, *(c.document for c in candidates)], settings)
        return [
            (candidate, verify(candidate, new, settings, candidate.shared, (content, own)))
            for candidate, content in zip(candidates, others, strict=True)
        ]
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - one of the texts provokes it: `_verify_alone` says which
        return [(candidate, _verify_alone(new, candidate, settings)) for candidate in candidates]


def _verify_alone(new: SignedDocument, candidate: Candidate, settings: Settings) -> Evidence:
    """The evidence about one candidate; one that cannot be compared costs only itself."""
    try:
        return verify(candidate, new, settings, candidate.shared)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a stored text must not end the batch of a new one
        reason = f"not compared: unexpected {type(error).__name__}: {str(error)[:200]}"
        log.warning("%s and %s were %s; please report it", new.document.id, candidate.id, reason)
        return Evidence(candidate.id, candidate.shared, verdict="different", reason=reason)


def find_mutual(
    signature: Signature, candidates: Sequence[Candidate], settings: Settings
) -> Iterator[Candidate]:
    """Candidates that this document finds and that would find it.

    If a method stores fewer keys than it queries with, one of two documents may find the other
    and not be found by it. Reconciling has to find the pair from both sides, or groups would depend
    on the order of arrival. With `attract = all`, as in the papers, nothing is reconciled.
    """
    if not signature.query_seed or settings.attract == "all":
        yield from candidates
        return
    over_frequent = frozenset(settings.hot_keys)
    own = {
        name: frozenset(signature.keys.get(name, ())) - over_frequent
        for name in signature.query_seed
    }
    for candidate in candidates:
        shared = dict(candidate.shared)
        for name in own.keys() & shared.keys():
            seed = candidate.signature.query_seed.get(name, "")
            meeting = own[name].intersection(METHODS[name].query_keys(seed, settings))
            if len(meeting) < METHODS[name].min_shared_keys(settings):
                del shared[name]
        if shared:
            yield candidate.with_shared(shared)


def _decision(
    id_: str,
    role: Role,
    group: str,
    story: str,
    chosen: Evidence,
    checked: Sequence[tuple[Candidate, Evidence]],
    *,
    branch: bool = False,
) -> Decision:
    others = [e for _, e in checked if e is not chosen]
    return Decision(
        id=id_,
        role=role,
        group=group,
        story=story,
        score=chosen.overlap,
        method="+".join(chosen.found_by),
        reason=chosen.reason,
        evidence=(chosen, *others),
        branch=branch,
    )


def _most_shared(candidate: Candidate) -> tuple[int, tuple[int, str]]:
    """Most collisions first, then the earliest."""
    return -sum(candidate.shared.values()), candidate.order


def _select_best(candidates: Iterable[Candidate], settings: Settings) -> list[Candidate]:
    """The best few, and of branches among them also their originals, where these were found."""
    ranked = sorted(candidates, key=_most_shared)[: settings.ranked_candidates]
    best = ranked[: settings.verified_candidates]
    groups = {c.link.group for c in best if c.link.branch}
    return [*best, *(c for c in ranked[settings.verified_candidates :] if c.id in groups)]


def _is_far(closest: Evidence, settings: Settings) -> bool:
    """Copies cut or rewritten this much have copies of their own that the original would miss.

    Nearly equal copies add nothing, however many there are. A copy of a branch is no branch, so
    that a chain of small steps ends at the second.
    """
    return settings.attract == "branches" and 2 * _closeness(closest) < settings.branch_below


def _latest_leader(pair: tuple[Candidate, Evidence]) -> tuple[bool, Order]:
    """A copy that was cut says less of what changed than its original."""
    return not pair[0].link.branch, pair[0].order


def _most_central(
    matches: Sequence[tuple[Candidate, Evidence]], settings: Settings
) -> tuple[Candidate, Evidence]:
    """Of several matches the one that the others speak for, each by how close it is itself.

    Look-alike stories share a paragraph or a page here and there: one article that is nearest by
    chance must not outweigh several of another story. Of two matches it is always the closest.
    """
    if len(matches) == 1:
        return matches[0]
    ranked = sorted(matches, key=_closest)
    if len(ranked) < 3:
        return ranked[0]
    weights = np.array([_closeness(evidence) ** 3 for _, evidence in ranked])
    likeness = dice_matrix(read_contents([c.document for c, _ in ranked], settings))
    return ranked[int(np.argmax((likeness @ weights).round(6)))]


def _closeness(evidence: Evidence) -> float:
    """Half the harmonic mean of both sides' shares: a short text is contained in many, and the
    copy of few."""
    new, old = evidence.of_new, evidence.of_old
    return new * old / (new + old)


def _closest(pair: tuple[Candidate, Evidence]) -> tuple[float, tuple[int, str]]:
    return -_closeness(pair[1]), pair[0].order
