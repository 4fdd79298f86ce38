"""A person's word on groups: always the same, never the same, this one is the original.

What people say enters the fixed point of `reconcile` as a property of documents, like their texts:

    parts      documents that are said to be the same, directly or by way of others. Its first
               document finds its place by itself; the others are in the group of the first, and
               lead those of their own copies there that are not like the first
    apart      every two documents of two parts of which any two are never the same. A document
               does not join a group that one of these before it is in
    pinned     comes before every document that is not, and so leads all that is like it

All three rest on the documents before a document, so that there is still one answer, whatever the
order of arrival and the order in which things are said. Nobody can say both: a part never holds
two documents that are apart, nor two that are pinned; `with_` refuses, naming what was said before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, cast, get_args

from esdedup.errors import Contradiction, InputError
from esdedup.model import JSON, Evidence, Link, Order, well_formed

Kind = Literal["same", "different", "original"]
Key = tuple[str, tuple[str, ...], tuple[str, ...]]
MEASURE = "word of a person"  # of evidence that nobody measured
SAID = "said"  # the method of a decision that rests on it
_SENTENCES = {
    "same": "{} and {} are always the same",
    "different": "{} and {} are never the same",
    "original": "{} is the original",
}


@dataclass(frozen=True, slots=True)
class Correction:
    """One thing that somebody said; `ids` are in their order, whoever was named first.

    `of` are the two it was said for where it follows from another word: who joins two articles
    joins the originals of their groups as well.
    """

    kind: Kind
    ids: tuple[str, ...]
    at: str = ""  # ISO 8601
    by: str = ""
    note: str = ""
    of: tuple[str, ...] = ()

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
        """What is said, whoever says it."""
        return self.kind, self.ids, self.of

    @property
    def sentence(self) -> str:
        said = _SENTENCES[self.kind].format(*self.ids)
        return f"{said} ({self.by})" if self.by else said

    def to_json(self) -> JSON:
        out: JSON = {"kind": self.kind, "ids": list(self.ids)}
        if self.of:
            out["of"] = list(self.of)
        return out | {n: v for n in ("at", "by", "note") if (v := getattr(self, n))}

    @classmethod
    def from_json(cls, raw: Any) -> Self:
        """Raises `InputError`, saying what is wrong with it."""
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
class Corrections:
    """All that was said about the documents of a store; never with a contradiction in it."""

    said: tuple[Correction, ...] = ()
    named: frozenset[str] = frozenset()
    pinned: frozenset[str] = frozenset()
    _parts: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)
    _apart: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, said: Iterable[Correction]) -> Self:
        """As stored: without asking for contradictions, which were refused before."""
        once = tuple(sorted({c.key: c for c in said}.values(), key=lambda c: c.key))
        parts = _connected(c.ids for c in once if c.kind == "same")
        apart: dict[str, frozenset[str]] = {}
        for one, other in (c.ids for c in once if c.kind == "different"):
            sides = [parts.get(id_, frozenset([id_])) for id_ in (one, other)]
            for mine, theirs in (sides, sides[::-1]):
                for id_ in mine:
                    apart[id_] = apart.get(id_, frozenset()) | theirs
        pinned = frozenset(c.ids[0] for c in once if c.kind == "original")
        named = frozenset(id_ for c in once for id_ in c.ids)
        return cls(once, named, pinned, parts, apart)

    def __bool__(self) -> bool:
        return bool(self.said)

    def part(self, id_: str) -> frozenset[str]:
        """Documents that are said to be the same as this one, itself left out."""
        return self._parts.get(id_, frozenset()) - {id_}

    def apart(self, id_: str) -> frozenset[str]:
        return self._apart.get(id_, frozenset())

    def others(self, ids: Iterable[str]) -> set[str]:
        """Whose place may depend on the place of any of these by what was said."""
        if not self._parts and not self._apart:
            return set()
        return {other for id_ in ids for other in self.part(id_) | self.apart(id_)}

    def leads_part(self, id_: str, link: Link) -> bool:
        """Whether a document leads copies of its own in a group that it was said to belong to."""
        return link.branch and link.parent is not None and link.parent in self.part(id_)

    def with_(self, new: Correction) -> Corrections:
        """Refuses what contradicts something said before, and names that."""
        if against := next(self._against(new), None):
            raise Contradiction(new.sentence, against.sentence)
        return Corrections.of([*(c for c in self.said if c.key != new.key), new])

    def without(self, keys: Iterable[Key]) -> Corrections:
        gone = set(keys)
        return Corrections.of(c for c in self.said if c.key not in gone)

    def about(self, *ids: str) -> tuple[Correction, ...]:
        """What was said of a document, or of two of them with each other."""
        return tuple(c for c in self.said if set(ids) <= {*c.ids, *c.of})

    def word_on(self, one: str, other: str) -> str:
        """What was said of two documents together, directly or by way of others; or nothing."""
        if other in self.part(one):
            return "said always to be the same"
        return "said never to be the same" if other in self.apart(one) else ""

    def _against(self, new: Correction) -> Iterator[Correction]:
        if new.kind == "original":
            yield from (c for c in self._pins() if c.ids[0] in self.part(new.ids[0]))
            return
        one, other = (self.part(id_) | {id_} for id_ in new.ids)
        if new.kind == "different":
            if new.ids[1] in one:
                # The word itself where there is one, else the last of the way there.
                yield from sorted(
                    (c for c in self.said if c.kind == "same" and new.ids[1] in c.ids),
                    key=lambda c: c.ids != new.ids,
                )
            return
        for c in self.said:
            if c.kind == "different" and _joins(c.ids, one, other):
                yield c
        pins = [c for c in self._pins() if c.ids[0] in one | other]
        if len(pins) > 1:
            raise Contradiction(pins[0].sentence, pins[1].sentence, f" if {new.sentence}")

    def _pins(self) -> Iterator[Correction]:
        return (c for c in self.said if c.kind == "original")


NOTHING_SAID = Corrections()

# Where documents stand: their place in the order, and their link.
Places = Mapping[str, tuple[Order, Link]]


@dataclass(frozen=True, slots=True)
class Heard:
    """What people said that bears on one document, as the documents before it stand."""

    corrections: Corrections = NOTHING_SAID
    joins: tuple[str, Link] | None = None  # the first of its part
    apart: Mapping[str, str] = field(default_factory=dict)  # group -> who is in it

    def evidence_apart(self, group: str, other: str, found_by: Mapping[str, int]) -> Evidence:
        named = self.apart[group]
        reason = "said never to be the same" + ("" if named == other else f" as {named}")
        return Evidence(other, found_by, MEASURE, verdict="different", reason=reason)

    def evidence_joined(self) -> Evidence:
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


NOTHING_HEARD = Heard()


def heard(id_: str, order: Order, corrections: Corrections, places: Places) -> Heard:
    """`places` of at least those documents that the corrections name together with this one."""
    if not corrections:
        return NOTHING_HEARD
    if id_ not in corrections.named:
        return Heard(corrections)
    part = [
        (places[other][0], other, places[other][1])
        for other in corrections.part(id_)
        if other in places and places[other][0] < order
    ]
    apart = {
        places[other][1].group: other
        for other in sorted(corrections.apart(id_), reverse=True)
        if other in places and places[other][0] < order
    }
    first = min(part, key=lambda p: p[0]) if part else None
    return Heard(corrections, first[1:] if first else None, apart)


def _connected(pairs: Iterable[tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """Document -> all that it is joined with, by way of others as well, itself among them."""
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


def _joins(ids: tuple[str, ...], one: frozenset[str], other: frozenset[str]) -> bool:
    a, b = ids
    return (a in one and b in other) or (a in other and b in one)
