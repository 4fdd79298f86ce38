"""Documentation is checked: generated pages are current, links and anchors lead somewhere, every
page is in the site's nav, command lines parse, examples run and print what they say."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import esdedup
from esdedup.cli import app
from esdedup.methods import METHODS
from esdedup.settings import Settings
from esdedup.settings.presets import PRESETS
from tests.docs import api, cli, http, settings

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md"))]
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
_HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)
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
        ("http.md", http.reference, "python -m tests.docs.http > docs/http.md"),
        ("api.md", api.reference, "python -m tests.docs.api > docs/api.md"),
    ],
)
def test_generated_pages_are_current(page: str, made: object, how: str) -> None:
    assert callable(made)
    assert (ROOT / "docs" / page).read_text("utf-8") == made(), f"write it again: {how}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target, anchor in _LINK.findall(_prose(page)):
        if "://" in target:
            continue
        file = (page.parent / target) if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(f"{target}#{anchor}")
    assert broken == []


def anchors(page: Path) -> set[str]:
    """Names of the headings, by the rule of GitHub; the strict build checks that of the site."""
    found: dict[str, int] = {}
    out = set()
    for heading in _HEADING.findall(_BLOCK.sub("", page.read_text("utf-8"))):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        out.add(f"{name}-{found[name]}" if name in found else name)
        found[name] = found.get(name, 0) + 1
    return out


def test_anchors_are_those_of_the_headings(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `code`, [linked](x.md)?\n\n## Twice\n\n```\n# no\n```\n\n## Twice\n")
    assert anchors(page) == {"a-code-linked", "twice", "twice-1"}


def nav() -> list[str]:
    def pages(entry: Any) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        else:
            for part in entry.values() if isinstance(entry, dict) else entry:
                yield from pages(part)

    return list(pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]))


def test_every_page_is_in_the_nav_once() -> None:
    pages = [str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").glob("**/*.md")]
    assert sorted(nav()) == sorted(pages)


def test_the_readme_and_the_first_page_lead_to_every_page() -> None:
    """By a link of their own, or by the first page of the folder that it is in."""
    docs = ROOT / "docs"
    for start in (ROOT / "README.md", docs / "index.md"):
        linked = targets(start)
        for first in [*linked]:
            if first.name == "index.md" and first.parent != docs:
                linked |= targets(first)
        assert {docs / page for page in nav() if page != "index.md"} - linked == set()


def targets(page: Path) -> set[Path]:
    found = {target for target, _ in _LINK.findall(_prose(page)) if target and "://" not in target}
    return {(page.parent / target).resolve() for target in found}


@pytest.mark.skipif(find_spec("material") is None, reason="needs mkdocs-material: make docs")
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert built.returncode == 0, built.stderr
    loaded = {
        address
        for page in tmp_path.glob("**/*.html")
        for address in re.findall(
            r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?((?:https?:)?//[^\"'\s>]+)",
            page.read_text("utf-8"),
        )
    }
    assert loaded == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_named_commands_exist(page: Path) -> None:
    # Prose says "esdedup is"; a command is named in code, in a block or between backquotes.
    named = {name for code in _code(page) for name in _COMMAND.findall(f" {code}")}
    assert named - commands() == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_command_lines_parse(page: Path) -> None:
    """Lines in blocks as they stand; in the prose, where arguments are often left out, options."""
    wrong = []
    lines = [(line, True) for line in command_lines(page)]
    for line, whole in [*lines, *((mention, False) for mention in mentions(page))]:
        try:
            parse(line, whole=whole)
        except Exception as error:  # noqa: BLE001  (whatever the parser says goes into the message)
            wrong.append(f"{line}: {error}")
    assert wrong == []


def command_lines(page: Path) -> Iterator[str]:
    """Each `esdedup …` of a block as one typed it: up to a pipe, a redirection or a comment.

    Brackets around what may be left out are taken away; of alternatives (`a|b`) the first stays.
    """
    for kind, block in _BLOCK.findall(page.read_text("utf-8")):
        if kind not in ("", "bash", "sh"):
            continue
        whole = re.sub(r"\\\n\s*", " ", block)
        for line in whole.splitlines():
            yield from _typed(line)


def mentions(page: Path) -> Iterator[str]:
    """Commands between backquotes, but those with something left out (`…`)."""
    for mention in re.findall(r"`(esdedup [^`\n]+)`", _BLOCK.sub("", page.read_text("utf-8"))):
        if "…" not in mention:
            yield from _typed(mention)


def _typed(line: str) -> Iterator[str]:
    for part in re.split(r"\s(?:\||&&|;|#|<|>)(?:\s|$)", f" {line} "):
        if part.strip().startswith("esdedup "):
            yield re.sub(r"\|\S+", "", part.strip().replace("[", "").replace("]", ""))


def parse(line: str, *, whole: bool = True) -> None:
    """As the command line would, without anything being run; values of a whole line are read."""
    command = _commands()
    arguments = shlex.split(line)[1:]
    while hasattr(command, "resolve_command"):
        context = command.make_context("esdedup", [], resilient_parsing=True)
        context.resilient_parsing = False
        if not arguments or arguments[0].startswith("-"):
            break
        _, command, arguments = command.resolve_command(context, arguments)
    context = command.make_context("esdedup", [], resilient_parsing=True)
    context.resilient_parsing = False
    if not whole and set(arguments[-1:]) & _options_with_a_value(command):
        arguments.append("VALUE")  # mentioned by its name alone
    given, left, _ = command.make_parser(context).parse_args(arguments)
    missing = [p.name for p in command.params if p.required and not given.get(p.name)]
    if left or (whole and missing):
        raise ValueError(f"left over {left}, missing {missing}")
    for parameter in command.params if whole else ():
        if given.get(parameter.name) is not None:
            parameter.process_value(context, given[parameter.name])


def _options_with_a_value(command: Any) -> set[str]:
    return {o for p in command.params if not getattr(p, "is_flag", True) for o in p.opts}


@cache
def _commands() -> Any:
    return typer.main.get_command(app)


@pytest.mark.parametrize(
    "line",
    [
        "esdedup unheard",
        "esdedup index",
        "esdedup index feed.ndjson --unheard",
        "esdedup index feed.ndjson --store",
        "esdedup groups import",
        "esdedup stats superfluous",
        "esdedup search ferry --by nothing",
        "esdedup index feed.ndjson --workers many",
    ],
)
def test_a_wrong_command_line_does_not_parse(line: str) -> None:
    with pytest.raises(Exception, match=r"(?i)no such|missing|requires|left over|not one of|valid"):
        parse(line)


def test_every_command_is_documented() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert [c for c in commands() if f"## {c}" not in page] == []


def test_every_public_name_is_in_the_reference_of_python() -> None:
    shown = {name for names in api.SECTIONS.values() for name in names}
    assert shown == set(esdedup.__all__) - {"__version__"}


def test_every_public_name_says_what_it_is() -> None:
    """A heading of the reference is followed by its signature and by words."""
    silent = []
    for entry in re.split(r"^#{3,4} ", (ROOT / "docs" / "api.md").read_text("utf-8"), flags=re.M)[
        1:
    ]:
        name, _, rest = entry.partition("\n")
        if not re.search(
            r"[a-z]{3}", re.sub(r"`esdedup[\w.]*`|Property, .*", "", _BLOCK.sub("", rest))
        ):
            silent.append(name)
    assert silent == []


def test_every_method_has_a_page_with_all_its_parts() -> None:
    folder = ROOT / "docs" / "methods"
    pages = {"spotsigs": "phrases"}
    for name in METHODS:
        text = (folder / f"{pages.get(name, name)}.md").read_text("utf-8")
        for part in ("aper", "](../img/methods/", "\n    ", "**Useful for**", "**Not useful for**"):
            assert part in text, (name, part)
        for heading in ("## Cost", "## Keys as they look"):
            assert heading in text, (name, heading)
        assert f"[{name}](" in (folder / "index.md").read_text("utf-8"), name


def test_every_preset_is_told_of() -> None:
    told = "".join(p.read_text("utf-8") for p in (ROOT / "docs" / "methods").glob("*.md"))
    assert [name for name in PRESETS if f"`{name}`" not in told] == []


def test_named_settings_methods_and_presets_exist() -> None:
    """`--set name=value` and `name = value`; `--only method`; `--preset name`."""
    known = {field.name for field in fields(Settings)}
    for page in PAGES:
        for code in _code(page):
            named = set(re.findall(r"--set [\"']?([a-z]\w*)=", code))
            named |= set(re.findall(r"^([a-z]+(?:_[a-z]+)*) = [\w.:]+$", code))
            assert named - known <= {"name"}, page  # as in `--set name=value`
            assert set(re.findall(r"backfill .*--only ([a-z]+)", code)) <= set(METHODS), page
            assert set(re.findall(r"--preset ([a-z][\w-]*)", code)) <= set(PRESETS), page
            for methods in re.findall(r"--set methods=([\w,]+)", code):
                assert set(methods.split(",")) <= set(METHODS), page


def test_named_endpoints_and_metrics_exist() -> None:
    made = {path for _, path, _ in http.operations(http.description())}
    metrics = "".join(p.read_text("utf-8") for p in (ROOT / "esdedup" / "service").glob("*.py"))
    for page in PAGES:
        for code in _code(page):
            named = set(
                re.findall(r"(?<![\w./])(?:localhost:8765|search\.example:8765)?(/v1/[\w/]+)", code)
            )
            assert named - made == set(), page
            # The last parts of a name are joined on by a prefix in the code.
            for metric in re.findall(r"\besdedup_([a-z_]+)\b", code):
                if page.name == "monitoring.md":
                    assert metric in metrics, metric


def test_named_modules_and_variables_exist() -> None:
    files = [p for folder in ("esdedup", "tests") for p in (ROOT / folder).glob("**/*.py")]
    code_of = "".join(p.read_text("utf-8") for p in files)
    for page in PAGES:
        for code in _code(page):
            for module in re.findall(r"python -m (tests(?:\.\w+)*)", code):
                assert find_spec(module) is not None, (page, module)
            for name in re.findall(r"\b(ES_[A-Z_]+)\b", code):
                assert name in code_of, (page, name)
            for name in re.findall(r"\bESDEDUP_([A-Z_]+)\b", code):
                known = {field.name.upper() for field in fields(Settings)}
                assert name in known or f"ESDEDUP_{name}" in code_of, (page, name)


def test_named_tests_exist() -> None:
    code_of = "".join(p.read_text("utf-8") for p in (ROOT / "tests").glob("**/test_*.py"))
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "failures.md").read_text("utf-8"))
    assert len(named) > 30
    assert [name for name in named if f"def {name}(" not in code_of] == []


def test_the_architecture_is_that_of_the_tree() -> None:
    """A section for every folder; every file that is named is there."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    headings = " ".join(re.findall(r"^## (.*)$", text, re.MULTILINE))
    folders = {p.parent.name for p in (ROOT / "esdedup").glob("*/__init__.py")}
    assert {name for name in folders if f"`{name}/`" not in headings} == set()
    files = {
        str(p.relative_to(base))
        for base in (ROOT, *(ROOT / "esdedup").glob("**/"))
        for p in base.glob("**/*.py")
    }
    named = set(re.findall(r"`([\w/]+\.py)`", text))
    assert named - files == set()


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
    assert ran.stdout.splitlines() == list(_told(code))


