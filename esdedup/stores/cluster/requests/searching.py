"""Searches for readers: words as a query, and the fields that hold whole values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from esdedup.model import JSON
from esdedup.stores.cluster.requests.documents import NO_NAMES, Names
from esdedup.text.fulltext import query_terms

# French articles and pronouns that melt into the next word, and the letters they do it before.
_ELIDED = ("l", "d", "j", "m", "t", "s", "c", "n", "qu")
# The weight of a word that differs from the one typed in its diacritics.
_OTHER_FORM = 0.01
_ELIDED_BEFORE = "aàâeéèêëhiîïoôuùûœæy"


def dependents_query(ids: Sequence[str]) -> JSON:
    """Members and updates of these documents; the documents themselves are left out by id."""
    return {
        "bool": {
            "should": [
                {"terms": {"dedup.group": list(ids)}},
                {"terms": {"dedup.parent": list(ids)}},
            ],
            "minimum_should_match": 1,
        }
    }


def words_query(query: str, names: Names = NO_NAMES) -> JSON | None:
    """Every word must occur, in title or text; quotes make a phrase. None if there is no word.

    Words of scripts without spaces are several tokens, so each word is a phrase. The standard
    analyser knows neither that ı and i are one letter to us nor that l’ is an article in l’été:
    so a search includes the other forms. Words typed without diacritics match those with them as
    well (`dedup.plain`), far behind the word as it was typed.
    """
    fields = searched_fields(names)
    found = []
    for term in query_terms(query):
        queries = _phrases(_forms(term), fields)
        if term.isascii():  # who types diacritics means these
            queries += _phrases([term], ["dedup.plain"], boost=_OTHER_FORM)
        found.append({"dis_max": {"queries": queries}})
    return {"bool": {"must": found}} if found else None


def _forms(term: str) -> list[str]:
    forms = [term, term.replace("ı", "i"), term.replace("i", "ı")]
    if " " not in term and term[0] in _ELIDED_BEFORE:
        forms += [f"{article}{mark}{term}" for article in _ELIDED for mark in "’'"]
    return forms


def searched_fields(names: Names) -> list[str]:
    titles, texts = names.get("title", ("title",)), names.get("text", ("text",))
    return [*(f"{name}^2" for name in titles), *texts]


def phrase_query(forms: Sequence[str], fields: Sequence[str]) -> JSON:
    """Any form of a word, as a phrase in any of the fields."""
    queries = _phrases(forms, fields)
    return {"dis_max": {"queries": queries}} if len(queries) > 1 else queries[0]


def _phrases(forms: Sequence[str], fields: Sequence[str], **options: float) -> list[JSON]:
    return [
        {"multi_match": {"query": form, "type": "phrase", "fields": list(fields), **options}}
        for form in dict.fromkeys(forms)
    ]


def exact_field(properties: Mapping[str, Any], name: str) -> str | None:
    """The field that compares, sorts and counts whole values: the name itself, or where that is
    text its keyword sub-field; None where there is none."""
    spec = _spec(properties, name)
    if spec is None:
        return name if name.startswith("_") else None
    if spec.get("type", "object") != "text":
        return name
    for inner, sub in spec.get("fields", {}).items():
        if sub.get("type") == "keyword":
            return f"{name}.{inner}"
    return None


def _spec(properties: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """What the mapping says of a path; a name with dots may stand in it as it is."""
    if name in properties:
        found: Mapping[str, Any] = properties[name]
        return found
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        outer = properties.get(".".join(parts[:cut]))
        if outer is None:
            continue
        rest = ".".join(parts[cut:])
        for children in ("properties", "fields"):
            inner = _spec(outer.get(children, {}), rest)
            if inner is not None:
                return inner
    return None
