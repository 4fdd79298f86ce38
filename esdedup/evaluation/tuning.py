"""Grid search on labelled sets, with a cross-validated figure for the chosen combination.

Every combination is replayed once an order, and its verdicts are counted by gold cluster. Then
clusters are dealt into folds; for each fold the best combination on the other folds is scored on
this one, and the counts of all folds together are the cross-validated figure. The search can be
stopped and run again: finished runs are cached.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import astuple, dataclass
from functools import cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Annotated, Any

from esdedup.errors import InputError, SettingsError
from esdedup.evaluation.cache import EvaluationCache, extractor_version
from esdedup.evaluation.detectors import ALIASES, Ours
from esdedup.evaluation.measures import Score
from esdedup.evaluation.online import Arrival, run_online
from esdedup.evaluation.sets import GoldSet, Source, load
from esdedup.model.batching import batched
from esdedup.model.json_form import JsonField, Result
from esdedup.settings import Settings

Values = dict[str, Any]
ByCluster = dict[str, Score]


def _product(**ranges: Sequence[Any]) -> list[Values]:
    return [
        dict(zip(ranges, chosen, strict=True)) for chosen in itertools.product(*ranges.values())
    ]


_NRC_GPHIN = _product(  # paper 000, Table 2
    shingle_words=(3, 4),
    compared_part=(0.4, 0.5, 0.65, 0.8, 1.0),
    min_overlap=(0.2, 0.3, 0.4, 0.5),
)
# The ranges that the papers tried; of `hybrid`, `imatch` and `spotsigs` our own.
GRIDS: dict[str, list[Values]] = {
    "hybrid": _product(min_overlap=(0.3, 0.4, 0.5, 0.6, 0.7), max_collisions_by_chance=(0, 1, 2)),
    "nrc-gphin": _NRC_GPHIN,
    "nrc-gphin-precise": _NRC_GPHIN,
    "hu-you": [  # paper 001, section 2.2.3: what each plan is complete for
        {"block_plan": plan, "near_duplicate_distance": distance, "simhash_weights": weights}
        for weights in ("equal", "tf-idf")
        for plan, distances in (("4x16", (3,)), ("5x13", (3, 4)), ("8x8", (3, 4, 5, 6, 7)))
        for distance in distances
    ],
    "alonso": _product(  # paper 002, section 4.6
        phrase_weight=("uniform", "identity", "log", "sqrt", "square", "fourth", "antecedent"),
        phrase_threshold=(0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
    ),
    "spotsigs": _product(
        chain_words=(2, 3, 4), chain_distance=(1, 2, 3), chain_threshold=(0.3, 0.37, 0.44, 0.5)
    ),
    "chang-wang": [  # paper 003, Tables 2 and 7
        {"window_sentences": ws, "window_step": sw, "min_windows": t}
        for ws, sw, thresholds in (
            (8, 1, (1, 3, 5, 9)),
            (16, 1, (1,)),
            (16, 2, (1,)),
            (16, 4, (1,)),
        )
        for t in thresholds
    ],
    "tweezer": [  # paper 004, Table 4.1
        {"entity_words_before": n, "entity_words_after": n} for n in range(1, 8)
    ],
    "imatch": _product(imatch_low=(200, 250, 300, 350), imatch_high=(400, 450, 500, 600)),
}


def grid_of(method: str, given: Mapping[str, Sequence[str]] | None = None) -> list[Values]:
    """The papers' ranges of a method, or the ranges given by name."""
    if given:
        return _product(**given)
    name = ALIASES.get(method, method)
    if name not in GRIDS:
        raise SettingsError(
            f"no range is known for {method!r} (known are: {', '.join(GRIDS)}); give one with "
            "--grid NAME=VALUE,VALUE"
        )
    return GRIDS[name]


# --- running -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker needs to replay one combination: everything but the documents."""

    folder: Path
    source: Source | None
    settings: Settings
    order: Arrival
    seed: int

    def key(self) -> str:
        """A hash of everything the result depends on, our own code included."""
        what = json.dumps(
            [
                digest_of_set(self.folder),
                code_version(),
                extractor_version(),
                self.source,
                self.settings.to_json(),
                self.order,
                self.seed,
            ],
            sort_keys=True,
        )
        return hashlib.sha256(what.encode()).hexdigest()[:32]


def digest_of_set(folder: Path) -> str:
    """A hash of labels and documents: a figure belongs to one edition of a set."""
    names = ("clusters.csv", "pairs.csv", "html.tar.gz", "docs.jsonl.gz", "docs.jsonl")
    parts = [(folder / name).read_bytes() for name in names if (folder / name).is_file()]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


@cache
def code_version() -> str:
    """A hash of the package: results of other code do not count."""
    package = Path(__file__).parents[1]
    whole = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        whole.update(file.read_bytes())
    return whole.hexdigest()[:16]


@cache
def _load_clusters(folder: Path, source: Source | None) -> GoldSet:
    return load(folder, Settings(), source=source, labels="clusters")


