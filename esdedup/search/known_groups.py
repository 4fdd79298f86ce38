"""Groups of list items that a store knows: by id, by address, or by a text it holds a copy of."""

from __future__ import annotations

from collections.abc import Sequence

from esdedup.clustering.reconcile import QueryBuilder
from esdedup.ingest.sign import sign_many
from esdedup.matching.decide import decide
from esdedup.model import MAX_ID_BYTES, Document
from esdedup.model.queries import By
from esdedup.search.items import Item
from esdedup.stores import Store

# After everything that is stored: a list item is compared with all of it.
_LAST = (1 << 62, "")


def find_known_groups(items: Sequence[Item], store: Store, by: By) -> dict[int, str]:
    """The group or story in the store of each item that it knows, by the place of the item."""
    ids = {item.place: _stored_ids(item) for item in items}
    wanted = {id_ for own in ids.values() for id_ in own}
    records = store.documents.get(wanted) if wanted else {}
    found: dict[int, str] = {}
    for place, own in ids.items():
        decisions = (records[id_].decision for id_ in own if id_ in records)
        # An article that could not be processed has no group of its own.
        decision = next((d for d in decisions if d.role != "unprocessed"), None)
        if decision is not None:
            found[place] = decision.group if by == "group" else decision.story
    return found | _find_by_text([i for i in items if i.place not in found], store, by)


def _stored_ids(item: Item) -> list[str]:
    """Ids that the item may be stored under: its id, and its URL, which is the id of pages."""
    given = item.raw if isinstance(item.raw, dict) else {}
    url = given.get("url") or given.get("link")
    ids = [item.id, url if isinstance(url, str) else None]
    return [id_ for id_ in ids if id_ and len(id_.encode("utf-8", "replace")) <= MAX_ID_BYTES]


def _find_by_text(items: Sequence[Item], store: Store, by: By) -> dict[int, str]:
    """Whole texts as the store would decide about them if they were added now."""
    texts = [item for item in items if item.content == "text"]
    documents = [Document(id=str(i.place), title=i.title, text=i.body) for i in texts]
    signed = sign_many(documents, store.settings)
    builder = QueryBuilder.of(store.settings)
    queries = [builder.build(one, _LAST, id_="") for one in signed]
    found: dict[int, str] = {}
    candidates = store.candidates.find(queries) if queries else []
    for item, one, own in zip(texts, signed, candidates, strict=True):
        decision = decide(one, own, store.settings)
        if decision.role == "duplicate":
            found[item.place] = decision.group if by == "group" else decision.story
        elif decision.role == "update" and by == "story":
            found[item.place] = decision.story
    return found
