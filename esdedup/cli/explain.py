"""The command that tells why: explain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    Preset,
    SettingsFile,
    SetValues,
    StoreUrl,
    open_deduplicator,
    settings_of,
)
from esdedup.cli.output import (
    STYLES,
    about,
    change_text,
    console,
    joined,
    plain,
    print_json,
    styled,
    table,
    title_of,
)
from esdedup.cli.searching import record_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from esdedup.stores import Record
    from esdedup.stories.explain import Explanation, Span

# Style on a terminal, and marks where there are no colours (those of wdiff).
_MARKS = {
    "removed": ("red strike", "[-", "-]"),
    "added": ("green", "{+", "+}"),
    "moved": ("blue", "{~", "~}"),
}
# Words kept at each end of a long passage that both have.
_KEPT = 8


def register(app: typer.Typer) -> None:
    app.command()(explain)


def explain(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The id of an article.")],
    other: Annotated[
        str | None,
        typer.Argument(
            metavar="ID2", help="Another; else what it was linked to, or the best runner-up."
        ),
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    full: Annotated[
        bool, typer.Option("--full", help="Do not shorten the passages that are the same.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write it as one self-contained HTML page."),
    ] = None,
    json_: AsJson = False,
) -> None:
    """Explain why two articles are, or are not, one story.

    Shared keys, overlap, thresholds, the rule that decided, and both texts word by word. Settings
    given here are tried on the pair; the store keeps its own.
    """
    from esdedup.stories.explain import explain as explained

    chosen = settings_of(store, preset, settings, set_)
    with open_deduplicator(store, chosen, mode="read") as deduplicator:
        record = record_of(deduplicator.store, id_, store)
        second = record_of(deduplicator.store, other or _nearest(record), store)
        said = deduplicator.store.corrections
    explanation = explained(record, second, chosen, said)
    if html is not None:
        _write_page(html, explanation)
    if json_:
        print_json([explanation.to_json()])
    elif html is None:
        _print(console(), explanation, full=full)


def _write_page(file: Path, explanation: Explanation) -> None:
    from esdedup.errors import InputError
    from esdedup.stories.explain_html import page

    try:
        file.write_text(page(explanation), "utf-8")
    except OSError as error:
        raise InputError(f"{file}: the page cannot be written ({error})") from error
    say(f"written to {file}")


def _nearest(record: Record) -> str:
    """What the article was compared with, best first; without any, there is nothing to explain."""
    if record.decision.evidence:
        return record.decision.evidence[0].other
    say(
        f"{plain(record.document.id)} is {record.decision.role}: no other article shares enough "
        "keys with it; name a second id to compare it with"
    )
    raise stop(ExitCode.FOUND)


def _print(out: Console, explanation: Explanation, *, full: bool) -> None:
    for name, record in (("old", explanation.old), ("new", explanation.new)):
        role = styled(record.decision.role, STYLES[record.decision.role])
        out.print(joined(f"{name}  ", styled(title_of(record.document), "bold")))
        out.print(joined("     ", about(record.document), " · ", role))
        out.print(f"     {plain(record.document.id)}", soft_wrap=True)
    out.print()
    out.print(styled(explanation.rule, "bold"), soft_wrap=True)
    out.print(_measures(explanation))
    for change in explanation.evidence.numbers:
        out.print(joined("  ", styled(change_text(change), STYLES["update"])), soft_wrap=True)
    if explanation.names:
        out.print(joined("  names in both: ", styled(", ".join(explanation.names))), soft_wrap=True)
    if explanation.runner_up:
        lost = explanation.runner_up
        out.print(f"  runner-up {plain(lost.other)}: {lost.why}", soft_wrap=True)
    if explanation.evidence.numbers or explanation.names or explanation.runner_up:
        out.print()
    out.print(_passages(explanation, coloured=out.is_terminal, full=full))


def _measures(explanation: Explanation) -> Table:
    rows = table("measure", "value", "threshold")
    for keys in explanation.keys:
        rows.add_row(
            f"{keys.method} keys shared", f"{keys.shared} of {keys.of}", f"at least {keys.needed}"
        )
    evidence = explanation.evidence
    limit = evidence.thresholds.get("min_overlap")
    above = f"above {limit:g}" if limit is not None else ""
    rows.add_row(f"overlap ({evidence.measure})", f"{evidence.overlap:.3f}", above)
    rows.add_row("shared part of the old text", f"{evidence.of_old:.3f}", "")
    rows.add_row("shared part of the new text", f"{evidence.of_new:.3f}", "")
    for measured in explanation.measures:
        rows.add_row(measured.method, measured.says, "")
    words = (explanation.old.signature.words, explanation.new.signature.words)
    rows.add_row("words", f"{words[0]:,} -> {words[1]:,}", "")
    return rows


def _passages(explanation: Explanation, *, coloured: bool, full: bool) -> Text:
    text = joined()
    for span in explanation.spans:
        for piece in _pieces(span, coloured=coloured, full=full):
            text.append_text(piece)
            text.append(" ")
    if explanation.cut:
        text.append("… (longer texts are compared up to here)")
    return text


def _pieces(span: Span, *, coloured: bool, full: bool) -> list[Any]:
    if span.kind == "equal":
        return [styled(plain(span.new) if full else _shortened(span.new), "dim")]
    if span.kind == "moved":
        return [_marked(span.new, "moved", coloured)]
    pieces = [(span.old, "removed"), (span.new, "added")]
    return [_marked(text, kind, coloured) for text, kind in pieces if text.strip()]


def _marked(text: str, kind: str, coloured: bool) -> Text:
    style, left, right = _MARKS[kind]
    return styled(text, style) if coloured else joined(left, styled(text), right)


def _shortened(text: str) -> str:
    words = plain(text).split()
    hidden = len(words) - 2 * _KEPT
    if hidden <= _KEPT:
        return " ".join(words)
    return " ".join([*words[:_KEPT], f"… ({hidden} words the same) …", *words[-_KEPT:]])
