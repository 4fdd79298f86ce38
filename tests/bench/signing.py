"""Signing on one core against the strongest libraries, with the quality of each next to its speed.

All take turns on one core with one thread each. Everyone starts from the text: splitting it into
words is part of every row. F1 is that of the online protocol on SpotSigs. A rival reports at the
threshold that is best on this very set, esdedup at its default. SpotSigs has no articles that
different newsrooms wrote about one event, so their pairs in Wikinews are judged as well: none is a
copy, and the lower a threshold, the more of them are reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from esdedup.evaluation.detectors import EvaluatedMethod, Ours
from esdedup.evaluation.online import run_online
from esdedup.evaluation.pairs import run_pairs
from esdedup.evaluation.sets import load
from esdedup.ingest.sign import sign_many
from esdedup.model import Document
from esdedup.settings import Settings
from tests.bench.articles import Newsroom
from tests.bench.rivals import RIVALS, split_words
from tests.bench.timing import headline, line, measure_in_turns, one_core
from tests.support.data import FOLDER

COUNT = 1_024
BATCH = 256
ROUNDS = 7
COPIES, SAME_EVENTS = FOLDER / "spotsigs", FOLDER / "wikinews-events"
_OURS = "esdedup, the default"
_WORDS = "words of the texts (`re`), part of datasketch and rensa"


def run() -> None:
    with one_core():
        _compare()


def _compare() -> None:
    headline(f"Signing {COUNT:,} articles of 400 words on one core: time per article")
    print(f"processor time and time by the clock, medians of {ROUNDS} interleaved rounds;")
    print("ratio: their processor time against ours")
    documents = list(Newsroom(copies=0).articles(COUNT))
    texts = [f"{d.title} {d.text}" for d in documents]
    settings = Settings.load(environment={})
    spent = measure_in_turns(
        {
            _OURS: partial(_sign, documents, settings),
            _WORDS: lambda: [split_words(text) for text in texts],
            **{rival.name: partial(rival.sign, texts) for rival in RIVALS},
        },
        rounds=ROUNDS,
    )
    quality = _quality(settings)
    usual = spent[_OURS].processor
    for name, one in spent.items():
        times = f"{one.processor / COUNT * 1e6:.0f}, {one.clock / COUNT * 1e6:.0f} us"
        line(name, times, one.processor / usual, quality.get(name, ""))


def _sign(documents: Sequence[Document], settings: Settings) -> None:
    for start in range(0, len(documents), BATCH):
        sign_many(documents[start : start + BATCH], settings)


def _quality(settings: Settings) -> dict[str, str]:
    """F1 on SpotSigs and false positives on Wikinews, where the sets are."""
    for folder in (COPIES, SAME_EVENTS):
        if not folder.is_dir():
            print(f"no labelled set at {folder}, so without quality; set ESDEDUP_DATA")
            return {}
    copies, events = load(COPIES, settings), load(SAME_EVENTS, settings)

    def judge(method: EvaluatedMethod) -> str:
        f1 = run_online(copies, method).score.f1
        wrong = run_pairs(events, method, labels="events").score
        return f"F1 {f1:.3f}, {wrong.fp} of {wrong.fp + wrong.tn} same-event pairs"

    found = {_OURS: judge(Ours(settings, "default"))}
    for rival in RIVALS:
        threshold = rival.best_threshold(copies)
        found[rival.name] = f"{judge(rival.at(threshold))} (at {threshold})"
    return found


if __name__ == "__main__":
    run()
