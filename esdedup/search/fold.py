"""Folding any list: results of other engines, a metasearch, feeds, hits for a language model.

    folded = fold(items)                      # each a mapping: id, title, text or snippet, url, …
    folded.kept, folded.folded                # what stays, in its order; what went where, and why

Two items are one where the first of these rules says so; what a rule says of less than a whole
text is strict, since a false fold hides an article and a miss only repeats one:

1. known group: both are known to the store (or carry `dedup.group`), in one group.
2. same id, unless their texts are different articles.
3. same address: the same page, tracking parameters aside; not for the front page of a site.
4. text: both have at least 50 words, and the ordinary detection calls them copies. Changed
   counts ("12 dead", "17 dead") and a clearly longer text are an update, which stays.
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
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice
from typing import Any, Literal, get_args

from esdedup.errors import QueryError
from esdedup.features.numbers import NumberContext, changed, stated
from esdedup.ingest.sign import sign_many
from esdedup.matching.verify import count_shared, distinct, verify
from esdedup.methods import sketch
from esdedup.model import JSON, Document, Evidence, Signature
from esdedup.model.queries import By
from esdedup.search import items as rules
from esdedup.search.items import Item, item_of
from esdedup.settings import Settings
from esdedup.stores import Store
from esdedup.text.tokens import guess_language

Keep = Literal["first", "earliest", "source", "longest"]
Rule = Literal["known group", "same id", "same address", "text", "snippet", "headline"]
_BATCH = 256
_ANY_LANGUAGE = "und"


@dataclass(frozen=True, slots=True)
class FoldedItem:
    """An item that is not shown, the one that stands for it, and why."""

    place: int
    id: str | None
    item: Any
    into: int  # the place of the item kept
    into_id: str | None
    rule: Rule
    overlap: float | None = None

    def to_json(self) -> JSON:
        return {
            "place": self.place,
            "id": self.id,
            "into": self.into,
            "into_id": self.into_id,
            "rule": self.rule,
            "overlap": None if self.overlap is None else round(self.overlap, 4),
        }


@dataclass(frozen=True, slots=True)
class KeptItem:
    """An item that stays. `rank` is its place among those kept; where another one than the first
    of its story is kept, it stands where the first stood. `update` tells of an earlier item that
    this one has newer counts than, or tells more than."""

    place: int
    id: str | None
    item: Any
    rank: int
    folded: tuple[FoldedItem, ...] = ()
    update: Evidence | None = None

    def to_json(self) -> JSON:
        out: JSON = {
            "place": self.place,
            "id": self.id,
            "item": self.item.to_json() if isinstance(self.item, Document) else self.item,
            "folded": [folded.to_json() for folded in self.folded],
        }
        if self.update is not None:
            out["update"] = self.update.to_json()
        return out


@dataclass(frozen=True, slots=True)
class Folded:
    """A list, folded: what stays in its order, what does not, and what was odd about it."""

    kept: tuple[KeptItem, ...]
    folded: tuple[FoldedItem, ...]
    notes: tuple[str, ...] = ()

    @property
    def items(self) -> list[Any]:
        """The shorter list, each item as it came."""
        return [kept.item for kept in self.kept]

    def to_json(self) -> JSON:
        return {
            "kept": [kept.to_json() for kept in self.kept],
            "folded": [folded.to_json() for folded in self.folded],
            "notes": list(self.notes),
        }


def fold(
    items: Iterable[Any],
    *,
    keep: Keep = "first",
    sources: Sequence[str] = (),
    by: By = "group",
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
    _check(keep, sources)
    folder = Folder(by=by, store=store, window=window, settings=settings)
    entries = list(items)
    placed = [one for start in range(0, len(entries), _BATCH)
              for one in folder.add_many(entries[start : start + _BATCH])]  # fmt: skip
    stories: dict[int, list[Placed]] = {}
    for one in placed:
        stories.setdefault(one.leader, []).append(one)
    kept = []
    for rank, members in enumerate(stories.values()):
        shown = min(members, key=lambda one: _rank(one.item, keep, sources))
        kept.append(_kept(shown, members, rank))
    folded = sorted((f for k in kept for f in k.folded), key=lambda f: f.place)
    return Folded(tuple(kept), tuple(folded), tuple(folder.notes))


def fold_stream(
    items: Iterable[Any],
    *,
    by: By = "group",
    store: Store | None = None,
    window: timedelta | None = None,
    settings: Settings | None = None,
    batch: int = 1,
) -> Iterator[KeptItem | FoldedItem]:
    """The same as the items come, the first of each story kept; larger batches are faster."""
    folder = Folder(by=by, store=store, window=window, settings=settings)
    entries = iter(items)
    kept = 0
    while part := list(islice(entries, max(1, batch))):
        for one in folder.add_many(part):
            if one.leader == one.item.place:
                yield KeptItem(one.item.place, one.item.id, one.item.raw, kept, (), one.update)
                kept += 1
            else:
                yield _folded(one, folder.leader(one))


def _check(keep: str, sources: Sequence[str]) -> None:
    if keep not in get_args(Keep):
        raise QueryError(f"keep is {keep!r}; use {', '.join(get_args(Keep))}")
    if keep == "source" and not sources:
        raise QueryError("keep = source needs `sources`, the names in order, best first")


def _rank(item: Item, keep: Keep, sources: Sequence[str]) -> tuple[Any, ...]:
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


def _kept(shown: Placed, members: Sequence[Placed], rank: int) -> KeptItem:
    others = []
    for one in members:
        if one is shown:
            continue
        # The first of a story gave the reason to the others; one kept in its stead gives its own.
        why = one if one.rule is not None else shown
        folded = _folded(replace(why, item=one.item), shown.item)
        others.append(folded)
    item = shown.item
    return KeptItem(item.place, item.id, item.raw, rank, tuple(others), members[0].update)


def _folded(one: Placed, into: Item) -> FoldedItem:
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


@dataclass(slots=True)
class _Leader:
    """The first item of a story, with what later ones are compared with."""

    item: Item
    signature: Signature | None
    titles: tuple[str, ...]
    _distinct: Any = None
    _numbers: Sequence[NumberContext] | None = None

    @property
    def shingles(self) -> Any:
        if self._distinct is None and self.signature is not None:
            self._distinct = distinct(self.signature.shingles)
        return self._distinct

    @property
    def numbers(self) -> Sequence[NumberContext]:
        """The counts of its text: looked for only in items that are compared."""
        if self._numbers is None:
            self._numbers = stated(self.item.body, guess_language(self.item.body))
        return self._numbers


@dataclass(slots=True)
class Folder:
    """Folds a list as it comes; holds the first item of every story."""

    by: By = "group"
    store: Store | None = None
    window: timedelta | None = None
    settings: Settings | None = None
    notes: list[str] = field(default_factory=list)
    _count: int = 0
    _leaders: dict[int, _Leader] = field(default_factory=dict)
    _by_id: dict[str, int] = field(default_factory=dict)
    _by_address: dict[str, int] = field(default_factory=dict)
    _by_group: dict[str, int] = field(default_factory=dict)
    _by_title: dict[tuple[str, ...], list[int]] = field(default_factory=dict)
    _by_key: dict[str, list[int]] = field(default_factory=dict)
    _by_shingle: dict[int, list[int]] = field(default_factory=dict)
    _unindexed: list[int] = field(default_factory=list)
    _has_snippets: bool = False

    def leader(self, placed: Placed) -> Item:
        return self._leaders[placed.leader].item

    def add_many(self, entries: Sequence[Any]) -> list[Placed]:
        """Items in the order of the list; larger parts are signed faster."""
        read = [item_of(raw, self._count + place) for place, raw in enumerate(entries)]
        self._count += len(read)
        for item in read:
            if item.problem:
                self.notes.append(f"{item.name} {item.problem}")
        if self.store is not None:
            from esdedup.search.known import known_groups

            groups = known_groups(read, self.store, self.by)
            read = [replace(item, group=groups.get(item.place, item.group)) for item in read]
        signatures = self._sign(read)
        return [self._add(item, signatures.get(item.place)) for item in read]

    def _sign(self, read: Sequence[Item]) -> dict[int, Signature]:
        settings = self._settings()
        with_body = [item for item in read if item.body]
        # The language matters to counts alone, and is guessed where these are looked for.
        documents = [
            Document(id=str(item.place), text=item.body, lang=_ANY_LANGUAGE) for item in with_body
        ]
        signed = sign_many(documents, replace(settings, number_check=False))
        return {item.place: s.signature for item, s in zip(with_body, signed, strict=True)}

    def _settings(self) -> Settings:
        if self.settings is None:
            self.settings = Settings()
        if self.settings.methods != ("sketch",) or self.settings.signed_text != "body":
            self.settings = replace(
                self.settings, methods=("sketch",), signed_text="body", verified_by="overlap"
            )
        return self.settings

    # --- one item --------------------------------------------------------------------------------

    def _add(self, item: Item, signature: Signature | None) -> Placed:
        new = _Leader(item, signature, rules.title_words(item) if item.title else ())
        placed = self._place(new)
        if placed.leader == item.place:
            self._leaders[item.place] = new
            self._index(new)
        self._remember(item, placed.leader)
        return placed

    def _place(self, new: _Leader) -> Placed:
        item = new.item
        update: Evidence | None = None
        for leader, rule in self._candidates(new):
            old = self._leaders[leader]
            if rule == "known group":
                return Placed(item, leader, rule)
            if self._is_kept_apart(old.item, item):
                continue
            is_one, overlap, evidence = self._judged(old, new, rule)
            if is_one:
                return Placed(item, leader, rule, overlap)
            if evidence is not None and evidence.verdict == "update":
                update = update or evidence
        return Placed(item, item.place, update=update)

    def _judged(
        self, old: _Leader, new: _Leader, rule: Rule
    ) -> tuple[bool, float | None, Evidence | None]:
        """Whether the rule makes them one, how alike they are, and what whole texts say."""
        if rule == "snippet":
            shared = _snippet_overlap(old, new)
            return shared is not None, shared, None
        if rule == "headline":
            return rules.is_same_headline(old.item, new.item, new.titles), None, None
        evidence = self._compared(old, new)
        if evidence is None:  # an id or an address speaks for itself
            return rule != "text", None, None
        allowed = ("duplicate",) if self.by == "group" else ("duplicate", "update")
        if rule == "same id" and evidence.verdict == "different":
            self.notes.append(
                f"{new.item.name}: two items have this id and different texts; both stay"
            )
        return evidence.verdict in allowed, evidence.overlap, evidence

    def _is_kept_apart(self, old: Item, new: Item) -> bool:
        """A store that knows both, in different groups, knows better; and the window."""
        if old.group is not None and new.group is not None and old.group != new.group:
            return True
        return self.window is not None and not rules.are_close(old, new, self.window)

    def _candidates(self, new: _Leader) -> Iterator[tuple[int, Rule]]:
        """Leaders a rule may fold the item into, the surest rule first."""
        item = new.item
        if item.group is not None and item.group in self._by_group:
            yield self._by_group[item.group], "known group"
        if item.id is not None and item.id in self._by_id:
            yield self._by_id[item.id], "same id"
        if item.url is not None and rules.is_one_page(item.url) and item.url in self._by_address:
            yield self._by_address[item.url], "same address"
        if item.content == "text":
            for leader in self._sharing_keys(new):
                yield leader, "text"
        if item.content in ("text", "snippet"):
            for leader in self._sharing_shingles(new):
                yield leader, "snippet"
        for leader in self._by_title.get(new.titles, ()) if new.titles else ():
            if "title" in (item.content, self._leaders[leader].item.content):
                yield leader, "headline"

    def _compared(self, old: _Leader, new: _Leader) -> Evidence | None:
        """Of two whole texts; None where one of them is less."""
        if old.signature is None or new.signature is None:
            return None
        if not (old.item.content == new.item.content == "text"):
            return None
        settings = self._settings()
        first = verify(old.item.name, old.signature, new.signature, settings)
        if first.verdict == "different" or not settings.number_check:
            return first
        what, numbers = changed(old.numbers, new.numbers)
        if not numbers:
            return first
        return replace(first, verdict="update", reason=what, numbers=numbers)

    def _sharing_keys(self, new: _Leader) -> list[int]:
        assert new.signature is not None
        counts: Counter[int] = Counter()
        for key in new.signature.keys.get("sketch", ()):
            if key in self._by_key:  # hardly ever
                counts.update(self._by_key[key])
        settings = self._settings()
        needed = sketch.needed(settings)
        found = [(-n, leader) for leader, n in counts.items() if n >= needed]
        return [leader for _, leader in sorted(found)[: settings.verified_candidates]]

    def _sharing_shingles(self, new: _Leader) -> list[int]:
        """Leaders that share word sequences, one of the two being a snippet."""
        is_snippet = new.item.content == "snippet"
        if not is_snippet and not self._has_snippets:
            return []
        if is_snippet:
            self._has_snippets = True
            self._index_shingles()
        if new.shingles is None:
            return []
        counts: Counter[int] = Counter()
        for shingle in new.shingles.tolist():
            if shingle in self._by_shingle:
                counts.update(self._by_shingle[shingle])
        found = [
            (-n, leader)
            for leader, n in counts.items()
            if is_snippet or self._leaders[leader].item.content == "snippet"
        ]
        return [leader for _, leader in sorted(found)[: self._settings().verified_candidates]]

    # --- remembering -----------------------------------------------------------------------------

    def _index(self, new: _Leader) -> None:
        place, item = new.item.place, new.item
        if new.titles:
            self._by_title.setdefault(new.titles, []).append(place)
        if new.signature is None:
            return
        if item.content == "text":
            for key in new.signature.keys.get("sketch", ()):
                self._by_key.setdefault(key, []).append(place)
        self._unindexed.append(place)
        if self._has_snippets:
            self._index_shingles()

    def _index_shingles(self) -> None:
        """Only a list with snippets in it needs the word sequences one by one."""
        for place in self._unindexed:
            for shingle in self._leaders[place].shingles.tolist():
                self._by_shingle.setdefault(shingle, []).append(place)
        self._unindexed = []

    def _remember(self, item: Item, leader: int) -> None:
        """Later items may be the same as any member by id, address or known group."""
        if item.id is not None:
            self._by_id.setdefault(item.id, leader)
        if item.url is not None:
            self._by_address.setdefault(item.url, leader)
        if item.group is not None:
            self._by_group.setdefault(item.group, leader)


def _snippet_overlap(old: _Leader, new: _Leader) -> float | None:
    """How much of the shorter one is in the longer one, where the strict rule is met."""
    if old.signature is None or new.signature is None:
        return None
    is_shorter = new.signature.words <= old.signature.words
    shorter, longer = (new, old) if is_shorter else (old, new)
    words = min(old.signature.words, new.signature.words)
    titled = bool(old.titles and new.titles)
    needed = rules.SNIPPET_WORDS if titled else rules.SNIPPET_WORDS_UNTITLED
    if words < needed or not len(shorter.shingles) or not rules.are_close(old.item, new.item):
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
