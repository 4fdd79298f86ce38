"""Early signals: sentences whose facts changed, and look-alikes that say the same, per language.

A case is two sentences in one frame: two short articles that differ in this sentence alone. Files
in `cases/` have two frames and some fifty cases each. An `update` and a `duplicate` are so in both
directions; what was `added` is an update forwards, and backwards a copy that was cut.

Of each language a third is held out: those cases of either verdict whose ids have the smallest
hashes. They are only counted; their failures are never listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from esdedup.matching.content import content_of
from esdedup.matching.verify import verify_contents
from esdedup.model import Document, Evidence
from esdedup.settings import Settings

CASES = Path(__file__).with_name("cases")
LANGUAGES = ("en", "fr", "de", "es", "tr", "it", "pt", "nl", "ru", "ar", "zh")
Part = Literal["development", "held-out"]
PARTS: tuple[Part, ...] = ("development", "held-out")


@dataclass(frozen=True, slots=True)
class Case:
    """Two sentences, the frame around them, and whether the second updates the first."""

    id: str
    lang: str
    verdict: str
    old: str
    new: str
    title: str
    body: str

    @property
    def is_change(self) -> bool:
        return self.verdict != "duplicate"

    @property
    def directions(self) -> tuple[bool, ...]:
        """Forwards, and where the verdict holds there too, backwards."""
        return (False,) if self.verdict == "added" else (False, True)

    def judge(self, settings: Settings, *, with_lang: bool, backwards: bool) -> Evidence:
        """What verification says of the two articles."""
        sentences = (self.new, self.old) if backwards else (self.old, self.new)
        lang = self.lang if with_lang else None
        old, new = (
            Document(id=name, title=self.title, text=self.body.format(sentence), lang=lang)
            for name, sentence in zip("ab", sentences, strict=True)
        )
        return verify_contents("a", content_of(old, settings), content_of(new, settings), settings)


def select_cases(lang: str, part: Part) -> list[Case]:
    """The cases of one part in the order of the file."""
    cases = list(read_cases(lang))
    held_out: set[str] = set()
    for is_change in (True, False):
        ids = [case.id for case in cases if case.is_change == is_change]
        held_out.update(sorted(ids, key=lambda id_: _digest(f"{lang}/{id_}"))[: len(ids) // 3])
    return [case for case in cases if (case.id in held_out) == (part == "held-out")]


def read_cases(lang: str) -> Iterator[Case]:
    frames: list[tuple[str, str]] = []
    title = ""
    for line in (CASES / f"{lang}.txt").read_text("utf-8").splitlines():
        if line.startswith("= "):
            title = line[2:]
        elif "{}" in line:
            frames.append((title, line))
        elif not line.startswith("#"):
            id_, verdict, old, new = line.split(" | ")
            frame = frames[_digest(id_) // 3 % len(frames)]
            yield Case(id_, lang, verdict, old, new, *frame)


def _digest(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:4])


@dataclass(slots=True)
class Tally:
    """Decisions on cases of one kind, each case in both directions."""

    cases: int = 0
    changes: int = 0
    detected: int = 0
    same: int = 0
    false_updates: int = 0

    def add(self, case: Case, evidence: Evidence) -> None:
        is_update = evidence.verdict == "update"
        if case.is_change:
            self.changes += 1
            self.detected += is_update
        else:
            self.same += 1
            self.false_updates += is_update

    def add_tally(self, other: Tally) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def detected_share(self) -> float:
        return self.detected / self.changes if self.changes else 1.0

    @property
    def false_update_share(self) -> float:
        return self.false_updates / self.same if self.same else 0.0


def tally(lang: str, part: Part, settings: Settings, *, with_lang: bool) -> Tally:
    counted = Tally()
    for case in select_cases(lang, part):
        counted.cases += 1
        for backwards in case.directions:
            counted.add(case, case.judge(settings, with_lang=with_lang, backwards=backwards))
    return counted
