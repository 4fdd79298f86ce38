"""Quality as a test: pinned floors on the labelled sets. `make eval` checks them.

python -m tests.eval.gate                       check; below a floor is an error
python -m tests.eval.gate --update              pin what was reached, where it is higher
python -m tests.eval.gate --update --lower      pin it also where it is lower
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from esdedup.evaluate import load, online, summary
from esdedup.settings import Settings
from tests.data import FOLDER

BASELINE = Path(__file__).with_name("baseline.json")
# F1 may differ by a decision or two where another version of the extractor cuts a page elsewhere.
TOLERANCE = 0.002


def main(arguments: list[str]) -> int:
    pinned: dict[str, Any] = json.loads(BASELINE.read_text())
    failed = False
    for name, entry in pinned.items():
        set_, preset = name.split(":")
        folder = FOLDER / set_
        if not folder.is_dir():
            print(f"{name}: skipped, no set at {folder}")
            continue
        if digest(folder) != entry["digest"] and "--update" not in arguments:
            print(f"{name}: the set is not the one that was pinned; --update pins this one")
            failed = True
            continue
        reached = score(folder, preset, entry["seeds"])
        is_below = reached["f1"] < entry["f1"] - TOLERANCE
        print(
            f"{name}: F1 {reached['f1']:.4f} (floor {entry['f1']:.4f}), "
            f"P {reached['precision']:.4f}, R {reached['recall']:.4f}"
        )
        if "--update" in arguments and (reached["f1"] > entry["f1"] or "--lower" in arguments):
            entry |= {"f1": reached["f1"], "digest": digest(folder)}
        elif is_below:
            failed = True
    if "--update" in arguments:
        BASELINE.write_text(json.dumps(pinned, indent=2) + "\n")
    return int(failed)


def score(folder: Path, preset: str, seeds: int) -> dict[str, Any]:
    settings = Settings.load(preset=preset, environment={})
    gold = load(folder, settings)
    return summary([online(gold, settings, seed=seed) for seed in range(seeds)])


def digest(folder: Path) -> str:
    """Of the labels and the documents: a floor belongs to one edition of a set."""
    names = ("clusters.csv", "html.tar.gz", "docs.jsonl.gz")
    parts = [(folder / name).read_bytes() for name in names if (folder / name).is_file()]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
