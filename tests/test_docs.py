"""Documentation is checked: generated pages are current, links lead somewhere, examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from esdedup.cli import app
from tests.docs import cli, settings

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md"))]
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
_COMMAND = re.compile(r"(?<!from)(?:^|[\s`|(])esdedup ([a-z]+)(?=[\s`]|$)", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands() -> set[str]:
    """Single commands and groups of them, by the name one types."""
    single = {str(c.name or getattr(c.callback, "__name__", "")) for c in app.registered_commands}
    return single | {str(group.name) for group in app.registered_groups}


@pytest.mark.parametrize(
    ("page", "made", "how"),
    [
        ("cli.md", cli.reference, "python -m tests.docs.cli > docs/cli.md"),
        ("settings.md", settings.reference, "python -m tests.docs.settings > docs/settings.md"),
    ],
)
def test_generated_pages_are_current(page: str, made: object, how: str) -> None:
    assert callable(made)
    assert (ROOT / "docs" / page).read_text("utf-8") == made(), f"write it again: {how}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [t for t in _LINK.findall(page.read_text("utf-8")) if "://" not in t]
    assert [t for t in targets if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_named_commands_exist(page: Path) -> None:
    # Prose says "esdedup is"; a command is named in code, in a block or between backquotes.
    named = {name for code in _code(page) for name in _COMMAND.findall(f" {code}")}
    assert named - commands() == set()


def test_every_command_is_documented() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert [c for c in commands() if f"## {c}" not in page] == []


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        name
        for page in PAGES
        for code in _code(page)
        for name in re.findall(r"^\s*make ([a-z]+)", code, re.MULTILINE)
    }
    assert named
    assert named - targets == set()


def python_blocks() -> list[tuple[str, str]]:
    return [
        (page.name, code)
        for page in PAGES
        for kind, code in _BLOCK.findall(page.read_text("utf-8"))
        if kind == "python"
    ]


@pytest.mark.parametrize(("page", "code"), python_blocks())
def test_python_blocks_run_and_print_what_they_say(page: str, code: str, tmp_path: Path) -> None:
    """`print(…)  # text` prints the text."""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert ran.returncode == 0, ran.stderr
    expected = re.findall(r"print\(.*\)\s+# (.*)$", code, re.MULTILINE)
    assert ran.stdout.splitlines() == expected


def _code(page: Path) -> Iterator[str]:
    text = page.read_text("utf-8")
    for _, block in _BLOCK.findall(text):
        yield block
    yield from re.findall(r"`([^`\n]+)`", _BLOCK.sub("", text))
