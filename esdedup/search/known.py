"""Groups of list items that a store knows: by id, by address, or by a text it holds a copy of."""

from __future__ import annotations

from collections.abc import Sequence

from esdedup.clustering.place import decide_alone
from esdedup.clustering.reconcile import Questions
from esdedup.clustering.records import undecided
from esdedup.features.numbers import UnreadNumbers
from esdedup.ingest.sign import sign_many
from esdedup.model import MAX_ID_BYTES, Document
from esdedup.model.queries import By
from esdedup.search.items import Item
from esdedup.stores import Store

# After everything that is stored: a list item looks for what came before it.
_LAST = (1 << 62, "")


def known_groups(items: Sequence[Item], store: Store, by: By) -> dict[int, str]:
    """Place of an item -> its group or story in the store."""
    names = {item.place: _names(item) for item in items}
    wanted = {name for own in names.values() for name in own}
    records = store.get_many(wanted) if wanted else {}
    found: dict[int, str] = {}
    for place, own in names.items():
        for name in own:
            record = records.get(name)
            # Without a decision of its own it is no more known than a text from elsewhere.
            if record is not None and record.decision.role != "unprocessed":
                decision = record.decision
                found[place] = decision.group if by == "group" else decision.story
                break
    return found | _by_text([i for i in items if i.place not in found], store, by)


def _names(item: Item) -> list[str]:
    """What the store may know it by: its id, and its URL, which is the id of pages."""
    given = item.raw if isinstance(item.raw, dict) else {}
    url = given.get("url") or given.get("link")
    names = [item.id, url if isinstance(url, str) else None]
    return [name for name in names if name and len(name.encode("utf-8", "replace")) <= MAX_ID_BYTES]


def _by_text(items: Sequence[Item], store: Store, by: By) -> dict[int, str]:
    """Of whole texts: what the store would decide if they were added now."""
    texts = [item for item in items if item.content == "text"]
    documents = [Document(id=str(i.place), title=i.title, text=i.body) for i in texts]
    signed = sign_many(documents, store.settings, UnreadNumbers)
    questions = Questions.of(store.settings)
    probes = [questions.probe("", s.signature, _LAST) for s in signed]
    found: dict[int, str] = {}
    shown = store.candidates_many(probes) if probes else []
    for item, one, query, candidates in zip(texts, signed, probes, shown, strict=True):
        record = undecided(one, query.order, query.order[0])
        decision = decide_alone(record, query, candidates, store.settings)
        if decision.role == "duplicate":
            found[item.place] = decision.group if by == "group" else decision.story
        elif decision.role == "update" and by == "story":
            found[item.place] = decision.story
    return found
