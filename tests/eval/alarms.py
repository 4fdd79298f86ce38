"""Changed facts among copies: `python -m tests.eval.alarms spotsigs --pairs 3000`.

Pairs of one cluster are drawn with a fixed seed. Those that match are compared; the table says how
many have changed numbers, names or statements, and `--show` prints what changed.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from itertools import combinations
from random import Random

from esdedup.evaluation.sets import load
from esdedup.matching.content import read_contents
from esdedup.matching.verify import verify_contents
from esdedup.model import Document
from esdedup.settings import Settings
from tests.support.data import FOLDER


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.eval.alarms")
    parser.add_argument("set", help="a set with clusters")
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--show", action="store_true", help="print what changed")
    given = parser.parse_args()
    settings = Settings()
    gold = load(FOLDER / given.set, settings)
    clusters = defaultdict(list)
    for id_, item in gold.items.items():
        if isinstance(item, Document):
            clusters[gold.cluster[id_]].append(item)
    pairs = [pair for members in clusters.values() for pair in combinations(members, 2)]
    found: Counter[str] = Counter()
    for old, new in Random(1).sample(pairs, min(given.pairs, len(pairs))):
        before, after = read_contents([old, new], settings)
        evidence = verify_contents(old.id, before, after, settings)
        if evidence.verdict == "different":
            continue
        found["matching pairs"] += 1
        if evidence.numbers:
            found[evidence.reason] += 1
            if given.show:
                print(old.id, new.id, evidence.reason, *evidence.numbers, sep="\n  ")
    print(", ".join(f"{count} {what}" for what, count in found.most_common()))


if __name__ == "__main__":
    main()
