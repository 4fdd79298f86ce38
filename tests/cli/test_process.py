"""The command line as a process: what it loads, shells, pipes and signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from esdedup.cli.exit_codes import ExitCode
from tests.support.commands import ARTICLES, Cli, article_json, ndjson
from tests.support.waiting import PATIENCE

# --- starting --------------------------------------------------------------------------------

HEAVY = {"numpy", "rich", "sqlite3", "spacy", "trafilatura", "lxml", "elasticsearch",
         "opensearchpy", "pebble", "num2words", "fastwarc", "ijson", "zstandard"}  # fmt: skip


def not_measured() -> dict[str, str]:
    """Measuring coverage loads modules of its own into every process."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COV")}


def test_importing_the_command_line_loads_nothing_heavy() -> None:
    code = "import esdedup.cli, sys; print('\\n'.join(sys.modules))"
    command = [sys.executable, "-c", code]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=not_measured())
    loaded = {name.partition(".")[0] for name in out.stdout.split()}
    assert not loaded & HEAVY
    assert "esdedup.settings" not in out.stdout.split(), "settings come with the command"


def test_help_loads_nothing_heavy_but_what_draws_it() -> None:
    """How long it takes is for `python -m tests.bench starting`."""
    command = [sys.executable, "-X", "importtime", "-m", "esdedup", "--help"]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, env=not_measured())
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in ran.stderr.splitlines()}
    assert "typer" in loaded
    assert not loaded & (HEAVY - {"rich"})


def test_help_names_the_exit_codes(cli: Cli) -> None:
    text = cli("--help").stdout
    for code in ExitCode:
        assert f"{code:>3}  " in text


def test_version(cli: Cli) -> None:
    from esdedup import __version__

    assert cli("--version").stdout == f"esdedup {__version__}\n"


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("esdedup qua", "quarantine"), ("esdedup search ferry --cano", "--canonical")],
)
def test_shells_complete_commands_and_options(typed: str, completed: str) -> None:
    """As the script of `--install-completion` asks for it."""
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    asked = {**os.environ, "_ESDEDUP_COMPLETE": "complete_bash", **words}
    code = "import sys; from esdedup.__main__ import main; sys.argv = ['esdedup']; main()"
    ran = subprocess.run(
        [sys.executable, "-c", code], env=asked, capture_output=True, text=True, check=False
    )
    assert ran.stdout.split() == [completed], ran.stderr


def test_completion_installs(tmp_path: Path) -> None:
    home = {**os.environ, "HOME": str(tmp_path), "SHELL": "/bin/bash"}
    # Typer asks the processes above which shell it is; here that may be none.
    home["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    command = [sys.executable, "-m", "esdedup", "--install-completion", "bash"]
    subprocess.run(command, env=home, check=True, capture_output=True)
    assert "esdedup.sh" in (tmp_path / ".bashrc").read_text()


# --- pipes and signals -----------------------------------------------------------------------


def many(count: int) -> list[dict[str, Any]]:
    return [
        article_json(f"n{i}", " ".join(f"word{i}x{j % 50}y{j}" for j in range(80)), 1 + i % 28)
        for i in range(count)
    ]


def test_through_a_pipe(cli: Cli) -> None:
    process = cli.process(
        "index", "-", "--json",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    out, err = process.communicate(ndjson(*ARTICLES), timeout=PATIENCE)
    assert process.returncode == 0, err
    assert [json.loads(line)["id"] for line in out.splitlines()] == [a["id"] for a in ARTICLES]


def test_decisions_come_while_the_input_goes_on(cli: Cli) -> None:
    process = cli.process(
        "index", "-", "--json", "--quiet", "--set", "batch=1", "--workers", "1",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(ndjson(ARTICLES[0]))
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == "first", "before the input ends"
    process.communicate("", timeout=PATIENCE)
    assert process.returncode == 0


def test_a_closed_pipe_ends_quietly(cli: Cli) -> None:
    file = cli.file("many.ndjson", ndjson(*many(600)))
    process = cli.process(
        "index", file, "--json", "--set", "batch=100", "--workers", "1",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=PATIENCE) == ExitCode.PIPE_CLOSED
    assert process.stderr.read() == ""
    process.stderr.close()
    assert cli.json("stats")[0]["documents"] % 100 == 0


def test_a_closed_pipe_after_a_search_ends_quietly(filled: Cli) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = filled.process("search", "ferry", stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (ExitCode.PIPE_CLOSED, "")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_leaves_whole_batches_and_a_second_run_completes(cli: Cli, workers: str) -> None:
    articles = many(600)  # more than a pipe holds: it does not end before it is stopped
    file = cli.file("many.ndjson", ndjson(*articles))
    arguments = ("index", file, "--set", "batch=50", "--workers", workers, "--json")
    process = cli.process(
        *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    seen = [process.stdout.readline() for _ in range(60)]
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == ExitCode.INTERRUPTED, err
    told = len(seen) + len(out.splitlines())
    documents = cli.json("stats")[0]["documents"]
    assert 0 < documents < len(articles)
    assert documents % 50 == 0
    assert told <= documents <= told + 50
    assert "Traceback" not in err
    assert "run the same command again" in err
    # The signal may fall between the end of a batch and its being counted.
    assert any(f"stopped: {documents - missed:,} articles" in err for missed in (0, 50))
    assert cli("index", file, "--quiet").exit_code == 0
    assert cli.json("stats")[0]["documents"] == len(articles)
    assert cli("doctor").exit_code == 0


def test_ctrl_c_while_waiting_for_input(cli: Cli) -> None:
    process = cli.process(
        "index", "-", "--json", "--set", "batch=1", "--workers", "1",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(ndjson(ARTICLES[0]))
    process.stdin.flush()
    process.stdout.readline()  # behind the first article it waits for the next
    process.send_signal(signal.SIGINT)
    # Its input stays open: `communicate` would close it.
    assert process.wait(timeout=PATIENCE) == ExitCode.INTERRUPTED
    _, err = process.communicate()
    assert "Traceback" not in err
