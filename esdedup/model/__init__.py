"""The shared vocabulary: what flows between the stages, as frozen dataclasses with a JSON form."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from esdedup.errors import DocumentError
from esdedup.model.encoding import TOO_DEEP, is_too_deep
from esdedup.model.json_form import JSON as JSON
from esdedup.model.json_form import JsonField, Result, Rounded
from esdedup.model.json_form import iso as iso
from esdedup.model.numbers import NumberChange

Role = Literal["original", "duplicate", "update", "unprocessed"]
Hashes32 = NDArray[np.uint32]
_CHANGES = JsonField("numbers", description="[old, new, phrase] of each changed fact.")
Changes = Annotated[tuple[NumberChange, ...], _CHANGES]

# An id travels as Elasticsearch `_id`, which takes at most 512 bytes.
MAX_ID_BYTES = 512

# The reason given for a document whose fields are deeper than `encoding.MAX_DEPTH`.
NESTED = f"a field is {TOO_DEEP}; flatten it or leave it out"

_DOCUMENT_FIELDS = ("id", "title", "text", "url", "source", "lang", "published", "html")


@dataclass(frozen=True, slots=True)
class Document(Result):
    """One article as it came in; in JSON its extra fields stand beside the others.

    `text` is the body; `html` is the page from which the body is still to be extracted.
    `published` without a time zone is UTC. `lang` is a code (`tr`); it is guessed if it is missing.
    `extra` holds all other fields, which are stored with the article and are at most 200 levels
    deep. An id has at most 512 bytes.
    """

    id: str
    title: str = ""
    text: str = ""
    url: Annotated[str | None, JsonField(omit_empty=True)] = None
    source: Annotated[str | None, JsonField(omit_empty=True)] = None
    lang: Annotated[str | None, JsonField(omit_empty=True)] = None
    published: Annotated[datetime | None, JsonField(omit_empty=True)] = None
    html: Annotated[
        bytes | None, JsonField(omit_empty=True, description="Of one that was not read: Base64.")
    ] = None
    extra: Annotated[Mapping[str, Any], JsonField(hidden=True)] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_id(self.id)
        for name in ("title", "text", "url", "source", "lang"):
            value = getattr(self, name)
            if value and (clean := well_formed(value)) is not value:
                object.__setattr__(self, name, clean)
        if self.extra:
            if is_too_deep(dict(self.extra)):
                raise DocumentError(self.id, NESTED)
            object.__setattr__(self, "extra", _well_formed_values(self.extra))
        if self.published is not None and self.published.tzinfo is None:
            object.__setattr__(self, "published", parse_time(self.published))

    def __reduce__(self) -> tuple[Callable[..., Document], tuple[Any, ...]]:
        """Sent between processes as plain values: half the cost of sending the object."""
        values = (self.id, self.title, self.text, self.url, self.source, self.lang)
        return Document, (*values, self.published, self.html, self.extra)

    @property
    def unread_date(self) -> str | None:
        """A date that the readers could not read, as it was written; None where there is none."""
        written = self.extra.get("published_raw") if self.published is None else None
        return None if written is None else str(written)[:100]

    def to_json(self) -> JSON:
        """Fields that are set, extra fields beside them, dates as ISO 8601. Written by hand: every
        stored article passes through it."""
        out: JSON = {"id": self.id, "title": self.title, "text": self.text}
        for name in ("url", "source", "lang"):
            if (value := getattr(self, name)) is not None:
                out[name] = value
        if self.published is not None:
            out["published"] = iso(self.published)
        if self.html is not None:
            out["html"] = base64.b64encode(self.html).decode("ascii")
        return {**self.extra, **out} if self.extra else out

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        """The reverse of `to_json`; unknown fields go into `extra`."""
        html = raw.get("html")
        return cls(
            id=str(raw["id"]),
            title=raw.get("title") or "",
            text=raw.get("text") or "",
            url=raw.get("url"),
            source=raw.get("source"),
            lang=raw.get("lang"),
            published=parse_time(raw.get("published")),
            html=base64.b64decode(html) if html is not None else None,
            extra={k: v for k, v in raw.items() if k not in _DOCUMENT_FIELDS},
        )


@dataclass(frozen=True, slots=True)
class Failure(Result):
    """Something that could not become a signed document: an entry of the quarantine.

    `where` is the file and line, or the page. `final` means that a retry cannot succeed.
    `document` is as much of the document as is known, for a retry.
    """

    id: str
    where: str
    reason: str
    final: bool = False
    document: Annotated[Document | None, JsonField(hidden=True)] = None

    def __post_init__(self) -> None:
        for name in ("id", "where", "reason"):  # file names need not be UTF-8
            object.__setattr__(self, name, well_formed(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class Signature:
    """What is stored of a document besides its fields: the keys that find it.

    `keys` are the retrievable strings of each method, `digest` tells whether two texts have the
    same words, `words` how many they have. `query_seed` has, of methods that store fewer keys than
    a document queries with, what the query keys are made from. Everything else is computed from the
    text (`matching.content`). `agency` is the news agency that the document credits.
    """

    format: str
    keys: Mapping[str, tuple[str, ...]]
    digest: str = ""
    words: int = 0
    query_seed: Mapping[str, str] = field(default_factory=dict)
    agency: str = ""

    def to_json(self) -> JSON:
        return {
            "format": self.format,
            "keys": {method: list(keys) for method, keys in self.keys.items()},
            **({"kept": dict(self.query_seed)} if self.query_seed else {}),
            "digest": self.digest,
            "words": self.words,
            **({"agency": self.agency} if self.agency else {}),
        }

    def __reduce__(self) -> tuple[Callable[..., Signature], tuple[Any, ...]]:
        """Sent between processes as plain values: a third of the cost of sending the object."""
        values = (self.format, self.keys, self.digest, self.words, self.query_seed, self.agency)
        return Signature, values


@dataclass(frozen=True, slots=True)
class Link:
    """A document's place: its group, the story the group belongs to, and its role in them."""

    role: Role
    group: str
    story: str
    parent: str | None = None  # the article this one was verified against
    branch: bool = False  # a copy far enough from its original to attract copies of its own

    @property
    def canonical(self) -> bool:
        """Whether the document leads its group."""
        return self.role != "duplicate"

    @property
    def is_representative(self) -> bool:
        """Whether later documents are compared with this one."""
        return self.canonical or self.branch

    def without_leader(self, leader: str, id_: str) -> Link:
        """The link of the document `id_`, or if `leader` leads its group or story, the link of an
        original: `leader` comes after it by now, and it is going to be decided again."""
        if leader not in (self.group, self.story):
            return self
        return Link("original", id_, id_)


