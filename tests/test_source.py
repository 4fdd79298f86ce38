"""The source itself: a check that is switched off says why."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SWITCHED_OFF = re.compile(
    r"# (?:type: ignore|noqa|pragma: no cover)\b(?:\[[\w, -]+\]|: [A-Z]+\d+(?:, [A-Z]+\d+)*)?"
)


def test_every_ignore_has_a_reason() -> None:
    bare = []
    for file in sorted([*ROOT.glob("esdedup/**/*.py"), *ROOT.glob("tests/**/*.py")]):
        if file == Path(__file__):
            continue
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            found = SWITCHED_OFF.search(line)
            if found and not re.search(r"[a-z]{2}", line[found.end() :]):
                bare.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()}")
    assert bare == []
