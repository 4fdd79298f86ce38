"""Where commands print to: a terminal or a file. Imports rich, which `--help` does without."""

from __future__ import annotations

import os
from typing import Any

from rich.console import Console
from rich.text import Text

from esdedup.cli.exit_codes import remove_controls

# Columns, if the output is a file or a pipe.
_WIDTH_OF_FILES = 100


class Screen(Console):
    """Text is printed as it is: an article may contain what rich takes for markup or an emoji."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)
        if not self.is_terminal and "COLUMNS" not in os.environ:
            self.width = _WIDTH_OF_FILES

    def render_str(self, text: str, **options: Any) -> Text:
        """Every string that is printed comes through here, cells of tables included."""
        return super().render_str(remove_controls(text), **options)

    def print_line(self, *parts: Text | str, style: str = "") -> None:
        """Print pieces on one line that is never broken, however long: ids and URLs are copied."""
        line = [
            part if isinstance(part, Text) else remove_controls(part).replace("\n", " ")
            for part in parts
        ]
        self.print(Text.assemble(*line), style=style, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """Rich would end the program here; `exit_codes` does, for every kind of output."""
        raise BrokenPipeError