def run_task(task: Task) -> ByCluster:
    """Replay one combination. Runs in worker processes, whose sets stay loaded."""
    gold = _load_clusters(task.folder, task.source)
    detector = Ours(task.settings, task.settings.preset)
    run = run_online(gold, detector, order=task.order, seed=task.seed)
    return {f"{gold.name}/{name}": score for name, score in run.by_cluster().items()}


def run_all(
    tasks: Sequence[Task],
    *,
    workers: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[ByCluster]:
    """The result of each task; cached ones are not computed again. Ctrl-C keeps the rest."""
    by_key = {task.key(): task for task in tasks}
    known: dict[str, ByCluster] = {}
    with closing(EvaluationCache("runs")) as cached:
        for key in by_key:
            if (text := cached.get(key)) is not None:
                known[key] = {name: Score(*counts) for name, counts in json.loads(text).items()}
        missing = {key: task for key, task in by_key.items() if key not in known}
        progress(len(known), len(by_key))
        for key, found in _run_tasks(missing, workers) if missing else ():
            known[key] = found
            cached.put(key, json.dumps({name: astuple(score) for name, score in found.items()}))
            progress(len(known), len(by_key))
    return [known[task.key()] for task in tasks]


def _run_tasks(tasks: Mapping[str, Task], workers: int) -> Iterator[tuple[str, ByCluster]]:
    if workers <= 1:
        for key, task in tasks.items():
            yield key, run_task(task)
        return
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=follow_parent
    ) as pool:
        running = {pool.submit(run_task, task): key for key, task in tasks.items()}
        try:
            for done in as_completed(running):
                yield running[done], done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def follow_parent() -> None:
    """Ignore Ctrl-C, which the parent handles, and exit with it: it may be killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def exit_after_parent() -> None:
        parent = parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    Thread(target=exit_after_parent, daemon=True).start()


# --- choosing ----------------------------------------------------------------------------------


def _figures(score: Score) -> dict[str, float]:
    return {name: round(getattr(score, name), 4) for name in ("precision", "recall", "f1")}


def _rows(table: Sequence[tuple[Values, Score]]) -> list[Values]:
    return [{**values, **_figures(score)} for values, score in table]


@dataclass(frozen=True, slots=True)
class Tuned(Result):
    """The best combination of all, and what choosing this way is worth on clusters not seen."""

    values: Values
    in_sample: Annotated[Score, JsonField(convert=_figures)]
    cross_validated: Annotated[Score, JsonField(convert=_figures)]
    by_fold: tuple[Values, ...]
    # Every combination over all clusters, best first.
    table: Annotated[tuple[tuple[Values, Score], ...], JsonField(convert=_rows)]


def choose(grid: Sequence[Values], results: Sequence[ByCluster], *, folds: int, seed: int) -> Tuned:
    """`results` has one entry a combination, counts by cluster summed over orders."""
    clusters = sorted({name for found in results for name in found})
    if len(clusters) < max(2, folds):
        raise InputError(
            f"{len(clusters)} clusters cannot be dealt into {folds} folds; use fewer --folds"
        )
    random.Random(seed).shuffle(clusters)
    parts = [clusters[i::folds] for i in range(folds)]
    together, chosen = Score(0, 0, 0, 0), []
    for part in parts:
        others = [name for name in clusters if name not in set(part)]
        best = max(range(len(grid)), key=lambda i: _sum(results[i], others).f1)
        chosen.append(grid[best])
        together += _sum(results[best], part)
    whole = [_sum(found, clusters) for found in results]
    ranked = sorted(zip(grid, whole, strict=True), key=lambda pair: -pair[1].f1)
    return Tuned(ranked[0][0], ranked[0][1], together, tuple(chosen), tuple(ranked))


def _sum(found: ByCluster, names: Sequence[str]) -> Score:
    return sum((found[n] for n in names if n in found), Score(0, 0, 0, 0))


def add_up(results: Sequence[ByCluster]) -> ByCluster:
    """Several orders, or several sets, of one combination."""
    out: ByCluster = {}
    for found in results:
        for name, score in found.items():
            out[name] = out[name] + score if name in out else score
    return out


def tune(
    folders: Sequence[Path],
    grid: Sequence[Values],
    made: Sequence[Settings],
    *,
    source: Source | None = None,
    order: Arrival = "original-first",
    seeds: int = 1,
    folds: int = 5,
    workers: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Tuned:
    """The whole search; `made` are the settings of each combination of the grid."""
    for folder in folders:  # extracted once, and errors come before the long part
        load(folder, made[0], source=source, labels="clusters")
    each = [(folder.resolve(), seed) for folder in folders for seed in range(seeds)]
    tasks = [Task(folder, source, s, order, seed) for s in made for folder, seed in each]
    results = run_all(tasks, workers=workers or os.cpu_count() or 1, progress=progress)
    added = [add_up(part) for part in batched(results, len(each))]
    return choose(grid, added, folds=folds, seed=0)


def settings_file(preset: str, values: Values, notes: Sequence[str]) -> str:
    """TOML that `--settings` reads."""
    lines = [f"# {note}" for note in notes]
    lines += [f"{name} = {_toml(value)}" for name, value in {"preset": preset, **values}.items()]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(v) for v in value)}]"
    return json.dumps(value, ensure_ascii=False)
