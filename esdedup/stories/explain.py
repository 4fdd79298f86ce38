"""Why two articles are, or are not, one story: the evidence, and both texts word by word.

Pure functions over what is stored: nothing is read or written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from esdedup.clustering.reconcile import Questions
from esdedup.matching.constraints import NOTHING_SAID, Corrections
from esdedup.matching.verify import verify
from esdedup.methods import METHODS
from esdedup.model import JSON, Evidence
from esdedup.settings import Settings
from esdedup.stores import Record
from esdedup.stories.diff import MAX_WORDS, Span, align
from esdedup.text.batch import signed_text

__all__ = [
    "MAX_WORDS",
    "Explanation",
    "Measured",
    "RunnerUp",
    "SharedKeys",
    "Span",
    "align",
    "explain",
]


@dataclass(frozen=True, slots=True)
class SharedKeys:
    """How many keys of one method two documents share, and how many make a candidate."""

    method: str
    shared: int
    needed: int
    of: int

    @property
    def enough(self) -> bool:
        return self.shared >= self.needed


@dataclass(frozen=True, slots=True)
class Measured:
    """What one method measures of two documents, whoever decided; `says` has it in words."""

    method: str
    value: float
    is_copy: bool
    says: str

    def to_json(self) -> JSON:
        return {"value": self.value, "is_copy": self.is_copy, "says": self.says}


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """Another article that the new one was compared with, and why it lost."""

    other: str
    evidence: Evidence
    why: str

    def to_json(self) -> JSON:
        return {"other": self.other, "why": self.why, "evidence": self.evidence.to_json()}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Two stored documents, the earlier one first, and everything that decides about them."""

    old: Record
    new: Record
    keys: tuple[SharedKeys, ...]
    evidence: Evidence
    rule: str
    spans: tuple[Span, ...]
    cut: bool = False  # the texts are longer than what `spans` compares
    measures: tuple[Measured, ...] = ()
    names: tuple[str, ...] = ()  # named entities that both have
    runner_up: RunnerUp | None = None

    def to_json(self) -> JSON:
        return {
            "old": self.old.document.id,
            "new": self.new.document.id,
            "decision": self.new.decision.to_json(),
            "keys": {
                k.method: {"shared": k.shared, "needed": k.needed, "of": k.of} for k in self.keys
            },
            "evidence": self.evidence.to_json(),
            "rule": self.rule,
            "measures": {m.method: m.to_json() for m in self.measures},
            "names": list(self.names),
            "runner_up": self.runner_up.to_json() if self.runner_up else None,
            "spans": [span.to_json() for span in self.spans],
            "cut": self.cut,
        }


def explain(
    one: Record, other: Record, settings: Settings, corrections: Corrections = NOTHING_SAID
) -> Explanation:
    """What the settings, and people before them, say about two stored documents, whatever was
    decided before."""
    old, new = sorted((one, other), key=lambda record: record.order)
    keys = shared_keys(old, new, settings)
    evidence = verify(
        old.document.id,
        old.signature,
        new.signature,
        settings,
        found_by={k.method: k.shared for k in keys if k.enough},
    )
    texts = [signed_text(record.document, settings) for record in (old, new)]
    spans, cut = align(*texts)
    rule = rule_applied(old, new, keys, evidence, settings)
    if word := corrections.word_on(old.document.id, new.document.id):
        rule = f"{word}, by a person; without that {rule}"
    return Explanation(
        old,
        new,
        keys,
        evidence,
        rule,
        spans,
        cut,
        measures=measured(old, new, settings),
        names=_names(old, new) if "entities" in settings.methods else (),
        runner_up=_runner_up(old, new),
    )


def shared_keys(old: Record, new: Record, settings: Settings) -> tuple[SharedKeys, ...]:
    """The collisions, for every method that signed both documents."""
    mine, others = Questions.of(settings).keys(new.signature), old.signature.keys
    return tuple(
        SharedKeys(
            method,
            len(set(mine[method]) & set(others[method])),
            METHODS[method].needed(settings),
            len(mine[method]),
        )
        for method in mine
        if method in others
    )


def rule_applied(
    old: Record, new: Record, keys: Sequence[SharedKeys], evidence: Evidence, settings: Settings
) -> str:
    """The rule that decided about this pair, as a sentence with its numbers."""
    for record in (old, new):
        if record.decision.role == "unprocessed":
            return f"{record.document.id} could not be processed: it counts as an original"
    if not any(k.enough for k in keys):
        return f"not compared: {_too_few(keys)}"
    return f"{evidence.verdict}: {_reason(old, new, evidence, settings)}"


