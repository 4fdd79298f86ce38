"""Similar news: articles about the same thing that are no copies (paper 001, section 2.3.1).

A topic index finds the articles with the highest cosines; a store without one finds those with the
same rare words by full-text search. Then everything that is stored of two articles ranks them:
their terms, what they share word for word, the distance of their fingerprints where simhash is on,
and how far apart in time they are. Under the paper's preset the distance alone decides: more than 3
and fewer than 8 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Annotated

from esdedup.clustering.records import undecided_record
from esdedup.errors import QueryError, SettingsError
from esdedup.features.topics import cosines, term_vectors, topic_version, vector_and_words
from esdedup.ingest.sign import prepare
from esdedup.matching.content import read_contents
from esdedup.matching.verify import dice_with_each, verify
from esdedup.methods import simhash
from esdedup.model import Document, Failure, Order, microseconds
from esdedup.model.json_form import JsonField, Result, Rounded
from esdedup.model.results import MentionedDocument, id_of_document
from esdedup.settings import Settings
from esdedup.stores import CandidateQuery, Record, Store, get_record
from esdedup.stores.topical import EVER, Near, TopicQuery
from esdedup.stories.articles import entities_of

# Words of the article that full-text search looks for, those with the highest weights.
_WORDS = 8
# Articles examined for each that is shown: full-text search ranks by other rules.
_EXAMINED = 2
_MOST_EXAMINED = 100
# What is shared word for word below the bar of a copy says more than its share: a tenth of a text
# is a quoted statement.
_OVERLAP_WEIGHT = 0.5
_DISTANCE_WEIGHT = 0.2
# Share of the cosine that makes articles of one event (`similar_topic`): here they are only ranked.
# Below, few are about one thing.
_SHOWN_FROM = 2 / 3
# An article of the same hour counts fully, one of another year this much.
_OLD = 0.8
_WEEK = 7 * 86_400_000_000
# Bits in which two unrelated texts differ.
_UNRELATED = 32
_SHOWN_TERMS = 8
# Time to bring the topic index up to date, before full-text search answers instead.
_SECONDS = 1.0
_NO_WORDS = "the article has no words that tell what it is about"
_END: Order = (1 << 61, "")


def _hours(microseconds: int) -> float:
    return microseconds / 3_600_000_000


@dataclass(frozen=True, slots=True)
class Similar(Result):
    """One article, or one group of copies shown by its original, and what speaks for it."""

    document: MentionedDocument
    group: str
    story: str
    score: Rounded
    topic: Rounded
    overlap: Rounded
    apart: Annotated[int, JsonField("hours_apart", convert=_hours, digits=2)]  # microseconds
    distance: int | None = None
    is_update: Annotated[bool, JsonField("same_story")] = False
    terms: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    similar_to: Annotated[
        tuple[str, ...],
        JsonField(omit_empty=True, description="Of several articles given, those it is like."),
    ] = ()


@dataclass(frozen=True, slots=True)
class SimilarNews(Result):
    """What is similar to an article, or to several, best first; `notes` say where something may be
    missing."""

    document: Annotated[Document, JsonField("id", convert=id_of_document)]
    found: Annotated[tuple[Similar, ...], JsonField("similar")]
    notes: tuple[str, ...] = ()
    ids: Annotated[
        tuple[str, ...], JsonField(omit_empty=True, description="Of all articles, if several.")
    ] = ()


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
    published = item.document.published
    moment = microseconds(published) if published else store.documents.latest("moment") or 0
    record = undecided_record(item, (moment, item.document.id), moment)
    return similar_to_record(
        record, store, size=size, window=window, explain=explain, is_stored=False
    )


def similar_to_record(
    record: Record,
    store: Store,
    *,
    size: int = 10,
    window: timedelta | None = None,
    explain: bool = False,
    is_stored: bool = True,
) -> SimilarNews:
    """News similar to a stored article.

    A record that is not stored has no group: its copies are recognised by their texts.
    """
    if window is not None and window <= timedelta(0):
        raise QueryError(f"window is {window}; it must be longer than nothing")
    low, high, moment = -EVER, EVER, record.order[0]
    if window is not None:
        span = window // timedelta(microseconds=1)
        low, high = max(-EVER, moment - span), min(EVER, moment + span)
    # With simhash on, articles below the bar are shown where their fingerprints are near.
    has_simhash = "simhash" in store.settings.methods
    query = TopicQuery(
        low=low,
        high=high,
        group=record.decision.group if is_stored else "",
        id=record.document.id,
        size=min(_EXAMINED * size, _MOST_EXAMINED),
        min_cosine=0.0 if has_simhash else _bar(store.settings),
        with_keys=has_simhash,
    )
    by_simhash = store.settings.similar_by == "simhash"
    find = _find_by_simhash if by_simhash else _find_by_topic
    found, notes = find(record, store, query, size)
    if explain:
        found = _explain(record.document, found, store.settings)
    return SimilarNews(record.document, tuple(found), tuple(notes))


def similar_to_stored(
    ids: Iterable[str],
    store: Store,
    *,
    size: int = 10,
    window: timedelta | None = None,
    explain: bool = False,
) -> SimilarNews:
    """News similar to a stored article, or to any of several: what somebody read, say.

    Of several the scores add up, so that what is similar to more of them comes first. Neither the
    articles nor copies of them are among the results.
    """
    records = [get_record(store, id_) for id_ in dict.fromkeys(ids)]
    if len(records) == 1:
        return similar_to_record(records[0], store, size=size, window=window, explain=explain)
    groups = {record.decision.group for record in records}
    by_group: dict[str, list[tuple[str, Similar]]] = {}
    notes: dict[str, None] = {}
    for record in records:
        found = similar_to_record(record, store, size=size, window=window, explain=explain)
        notes |= dict.fromkeys(found.notes)
        for one in found.found:
            if one.group not in groups:
                by_group.setdefault(one.group, []).append((record.document.id, one))
    merged = [
        replace(
            max((one for _, one in own), key=lambda one: one.score),
            score=sum(one.score for _, one in own),
            similar_to=tuple(id_ for id_, _ in own),
        )
        for own in by_group.values()
    ]
    ranked = sorted(merged, key=lambda one: (-one.score, one.apart, one.document.id))
    named = tuple(record.document.id for record in records)
    return SimilarNews(records[0].document, tuple(ranked[:size]), tuple(notes), named)


# --- by everything that is stored --------------------------------------------------------------


def _find_by_topic(
    own: Record, store: Store, query: TopicQuery, size: int
) -> tuple[list[Similar], list[str]]:
    settings = store.settings
    found = _find_in_index(own, store, query)
    if found is None:
        vector, words = vector_and_words(own.document, settings, _WORDS)
        if not words:
            return [], [_NO_WORDS]
        records = store.search.find_by_words(replace(query, words=list(words.values())))
        likeness = cosines(vector, term_vectors([r.document for r in records], settings))
        pairs = zip(records, likeness, strict=True)
        found = [Near.of(record, cosine) for record, cosine in pairs if cosine >= query.min_cosine]
    if not query.group:
        found = _without_copies(own, found, store)
    return _rank(own, found, query, size, settings), []


def _find_in_index(own: Record, store: Store, query: TopicQuery) -> list[Near] | None:
    """The articles with the highest cosines.

    None where there is no topic index, where it cannot be brought up to date, or where the article
    has no terms.
    """
    index, settings = store.topics, store.settings
    if index is None:
        return None
    version = topic_version(settings)
    vector = index.get(own, version)
    if vector is None:
        if not index.catch_up(version, partial(term_vectors, settings=settings), _SECONDS):
            return None
        (vector,) = term_vectors([own.document], settings)
    return index.find(vector, query) if len(vector.terms) else None


def _bar(settings: Settings) -> float:
    return _SHOWN_FROM * settings.similar_topic


def _without_copies(own: Record, found: Sequence[Near], store: Store) -> list[Near]:
    """A text that is not stored has no group, so its copies are recognised by their texts."""
    records = store.documents.get(near.document.id for near in found)
    verdicts = {id_: verify(record, own, store.settings).verdict for id_, record in records.items()}
    return [near for near in found if verdicts.get(near.document.id, "duplicate") != "duplicate"]


def _rank(
    own: Record, found: Sequence[Near], query: TopicQuery, size: int, settings: Settings
) -> list[Similar]:
    """Best first, without those about something else."""
    documents = [own.document, *(near.document for near in found)]
    mine, *theirs = (content.shingles for content in read_contents(documents, settings))
    overlaps = dice_with_each(mine, theirs)
    bar, moment = _bar(settings), own.order[0]
    ranked = []
    for place, (near, overlap) in enumerate(zip(found, overlaps, strict=True)):
        distance = _distance(own, near, settings) if query.with_keys else None
        is_near = distance is not None and simhash.is_similar(distance, settings)
        if near.cosine >= bar or is_near:
            apart = abs(moment - near.moment)
            score = _score(near.cosine, overlap, apart, distance)
            ranked.append((-score, apart, near.document.id, place, overlap, distance))
    ranked.sort()
    return [
        _similar(own, found[place], query, -score, overlap, distance)
        for score, _, _, place, overlap, distance in ranked[:size]
    ]


def _similar(
    own: Record, near: Near, query: TopicQuery, score: float, overlap: float, distance: int | None
) -> Similar:
    return Similar(
        document=near.document,
        group=near.group,
        story=near.story,
        score=score,
        topic=near.cosine,
        overlap=overlap,
        apart=abs(own.order[0] - near.moment),
        distance=distance,
        is_update=bool(query.group) and own.decision.story == near.story,
    )


def _score(cosine: float, overlap: float, apart: int, distance: int | None) -> float:
    closeness = 0.0 if distance is None else max(0.0, 1 - distance / _UNRELATED)
    evidence = cosine + _OVERLAP_WEIGHT * overlap + _DISTANCE_WEIGHT * closeness
    return evidence * (_OLD + (1 - _OLD) / (1 + apart / _WEEK))


def _distance(own: Record, near: Near, settings: Settings) -> int | None:
    """Bits in which the fingerprints differ; None where simhash did not sign both."""
    a, b = own.signature.keys.get("simhash"), near.keys.get("simhash")
    return int(simhash.compare(a, b, settings)) if a and b else None


# --- by simhash alone --------------------------------------------------------------------------


def _find_by_simhash(
    own: Record, store: Store, query: TopicQuery, size: int
) -> tuple[list[Similar], list[str]]:
    settings = store.settings
    if "simhash" not in settings.methods:
        raise SettingsError(
            "similar_by = simhash needs the method simhash, which is off: switch it on "
            "(`esdedup backfill --only simhash`), or use similar_by = evidence"
        )
    keys = own.signature.keys.get("simhash", ())
    if not keys:
        return [], ["the article has no fingerprint"]
    candidate_query = CandidateQuery(
        own.document.id, {"simhash": keys}, {"simhash": 1}, _END, representatives_only=False
    )
    (candidates,) = store.candidates.find([candidate_query])
    best: dict[str, Similar] = {}
    for record in store.documents.get(c.id for c in candidates).values():
        near = Near.of(record, cosine=0.0)
        distance = _distance(own, near, settings)
        is_wanted = query.low <= near.moment <= query.high and near.group != query.group
        if distance is not None and is_wanted and simhash.is_similar(distance, settings):
            one = _similar(own, near, query, 1 - distance / simhash.BITS, 0.0, distance)
            known = best.get(one.group)
            if known is None or _nearest(one) < _nearest(known):
                best[one.group] = one
    found = sorted(best.values(), key=_nearest)[:size]
    return found, _simhash_notes(len(candidates), settings)


def _nearest(one: Similar) -> tuple[int, bool, int, str]:
    """The nearest fingerprint first; of copies that are equally near, the original."""
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


# --- explanations ------------------------------------------------------------------------------


def _explain(document: Document, found: Sequence[Similar], settings: Settings) -> list[Similar]:
    """With the terms and the names that both articles have."""
    own, words = vector_and_words(document, settings)
    vectors = term_vectors([one.document for one in found], settings)
    names = entities_of(document)
    out = []
    for one, vector, cosine in zip(found, vectors, cosines(own, vectors), strict=True):
        shared = set(vector.terms.tolist())
        terms = [word for term, word in words.items() if term in shared]
        there = entities_of(one.document)
        entities = tuple(name for key, name in names.items() if key in there)
        out.append(replace(one, topic=cosine, terms=tuple(terms[:_SHOWN_TERMS]), entities=entities))
    return out