def _told(code: str) -> Iterator[str]:
    """The comments behind calls of print, which may go over several lines."""
    lines = code.encode().splitlines()
    calls = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    for call in sorted(calls, key=lambda node: node.lineno):
        if isinstance(call.func, ast.Name) and call.func.id == "print":
            behind = lines[(call.end_lineno or 0) - 1][call.end_col_offset :].decode()
            if found := re.fullmatch(r"\s+# (.*)", behind):
                yield found[1]


def test_the_quickstart_runs(tmp_path: Path) -> None:
    """Where it says how many results, they are as many."""
    shown = run_blocks(ROOT / "docs" / "quickstart.md", tmp_path)
    for told in (
        "3 results, 4 articles",
        "2 stories, 4 articles",
        "4 articles\n",
        "12 -> 17: At least 17 people died",
        '"rule": "same address"',
    ):
        assert told in shown


HOW_TO = sorted((ROOT / "docs" / "how-to").glob("*.md"))


@pytest.mark.parametrize(
    "page", [p for p in HOW_TO if "```bash" in p.read_text("utf-8")], ids=lambda p: p.name
)
def test_how_to_pages_run(page: Path, tmp_path: Path) -> None:
    assert run_blocks(page, tmp_path)


@pytest.mark.parametrize("page", [p for p in HOW_TO if p.name != "index.md"], ids=lambda p: p.name)
def test_how_to_pages_answer_first(page: Path) -> None:
    """A question, a block that works, then the rest; limits at the end, where there are any."""
    text = page.read_text("utf-8")
    head, *sections = re.split(r"^## ", _BLOCK.sub("@block", text), flags=re.MULTILINE)
    first = head.split("\n\n")[1]
    assert first.endswith("?"), "begins with the question"
    assert "@block" in head + sections[0]
    assert [s.split("\n")[0] for s in sections].index("Limits") == len(sections) - 1


