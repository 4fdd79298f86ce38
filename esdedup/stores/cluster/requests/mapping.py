"""Mappings and templates: the `dedup` object, and what is recorded beside it."""

from __future__ import annotations

from collections.abc import Sequence

from esdedup.model import JSON
from esdedup.model.methods import key_fields
from esdedup.settings import Settings

# Version of the templates; raised with every change of what is in them.
TEMPLATE_VERSION = 4

_KEYWORD_KEY: JSON = {"type": "keyword", "doc_values": False}
_SOURCE_ONLY: JSON = {"type": "keyword", "doc_values": False, "index": False}


def properties() -> JSON:
    """The `dedup` object: the only field added to a user's index."""
    return {
        "dedup": {
            "type": "object",
            "dynamic": False,
            "properties": {
                "format": {"type": "keyword"},
                **dict.fromkeys(key_fields().values(), _KEYWORD_KEY),
                # Read back, never searched: in the source only.
                "digest": _SOURCE_ONLY,
                "method": _SOURCE_ONLY,
                "score": {"type": "float", "index": False, "doc_values": False},
                "changes": {"type": "object", "enabled": False},
                "signed": {"type": "object", "enabled": False},
                "kept": {"type": "object", "enabled": False},
                # Words with diacritics as people type them without; of most articles absent.
                "plain": {"type": "text", "norms": False},
                # Sorts the longest copy first.
                "words": {"type": "integer", "index": False},
                "reason": {"type": "keyword"},
                # The news agency that the article credits; absent if it names none.
                "agency": {"type": "keyword"},
                # Set on every document: a collapse folds all documents without it into one.
                "group": {"type": "keyword"},
                # 64-bit hash of the group: counting stories by it costs half as much.
                "gid": {"type": "long", "index": False},
                "story": {"type": "keyword"},
                "parent": {"type": "keyword", "doc_values": False},
                "role": {"type": "keyword"},
                "canonical": {"type": "boolean"},
                # Whether later documents are compared with this one.
                "attracts": {"type": "boolean"},
                # The document's own id: ties of the order are broken by it, and `_id` can be
                # neither sorted nor filtered by range.
                "id": {"type": "keyword"},
                # The total order: microseconds of published, else first seen.
                "moment": {"type": "long"},
                # Sorts before the moment if the canonical rule is not by time, or if a constraint
                # pins a document as the original; absent is 0.
                "rank": {"type": "integer"},
                "first_seen": {"type": "long", "index": False},
                # When the link last changed: what `sweep` looks at after a crash.
                "at": {"type": "date"},
            },
        }
    }


def news_properties() -> JSON:
    """A ready-made news index around it; users with their own mapping need only `dedup`."""
    return {
        "title": {"type": "text"},
        "text": {"type": "text"},
        "url": {"type": "keyword", "ignore_above": 2048},
        "source": {"type": "keyword", "ignore_above": 512},
        "lang": {"type": "keyword", "ignore_above": 32},
        "published": {"type": "date"},
    }


def news_mapping(settings: Settings) -> JSON:
    """The mapping of an index made by us. Fields it does not know are kept and not indexed, so
    that no value of theirs, whatever its type, can make the server refuse an article."""
    return {
        "dynamic": False,
        "_meta": meta(settings),
        "properties": {**news_properties(), **properties()},
    }


def index_settings(product: str) -> JSON:
    """Of an index made by us, beyond what the server gives every index.

    OpenSearch merges small segments within a refresh, and the refresh waits up to 10 s for that,
    with writes behind it. The merges are paced as any others, so that the processors were idle
    meanwhile: of 30,000 articles indexed in 20 to 26 s, 1 to 6 s. Elasticsearch does not wait.
    """
    return {"merge_on_flush": {"enabled": False}} if product == "opensearch" else {}


def side_index(kind: str, store: str) -> str:
    """An index beside the articles: no pattern of theirs, like news-*, matches its name."""
    plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in store)
    return f"esdedup-{kind}-{plain.strip('-')}"


def revisions_mapping() -> JSON:
    """Read by id alone: nothing is indexed."""
    return {"dynamic": False, "properties": {"versions": {"type": "object", "enabled": False}}}


def quarantine_mapping() -> JSON:
    """Documents that may be of any shape: kept whole, none of their fields indexed."""
    return {
        "dynamic": False,
        "properties": {
            "at": {"type": "date"},
            "final": {"type": "boolean"},
            "document": {"type": "object", "enabled": False},
        },
    }


def meta(settings: Settings) -> JSON:
    """What is recorded in the mapping, so that other settings are noticed."""
    return {
        "esdedup": {
            "format": settings.format,
            "fingerprint": settings.fingerprint_of_format(),
            "shaping": settings.shaping(),
            "settings": settings.to_json(),
        }
    }


def component_template(settings: Settings) -> JSON:
    return {
        "version": TEMPLATE_VERSION,
        "_meta": {
            "description": "esdedup: signatures and groups of news articles",
            "format": settings.format,
        },
        "template": {"mappings": {"_meta": meta(settings), "properties": properties()}},
    }


def index_template(
    settings: Settings, *, patterns: Sequence[str], component: str, product: str
) -> JSON:
    return {
        "index_patterns": list(patterns),
        "composed_of": [component],
        "version": TEMPLATE_VERSION,
        "_meta": {"description": "esdedup: a news index", "format": settings.format},
        "template": {
            "settings": {
                "index": {
                    "number_of_shards": 1,
                    "number_of_replicas": 1,
                    **index_settings(product),
                }
            },
            "mappings": {
                "dynamic": False,
                "_meta": meta(settings),
                "properties": news_properties(),
            },
        },
    }
