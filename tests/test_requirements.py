"""requirements/ is complete and in step with pyproject.toml; where it is not: `make lock`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "requirements"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
# What each file pins, beside what the files before it do.
RANGES = {
    "build": [*PYPROJECT["dependency-groups"]["build"], *PYPROJECT["build-system"]["requires"]],
    "run": [*PROJECT["dependencies"], *EXTRAS["serve"]],
    "dev": [*EXTRAS["parquet"], *EXTRAS["eval"], *EXTRAS["dev"]],
    "docs": EXTRAS["docs"],
}
_PIN = re.compile(
    r"^([a-z0-9.-]+)==([^ ;\\]+)(?: ; (.+?))? \\$((?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?)+)",
    re.MULTILINE,
)


@cache
def text_of(file: str) -> str:
    return (FOLDER / f"{file}.txt").read_text("utf-8")


@cache
def pins(file: str) -> list[Requirement]:
    """All of them, whatever their markers."""
    return [
        Requirement(f"{name}=={version}" + (f" ; {marker}" if marker else ""))
        for name, version, marker, _ in _PIN.findall(text_of(file))
    ]


def pinned_here(*files: str) -> dict[str, Version]:
    """By name, for the Python and the system at hand."""
    return {
        str(pin.name): Version(str(pin.specifier).removeprefix("=="))
        for file in files
        for pin in pins(file)
        if pin.marker is None or pin.marker.evaluate()
    }


def known(file: str) -> dict[str, Version]:
    """What is there after this file: `run` stands alone, the others come after it."""
    if file in ("build", "run"):
        return pinned_here(file)
    return pinned_here("build", "run", "dev", *(["docs"] if file == "docs" else []))


def test_every_file_has_its_ranges() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(RANGES)
    named = {line for lines in RANGES.values() for line in lines}
    assert named >= {
        *PROJECT["dependencies"],
        *(line for lines in EXTRAS.values() for line in lines),
    }


@pytest.mark.parametrize("file", RANGES)
def test_every_range_has_a_pin_within_it(file: str) -> None:
    found = known(file)
    for wanted in _wanted_here(RANGES[file]):
        name = canonicalize_name(wanted.name)
        assert name in found, f"{file}.txt has no {name}: make lock"
        assert wanted.specifier.contains(found[name], prereleases=True), (
            f"{file}.txt has {name} {found[name]}, and pyproject.toml says {wanted}: make lock"
        )


@pytest.mark.parametrize("file", ["build", "run", "dev"])
def test_every_package_that_one_of_them_needs_has_a_pin(file: str) -> None:
    """By what the installed packages say; those of `docs` are installed by `make docs` alone."""
    found = known(file)
    for owner, wanted in _needed(RANGES[file]):
        name = canonicalize_name(wanted.name)
        assert name in found, f"{file}.txt has no {name}, which {owner} needs: make lock"
        assert wanted.specifier.contains(found[name], prereleases=True), (
            f"{file}.txt has {name} {found[name]}, and {owner} wants {wanted}: make lock"
        )


def test_what_is_installed_is_what_is_pinned() -> None:
    found = known("docs")
    differing = [
        f"{name} {distribution.version}, pinned {found[name]}"
        for distribution in metadata.distributions()
        if (name := canonicalize_name(distribution.name)) in found
        and Version(distribution.version) != found[name]
    ]
    assert not differing, "the environment is not that of requirements/: make clean, make test"


def test_no_two_files_disagree() -> None:
    """`run` has what it shares with `build` in the same version; the others share nothing."""
    build, run = ({str(pin) for pin in pins(file)} for file in ("build", "run"))
    shared = {pin.name for pin in pins("build")} & {pin.name for pin in pins("run")}
    assert {pin for pin in build if pin.split("==")[0] in shared} <= run
    before = {pin.name for file in ("build", "run") for pin in pins(file)}
    for file in ("dev", "docs"):
        own = {pin.name for pin in pins(file)}
        assert not own & before
        before |= own


@pytest.mark.parametrize("file", RANGES)
def test_a_file_has_pins_with_hashes_and_nothing_else(file: str) -> None:
    """No address of a registry, no folder of the machine it was made on."""
    rest = _PIN.sub("", text_of(file))
    assert re.sub(r"^ *#.*\n", "", rest, flags=re.MULTILINE).strip() == ""
    assert not re.search(r"https?:|file:|(?<!\w)/\w", text_of(file))


def _wanted_here(lines: list[str], extras: tuple[str, ...] = ("",)) -> Iterator[Requirement]:
    for line in lines:
        wanted = Requirement(line)
        if wanted.marker is None or any(wanted.marker.evaluate({"extra": e}) for e in extras):
            yield wanted


def _needed(lines: list[str]) -> Iterator[tuple[str, Requirement]]:
    """The whole tree of these ranges: who asks, and for what."""
    waiting = [("pyproject.toml", wanted) for wanted in _wanted_here(lines)]
    seen = set()
    while waiting:
        owner, wanted = waiting.pop()
        yield owner, wanted
        name = canonicalize_name(wanted.name)
        key = (name, frozenset(wanted.extras))
        if key in seen:
            continue
        seen.add(key)
        asked = metadata.requires(name) or []
        waiting += [(name, other) for other in _wanted_here(asked, ("", *wanted.extras))]
