"""Where commands print to: a terminal or a file. Imports rich, which `--help` does without."""

from __future__ import annotations

import os

from rich.console import Console
from rich.text import Text

# Columns, if the output is a file or a pipe.
_WIDTH_OF_FILES = 100


class Screen(Console):
    """Text is printed as it is: an article may contain what rich takes for markup or an emoji."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)
        if not self.is_terminal and "COLUMNS" not in os.environ:
            self.width = _WIDTH_OF_FILES

    def print_line(self, *parts: Text | str, style: str = "") -> None:
        """Print pieces on one line that is never broken, however long: ids and URLs are copied."""
        self.print(Text.assemble(*parts), style=style, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """Rich would end the program here; `exit_codes` does, for every kind of output."""
        raise BrokenPipeError
