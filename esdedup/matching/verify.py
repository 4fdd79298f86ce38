"""Two documents to evidence: overlap of the compared parts, changed counts, containment.

Pure functions: nothing here knows where a document came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from esdedup.features.numbers import NumberChange, compare_facts
from esdedup.matching.boilerplate import share_only_boilerplate
from esdedup.matching.content import Content, read_contents
from esdedup.matching.other_event import find_other_event
from esdedup.methods import method
from esdedup.model import Document, Evidence, Hashes32, Signature
from esdedup.model.methods import is_distance
from esdedup.settings import Settings
from esdedup.settings.table import Measure

_HALF = 0.5
# The beginning of a text: its first shingles, at most half of them. Where these are fewer than
# `_SHORTEST_LEAD`, one sentence in common would be a large part of it.
_LEAD = 80
_SHORTEST_LEAD = 20
# Of pairs that share .3 to .45 and are no copies (BASIL, Wikinews, Telegram contest) none shares so
# much of a beginning: newsrooms write their own, and share quotations and background.
_LEAD_SHARED = 0.45


class SignedDocument(Protocol):
    """A document with its signature: a record, a candidate, or an article just signed."""

    @property
    def document(self) -> Document: ...
    @property
    def signature(self) -> Signature: ...


def verify(
    old: SignedDocument,
    new: SignedDocument,
    settings: Settings,
    found_by: Mapping[str, int] | None = None,
    contents: tuple[Content, Content] | None = None,
) -> Evidence:
    """Whether `new` is a duplicate of `old`, an update of it, or a different article.

    `contents` are those of both, if they are at hand.
    """
    other = old.document.id
    if settings.verified_by != "overlap":
        return _verify_by_method(other, old.signature, new.signature, settings, found_by or {})
    before, after = contents or read_contents([old.document, new.document], settings)
    evidence = verify_contents(other, before, after, settings, found_by)
    if (
        settings.ignore_boilerplate
        and evidence.verdict != "different"
        and share_only_boilerplate(old.document, new.document, settings)
    ):
        return replace(evidence, verdict="different", reason="boilerplate", numbers=())
    return evidence


def verify_contents(
    other: str,
    old: Content,
    new: Content,
    settings: Settings,
    found_by: Mapping[str, int] | None = None,
) -> Evidence:
    """The same for contents, by the overlap of their shingles; `other` is the id of the older."""
    if not len(old.shingles) or not len(new.shingles):
        return _verify_short(other, old, new, found_by or {})
    shared, a, b = count_overlap(old.shingles, new.shingles)
    overlap = MEASURES[settings.measure](shared, a, b)
    numbers: tuple[NumberChange, ...] = ()
    verdict: Literal["duplicate", "update", "different"] = "different"
    reason = "overlap"
    needed = needed_overlap(old, new, settings)
    if overlap <= needed:
        with_lead = needed_with_lead(settings)
        if with_lead < overlap and has_same_lead(old, new):
            needed = with_lead
    if overlap > needed:
        verdict = "duplicate"
        what, numbers = _compare_facts(old, new) if settings.number_check else ("", ())
        if settings.number_check and old.text != new.text and (names := find_other_event(old, new)):
            verdict, reason, numbers = "different", "other event", names
        elif numbers:
            verdict, reason = "update", what
        elif is_extended(old, new, shared / a, min(needed, settings.min_overlap), settings):
            verdict, reason = "update", "extended"
    return Evidence(
        other=other,
        found_by=found_by or {},
        measure=settings.measure,
        overlap=overlap,
        of_new=shared / b,
        of_old=shared / a,
        thresholds={
            "min_overlap": needed,
            "max_collisions_by_chance": settings.max_collisions_by_chance,
        },
        verdict=verdict,
        reason=reason,
        numbers=numbers,
    )


def _compare_facts(old: Content, new: Content) -> tuple[str, tuple[NumberChange, ...]]:
    if old.text == new.text:
        return "", ()
    return compare_facts(old.reading, new.reading)


def distinct(hashes: Hashes32) -> Hashes32:
    """Sorted, each once; for some hundred values four times as fast as numpy's `unique`."""
    in_order = np.sort(hashes)
    is_first = np.empty(len(in_order), np.bool_)
    is_first[:1] = True
    np.not_equal(in_order[1:], in_order[:-1], out=is_first[1:])
    return in_order[is_first]


def count_shared(a: Hashes32, b: Hashes32) -> int:
    """How many of two sorted arrays of distinct hashes are in both."""
    together = np.concatenate([a, b])
    together.sort(kind="stable")  # two sorted runs: merged, not sorted anew
    return int(np.count_nonzero(together[1:] == together[:-1]))


def count_overlap(one: Hashes32, other: Hashes32) -> tuple[int, int, int]:
    """How many distinct hashes are in both, in one and in the other: what two have in common is
    counted twice when they are counted apart, and nothing has to be picked out."""
    together = np.concatenate([one, other])
    a, b = together[: len(one)], together[len(one) :]
    a.sort()
    b.sort()
    of_one, of_other = _count_distinct(a), _count_distinct(b)
    together.sort(kind="stable")  # two sorted runs: merged, not sorted anew
    return of_one + of_other - _count_distinct(together), of_one, of_other


