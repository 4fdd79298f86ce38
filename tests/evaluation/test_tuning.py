"""Grid search: what is chosen, what it is worth on clusters not seen, and going on after a stop."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from esdedup.cli import app
from esdedup.errors import InputError, SettingsError
from esdedup.evaluation import tuning
from esdedup.evaluation.measures import Score
from esdedup.evaluation.tuning import (
    ByCluster,
    Task,
    add_up,
    choose,
    grid_of,
    run_all,
    settings_file,
)
from esdedup.settings import Settings
from tests.support.waiting import wait_until

OWN = Path(__file__).parents[1] / "eval" / "own"


def scored(**tp: int) -> ByCluster:
    """Ten documents a cluster."""
    return {name: Score(n, 0, 0, 10 - n) for name, n in tp.items()}


def test_the_cross_validated_figure_is_not_the_tuned_one() -> None:
    """x is best on `a` alone, y on the rest: each fold is scored with what the others say."""
    grid = [{"r": "x"}, {"r": "y"}]
    results = [scored(a=10, b=2, c=2, d=2), scored(a=0, b=5, c=5, d=5)]
    tuned = choose(grid, results, folds=4, seed=0)
    # Without a: y wins (15 to 6), worth 0 on a. Without b, c or d: x (14) wins over y (10).
    assert tuned.values == {"r": "x"}
    assert (tuned.in_sample.tp, tuned.cross_validated.tp) == (16, 0 + 2 + 2 + 2)
    assert sorted(v["r"] for v in tuned.by_fold) == ["x", "x", "x", "y"]


def test_every_cluster_is_in_one_fold() -> None:
    names = {f"c{i}": 1 for i in range(13)}
    tuned = choose([{"r": 1}], [scored(**names)], folds=5, seed=1)
    assert tuned.cross_validated == tuned.in_sample
    with pytest.raises(InputError, match="--folds"):
        choose([{"r": 1}], [scored(a=1, b=1)], folds=5, seed=1)


def test_orders_are_added_up_by_cluster() -> None:
    assert add_up([scored(a=1), scored(a=2, b=3)]) == {
        "a": Score(3, 0, 0, 17),
        "b": Score(3, 0, 0, 7),
    }


def test_the_grid_of_paper_000_has_40_runs() -> None:
    assert len(grid_of("nrc-gphin")) == len(grid_of("sketch")) == 40
    assert grid_of("x", {"a": ["1", "2"], "b": ["3"]}) == [
        {"a": "1", "b": "3"},
        {"a": "2", "b": "3"},
    ]
    with pytest.raises(SettingsError, match="--grid"):
        grid_of("exact")


@pytest.mark.parametrize("preset", tuning.GRIDS)
def test_every_grid_is_of_settings_that_exist(preset: str) -> None:
    for values in grid_of(preset):
        Settings.load(preset=preset, flags=values, environment={})


def test_a_settings_file_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "tuned.toml"
    values = {"min_overlap": 0.4, "number_check": False, "methods": ("sketch", "simhash")}
    file.write_text(settings_file("hybrid", values, ["one note"]))
    settings = Settings.load(file=file, environment={})
    assert (settings.min_overlap, settings.number_check) == (0.4, False)
    assert settings.methods == ("sketch", "simhash")


def tasks() -> list[Task]:
    made = [Settings(min_overlap=r) for r in (0.3, 0.9)]
    return [Task(OWN, None, settings, "original-first", 0) for settings in made]


def test_a_search_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ESDEDUP_CACHE", str(tmp_path))
    first = run_all(tasks()[:1], workers=1)
    computed: list[Task] = []
    real = tuning.run_task

    def counted(task: Task) -> ByCluster:
        computed.append(task)
        return real(task)

    monkeypatch.setattr(tuning, "run_task", counted)
    both = run_all(tasks(), workers=1)
    assert [task.settings.min_overlap for task in computed] == [0.9]
    assert both[0] == first[0]
    assert run_all(tasks(), workers=1) == both
    assert len(computed) == 1


def test_processes_give_what_one_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESDEDUP_CACHE", str(tmp_path / "one"))
    alone = run_all(tasks(), workers=1)
    monkeypatch.setenv("ESDEDUP_CACHE", str(tmp_path / "two"))
    assert run_all(tasks(), workers=2) == alone


def test_the_command_writes_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESDEDUP_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "tuned.toml"
    arguments = ["tune", str(OWN), "--grid", "min_overlap=0.3,0.95", "--workers", "1", "--json"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(out)])
    assert result.exit_code == 0, result.output
    row = json.loads(result.stdout)
    assert row["values"] == {"min_overlap": 0.3}
    assert Settings.load(file=out, environment={}).min_overlap == 0.3
    assert "cross-validated" in out.read_text()


def test_without_a_set_or_a_store_there_is_nothing_to_tune() -> None:
    assert CliRunner().invoke(app, ["tune"]).exit_code == 2


ENDLESS = """
import os, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from esdedup.evaluation.tuning import follow_parent

if __name__ == "__main__":
    with ProcessPoolExecutor(1, get_context("spawn"), follow_parent) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(600)
"""


def test_workers_end_with_a_killed_search(tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS, "utf-8")
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        worker = int(run.stdout.readline())
        run.kill()
    wait_until(lambda: not _is_alive(worker))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
