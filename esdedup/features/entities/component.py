"""The rules as a part of anybody's spaCy pipeline.

import esdedup.features.entities.component
nlp = spacy.blank("tr")
nlp.add_pipe("esdedup_entities")
"""

from __future__ import annotations

from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import filter_spans

from esdedup.features.entities import LOCATION, ORGANISATION, PERSON, find_entities

LABELS = {PERSON: "PERSON", LOCATION: "LOC", ORGANISATION: "ORG"}
# All of them, those within others too, are in `doc.spans` under this name.
SPANS = "esdedup"


@Language.factory(
    "esdedup_entities",
    assigns=["doc.ents", "doc.spans"],
    default_config={"lang": None},
)
def make(nlp: Language, name: str, lang: str | None) -> EntityRules:
    """`lang` is the language of the pipeline unless it is given."""
    del name
    return EntityRules(lang or nlp.lang or "")


class EntityRules:
    """Sets `doc.ents` to the longest entities, beside those that an earlier part has found."""

    def __init__(self, lang: str) -> None:
        self.lang = lang

    def __call__(self, doc: Doc) -> Doc:
        spans = []
        for entity in find_entities(doc.text, self.lang):
            span = doc.char_span(
                entity.start, entity.end, LABELS[entity.kind], alignment_mode="expand"
            )
            if span is not None:
                spans.append(span)
        doc.spans[SPANS] = spans
        doc.set_ents(_add_free_spans(list(doc.ents), spans), default="unmodified")
        return doc


def _add_free_spans(earlier: list[Any], spans: list[Any]) -> list[Any]:
    """The longest of ours that touch none of the earlier ones."""
    taken = {i for span in earlier for i in range(span.start, span.end)}
    free = [span for span in spans if taken.isdisjoint(range(span.start, span.end))]
    return [*earlier, *filter_spans(free)]
