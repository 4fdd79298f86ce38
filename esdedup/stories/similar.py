"""Similar news: articles about the same thing that are no copies (paper 001, section 2.3.1).

A store that keeps what its articles are about brings those most alike, the full-text search of any
other those with the same rare words; everything that is stored of two articles then ranks them:
their terms, what they share word for word, the distance of their fingerprints where simhash is on,
and how far apart in time they are. Under the paper's preset the distance alone decides: more than 3
and fewer than 8 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from esdedup.errors import QueryError, SettingsError
from esdedup.features.topics import likeness, likenesses, mark_of, named, topics
from esdedup.ingest.sign import Signed, prepare
from esdedup.matching.verify import dice_with_each, verify
from esdedup.methods import simhash
from esdedup.model import JSON, Document, Evidence, Failure, Order, Signature, Topic, iso
from esdedup.settings import Settings
from esdedup.stores import Probe, Record, Store
from esdedup.stores.topical import EVER, Alike, Asked, KeptTopics, Near, near_of
from esdedup.stories.few_topics import topics_of_few
from esdedup.stories.one_topic import topic_and_names
from esdedup.text.tokens import fold

# Words asked for, the weightiest of the article.
_WORDS = 8
# Articles looked at for each that is shown: full-text search ranks by other rules.
_LOOKED_AT = 2
_MOST_LOOKED_AT = 100
# What is shared word for word below the bar of a copy says more than its share: a tenth of a text
# is a quoted statement.
_OVERLAP_WEIGHT = 0.5
_DISTANCE_WEIGHT = 0.2
# Of what makes articles of one event: here they are only ranked. Below, few are about one thing.
_SHOWN_FROM = 2 / 3
# An article of the same hour counts fully, one of another year this much.
_OLD = 0.8
_WEEK = 7 * 86_400_000_000
# Bits in which two unrelated texts differ.
_UNRELATED = 32
_SHOWN_TERMS = 8
# What is given to bring the kept topics up to date, before a question is answered without them.
_SECONDS = 1.0
_NO_WORDS = "the article has no words that tell what it is about"
Keys = Mapping[str, Sequence[str]]
_END: Order = (1 << 61, "")


@dataclass(frozen=True, slots=True)
class Similar:
    """One article, or one group of copies shown by its original, and what speaks for it."""

    document: Document
    group: str
    story: str
    score: float
    topic: float
    overlap: float
    apart: int  # microseconds
    distance: int | None = None
    is_update: bool = False  # of the same story
    terms: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()

    def to_json(self) -> JSON:
        document = self.document
        return {
            "id": document.id,
            "title": document.title,
            "url": document.url,
            "source": document.source,
            "published": iso(document.published) if document.published else None,
            "group": self.group,
            "story": self.story,
            "score": round(self.score, 4),
            "topic": round(self.topic, 4),
            "overlap": round(self.overlap, 4),
            "distance": self.distance,
            "hours_apart": round(self.apart / 3_600_000_000, 2),
            "same_story": self.is_update,
            "terms": list(self.terms),
            "entities": list(self.entities),
        }


@dataclass(frozen=True, slots=True)
class SimilarNews:
    """What is similar to an article, best first; `notes` say where something may be missing."""

    document: Document
    found: tuple[Similar, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> JSON:
        return {
            "id": self.document.id,
            "similar": [one.to_json() for one in self.found],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class _Own:
    document: Document
    signature: Signature
    moment: int
    group: str
    story: str
    record: Record | None = None  # of an article that is stored


def similar_to_record(
    record: Record,
    store: Store,
    *,
    size: int = 10,
    window: timedelta | None = None,
    explain: bool = False,
) -> SimilarNews:
    """News similar to a stored article."""
    decision = record.decision
    own = _Own(
        record.document,
        record.signature,
        record.order[0],
        decision.group,
        decision.story,
        record,
    )
    return _similar(own, store, size, window, explain)


def similar_to(
    document: Document,
    store: Store,
    *,
    size: int = 10,
    window: timedelta | None = None,
    explain: bool = False,
) -> SimilarNews | Failure:
    """News similar to a text that need not be stored; without a date it is as of the latest."""
    (item,) = prepare([document], store.settings)
    if isinstance(item, Failure):
        return item
    return _similar(_own(item, store), store, size, window, explain)


def _own(item: Signed, store: Store) -> _Own:
    from esdedup.model import microseconds

    document = item.document
    if document.published is not None:
        moment = microseconds(document.published)
    else:
        moment = store.latest("moment") or 0
    return _Own(document, item.signature, moment, "", "")


def _similar(
    own: _Own, store: Store, size: int, window: timedelta | None, explain: bool
) -> SimilarNews:
    if window is not None and window <= timedelta(0):
        raise QueryError(f"window is {window}; it must be longer than nothing")
    settings = store.settings
    span = EVER if window is None else window // timedelta(microseconds=1)
    if settings.similar_by == "simhash":
        found, notes = _by_simhash(own, store, span)
    else:
        found, notes = _by_evidence(own, store, span, size)
    found = found[:size]
    if explain:
        found = _explained(own.document, found, settings)
    return SimilarNews(own.document, tuple(found), tuple(notes))


# --- by everything that is stored --------------------------------------------------------------


def _by_evidence(own: _Own, store: Store, span: int, size: int) -> tuple[list[Similar], list[str]]:
    kept = store.kept_topics
    found = _by_kept_topics(own, kept, store.settings, span, size) if kept is not None else None
    if found is None:
        return _by_words(own, store, span, size)
    if not own.group:
        records = store.get_many(one.document.id for one in found)
        found = _without_copies(own, found, records, store.settings)
    return _ranked(own, found, store.settings), []


def _by_kept_topics(
    own: _Own, kept: KeptTopics, settings: Settings, span: int, size: int
) -> list[Near] | None:
    """Of all articles those most alike; None where the kept topics cannot be brought up to date,
    or the article is about nothing."""
    by_distance = "simhash" in settings.methods
    low, high = _around(own.moment, span)
    asked = Alike(
        # Of those below, the near ones by simhash are shown.
        least=0.0 if by_distance else _least(settings),
        low=low,
        high=high,
        group=own.group,
        id=own.document.id,
        size=_looked_at(size),
        keys=by_distance,
    )
    mark, record = mark_of(settings), own.record
    found = kept.alike_to(record, mark, asked) if record is not None else None
    if found is None and kept.catch_up(mark, partial(topics, settings=settings), _SECONDS):
        (topic,) = topics([own.document], settings)
        found = kept.alike(topic, asked) if len(topic.terms) else None
    return found


def _by_words(own: _Own, store: Store, span: int, size: int) -> tuple[list[Similar], list[str]]:
    """Of the articles that full-text search brings those most alike."""
    settings = store.settings
    first, names = topic_and_names(own.document, settings, _WORDS)
    if not names:
        return [], [_NO_WORDS]
    low, high = _around(own.moment, span)
    asked = Asked(
        list(names.values()),
        low=low,
        high=high,
        group=own.group,
        size=_looked_at(size),
    )
    others = [one for one in store.topical(asked) if one.read.id != own.document.id]
    likes = likenesses(first, topics_of_few([one.read for one in others], settings))
    # Of those below, the near ones by simhash are shown.
    least = 0.0 if "simhash" in settings.methods else _least(settings)
    close = [(one, like) for one, like in zip(others, likes, strict=True) if like >= least]
    found = [one.near(like) for one, like in close]
    if not own.group:
        records = {one.read.id: one.record() for one, _ in close}
        found = _without_copies(own, found, records, settings)
    return _ranked(own, found, settings), []


def _around(moment: int, span: int) -> tuple[int, int]:
    if span >= EVER:
        return -EVER, EVER
    return max(-EVER, moment - span), min(EVER, moment + span)


def _least(settings: Settings) -> float:
    return _SHOWN_FROM * settings.similar_topic


def _looked_at(size: int) -> int:
    return min(_LOOKED_AT * size, _MOST_LOOKED_AT)


def _without_copies(
    own: _Own, found: Sequence[Near], records: Mapping[str, Record], settings: Settings
) -> list[Near]:
    """Of a text that is not stored, what it copies is not known yet."""
    return [
        one
        for one in found
        if (record := records.get(one.document.id)) is not None
        and _evidence(own, record, settings).verdict != "duplicate"
    ]


def _evidence(own: _Own, record: Record, settings: Settings) -> Evidence:
    return verify(record.document.id, record.signature, own.signature, settings)


def _ranked(own: _Own, found: Sequence[Near], settings: Settings) -> list[Similar]:
    """Without what is about something else."""
    overlaps = dice_with_each(own.signature.shingles, [near.shingles for near in found])
    least = _least(settings)
    ranked = []
    for near, overlap in zip(found, overlaps, strict=True):
        distance = distance_of(own.signature.keys, near.keys, settings)
        is_near = distance is not None and simhash.similar(distance, settings)
        if near.likeness >= least or is_near:
            apart = abs(own.moment - near.moment)
            score = _score(near.likeness, overlap, apart, distance)
            ranked.append(_one(own, near, score, overlap, apart, distance))
    ranked.sort(key=lambda one: (-one.score, one.apart, one.document.id))
    return ranked


def _score(likeness: float, overlap: float, apart: int, distance: int | None) -> float:
    closeness = 0.0 if distance is None else max(0.0, 1 - distance / _UNRELATED)
    evidence = likeness + _OVERLAP_WEIGHT * overlap + _DISTANCE_WEIGHT * closeness
    return evidence * (_OLD + (1 - _OLD) / (1 + apart / _WEEK))


def _one(
    own: _Own, near: Near, score: float, overlap: float, apart: int, distance: int | None
) -> Similar:
    return Similar(
        document=near.document,
        group=near.group,
        story=near.story,
        score=score,
        topic=near.likeness,
        overlap=overlap,
        apart=apart,
        distance=distance,
        is_update=bool(own.story) and own.story == near.story,
    )


def distance_of(a: Keys, b: Keys, settings: Settings) -> int | None:
    """Bits in which the fingerprints differ; None where simhash did not sign both."""
    one, other = a.get("simhash"), b.get("simhash")
    if not one or not other or "simhash" not in settings.methods:
        return None
    return int(simhash.compare(one, other, settings))


# --- by simhash alone --------------------------------------------------------------------------


def _by_simhash(own: _Own, store: Store, span: int) -> tuple[list[Similar], list[str]]:
    settings = store.settings
    if "simhash" not in settings.methods:
        raise SettingsError(
            "similar_by = simhash needs the method simhash, which is off: switch it on "
            "(`esdedup backfill --only simhash`), or use similar_by = evidence"
        )
    keys = own.signature.keys.get("simhash", ())
    if not keys:
        return [], ["the article has no fingerprint"]
    probe = Probe(own.document.id, {"simhash": keys}, {"simhash": 1}, _END, attracting_only=False)
    (candidates,) = store.candidates_many([probe])
    best: dict[str, Similar] = {}
    for record in store.get_many(c.id for c in candidates).values():
        distance = distance_of(own.signature.keys, record.signature.keys, settings)
        apart = abs(own.moment - record.order[0])
        if distance is None or record.decision.group == own.group or apart > span:
            continue
        if simhash.similar(distance, settings):
            near = near_of(record, likeness=0.0)
            one = _one(own, near, 1 - distance / simhash.BITS, 0.0, apart, distance)
            known = best.get(one.group)
            if known is None or _nearest(one) < _nearest(known):
                best[one.group] = one
    return sorted(best.values(), key=_nearest), _simhash_notes(len(candidates), settings)


def _nearest(one: Similar) -> tuple[int, bool, int, str]:
    """Of copies the original where they are as near."""
    return one.distance or 0, one.document.id != one.group, one.apart, one.document.id


def _simhash_notes(candidates: int, settings: Settings) -> list[str]:
    notes = []
    if not simhash.is_complete(7, settings):
        bits = len(simhash.PLANS[settings.block_plan]) - 1
        notes.append(
            f"the plan {settings.block_plan} finds all within {bits} bits and some of those "
            "that differ in more; 8x8 finds all"
        )
    if candidates >= 100:
        notes.append("more articles share a block than were compared: some may be missing")
    return notes


# --- why ---------------------------------------------------------------------------------------


def _explained(document: Document, found: Sequence[Similar], settings: Settings) -> list[Similar]:
    from dataclasses import replace

    own = named(document, settings)
    first, *others = topics_of_few([document, *(one.document for one in found)], settings)
    names = entities_of(document)
    out = []
    for one, other in zip(found, others, strict=True):
        terms = shared_terms(first, other, own)
        shared = names.keys() & entities_of(one.document).keys()
        entities = tuple(names[key] for key in names if key in shared)
        out.append(
            replace(
                one, topic=likeness(first, other), terms=terms[:_SHOWN_TERMS], entities=entities
            )
        )
    return out


def shared_terms(a: Topic, b: Topic, names: dict[int, str]) -> tuple[str, ...]:
    """The words that both are about, the weightiest first."""
    both = {int(term) for term in a.terms} & {int(term) for term in b.terms}
    return tuple(word for term, word in names.items() if term in both)


def entities_of(document: Document) -> dict[str, str]:
    """Named entities of an article, each once, as it is written first."""
    from esdedup.features.entities import find

    found: dict[str, str] = {}
    for text in (document.title, document.text):
        for entity in find(text, document.lang, nested=False):
            found.setdefault(fold(entity.text), entity.text)
    return found
