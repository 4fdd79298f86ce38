"""docs/img/demo.svg, the terminal after `esdedup demo`: `python -m tests.docs.picture`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

TARGET = Path(__file__).parents[2] / "docs" / "img" / "demo.svg"
# The first stories, and the search at the end.
STORIES = 44
SEARCH = "$ esdedup search"
WIDTH = 100


def picture() -> str:
    environment = {
        **os.environ,
        "FORCE_COLOR": "1",
        "COLUMNS": str(WIDTH),
        "TERM": "xterm-256color",
    }
    command = [sys.executable, "-m", "esdedup", "demo"]
    output = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    ).stdout
    stories, search = output.split(SEARCH, 1)
    results = search.split("Try next", 1)[0].splitlines()[:-1]
    shown = [*stories.splitlines()[:STORIES], "  …", "", SEARCH + results[0], *results[1:]]
    console = Console(record=True, width=WIDTH, file=StringIO())
    console.print(Text.from_ansi("\n".join(shown)))
    svg = console.export_svg(title="make demo")
    # The font would come from the network; the reader's own monospaced one does as well.
    return re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(picture(), encoding="utf-8")
