"""Why two articles are, or are not, one story: the evidence, and both texts word by word.

`explain_stored` reads two articles of a store; everything else is pure functions over records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import Annotated

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import QueryBuilder
from esdedup.errors import NothingToExplain
from esdedup.matching.constraints import NO_CONSTRAINTS, Constraints
from esdedup.matching.diff import Span, align
from esdedup.matching.verify import verify
from esdedup.methods import METHODS
from esdedup.model import Decision, Evidence
from esdedup.model.json_form import JsonField, Result, in_json
from esdedup.settings import Settings
from esdedup.stores import Record, get_record
from esdedup.stories.articles import entities_of
from esdedup.stories.revisions import ArticleRevision, revisions_of
from esdedup.text.batch import signed_text

# The key of an entry of an explanation, not a part of it.
_Method = Annotated[str, JsonField(hidden=True)]


@dataclass(frozen=True, slots=True)
class SharedKeys(Result):
    """How many keys of one method two documents share, and how many make a candidate."""

    method: _Method
    shared: int
    needed: int
    of: int

    @property
    def is_enough(self) -> bool:
        return self.shared >= self.needed


@dataclass(frozen=True, slots=True)
class Measured(Result):
    """What one method measures of two documents; `says` has it in words."""

    method: _Method
    value: float
    is_copy: bool
    says: str


@dataclass(frozen=True, slots=True)
class RunnerUp(Result):
    """Another article that the new one was compared with, and why it lost."""

    other: str
    evidence: Evidence
    why: str


def _id(record: Record) -> str:
    return record.document.id


def _keys_by_method(keys: tuple[SharedKeys, ...]) -> dict[str, SharedKeys]:
    return {one.method: one for one in keys}


def _measures_by_method(measures: tuple[Measured, ...]) -> dict[str, Measured]:
    return {one.method: one for one in measures}


@dataclass(frozen=True, slots=True)
class Explanation(Result):
    """Two stored documents, the earlier one first, and everything that decides about them."""

    old: Annotated[Record, JsonField(convert=_id)]
    new: Annotated[Record, JsonField(convert=_id)]
    keys: Annotated[tuple[SharedKeys, ...], JsonField(convert=_keys_by_method)]
    evidence: Evidence
    rule: str
    spans: tuple[Span, ...]
    cut: Annotated[
        bool, JsonField(description="The texts are longer than what `spans` compares.")
    ] = False
    measures: Annotated[tuple[Measured, ...], JsonField(convert=_measures_by_method)] = ()
    names: Annotated[tuple[str, ...], JsonField(description="Named entities that both have.")] = ()
    runner_up: RunnerUp | None = None
    revisions: Annotated[
        tuple[ArticleRevision, ...],
        JsonField(omit_empty=True, description="Of both articles: the newest versions decide."),
    ] = ()

    @property
    @in_json()
    def decision(self) -> Decision:
        """What was decided about the later document."""
        return self.new.decision


def explain(
    one: Record,
    other: Record,
    settings: Settings,
    constraints: Constraints = NO_CONSTRAINTS,
    revisions: Mapping[str, tuple[ArticleRevision, ...]] = MappingProxyType({}),
) -> Explanation:
    """Compare two stored documents by the settings and by the constraints of people.

    The stored decision plays no part in it. `revisions` are those of `revisions_of`.
    """
    old, new = sorted((one, other), key=lambda record: record.order)
    keys = count_shared_keys(old, new, settings)
    found_by = {k.method: k.shared for k in keys if k.is_enough}
    evidence = verify(old, new, settings, found_by)
    texts = [signed_text(record.document, settings) for record in (old, new)]
    spans, cut = align(*texts)
    rule = describe_rule(old, new, keys, evidence, settings)
    if constraint := constraints.describe_pair(old.document.id, new.document.id):
        rule = f"{constraint}, by a person; without that {rule}"
    return Explanation(
        old,
        new,
        keys,
        evidence,
        rule,
        spans,
        cut,
        measures=measure_by_method(old, new, settings),
        names=_find_shared_names(old, new) if "entities" in settings.methods else (),
        runner_up=_find_runner_up(old, new),
        revisions=tuple(r for side in (old, new) for r in revisions.get(side.document.id, ())),
    )


def explain_stored(deduplicator: Deduplicator, id_: str, other: str | None = None) -> Explanation:
    """Explain an article and another one: by default what it is linked to, or compared with."""
    store = deduplicator.store
    record = deduplicator.with_evidence(get_record(store, id_))
    if other is None:
        if not record.decision.evidence:
            raise NothingToExplain(
                f"{id_} is {record.decision.role}: no other article shares enough keys with it; "
                "name a second article to compare it with"
            )
        other = record.decision.evidence[0].other
    second = deduplicator.with_evidence(get_record(store, other))
    revised = revisions_of([record, second], store)
    return explain(record, second, deduplicator.settings, store.constraints.recent(), revised)


def count_shared_keys(old: Record, new: Record, settings: Settings) -> tuple[SharedKeys, ...]:
    """Shared keys, for every method that signed both documents."""
    mine, others = QueryBuilder.of(settings).keys(new.signature), old.signature.keys
    return tuple(
        SharedKeys(
            method,
            len(set(mine[method]) & set(others[method])),
            METHODS[method].min_shared_keys(settings),
            len(mine[method]),
        )
        for method in mine
        if method in others
    )


def describe_rule(
    old: Record, new: Record, keys: Sequence[SharedKeys], evidence: Evidence, settings: Settings
) -> str:
    """The rule that decided about this pair, as a sentence with its numbers."""
    for record in (old, new):
        if record.decision.role == "unprocessed":
            return f"{record.document.id} could not be processed: it counts as an original"
    if not any(k.is_enough for k in keys):
        return f"not compared: {_describe_too_few(keys)}"
    return f"{evidence.verdict}: {_describe_reason(old, new, evidence, settings)}"


_CHANGED = {"numbers": "counts", "names": "names", "statement": "statements"}


def _describe_reason(old: Record, new: Record, evidence: Evidence, settings: Settings) -> str:
    if evidence.measure == "exact":
        same = "the same" if evidence.verdict == "duplicate" else "not the same"
        return f"too short for shingles, and {same} word for word"
    if evidence.measure in METHODS:
        verb = "makes" if evidence.verdict == "duplicate" else "does not make"
        return f"{evidence.measure} measures {evidence.overlap:g}, which {verb} a copy"
    overlap = f"{evidence.measure} {evidence.overlap:.3f}"
    limit = evidence.thresholds["min_overlap"]
    if evidence.verdict == "different":
        why = f"is not above min_overlap {limit:g}"
        if evidence.reason == "boilerplate":
            why = "is of passages that neither headline is about: boilerplate"
        return f"{overlap} {why}"
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
    return f"{above}, and no count, name or statement changed" if settings.number_check else above


def _describe_too_few(keys: Sequence[SharedKeys]) -> str:
    if not keys:
        return "no method signed both"
    return ", ".join(f"{k.shared} {k.method} keys shared and {k.needed} needed" for k in keys)


# --- by every method that is on -----------------------------------------------------------------


def measure_by_method(old: Record, new: Record, settings: Settings) -> tuple[Measured, ...]:
    """What each method that signed both says by itself."""
    out = []
    for name in settings.methods:
        a, b = old.signature, new.signature
        method = METHODS.get(name)
        if method is None or name not in a.keys or name not in b.keys:
            continue
        if name in a.query_seed and name in b.query_seed:
            value = float(method.compare_seeds(a.query_seed[name], b.query_seed[name], settings))
        else:
            value = float(method.compare(a.keys[name], b.keys[name], settings))
        is_copy = bool(method.matches(value, settings))
        out.append(
            Measured(name, value, is_copy, _describe_measure(method, value, is_copy, settings))
        )
    return tuple(out)


def _describe_measure(method: ModuleType, value: float, is_copy: bool, settings: Settings) -> str:
    if hasattr(method, "describe"):
        return str(method.describe(value, is_copy, settings))
    return f"{value:.3f}: {'a copy' if is_copy else 'no copy'} by itself"


def list_measures(explanation: Explanation) -> Iterator[tuple[str, str, str]]:
    """The rows of a table: measure, value and threshold."""
    for keys in explanation.keys:
        yield f"{keys.method} keys shared", f"{keys.shared} of {keys.of}", f"at least {keys.needed}"
    evidence = explanation.evidence
    limit = evidence.thresholds.get("min_overlap")
    above = f"above {limit:g}" if limit is not None else ""
    yield f"overlap ({evidence.measure})", f"{evidence.overlap:.3f}", above
    yield "shared part of the old text", f"{evidence.of_old:.3f}", ""
    yield "shared part of the new text", f"{evidence.of_new:.3f}", ""
    for measured in explanation.measures:
        yield measured.method, measured.says, ""
    old, new = explanation.old.signature.words, explanation.new.signature.words
    yield "words", f"{old:,} -> {new:,}", ""
    if explanation.names:
        yield "names in both", ", ".join(explanation.names), ""


def _find_shared_names(old: Record, new: Record) -> tuple[str, ...]:
    there = entities_of(old.document)
    return tuple(name for key, name in entities_of(new.document).items() if key in there)


# --- the runner-up -------------------------------------------------------------------------------


def _find_runner_up(old: Record, new: Record) -> RunnerUp | None:
    """The best of the others that were compared when the new article was decided."""
    chosen, *others = new.decision.evidence or (None,)
    others = [e for e in others if e is not None and e.other != old.document.id]
    if chosen is None or not others:
        return None
    linked = new.decision.role in ("duplicate", "update")
    best = others[0]
    why = _explain_loss(chosen, best) if linked else _explain_no_match(best)
    return RunnerUp(best.other, best, why)


def _explain_loss(chosen: Evidence, other: Evidence) -> str:
    if other.verdict == "different":
        return _explain_no_match(other)
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


def _explain_no_match(other: Evidence) -> str:
    limit = other.thresholds.get("min_overlap")
    above = f", and more than {limit:g} is needed" if limit is not None else ""
    return f"its {other.measure} of {other.overlap:.3f} makes no copy{above}"


def _closeness(evidence: Evidence) -> float:
    return evidence.of_new + evidence.of_old and (
        evidence.of_new * evidence.of_old / (evidence.of_new + evidence.of_old)
    )