_CHANGED = {"numbers": "counts", "names": "names"}


def _reason(old: Record, new: Record, evidence: Evidence, settings: Settings) -> str:
    if evidence.measure == "exact":
        same = "the same" if evidence.verdict == "duplicate" else "not the same"
        return f"too short for shingles, and {same} word for word"
    if evidence.measure in METHODS:
        verb = "makes" if evidence.verdict == "duplicate" else "does not make"
        return f"{evidence.measure} measures {evidence.overlap:g}, which {verb} a copy"
    overlap = f"{evidence.measure} {evidence.overlap:.3f}"
    limit = evidence.thresholds["min_overlap"]
    if evidence.verdict == "different":
        return f"{overlap} is not above min_overlap {limit:g}"
    above = f"{overlap} is above min_overlap {limit:g}"
    if limit < settings.min_overlap:
        above += " (less lead_bonus, since they begin alike)"
    if evidence.reason in _CHANGED:
        return f"{above}, and {_CHANGED[evidence.reason]} changed in the same context"
    if evidence.reason == "extended":
        longer = new.signature.words / max(1, old.signature.words)
        return (
            f"{above}, and the new text is {longer:.1f} times as long "
            f"(more than extended_ratio {settings.extended_ratio:g})"
        )
    return f"{above}, and no count or name changed" if settings.number_check else above


def _too_few(keys: Sequence[SharedKeys]) -> str:
    if not keys:
        return "no method signed both"
    return ", ".join(f"{k.shared} {k.method} keys shared and {k.needed} needed" for k in keys)


# --- by every method that is on -----------------------------------------------------------------


def measured(old: Record, new: Record, settings: Settings) -> tuple[Measured, ...]:
    """What each method that signed both says by itself."""
    out = []
    for name in settings.methods:
        a, b = old.signature, new.signature
        judge = METHODS.get(name)
        if judge is None or name not in a.keys or name not in b.keys:
            continue
        if name in a.kept and name in b.kept:
            value = float(judge.compare_kept(a.kept[name], b.kept[name], settings))
        else:
            value = float(judge.compare(a.keys[name], b.keys[name], settings))
        is_copy = bool(judge.matches(value, settings))
        out.append(Measured(name, value, is_copy, _describe(judge, value, is_copy, settings)))
    return tuple(out)


def _describe(judge: ModuleType, value: float, is_copy: bool, settings: Settings) -> str:
    if hasattr(judge, "describe"):
        return str(judge.describe(value, is_copy, settings))
    return f"{value:.3f}: {'a copy' if is_copy else 'no copy'} by itself"


def _names(old: Record, new: Record) -> tuple[str, ...]:
    from esdedup.stories.similar import entities_of

    there = entities_of(old.document)
    return tuple(name for key, name in entities_of(new.document).items() if key in there)


# --- who lost ------------------------------------------------------------------------------------


def _runner_up(old: Record, new: Record) -> RunnerUp | None:
    """The best of the others that were compared when the new article was decided."""
    chosen, *others = new.decision.evidence or (None,)
    others = [e for e in others if e is not None and e.other != old.document.id]
    if chosen is None or not others:
        return None
    linked = new.decision.role in ("duplicate", "update")
    best = others[0]
    why = _why_lost(chosen, best) if linked else _why_none(best)
    return RunnerUp(best.other, best, why)


def _why_lost(chosen: Evidence, other: Evidence) -> str:
    if other.verdict == "different":
        return _why_none(other)
    if chosen.verdict == "duplicate" and other.verdict == "update":
        return "it would have made an update, and a copy goes before an update"
    if chosen.verdict == other.verdict == "update":
        return "it is an earlier version: an update follows the latest article it updates"
    if _closeness(other) < _closeness(chosen):
        return (
            f"it is less close: it shares {other.of_new:.0%} of the new text and "
            f"{other.of_old:.0%} of its own, the chosen one {chosen.of_new:.0%} and "
            f"{chosen.of_old:.0%}"
        )
    if _closeness(other) == _closeness(chosen):
        return "it is as close, and comes later"
    return "it is closer, and the other matches speak for the story of the chosen one"


def _why_none(other: Evidence) -> str:
    limit = other.thresholds.get("min_overlap")
    above = f", and more than {limit:g} is needed" if limit is not None else ""
    return f"its {other.measure} of {other.overlap:.3f} makes no copy{above}"


def _closeness(evidence: Evidence) -> float:
    return evidence.of_new + evidence.of_old and (
        evidence.of_new * evidence.of_old / (evidence.of_new + evidence.of_old)
    )