@dataclass(frozen=True, slots=True)
class Evidence(Result):
    """Why two documents are, or are not, one story: measures beside the thresholds they met.

    `other` is the earlier one; `found_by` has the shared keys of each method. `overlap` is the
    value of `measure`; `of_new` and `of_old` are the shares of each text that the other one has.
    `reason` of an update is `numbers`, `names` or `statement` if these changed, or `extended`; that
    of different articles is `overlap`, or if they share their words `other event` or `boilerplate`
    (what they share is on many pages of their source). `numbers` lists what changed, names and
    statements included.
    """

    other: str
    found_by: Mapping[str, int] = field(default_factory=dict)
    measure: str = ""
    overlap: Rounded = 0.0
    of_new: Rounded = 0.0
    of_old: Rounded = 0.0
    thresholds: Mapping[str, float] = field(default_factory=dict)
    verdict: Literal["duplicate", "update", "different"] = "different"
    reason: str = ""
    numbers: Changes = ()

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        return cls(**{**raw, "numbers": tuple(NumberChange(*c) for c in raw["numbers"])})


def stored_evidence(
    link: Link, score: float, reason: str, changes: Sequence[Sequence[str]]
) -> tuple[Evidence, ...]:
    """What a store keeps of the evidence: the match, its overlap, why, and what changed.

    `explain` computes the rest from the texts.
    """
    if link.parent is None or link.role not in ("duplicate", "update"):
        return ()
    numbers = tuple(NumberChange(*change) for change in changes)
    evidence = Evidence(link.parent, overlap=score, reason=reason, numbers=numbers)
    return (replace(evidence, verdict=link.role),)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored document that shares keys, with what verification needs of it."""

    document: Document
    shared: Mapping[str, int]
    signature: Signature
    order: Order
    link: Link

    @property
    def id(self) -> str:
        return self.document.id

    def with_shared(self, shared: Mapping[str, int]) -> Candidate:
        """The same document with other shared keys."""
        return Candidate(self.document, shared, self.signature, self.order, self.link)


@dataclass(frozen=True, slots=True)
class Decision(Result):
    """The verdict on one document, with its evidence; the runner-ups come after the first.

    `role` is original, duplicate, update or unprocessed; `group` the id of the original whose
    copies it is among, `story` that of the first group of a chain of updates.
    """

    id: str
    role: Role
    group: str
    story: str
    score: Rounded = 0.0
    method: str = ""
    evidence: tuple[Evidence, ...] = ()
    reason: str = ""
    branch: bool = False  # see `Link`

    @property
    def link(self) -> Link:
        """The document's place: role, group, story, and what it was verified against."""
        # Without evidence only where somebody else wrote the role; `doctor` finds it.
        linked = self.role in ("duplicate", "update") and bool(self.evidence)
        parent = self.evidence[0].other if linked else None
        return Link(self.role, self.group, self.story, parent, self.branch)

    @property
    def changes(self) -> tuple[NumberChange, ...]:
        """What an update changed."""
        return self.evidence[0].numbers if self.role == "update" and self.evidence else ()

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        return cls(**{**raw, "evidence": tuple(Evidence.from_json(e) for e in raw["evidence"])})


