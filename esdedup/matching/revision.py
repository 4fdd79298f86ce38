"""Compares two versions of one article: what changed, and how much that is.

The degree is the first of these that applies:

    numbers     a count changed in the same context
    names       a name changed in the same context
    statement   a statement was denied or turned round
    typo        only the spelling of words, punctuation or capitals changed
    rewritten   less than half of the shorter version is in both
    cut         words were removed, and none were added
    extended    words were added, and none were removed
    edited      everything else: words replaced or moved, or some added and others removed
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import SequenceMatcher

from esdedup.features.correction_notes import find_correction_note, remove_correction_note
from esdedup.features.numbers import compare_facts
from esdedup.matching.content import read_contents
from esdedup.matching.diff import Span, align
from esdedup.model import Document
from esdedup.model.revisions import Degree, Revision, has_same_text
from esdedup.settings import Settings

_DEGREES: dict[str, Degree] = {
    "numbers": "numbers", "names": "names", "statement": "statement",
}  # fmt: skip
# Passages of either kind that a revision lists, and characters of each; the two texts have all.
_PASSAGES = 20
_LONGEST = 500
# Below this share of the shorter version that both have, an article was rewritten.
_HALF = 0.5
# Words of a passage whose spelling changed, and how alike the two spellings are at least.
_TYPO_WORDS = 3
_ALIKE = 0.7


def compare_versions(
    old: Document, new: Document, at: datetime, settings: Settings
) -> Revision | None:
    """What the newer version changed; None if the texts are the same."""
    if has_same_text(old, new):
        return None
    stated = [replace(d, text=remove_correction_note(d.text)) for d in (old, new)]
    before, after = read_contents(stated, settings)
    what, changes = compare_facts(before.reading, after.reading)
    spans, _ = align(whole_text(old), whole_text(new))
    note = find_correction_note(new.title, new.text)
    return Revision(
        degree=_DEGREES.get(what) or _grade(spans),
        at=at,
        numbers=changes,
        headline=(old.title, new.title) if old.title.split() != new.title.split() else (),
        added=_passages(s.new for s in spans if s.kind in ("added", "changed")),
        removed=_passages(s.old for s in spans if s.kind in ("removed", "changed")),
        note=note if note != find_correction_note(old.title, old.text) else "",
    )


def whole_text(document: Document) -> str:
    """Headline and text as they are compared."""
    return "\n\n".join(filter(None, (document.title.strip(), document.text.strip())))


def _grade(spans: Sequence[Span]) -> Degree:
    kinds = {s.kind for s in spans if s.kind != "equal" and not _is_typo(s)}
    if not kinds:
        return "typo"
    shared = sum(len(s.new.split()) for s in spans if s.kind in ("equal", "moved"))
    shorter = min(sum(len(s.old.split()) for s in spans), sum(len(s.new.split()) for s in spans))
    if shared < _HALF * shorter:
        return "rewritten"
    if kinds == {"removed"}:
        return "cut"
    return "extended" if kinds == {"added"} else "edited"


def _is_typo(span: Span) -> bool:
    """Whether a few words were spelled otherwise; a digit is never a matter of spelling."""
    old, new = span.old.split(), span.new.split()
    if span.kind != "changed" or len(old) > _TYPO_WORDS or len(new) > _TYPO_WORDS:
        return False
    if any(c.isdigit() for c in span.old + span.new):
        return False
    return SequenceMatcher(None, "".join(old), "".join(new), autojunk=False).ratio() >= _ALIKE


def _passages(texts: Iterable[str]) -> tuple[str, ...]:
    found = [" ".join(text.split()) for text in texts]
    return tuple(
        text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in found[:_PASSAGES]
    )
