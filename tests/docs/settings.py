"""docs/settings.md from the dataclass: `python -m tests.docs.settings > docs/settings.md`."""

from __future__ import annotations

from dataclasses import fields

from esdedup.settings import Settings
from esdedup.settings.presets import PRESETS
from esdedup.settings.table import SHAPED_FORMAT_1

INTRODUCTION = """\
# Settings

<!-- Generated: python -m tests.docs.settings > docs/settings.md -->

A value comes from, in rising order: the preset, a TOML file (`--settings`), the environment
(`ESDEDUP_` and the name in capitals), flags (`--set name=value`). The settings marked *shapes*
decide what is stored with a document; they are recorded in the store, and opening it with others
is an error that names them.

| setting | default | unit | shapes | source | what it does |
| --- | --- | --- | --- | --- | --- |
"""


def reference() -> str:
    """The whole page."""
    rows = []
    for field in fields(Settings):
        about = field.metadata
        default = ", ".join(field.default) if isinstance(field.default, tuple) else field.default
        shapes = "yes" if about["shapes"] else ""
        if field.name in SHAPED_FORMAT_1:
            shapes = "format 1"
        cells = (
            f"`{field.name}`",
            str(default),
            about["unit"],
            shapes,
            about["source"],
            about["text"],
        )
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    presets = [
        f"- `{name}`: "
        + (", ".join(f"{k} {_shown(v)}" for k, v in values.items()) or "the defaults above")
        for name, values in PRESETS.items()
    ]
    return INTRODUCTION + "\n".join([*rows, "", "## Presets", "", *presets, ""])


def _shown(value: object) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(value)


if __name__ == "__main__":
    print(reference(), end="")
