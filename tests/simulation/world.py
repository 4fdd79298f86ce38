"""A simulated cluster with several writers: who goes on is drawn at every request, by one seed.

Every request is two moments, before the engine does it and after: at each of them another writer
may go on, or this one may be killed. Faults are drawn as well. What must be true of every version
of a document is checked when it is written.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Any, Self

from greenlet import greenlet  # type: ignore[import-untyped]  # it has no types

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.gateway.session import TenantSession
from esdedup.gateway.tenants import TenantStore
from esdedup.matching.constraints import Constraint
from esdedup.model import microseconds
from esdedup.model.revisions import ArticleVersion
from esdedup.settings import Settings
from esdedup.stores import Record
from esdedup.stores.cluster.connection import Connection, Target, Unanswered
from esdedup.stores.cluster.requests.documents import record_from
from esdedup.stores.cluster.requests.mapping import side_index
from esdedup.stores.cluster.store import ClusterStore
from tests.simulation.engine import JSON, Engine, ModelIndex, Stored
from tests.support.articles import DAY_ONE
from tests.support.interleaving import Hook

INDEX = "news"
TARGET = Target(hosts=("http://simulated:9200",), index=INDEX, product="elasticsearch")
NOW = DAY_ONE + timedelta(days=2.5)
Transport = Callable[[str, str, Mapping[str, Any], Any], tuple[int, Any]]
_UNAVAILABLE: JSON = {"error": {"type": "unavailable_shards_exception", "reason": "simulated"}}
_BUSY: JSON = {"error": {"type": "es_rejected_execution_exception", "reason": "simulated"}}
_MOST_SKEW = 20_000_000  # microseconds
_LONGEST_REQUEST = 40_000
# What happens to an index happens so often with the lost answer of a bulk: a cluster in trouble has
# both.
_TROUBLE = 0.5


@dataclass(frozen=True)
class Faults:
    """How often each kind of fault happens, as a share of the requests it can happen to."""

    refused: float = 0.0  # 429 or 503, nothing was done
    lost: float = 0.0  # it was done, and the answer is lost
    repeated: float = 0.0  # it was done twice, and the second answer came: a node was lost
    refused_items: float = 0.0  # 429, 500 or 503 for one document of a bulk
    refreshed: float = 0.0  # a refresh that nobody asked for
    failed_over: float = 0.0  # a primary moves to another node


NO_FAULTS = Faults()
SOME_FAULTS = Faults(
    refused=0.03, lost=0.03, repeated=0.02, refused_items=0.05, refreshed=0.1, failed_over=0.01
)


class SimulatedTime:
    """Stands in for the modules `time` and `datetime`. A request takes up to 40 ms; writers
    disagree about the time by up to 20 seconds."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._passed = 0  # microseconds
        self._skew: dict[greenlet, int] = {}

        class SimulatedDatetime(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Self:
                return cls.fromtimestamp(self.time_ns() / 1e9, tz)

        self.datetime = SimulatedDatetime

    def pass_request(self) -> None:
        self._passed += int(self._chance.random() * _LONGEST_REQUEST)

    def time_ns(self) -> int:
        self._passed += 1
        skew = self._skew.setdefault(
            greenlet.getcurrent(), self._chance.randrange(-_MOST_SKEW, _MOST_SKEW)
        )
        return 1000 * (microseconds(NOW) + self._passed + skew)

    def monotonic(self) -> float:
        return self._passed / 1e6

    sleep = staticmethod(lambda seconds: None)


@dataclass
class World:
    """The engine, and the dice that decide what happens to requests."""

    seed: object
    faults: Faults = NO_FAULTS
    injected: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    may_vanish: Set[str] = frozenset()  # somebody deletes them
    acknowledged: set[str] = field(default_factory=set)
    event: Callable[[], None] | None = None  # what happens to the index, once

    def __post_init__(self) -> None:
        self.engine = Engine(self._check_version)
        self.texts: dict[str, list[str]] = {}  # all that each article had, in turn
        self._digests: dict[str, str] = {}  # text -> that of its signature
        self._texts: dict[str, str] = {}  # the other way round
        self._chance = random.Random(f"faults {self.seed!r}")
        self.time = SimulatedTime(random.Random(f"clocks {self.seed!r}"))

    def open(self, hook: Hook, settings: Settings) -> Deduplicator:
        return Deduplicator(ClusterStore(TARGET, settings, connection=self.connect(hook)))

    def open_session(self, hook: Hook, settings: Settings) -> TenantSession:
        """The session of a gateway for one tenant."""
        return TenantSession(TenantStore(TARGET, settings, connection=self.connect(hook)), {}, 1)

    def connect(self, hook: Hook) -> Connection:
        return Connection(
            "elasticsearch", TARGET, self.transport(hook), lambda: None, pause=lambda seconds: None
        )

    def transport(self, hook: Hook) -> Transport:
        def send(method: str, path: str, params: Mapping[str, Any], body: Any) -> tuple[int, Any]:
            name = f"{method} {path.partition('?')[0]}"
            hook(name)
            self.time.pass_request()
            if self._happens("refused"):
                return self._chance.choice([(429, _BUSY), (503, _UNAVAILABLE)])
            if self._happens("refreshed"):
                self.refresh()
            if self._happens("failed_over"):
                self.engine.indices[self._chance.choice(sorted(self.engine.indices))].fail_over()
            is_bulk = path.startswith("/_bulk")
            if is_bulk and self._happens("refused_items"):
                self.engine.refuse_next_item(self._chance.choice([429, 500, 503]))
            if is_bulk and self._happens("repeated"):
                self.engine.request(method, path, params, body)
            status, answer = self.engine.request(method, path, params, body)
            hook(f"{name} answers")
            if self._happens("lost"):
                if is_bulk and self._chance.random() < _TROUBLE:
                    self.happen()
                raise Unanswered("simulated: the answer was lost")
            return status, answer

        return send

    def happen(self) -> None:
        event, self.event = self.event, None
        if event is not None:
            event()

    def refresh(self) -> None:
        for index in self.engine.indices.values():
            index.refresh()

    def _happens(self, fault: str) -> bool:
        share: float = getattr(self.faults, fault)
        if not share or not self.engine.indices or self._chance.random() >= share:
            return False
        self.injected[fault] += 1
        return True

    # --- what is true of every version ---------------------------------------------------------

    def _check_version(self, stored: Stored) -> None:
        """Our fields belong to the text beside them, and agree with each other."""
        if is_of_articles(stored.index):
            texts = self.texts.setdefault(stored.id, [])
            if texts[-1:] != [stored.source["text"]]:
                texts.append(stored.source["text"])
        if "dedup" not in stored.source or stored.source["dedup"].get("group") is None:
            return
        record = record_from(stored.id, stored.source, None)
        decision, link = record.decision, record.decision.link
        text, digest = record.document.text, record.signature.digest
        if self._digests.setdefault(text, digest) != digest or (
            self._texts.setdefault(digest, text) != text
        ):
            self.violations.append(f"{stored.id} has the signature of another text")
        leads = decision.role != "duplicate"
        if leads != link.canonical or leads != (link.group == stored.id):
            self.violations.append(f"{stored.id} is {decision.role} in the group {link.group}")

    # --- what was acknowledged -----------------------------------------------------------------

    def acknowledge(self, id_: str) -> None:
        """A writer was told that this document is stored."""
        self.acknowledged.add(id_)
        self.check_acknowledged()

    def check_acknowledged(self) -> None:
        """Nothing acknowledged is missing, unless somebody deletes it."""
        stored = {s.id for index in self._news() for s in index.documents.values()}
        for id_ in self.acknowledged - stored - self.may_vanish:
            self.violations.append(f"{id_} was acknowledged and is missing")

    def _news(self) -> list[ModelIndex]:
        return [index for name, index in self.engine.indices.items() if is_of_articles(name)]

    # --- what is there at the end --------------------------------------------------------------

    def records(self) -> dict[str, Record]:
        """By id; a document without our fields, or in two indices, is a violation."""
        found: dict[str, Record] = {}
        for stored in (s for index in self._news() for s in index.documents.values()):
            if stored.id in found:
                self.violations.append(f"{stored.id} is in two indices")
            if "dedup" not in stored.source:
                self.violations.append(f"{stored.id} was never signed")
            else:
                found[stored.id] = record_from(stored.id, stored.source, None)
        return found

    def versions(self) -> dict[str, tuple[ArticleVersion, ...]]:
        """Earlier versions by id."""
        index = self.engine.indices.get(side_index("revisions", INDEX))
        stored = index.documents.values() if index else ()
        return {
            one.id: tuple(map(ArticleVersion.from_json, one.source["versions"])) for one in stored
        }

    def constraints(self) -> list[Constraint]:
        index = self.engine.indices.get(side_index("corrections", INDEX))
        stored = index.documents.values() if index else ()
        return [Constraint.from_json(raw) for one in stored for raw in one.source["said"]["list"]]


def is_of_articles(index: str) -> bool:
    return index == INDEX or index.startswith(f"{INDEX}-0")
