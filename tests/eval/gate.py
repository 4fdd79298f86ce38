"""Quality as a test: pinned floors on the labelled sets. `make eval` checks them.

python -m tests.eval.gate                   check; worse than a pinned figure is an error
python -m tests.eval.gate --pin             pin what was reached, where it is better
python -m tests.eval.gate --pin --lower     pin it also where it is worse
python -m tests.eval.gate --only own        sets whose name begins so

F1 has floors; on sets of same events and of pairs that only look alike, the rate of false positives
has ceilings. A figure belongs to one edition of a set: its digest is pinned with it.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from esdedup.evaluation.detectors import Ours
from esdedup.evaluation.online import Labels
from esdedup.evaluation.sets import load
from esdedup.evaluation.suite import EvaluationPlan, Protocol, evaluate
from esdedup.evaluation.tuning import digest_of_set
from esdedup.settings import Settings
from tests.support.data import FOLDER

BASELINE = Path(__file__).with_name("baseline.json")
OWN = Path(__file__).parent
# F1 may differ by a decision or two where another version of the extractor cuts a page elsewhere.
TOLERANCE = 0.002
Metric = Literal["f1", "precision", "recall", "false_positive_rate"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One pinned figure."""

    set: str
    preset: str
    metric: Metric
    value: float
    digest: str
    protocol: Protocol = "online"
    labels: Labels = "copies"
    seeds: int = 1

    @property
    def name(self) -> str:
        return f"{self.set}:{self.preset}:{self.protocol}:{self.metric}"

    @property
    def folder(self) -> Path:
        """Ours lie beside this file; others where the data is."""
        own = OWN / self.set
        return own if own.is_dir() else FOLDER / self.set

    def is_better(self, reached: float) -> bool:
        return reached < self.value if self._less_is_better else reached > self.value

    @property
    def _less_is_better(self) -> bool:
        return self.metric == "false_positive_rate"

    def is_worse(self, reached: float) -> bool:
        if self._less_is_better:
            return reached > self.value
        return reached < self.value - TOLERANCE

    def reach(self) -> dict[str, Any]:
        settings = Settings.load(preset=self.preset, environment={})
        gold = load(self.folder, settings)
        plan = EvaluationPlan(protocol=self.protocol, seeds=self.seeds, labels=self.labels)
        return evaluate(gold, Ours(settings, self.preset), plan).row

    @classmethod
    def read(cls, raw: dict[str, Any]) -> Self:
        return cls(**raw)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one entry: a line for the reader, and the entry as it should be from now on."""

    entry: Entry
    line: str
    failed: bool = False


def check(entry: Entry, *, pin: bool, lower: bool) -> Finding:
    if not entry.folder.is_dir():
        return Finding(entry, f"{entry.name}: skipped, there is no set at {entry.folder}")
    digest = digest_of_set(entry.folder)
    if digest != entry.digest and not pin:
        line = f"{entry.name}: the set is not the one that was pinned; --pin takes this one"
        return Finding(entry, line, failed=True)
    row = entry.reach()
    reached = float(row[entry.metric])
    line = f"{entry.name}: {reached:.4f} (pinned {entry.value:.4f}), "
    line += f"P {row['precision']:.4f}, R {row['recall']:.4f}, TP {row['tp']}, FP {row['fp']}"
    other_set = digest != entry.digest
    if pin and (entry.is_better(reached) or other_set or (lower and reached != entry.value)):
        worse = other_set and not entry.is_better(reached) and reached != entry.value
        if not worse or lower:
            return Finding(replace(entry, value=reached, digest=digest), f"{line}; pinned")
    if entry.is_worse(reached):
        return Finding(entry, f"{line}; WORSE", failed=True)
    return Finding(entry, line)


def read_baseline(file: Path = BASELINE) -> list[Entry]:
    return [Entry.read(raw) for raw in json.loads(file.read_text("utf-8"))]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.eval.gate")
    parser.add_argument("--pin", action="store_true", help="pin what is better")
    parser.add_argument("--lower", action="store_true", help="with --pin: also what is worse")
    parser.add_argument("--only", default="", metavar="NAME", help="sets that begin with NAME")
    given = parser.parse_args(arguments)
    if given.lower and not given.pin:
        parser.error("--lower goes with --pin")
    entries = read_baseline()
    done = []
    for entry in entries:
        if entry.set.startswith(given.only):
            finding = check(entry, pin=given.pin, lower=given.lower)
            print(finding.line, flush=True)
        else:
            finding = Finding(entry, "")
        done.append(finding)
    if given.pin:
        text = json.dumps([finding.entry.to_json() for finding in done], indent=2)
        BASELINE.write_text(text + "\n", "utf-8")
    return int(any(finding.failed for finding in done))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