@pytest.mark.servers
@pytest.mark.parametrize("product", ["elasticsearch", "opensearch"])
def test_the_tutorial_runs(product: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue(f"{product}_server")
    shown = run_blocks(ROOT / "docs" / "tutorial.md", tmp_path, CLUSTER=server.url)
    for told in (
        "75\n",  # pages
        "73 unchanged, 2 failed",
        "broken/truncated.html",
        "copies folded",
        "12 -> 17 -> 23: Twenty-three people died",
        '"dedup":{',
    ):
        assert told in shown


def run_blocks(page: Path, folder: Path, **more: str) -> str:
    """The `bash` blocks of a page, one after the other, as one script that ends at an error."""
    script = "".join(
        code for kind, code in _BLOCK.findall(page.read_text("utf-8")) if kind == "bash"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("ESDEDUP_", "ES_"))}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    ran = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env={**environment, **more},
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


def _prose(page: Path) -> str:
    return re.sub(r"`[^`\n]+`", "", _BLOCK.sub("", page.read_text("utf-8")))


def _code(page: Path) -> Iterator[str]:
    text = page.read_text("utf-8")
    for _, block in _BLOCK.findall(text):
        yield block
    yield from re.findall(r"`([^`\n]+)`", _BLOCK.sub("", text))
