"""docs/cli.md from the commands themselves: `python -m tests.docs.cli > docs/cli.md`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import typer
from typer.testing import CliRunner

from esdedup.cli import app
from esdedup.cli.exit_codes import MEANINGS

# Longer than what --help says; a command without an entry has just its help.
NOTES = {
    "demo": "What to run first. Seventy-odd invented news pages, in English, Turkish and French, "
    "become stories; two broken ones go to the quarantine.",
    "index": """\
The input may be a pipe, and so may the output:

```
zcat articles.ndjson.gz | esdedup index - --json | jq -r 'select(.role == "duplicate") | .id'
```

Every line of `--json` is a decision with its evidence and a `status`: `new`, `unchanged`,
`changed`, `dropped`, `failed`, or `relinked` for an article that was there before and found
another place, as when an earlier original turns up. Lines come batch by batch; for a stream that
trickles, `--set batch=1` writes each article as it comes.

Ctrl-C ends the run between batches: what is written is whole, and the same command goes on where
it stopped. An article that fails is kept as an original with the role `unprocessed`, waits in the
quarantine, and is counted; the exit code stays 0, so that one broken page does not stop a nightly
job. `--strict` makes it 3; so does a run in which not one article could be used.""",
    "check": "Nothing is written. The exit code is 3 where an article could not be processed.",
    "retry": "Entries that cannot succeed, such as a line that is no JSON, are passed over.",
    "search": """\
Every word must occur. One result stands for an article and its copies (`+4 copies`); updates keep
a result of their own, unless `--by story` folds them too. The totals count everything that
matches, shown or not: `3 stories, 11 articles`. `--expand` lists all members of the group, also
those that do not contain the words. Without a result the exit code is 1.""",
    "copies": """\
Nothing is written. A passage is at least 12 words that are the same, with at most 4 others between
two runs of them; `here` and `there` are the places of its first and behind its last character in
the text checked and in the stored one, `of_here` and `of_there` the shares of their words. The
sketch finds texts that are alike as wholes. Passages of 47 words and more are found in texts of any
length where the store has the keys of `winnowing` (`esdedup index … --set
methods=sketch,winnowing`, or later `esdedup backfill --only winnowing`), passages of 4 sentences
and more where it has those of `lengths`. Without a copy the exit code is 1.

`--watch` needs no such keys in the store: the protected texts are indexed in memory, by
fingerprints that find any 20 of their words in a row. Protected are the texts of FILE (a file or a
folder), the articles of the store listed in `--ids`, and those with a `--where` field, which are
looked for in the whole store once; a newly
indexed article (or an older one that was edited, or got another place) that contains at least
`--least` of the words of one becomes a line: `to` names the poster and the author, `article` and
`protected` the two, `passages` the places in both. Names are taken from the first of `--poster`
(else `poster`, `posted_by`, `user`, `author`, `byline`, `creator`) and of `--author` (else
`author`, `byline`, `creator`, `contact`, `poster`) that is there, else the source; nobody is
notified of their own text. What was reported stands in the checkpoint; with `--output` also in the
lines themselves, so that a pair is reported once even where the process was killed between a line
and the checkpoint (on standard output such a line may come twice).""",
    "links": """\
Every article is checked against the earlier ones as by `copies`. `--json` writes one edge a line:
`from` the later article `to` the earlier one, `spans` with the places in both, `of_from` and
`of_to` the shares of their words.""",
    "explain": """\
Where the output is no terminal the marks are those of wdiff: `[-removed-]`, `{+added+}`, and
`{~moved~}`. `--json` has the passages as `spans` of the kinds `equal`, `changed`, `removed`,
`added` and `moved`, in the order of the new text.""",
    "delete": "Nothing is asked. The exit code is 1 where an id was not in the store.",
    "settings": """\
Without options this shows the settings recorded in the store, or the defaults where there is
none. A value comes from, in rising order: the settings recorded in the store (or the preset
named), a TOML file (`--settings`), the environment (`ESDEDUP_MIN_OVERLAP=0.4`), `--set`. What
shapes the stored keys is fixed once a store is made; other values of these are an error that
names them.""",
    "backfill": """\
Articles are read in the order of time and only their `dedup` object is written. The progress is
kept in the index `esdedup-state-INDEX`, so that any machine can go on; articles written meanwhile
are taken as well. See [backfill](how-to/backfill.md).""",
    "sweep": """\
See [clusters](cluster.md#articles-that-come-by-another-route). `--since 1970-01-01` looks at every
link there is.""",
    "templates": "Only for search clusters; see [clusters](cluster.md#templates).",
    "words": "See [statistics](methods/statistics.md).",
    "words build": """\
Articles that cannot be read are named and left out; where not one can be counted nothing is written
and the exit code is 2. Ctrl-C leaves the file as it was. `show` prints the bound of the sketch (its
width and depth, and by how much a count may be too high) and the error measured on a sample that is
counted exactly.""",
    "doctor": "The exit code is 1 where there is a problem; each comes with its remedy.",
}

INTRODUCTION = """\
# Command line

<!-- Generated: python -m tests.docs.cli > docs/cli.md -->

Every command takes `--help`. Results go to standard output, everything for the person at the
terminal (progress, errors, the summary beside `--json`) to standard error. The store is
`sqlite:///esdedup.db` in the current folder unless `--store` or the environment variable
`ESDEDUP_STORE` names another.

`esdedup --install-completion` makes Tab complete commands, options and their values in bash, zsh,
fish and PowerShell; `esdedup --show-completion` prints the script instead. `esdedup --version`
prints the version.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, exit_codes(), whole(), *map(section, commands())])


def commands() -> list[str]:
    """As they are typed; a group comes before its own commands."""
    names = _names(app)
    for group in app.registered_groups:
        own = _names(group.typer_instance) if group.typer_instance else []
        names += [str(group.name), *(f"{group.name} {name}" for name in own)]
    return names


def _names(of: typer.Typer) -> list[str]:
    return [c.name or str(getattr(c.callback, "__name__", "")) for c in of.registered_commands]


def exit_codes() -> str:
    rows = [f"| {code:d} | {meaning} |" for code, meaning in MEANINGS.items()]
    head = ["## Exit codes", "", "| code | meaning |", "| ---: | --- |"]
    end = "An error is one line on standard error; a traceback is a defect worth reporting."
    return "\n".join([*head, *rows, "", end, ""])


def whole() -> str:
    """The help of the program itself, without the exit codes, which stand above."""
    text, _, _ = help_of("").partition("\n\n  Exit codes:")
    return "\n".join(["## All commands", "", "```", text, "```", ""])


def section(command: str) -> str:
    return "\n".join([f"## {command}", "", *_notes(command), "```", help_of(command), "```", ""])


def help_of(command: str) -> str:
    """The text of --help, however wide the terminal that asks."""
    environment = {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "ESDEDUP_STORE": None}
    result = CliRunner().invoke(
        app, [*command.split(), "--help"], prog_name="esdedup", terminal_width=100, env=environment
    )
    assert result.exit_code == 0, result.output
    return "\n".join(line.rstrip() for line in result.stdout.strip().splitlines())


def _notes(command: str) -> Iterator[str]:
    if command in NOTES:
        yield from (NOTES[command], "")


if __name__ == "__main__":
    os.environ.pop("ESDEDUP_STORE", None)
    print(reference(), end="")