def well_formed(text: str) -> str:
    """The text itself, or with U+FFFD for halves of surrogate pairs, which no store can hold."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _well_formed_values(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping):
        return {_well_formed_values(k): _well_formed_values(v) for k, v in value.items()}
    return [_well_formed_values(v) for v in value] if isinstance(value, list) else value


def drop_deep_fields(fields: Mapping[str, Any]) -> JSON:
    """Stored fields without those nested deeper than `MAX_DEPTH`."""
    return {name: value for name, value in fields.items() if not is_too_deep([value])}


def _check_id(id_: str) -> None:
    if not id_:
        raise DocumentError("(no id)", "the id is empty; leave it out to have one made")
    # Repaired, two ids could become one.
    if well_formed(id_) is not id_:
        raise DocumentError(
            well_formed(id_)[:40],
            "the id holds half of a surrogate pair, which is no character; give another one or "
            "leave it out to have one made",
        )
    if len(id_.encode()) > MAX_ID_BYTES:
        raise DocumentError(
            f"{id_[:40]}…",
            f"the id is longer than {MAX_ID_BYTES} bytes, the limit of the search engines; "
            "give a shorter one or leave it out to have one made",
        )


# The total order of documents: (place, then id). A place is a rank and a time (microseconds since
# 1970 of published, else first seen) in one number, the rank first; rank 0 leaves the time.
Order = tuple[int, str]

# Times from 1684 to 2255 have a number of their own inside a rank.
_TIME_BITS = 54
_HALF = 1 << (_TIME_BITS - 1)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400_000_000


def order_of(published: datetime | None, first_seen: int, id_: str) -> Order:
    """Published, unless it is missing or more than a day ahead of its arrival; then first seen.

    A date in the future is a mistake of the page: trusting it would make every copy of the
    article older than its original.
    """
    if published is None or (moment := microseconds(published)) > first_seen + _DAY:
        return first_seen, id_
    return moment, id_


def place_of(rank: int, time: int) -> int:
    if not -_HALF <= time < _HALF:
        time = max(-_HALF, min(time, _HALF - 1))
    return (rank << _TIME_BITS) + time


def rank_of(place: int) -> int:
    return (place + _HALF) >> _TIME_BITS


def time_of(place: int) -> int:
    return place - (rank_of(place) << _TIME_BITS)


def microseconds(moment: datetime) -> int:
    """Since 1970, without the rounding of a float."""
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def parse_time(value: object) -> datetime | None:
    """ISO 8601, seconds or milliseconds since 1970, or a datetime; naive times are UTC."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise ValueError(f"not a time: {value!r}")
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value / 1000 if abs(value) >= 1e11 else value, UTC)
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


@dataclass(frozen=True, slots=True, eq=False)
class TermVector:
    """What an article is about, its weightiest terms: hashes in rising order, weights of length
    1."""

    terms: NDArray[np.uint64]
    weights: NDArray[np.float32]


NO_TERMS = TermVector(np.zeros(0, np.uint64), np.zeros(0, np.float32))
