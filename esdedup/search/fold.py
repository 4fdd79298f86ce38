"""Folding any list: results of other engines, a metasearch, feeds, hits for a language model.

    folded = fold(items)                      # each a mapping: id, title, text or snippet, url, …
    folded.kept, folded.folded                # what stays, in its order; what went where, and why

The first of these rules that applies folds two items. Rules for less than a whole text are strict,
since a false fold hides an article and a miss only repeats one:

1. known group: both are known to the store (or carry `dedup.group`), in one group.
2. same id, unless their texts are different articles.
3. same address: the same page, tracking parameters aside; not for the front page of a site.
4. text: both have at least 50 words, and `decide` finds that one is a duplicate. Changed counts
   ("12 dead", "17 dead") and a clearly longer text are an update, which stays.
5. snippet: one of the two is shorter. At least 12 words, 90 % of the shorter one's word sequences
   in the longer one, no number of the shorter one missing in the longer one, headlines that share
   half their words and all their numbers (where one has none: 20 words), at most 3 days apart.
6. headline: one of the two has nothing else. All its words are equal, at least 5 of them with
   both dates known and at most 3 days apart, else at least 7; different sites.

An item is compared with the first of each story, never with copies: no chains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

import numpy as np

from esdedup.clustering.reconcile import QueryBuilder
from esdedup.clustering.records import undecided_record
from esdedup.errors import QueryError
from esdedup.ingest.sign import sign_many
from esdedup.matching.content import Content, read_contents
from esdedup.matching.decide import decide
from esdedup.matching.verify import count_shared, distinct, verify_contents
from esdedup.model import Decision, Document, Evidence, Hashes32
from esdedup.model.batching import batched
from esdedup.model.json_form import JsonField, Result
from esdedup.model.queries import DEFAULT_BY, By
from esdedup.search import items as rules
from esdedup.search.items import Item, item_of
from esdedup.search.known_groups import find_known_groups
from esdedup.settings import Settings
from esdedup.stores import Record, Store
from esdedup.stores.key_index import KeyIndex

Keep = Literal["first", "earliest", "source", "longest"]
Rule = Literal["known group", "same id", "same address", "text", "snippet", "headline"]
_BATCH = 256


@dataclass(frozen=True, slots=True)
class FoldedItem(Result):
    """An item that is not shown, the one that stands for it, and why."""

    place: int
    id: str | None
    item: Annotated[Any, JsonField(hidden=True)]
    into: Annotated[int, JsonField(description="The place of the one that stands for it.")]
    into_id: str | None
    rule: Rule
    overlap: Annotated[float | None, JsonField(digits=4)] = None


@dataclass(frozen=True, slots=True)
class KeptItem(Result):
    """An item that stays.

    `rank` is its place among the items kept: that of the first item of its story. `update` is the
    evidence that it updates an earlier item, by newer counts or by a longer text.
    """

    place: int
    id: str | None
    item: Any
    rank: Annotated[int, JsonField(hidden=True)]
    folded: tuple[FoldedItem, ...] = ()
    update: Annotated[
        Evidence | None, JsonField(omit_empty=True, description="Of an earlier item.")
    ] = None


@dataclass(frozen=True, slots=True)
class Folded(Result):
    """A folded list: the items kept in their order, the items folded, and notes on odd items."""

    kept: tuple[KeptItem, ...]
    folded: tuple[FoldedItem, ...]
    notes: tuple[str, ...] = ()

    @property
    def items(self) -> list[Any]:
        """The shorter list, each item as it came."""
        return [kept.item for kept in self.kept]


def fold(
    items: Iterable[Any],
    *,
    keep: Keep = "first",
    sources: Sequence[str] = (),
    by: By = DEFAULT_BY,
    store: Store | None = None,
    window: timedelta | None = None,
    settings: Settings | None = None,
) -> Folded:
    """One item per story of a list from anywhere, in the order of the list.

    Items are mappings with `text`, a `snippet`, or only `title` and `url`; hits of a search engine
    and `Document`s are taken as well. `keep` is which item of a story stays (`sources`, best first,
    for `source`). `store` knows groups of items by their ids, addresses and texts; `by="story"`
    folds updates too; beyond `window` the same text is a new story.
    """
    _check_keep(keep, sources)
    folder = Folder(by, store, window, settings)
    placed = [one for part in batched(items, _BATCH) for one in folder.add_many(part)]
    stories: dict[int, list[Placed]] = {}
    for one in placed:
        stories.setdefault(one.leader, []).append(one)
    kept = []
    for rank, members in enumerate(stories.values()):
        shown = min(members, key=lambda one: _keep_order(one.item, keep, sources))
        kept.append(_as_kept(shown, members, rank))
    folded = sorted((f for k in kept for f in k.folded), key=lambda f: f.place)
    return Folded(tuple(kept), tuple(folded), tuple(folder.notes))


def fold_stream(
    items: Iterable[Any],
    *,
    by: By = DEFAULT_BY,
    store: Store | None = None,
    window: timedelta | None = None,
    settings: Settings | None = None,
    batch: int = 1,
) -> Iterator[KeptItem | FoldedItem]:
    """The same as the items come, the first of each story kept; larger batches are faster."""
    folder = Folder(by, store, window, settings)
    kept = 0
    for part in batched(items, max(1, batch)):
        for one in folder.add_many(part):
            if one.leader == one.item.place:
                yield KeptItem(one.item.place, one.item.id, one.item.raw, kept, (), one.update)
                kept += 1
            else:
                yield _as_folded(one, folder.leader(one))


def _check_keep(keep: str, sources: Sequence[str]) -> None:
    if keep not in get_args(Keep):
        raise QueryError(f"keep is {keep!r}; use {', '.join(get_args(Keep))}")
    if keep == "source" and not sources:
        raise QueryError("keep = source needs `sources`, the names in order, best first")


def _keep_order(item: Item, keep: Keep, sources: Sequence[str]) -> tuple[Any, ...]:
    """The smallest is kept; the place in the list breaks ties."""
    if keep == "earliest":
        dated = item.published is not None
        return (not dated, item.published.timestamp() if item.published else 0.0, item.place)
    if keep == "source":
        known = item.source in sources
        return (sources.index(item.source) if known and item.source else len(sources), item.place)
    if keep == "longest":
        return (-len(item.body), item.place)
    return (item.place,)


def _as_kept(shown: Placed, members: Sequence[Placed], rank: int) -> KeptItem:
    others = []
    for one in members:
        if one is shown:
            continue
        # The first item of a story was folded by no rule: the one kept instead has the reason.
        reason = one if one.rule is not None else shown
        others.append(_as_folded(replace(reason, item=one.item), shown.item))
    item = shown.item
    return KeptItem(item.place, item.id, item.raw, rank, tuple(others), members[0].update)


def _as_folded(one: Placed, into: Item) -> FoldedItem:
    assert one.rule is not None
    item = one.item
    return FoldedItem(item.place, item.id, item.raw, into.place, into.id, one.rule, one.overlap)


@dataclass(frozen=True, slots=True)
class Placed:
    """An item, the place of the first of its story, and why it belongs there."""

    item: Item
    leader: int
    rule: Rule | None = None
    overlap: float | None = None
    update: Evidence | None = None


@dataclass
class _Entry:
    """An item with what it is compared by."""

    item: Item
    titles: tuple[str, ...]
    record: Record | None  # of items that have a text or a snippet
    content: Content | None

    @property
    def is_text(self) -> bool:
        return self.item.content == "text"

    @property
    def words(self) -> int:
        return self.content.words if self.content else 0

    @cached_property
    def shingles(self) -> Hashes32:
        return distinct(self.content.shingles) if self.content else np.zeros(0, np.uint32)


class Folder:
    """Folds a list as it comes; holds the first item (the leader) of every story by its place."""

    def __init__(
        self, by: By, store: Store | None, window: timedelta | None, settings: Settings | None
    ) -> None:
        self.notes: list[str] = []
        self._by = by
        self._store = store
        self._window = window
        self._settings = replace(
            settings or Settings(), methods=("sketch",), signed_text="body", verified_by="overlap"
        )
        self._queries = QueryBuilder.of(self._settings)
        self._count = 0
        self._leaders: dict[int, _Entry] = {}
        self._by_id: dict[str, int] = {}
        self._by_address: dict[str, int] = {}
        self._by_group: dict[str, int] = {}
        self._by_title: dict[tuple[str, ...], list[int]] = {}
        self._texts = KeyIndex()
        self._by_shingle: dict[int, list[int]] = {}
        self._unindexed: list[int] = []  # leaders without their shingles in `_by_shingle`
        self._has_snippets = False

    def leader(self, placed: Placed) -> Item:
        return self._leaders[placed.leader].item

    def add_many(self, entries: Sequence[Any]) -> list[Placed]:
        """Items in the order of the list; larger parts are signed faster."""
        read = [item_of(raw, self._count + place) for place, raw in enumerate(entries)]
        self._count += len(read)
        for item in read:
            if item.problem:
                self.notes.append(f"{item.name} {item.problem}")
        if self._store is not None:
            groups = find_known_groups(read, self._store, self._by)
            read = [replace(item, group=groups.get(item.place, item.group)) for item in read]
        return [self._add(entry) for entry in self._entries(read)]

    def _entries(self, items: Sequence[Item]) -> Iterator[_Entry]:
        with_body = [item for item in items if item.body]
        documents = [Document(id=str(item.place), text=item.body) for item in with_body]
        signed = sign_many(documents, self._settings)
        contents = read_contents(documents, self._settings)
        records = {
            item.place: (undecided_record(own, (item.place, ""), 0), content)
            for item, own, content in zip(with_body, signed, contents, strict=True)
        }
        for item in items:
            record, content = records.get(item.place, (None, None))
            yield _Entry(item, rules.title_words(item), record, content)

    # --- one item --------------------------------------------------------------------------------

    def _add(self, new: _Entry) -> Placed:
        placed, item = self._place(new), new.item
        if placed.leader == item.place:
            self._put_leader(new)
        # Later items may be the same as any member by id, address or known group.
        if item.id is not None:
            self._by_id.setdefault(item.id, placed.leader)
        if item.url is not None:
            self._by_address.setdefault(item.url, placed.leader)
        if item.group is not None:
            self._by_group.setdefault(item.group, placed.leader)
        return placed

    def _place(self, new: _Entry) -> Placed:
        """The surest rule first."""
        item = new.item
        update: Evidence | None = None
        if item.group is not None and item.group in self._by_group:
            return Placed(item, self._by_group[item.group], "known group")
        for leader, rule in self._find_same_page(new):
            evidence = self._verify(self._leaders[leader], new)
            if evidence is None:  # an id or an address speaks for itself
                return Placed(item, leader, rule)
            if evidence.verdict == "duplicate" or self._is_folded_update(evidence.verdict):
                return Placed(item, leader, rule, evidence.overlap)
            if evidence.verdict == "update":
                update = update or evidence
            elif rule == "same id":
                note = f"{item.name}: two items have this id and different texts; both stay"
                self.notes.append(note)
        return self._place_by_content(new, update)

    def _place_by_content(self, new: _Entry, update: Evidence | None) -> Placed:
        item, decision = new.item, self._decide(new)
        if decision is not None and decision.role != "original":
            leader, evidence = int(decision.story), decision.evidence[0]
            if decision.role == "duplicate" or self._is_folded_update(decision.role):
                return Placed(item, leader, "text", evidence.overlap)
            update = update or replace(evidence, other=self._leaders[leader].item.name)
        for leader in self._find_sharing_shingles(new):
            overlap = _snippet_overlap(self._leaders[leader], new)
            if overlap is not None:
                return Placed(item, leader, "snippet", overlap)
        for leader in self._find_same_headline(new):
            return Placed(item, leader, "headline")
        return Placed(item, item.place, update=update)

    def _is_folded_update(self, verdict: str) -> bool:
        return verdict == "update" and self._by == "story"

    def _is_apart(self, leader: int, new: Item) -> bool:
        """A store that knows both, in different groups, knows better; and the window."""
        old = self._leaders[leader].item
        if old.group is not None and new.group is not None and old.group != new.group:
            return True
        return self._window is not None and not rules.are_close(old, new, self._window)

    # --- rules -----------------------------------------------------------------------------------

    def _find_same_page(self, new: _Entry) -> Iterator[tuple[int, Rule]]:
        item = new.item
        found: list[tuple[int | None, Rule]] = []
        if item.id is not None:
            found.append((self._by_id.get(item.id), "same id"))
        if item.url is not None and rules.is_one_page(item.url):
            found.append((self._by_address.get(item.url), "same address"))
        for leader, rule in found:
            if leader is not None and not self._is_apart(leader, item):
                yield leader, rule

    def _verify(self, old: _Entry, new: _Entry) -> Evidence | None:
        """Evidence of two whole texts; None where one of them is less."""
        if not (old.is_text and new.is_text and old.content and new.content):
            return None
        return verify_contents(old.item.name, old.content, new.content, self._settings)

    def _decide(self, new: _Entry) -> Decision | None:
        """The decision about a whole text among leaders, each an original of its own group.

        None where no leader shares enough keys.
        """
        record = new.record
        if not new.is_text or record is None:
            return None
        query = self._queries.build(record, record.order)
        candidates = [
            candidate
            for candidate in self._texts.find(query)
            if not self._is_apart(candidate.order[0], new.item)
        ]
        if not candidates:
            return None
        return decide(record, candidates, self._settings)

    def _find_sharing_shingles(self, new: _Entry) -> list[int]:
        """Leaders that share word sequences, one of the two being a snippet."""
        is_snippet = new.item.content == "snippet"
        if is_snippet:
            self._has_snippets = True
        if not self._has_snippets:
            return []
        self._index_shingles()
        counts: Counter[int] = Counter()
        for shingle in new.shingles.tolist():
            if shingle in self._by_shingle:
                counts.update(self._by_shingle[shingle])
        found = [
            (-n, leader)
            for leader, n in counts.items()
            if (is_snippet or self._leaders[leader].item.content == "snippet")
            and not self._is_apart(leader, new.item)
        ]
        return [leader for _, leader in sorted(found)[: self._settings.verified_candidates]]

    def _find_same_headline(self, new: _Entry) -> Iterator[int]:
        for leader in self._by_title.get(new.titles, ()) if new.titles else ():
            old = self._leaders[leader].item
            has_nothing_else = "title" in (old.content, new.item.content)
            is_same = has_nothing_else and rules.is_same_headline(old, new.item, new.titles)
            if is_same and not self._is_apart(leader, new.item):
                yield leader

    # --- leaders ---------------------------------------------------------------------------------

    def _put_leader(self, new: _Entry) -> None:
        place = new.item.place
        self._leaders[place] = new
        if new.titles:
            self._by_title.setdefault(new.titles, []).append(place)
        if new.record is not None:
            self._unindexed.append(place)
            if new.is_text:
                self._texts.put(new.record)

    def _index_shingles(self) -> None:
        """Only a list with snippets in it needs the word sequences one by one."""
        for place in self._unindexed:
            for shingle in self._leaders[place].shingles.tolist():
                self._by_shingle.setdefault(shingle, []).append(place)
        self._unindexed = []


def _snippet_overlap(old: _Entry, new: _Entry) -> float | None:
    """How much of the shorter one is in the longer one, where the strict rule is met."""
    shorter, longer = sorted((new, old), key=lambda entry: entry.words)
    titled = bool(old.titles and new.titles)
    needed = rules.SNIPPET_WORDS if titled else rules.SNIPPET_WORDS_UNTITLED
    if shorter.words < needed or not len(shorter.shingles):
        return None
    if not rules.are_close(old.item, new.item):
        return None
    if titled and not rules.are_titles_alike(old.titles, new.titles):
        return None
    shared = count_shared(shorter.shingles, longer.shingles) / len(shorter.shingles)
    numbers = rules.numbers_in(rules.words_of(shorter.item.body))
    known = rules.numbers_in(rules.words_of(longer.item.body))
    return shared if shared >= rules.SNIPPET_SHARED and numbers <= known else None


def read_list(values: Any) -> list[Any]:
    """The items of a JSON document: a list, or a search engine's answer."""
    if isinstance(values, list):
        return values
    if isinstance(values, Mapping):
        hits = values.get("hits")
        if isinstance(hits, Mapping) and isinstance(hits.get("hits"), list):
            return list(hits["hits"])
        for name in ("items", "results", "articles", "hits", "kept"):
            if isinstance(values.get(name), list):
                return list(values[name])
    raise QueryError(
        "there is no list in it: give an array of objects, a search answer with hits, or one "
        "object a line"
    )
