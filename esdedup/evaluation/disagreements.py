"""What one of two methods reports and the other does not: the pooled protocol of paper 004.

People judge only these; where both say the same they are taken to be right. So recall is relative
to the pool of the two.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from esdedup.errors import InputError
from esdedup.evaluation.detectors import EvaluatedMethod, Item, Replay
from esdedup.evaluation.measures import Score
from esdedup.evaluation.sets import read_lines
from esdedup.model import JSON, Document
from esdedup.model.json_form import Result

_EXCERPT = 600  # characters of each text: about what fits beside another one on a screen


@dataclass(frozen=True, slots=True)
class Disagreement(Result):
    """A document that one method links to another one, and the other method leaves alone."""

    id: str
    reported_by: str
    not_by: str
    other: str

    def to_row(self, items: Mapping[str, Item]) -> JSON:
        """A line of the listing: people fill in `is_duplicate` with true or false."""
        return {
            **self.to_json(),
            "text": excerpt(items[self.id]),
            "other_text": excerpt(items[self.other]),
            "is_duplicate": None,
        }


def excerpt(item: Item, length: int = _EXCERPT) -> str:
    """The beginning of title and text."""
    if not isinstance(item, Document):
        return f"(could not be read: {item.reason})"
    text = f"{item.title}\n{item.text}".strip()
    return text if len(text) <= length else f"{text[:length]}…"


@dataclass(frozen=True, slots=True)
class Pool:
    """Two methods over the same documents in the same order."""

    names: tuple[str, str]
    replays: tuple[Replay, Replay]

    @classmethod
    def of(cls, items: Sequence[Item], one: EvaluatedMethod, other: EvaluatedMethod) -> Pool:
        return cls((one.name, other.name), (one.replay(items), other.replay(items)))

    def disagreements(self) -> Iterator[Disagreement]:
        for a, b in zip(self.replays[0].rulings, self.replays[1].rulings, strict=True):
            if a.other is not None and b.other is None:
                yield Disagreement(a.id, self.names[0], self.names[1], a.other)
            elif b.other is not None and a.other is None:
                yield Disagreement(b.id, self.names[1], self.names[0], b.other)

    def scores(self, judged: Mapping[str, bool]) -> tuple[Score, Score]:
        """The scores of both methods, from the judgements of their disagreements."""
        reported = [{r.id for r in replay.rulings if r.other} for replay in self.replays]
        missing = sorted((reported[0] ^ reported[1]) - set(judged))
        if missing:
            raise InputError(
                f"{len(missing)} of the disagreements are not judged yet, as {missing[0]}"
            )
        copies = {id_ for id_ in reported[0] ^ reported[1] if judged[id_]}
        copies |= reported[0] & reported[1]
        total = len(self.replays[0].rulings)
        one, other = (_score(found, copies, total) for found in reported)
        return one, other


def _score(reported: set[str], copies: set[str], total: int) -> Score:
    tp = len(reported & copies)
    fp, fn = len(reported) - tp, len(copies) - tp
    return Score(tp, fp, total - tp - fp - fn, fn)


def read_judgements(file: Path) -> dict[str, bool]:
    """A listing with `is_duplicate` filled in; lines without a judgement are left out."""
    out: dict[str, bool] = {}
    for place, line in read_lines(file):
        try:
            row = json.loads(line)
            id_, judged = str(row["id"]), row["is_duplicate"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{file}, line {place}: no id and is_duplicate: {error}") from error
        if judged is not None:
            out[id_] = bool(judged)
    return out
