"""Entities by a spaCy model that the user has installed: `ner = "spacy:fr_core_news_sm"`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from esdedup.errors import SettingsError
from esdedup.features.entities.classify import LOCATION, ORGANISATION, PERSON
from esdedup.features.entities.rules import KINDS, Spans
from esdedup.features.entities.words import Words, locate_words

# Labels of spaCy's own models (OntoNotes, WikiNER) and of common other ones.
LABELS = {
    "PERSON": PERSON,
    "PER": PERSON,
    "LOC": LOCATION,
    "GPE": LOCATION,
    "FAC": LOCATION,
    "ORG": ORGANISATION,
}


def recognise_many(words: Words, texts: Sequence[str], model: str) -> Spans:
    """Entities of each text; the model reads it with one space for any white space.

    Those that reach into words left out (a title that is not signed, a suffix) keep the others.
    """
    pipeline = load(model)
    joined = [" ".join(text.split()) for text in texts]
    # A text beyond the limit of the model (a million characters) is read up to it.
    documents = pipeline.pipe([text[: pipeline.max_length] for text in joined], batch_size=32)
    found: list[int] = []
    for number, doc in enumerate(documents):
        origin = int(words.tokens.first[number])
        low, high = (int(place) for place in words.first[number : number + 2])
        places = (words.places[low:high] - origin).tolist()
        for first, last, kind in _spans(locate_words(joined[number]), doc):
            start, end = low + bisect_left(places, first), low + bisect_right(places, last)
            if start < end:
                found += number, start, end, KINDS.index(kind)
    return Spans.of(found)


def _spans(places: list[tuple[int, int]], doc: Any) -> Iterator[tuple[int, int, str]]:
    """First and last word of each entity."""
    starts, ends = [place[0] for place in places], [place[1] for place in places]
    for entity in doc.ents:
        kind = LABELS.get(entity.label_)
        first = bisect_right(ends, entity.start_char)
        last = bisect_left(starts, entity.end_char) - 1
        if kind and first <= last:
            yield first, last, kind


@lru_cache(maxsize=4)
def load(model: str) -> Any:
    """The model with what its NER needs and nothing else."""
    import spacy

    try:
        pipeline = spacy.load(model)
    except OSError as error:
        raise SettingsError(
            f"ner is 'spacy:{model}', and spaCy finds no such model; {remedy(model)}, or choose "
            "ner=rules"
        ) from error
    if not (set(pipeline.pipe_names) & {"ner", "entity_ruler", "esdedup_entities"}):
        raise SettingsError(
            f"ner is 'spacy:{model}', and that model has no named entities (its parts are "
            f"{', '.join(pipeline.pipe_names) or 'none'}); install one that has a `ner` part, as "
            "`python -m spacy download fr_core_news_sm`, or choose ner=rules"
        )
    unused = {"parser", "lemmatizer", "attribute_ruler", "tagger", "morphologizer"}
    pipeline.select_pipes(disable=sorted(unused & set(pipeline.pipe_names)))
    return pipeline


def remedy(model: str) -> str:
    """Never `pip install`: on a registry anybody may have taken the name of a model."""
    if model.isidentifier():
        return f"install it with `python -m spacy download {model}`"
    return "name an installed model, or the folder of one"
