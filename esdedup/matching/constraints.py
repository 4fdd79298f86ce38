"""Constraints that people set: must-link, cannot-link, pinned original.

Constraints enter the fixed point of `reconcile` as a property of documents, like their texts:

    must-link     documents connected by `same`, directly or by way of others, are a component. Its
                  first document finds its place by itself; the others are in the group of the
                  first, and represent there those of their own copies that are not like the first
    cannot-link   every two documents of two components of which any two are `different`. A document
                  does not join a group that one of these before it is in
    pinned        an `original` comes before every document that is not pinned, and so leads all
                  that is like it

All three depend on earlier documents only, so that there is still one answer, whatever the order
of arrival and the order in which constraints are set. A component never holds two documents that
cannot be linked, nor two that are pinned: `with_` refuses, and names the constraint set before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self, cast, get_args

from esdedup.errors import Contradiction, InputError
from esdedup.model import Evidence, Link, Order, well_formed
from esdedup.model.json_form import JsonField, Result

Kind = Literal["same", "different", "original"]
Key = tuple[str, tuple[str, ...], tuple[str, ...]]
MEASURE = "word of a person"  # of evidence that nobody measured
BY_CONSTRAINT = "said"  # the method of a decision that rests on a constraint
_SENTENCES = {
    "same": "{} and {} are always the same",
    "different": "{} and {} are never the same",
    "original": "{} is the original",
}


@dataclass(frozen=True, slots=True)
class Constraint(Result):
    """One constraint; `ids` are sorted, whoever was named first.

    `of` are the two ids it was derived from, if any: linking two articles links the originals of
    their groups as well.
    """

    kind: Kind
    ids: tuple[str, ...]
    at: Annotated[str, JsonField(omit_empty=True)] = ""  # ISO 8601
    by: Annotated[str, JsonField(omit_empty=True)] = ""
    note: Annotated[str, JsonField(omit_empty=True)] = ""
    of: Annotated[
        tuple[str, ...],
        JsonField(
            omit_empty=True,
            description="The articles of the constraint that this one follows from.",
        ),
    ] = ()

    def __post_init__(self) -> None:
        wanted = 1 if self.kind == "original" else 2
        if self.kind not in get_args(Kind):
            raise InputError(f"{self.kind!r} is no kind of word; say {', '.join(get_args(Kind))}")
        if len(set(self.ids)) != wanted or len(self.ids) != wanted:
            named = ", ".join(self.ids) or "nothing"
            raise InputError(f"{self.kind} takes {wanted} different ids, not {named}")
        object.__setattr__(self, "ids", tuple(sorted(self.ids)))
        object.__setattr__(self, "of", tuple(sorted(self.of)))
        for name in ("at", "by", "note"):
            object.__setattr__(self, name, well_formed(getattr(self, name)))

    @property
    def key(self) -> Key:
        """What the constraint says, whoever set it."""
        return self.kind, self.ids, self.of

    @property
    def sentence(self) -> str:
        sentence = _SENTENCES[self.kind].format(*self.ids)
        return f"{sentence} ({self.by})" if self.by else sentence

    @classmethod
    def from_json(cls, raw: Any) -> Self:
        """Raises `InputError` with the field that is wrong."""
        if not isinstance(raw, Mapping):
            raise InputError("not a JSON object")
        kind, ids, of = raw.get("kind"), raw.get("ids"), raw.get("of") or []
        if kind not in get_args(Kind):
            raise InputError(f"kind is {kind!r}; it must be one of {', '.join(get_args(Kind))}")
        if not isinstance(ids, list) or not all(i and isinstance(i, str) for i in ids):
            raise InputError(f"ids is {ids!r}; it must be a list of ids")
        if not isinstance(of, list) or not all(i and isinstance(i, str) for i in of):
            raise InputError(f"of is {of!r}; it must be a list of ids")
        rest = {name: str(raw.get(name) or "") for name in ("at", "by", "note")}
        return cls(cast("Kind", kind), tuple(ids), **rest, of=tuple(of))


@dataclass(frozen=True, slots=True)
class Constraints:
    """All constraints of a store; they never contradict each other."""

    items: tuple[Constraint, ...] = ()
    named: frozenset[str] = frozenset()
    pinned: frozenset[str] = frozenset()
    _components: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)
    _cannot_link: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, items: Iterable[Constraint]) -> Self:
        """As stored: contradictions were refused before."""
        once = tuple(sorted({c.key: c for c in items}.values(), key=lambda c: c.key))
        components = _connect(c.ids for c in once if c.kind == "same")
        apart: dict[str, frozenset[str]] = {}
        for one, other in (c.ids for c in once if c.kind == "different"):
            sides = [components.get(id_, frozenset([id_])) for id_ in (one, other)]
            for mine, theirs in (sides, sides[::-1]):
                for id_ in mine:
                    apart[id_] = apart.get(id_, frozenset()) | theirs
        pinned = frozenset(c.ids[0] for c in once if c.kind == "original")
        named = frozenset(id_ for c in once for id_ in c.ids)
        return cls(once, named, pinned, components, apart)

    def __bool__(self) -> bool:
        return bool(self.items)

    def must_link(self, id_: str) -> frozenset[str]:
        """The rest of the component of a document."""
        return self._components.get(id_, frozenset()) - {id_}

    def cannot_link(self, id_: str) -> frozenset[str]:
        return self._cannot_link.get(id_, frozenset())

    def related_to(self, ids: Iterable[str]) -> set[str]:
        """Documents whose place may depend on that of any of these by a constraint."""
        if not self._components and not self._cannot_link:
            return set()
        return {other for id_ in ids for other in self.must_link(id_) | self.cannot_link(id_)}

    def is_linked_representative(self, id_: str, link: Link) -> bool:
        """Whether a document represents copies of its own in a group it was linked to."""
        return link.branch and link.parent is not None and link.parent in self.must_link(id_)

    def with_constraint(self, new: Constraint) -> Constraints:
        """With one more; raises `Contradiction` with the constraint that it contradicts."""
        if against := next(self._contradicting(new), None):
            raise Contradiction(new.sentence, against.sentence)
        return Constraints.of([*(c for c in self.items if c.key != new.key), new])

    def without_constraints(self, keys: Iterable[Key]) -> Constraints:
        gone = set(keys)
        return Constraints.of(c for c in self.items if c.key not in gone)

    def find_naming(self, *ids: str) -> tuple[Constraint, ...]:
        """Constraints that name a document, or two of them together."""
        return tuple(c for c in self.items if set(ids) <= {*c.ids, *c.of})

    def describe_pair(self, one: str, other: str) -> str:
        """What constraints say of two documents, directly or by way of others; or nothing."""
        if other in self.must_link(one):
            return "said always to be the same"
        return "said never to be the same" if other in self.cannot_link(one) else ""

    def _contradicting(self, new: Constraint) -> Iterator[Constraint]:
        if new.kind == "original":
            yield from (c for c in self._pins() if c.ids[0] in self.must_link(new.ids[0]))
            return
        one, other = (self.must_link(id_) | {id_} for id_ in new.ids)
        if new.kind == "different":
            if new.ids[1] in one:
                # The constraint itself if there is one, else the last of the chain.
                yield from sorted(
                    (c for c in self.items if c.kind == "same" and new.ids[1] in c.ids),
                    key=lambda c: c.ids != new.ids,
                )
            return
        for c in self.items:
            if c.kind == "different" and _connects(c.ids, one, other):
                yield c
        pins = [c for c in self._pins() if c.ids[0] in one | other]
        if len(pins) > 1:
            raise Contradiction(pins[0].sentence, pins[1].sentence, f" if {new.sentence}")

    def _pins(self) -> Iterator[Constraint]:
        return (c for c in self.items if c.kind == "original")


NO_CONSTRAINTS = Constraints()

# Documents -> their place in the order, and their link.
Positions = Mapping[str, tuple[Order, Link]]


@dataclass(frozen=True, slots=True)
class DocumentConstraints:
    """The constraints on one document, given the positions of the documents before it."""

    whole: Constraints = NO_CONSTRAINTS
    joins: tuple[str, Link] | None = None  # the first of its component
    forbidden: Mapping[str, str] = field(default_factory=dict)  # group -> who is in it

    def evidence_against(self, group: str, other: str, found_by: Mapping[str, int]) -> Evidence:
        named = self.forbidden[group]
        reason = "said never to be the same" + ("" if named == other else f" as {named}")
        return Evidence(other, found_by, MEASURE, verdict="different", reason=reason)

    def evidence_for_link(self) -> Evidence:
        assert self.joins is not None
        other = self.joins[0]
        return Evidence(
            other,
            {},
            MEASURE,
            1.0,
            1.0,
            1.0,
            verdict="duplicate",
            reason="said always to be the same",
        )


UNCONSTRAINED = DocumentConstraints()


def constraints_on(
    id_: str, order: Order, constraints: Constraints, positions: Positions
) -> DocumentConstraints:
    """`positions` has at least the documents that constraints name together with this one."""
    if not constraints:
        return UNCONSTRAINED
    if id_ not in constraints.named:
        return DocumentConstraints(constraints)
    linked = [
        (positions[other][0], other, positions[other][1].without_leader(id_, other))
        for other in constraints.must_link(id_)
        if other in positions and positions[other][0] < order
    ]
    forbidden = {
        positions[other][1].group: other
        for other in sorted(constraints.cannot_link(id_), reverse=True)
        if other in positions and positions[other][0] < order
    }
    first = min(linked, key=lambda p: p[0]) if linked else None
    return DocumentConstraints(constraints, first[1:] if first else None, forbidden)


def _connect(pairs: Iterable[tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """Document -> its component, itself included."""
    groups: dict[str, set[str]] = {}
    for one, other in pairs:
        mine, theirs = (groups.get(id_) or {id_} for id_ in (one, other))
        if len(mine) < len(theirs):
            mine, theirs = theirs, mine
        if mine is not theirs:
            mine |= theirs
        for id_ in (*theirs, one, other):
            groups[id_] = mine
    frozen = {id(group): frozenset(group) for group in groups.values()}
    return {id_: frozen[id(group)] for id_, group in groups.items()}


def _connects(ids: tuple[str, ...], one: frozenset[str], other: frozenset[str]) -> bool:
    a, b = ids
    return (a in one and b in other) or (a in other and b in one)