def _count_distinct(in_order: Hashes32) -> int:
    return int(np.count_nonzero(in_order[1:] != in_order[:-1])) + bool(len(in_order))


def dice_matrix(contents: Sequence[Content]) -> npt.NDArray[np.float64]:
    """Dice of the compared parts of every two of these; 1 for two without any."""
    sets = [distinct(content.shingles) for content in contents]
    out = np.ones((len(sets), len(sets)))
    for i, a in enumerate(sets):
        for j, b in enumerate(sets[:i]):
            if len(a) or len(b):
                out[i, j] = out[j, i] = dice(count_shared(a, b), len(a), len(b))
    return out


def dice_with_each(own: Hashes32, others: Sequence[Hashes32]) -> list[float]:
    """Dice of one compared part with each of several, which mostly share nothing with it: then no
    hash of its own is there twice when all are sorted together."""
    together = np.concatenate([own, *others])
    together.sort()
    twice = together[1:][together[1:] == together[:-1]]
    if not len(twice) or set(twice.tolist()).isdisjoint(own.tolist()):
        return [0.0] * len(others)
    a = distinct(own)
    parts = [distinct(other) for other in others]
    return [dice(count_shared(a, b), len(a), len(b)) for b in parts]


def needed_overlap(old: Content, new: Content, settings: Settings) -> float:
    """What the overlap must be above: half at least where one text is clearly longer.

    A long article that quotes less than half of a short one is neither its copy nor its update.
    """
    ratio = settings.extended_ratio
    if ratio and max(old.words, new.words) > ratio * min(old.words, new.words):
        return max(settings.min_overlap, _HALF)
    return settings.min_overlap


def needed_with_lead(settings: Settings) -> float:
    """The same for texts that begin alike. A `min_overlap` above one half is never lowered."""
    bonus = settings.lead_bonus if settings.min_overlap <= _HALF else 0.0
    return settings.min_overlap - bonus


def has_same_lead(old: Content, new: Content) -> bool:
    """Whether the longer text begins with what the shorter one has, too.

    A copy that was cut or continued keeps its beginning. The shorter one's does not count: a long
    article may quote the lead of a short one and go on about something else.
    """
    shorter, longer = sorted((old, new), key=lambda content: content.words)
    lead = longer.shingles[: min(_LEAD, len(longer.shingles) // 2)]
    if len(lead) < _SHORTEST_LEAD:
        return False
    return float(np.isin(lead, shorter.shingles).mean()) >= _LEAD_SHARED


def is_extended(
    old: Content, new: Content, of_old: float, needed: float, settings: Settings
) -> bool:
    """Whether `new` is clearly longer than `old` and contains the required share of it."""
    ratio = settings.extended_ratio
    return bool(ratio) and new.words > ratio * old.words and of_old > needed


def dice(shared: int, a: int, b: int) -> float:
    return 2 * shared / (a + b)


def jaccard(shared: int, a: int, b: int) -> float:
    return shared / (a + b - shared)


def containment(shared: int, a: int, b: int) -> float:
    """Of the smaller side; `of_new` and `of_old` show which side that is."""
    return shared / min(a, b)


MEASURES = {"dice": dice, "jaccard": jaccard, "containment": containment}
assert set(MEASURES) == set(get_args(Measure))


def _verify_by_method(
    other: str, old: Signature, new: Signature, settings: Settings, found_by: Mapping[str, int]
) -> Evidence:
    """One method alone, as its paper has it: its own measure of the keys decides."""
    name = settings.verified_by
    judge = method(name)
    a, b = old.keys.get(name, ()), new.keys.get(name, ())
    measure: float | None = judge.compare(a, b, settings) if a and b else None
    if name in old.query_seed and name in new.query_seed:
        measure = judge.compare_seeds(old.query_seed[name], new.query_seed[name], settings)
    is_match = measure is not None and judge.matches(measure, settings)
    # For ranking only: between 0 and 1, more for what is closer.
    closeness = 0.0
    if measure is not None:
        closeness = (1.0 if is_distance(name) else measure) / (1.0 + measure)
    return Evidence(
        other=other,
        found_by=found_by,
        measure=name,
        overlap=float(measure or 0.0),
        of_new=closeness,
        of_old=closeness,
        verdict="duplicate" if is_match else "different",
        reason=name,
    )


def _verify_short(other: str, old: Content, new: Content, found_by: Mapping[str, int]) -> Evidence:
    """Texts without a shingle match only word for word."""
    same = bool(old.words) and old.digest == new.digest
    return Evidence(
        other=other,
        found_by=found_by,
        measure="exact",
        overlap=float(same),
        of_new=float(same),
        of_old=float(same),
        verdict="duplicate" if same else "different",
        reason="exact text",
    )
