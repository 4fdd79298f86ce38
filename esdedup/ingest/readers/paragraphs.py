"""Paragraphs of plain text whose lines were broken at a width, as mail and news wires have it."""

from __future__ import annotations

# Characters of the longest line. Wider lines were not broken for a screen or a printer; narrower
# ones are verses, lists and captions.
_WIDEST = 100
_NARROWEST = 40
_FEWEST = 3
_MOST = 0.5


def join_wrapped_lines(text: str) -> str:
    """Join the lines of each paragraph by one space; a text that was not wrapped stays as it is.

    A line end is a wrap if the first word of the next line did not fit before it. A text is
    wrapped if most of its line ends within paragraphs are wraps; then a line that goes on in small
    letters is joined as well. Words stay the same: one that a hyphen divides stays divided.
    """
    if text.count("\n") * _WIDEST < len(text) // 2:  # nearly always; a wrapped text has more
        return text
    lines = [line.rstrip() for line in text.split("\n")]
    width = max(map(len, lines))
    if not _NARROWEST <= width <= _WIDEST:
        return text
    # Paragraphs are parted by an empty line, or begin with an indent.
    inside = [
        i for i in range(1, len(lines)) if lines[i - 1] and lines[i] and not lines[i][0].isspace()
    ]
    wraps = {i for i in inside if len(lines[i - 1]) + 1 + len(lines[i].split()[0]) > width}
    if len(wraps) < max(_FEWEST, _MOST * len(inside)):
        return text
    wraps |= {i for i in inside if lines[i][0].islower()}
    return "".join(
        line if i == 0 else f" {line}" if i in wraps else f"\n{line}"
        for i, line in enumerate(lines)
    )
