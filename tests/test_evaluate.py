"""The online protocol: its scoring on a set made here, its figures on the gold set."""

from __future__ import annotations

import json
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from typer.testing import CliRunner

from esdedup.cli import app
from esdedup.errors import InputError
from esdedup.evaluate import GoldSet, Score, arrival, load, online
from esdedup.model import Document, Failure
from esdedup.settings import Settings
from tests.data import labelled

STORM = (
    "A storm tore the roof off the old grain hall in Verrin on Sunday night and left the village "
    "without power until noon, the mayor said after a first look at the damage from the square"
)
BUDGET = (
    "The council of Osterholm passed its budget after nine hours of debate with a majority of two, "
    "keeping the swimming pool open and putting off the new fire station for another year"
)


def gold() -> GoldSet:
    texts = {"s1": STORM, "s2": f"{STORM} again", "b1": BUDGET, "b2": STORM, "b3": "Other words."}
    items: dict[str, Document | Failure] = {i: Document(id=i, text=t) for i, t in texts.items()}
    items["b4"] = Failure("b4", "b4", "broken")
    cluster = {i: "storm" if i.startswith("s") else "budget" for i in items}
    return GoldSet("made", items, cluster, frozenset({"s1", "b1"}))


def test_every_decision_is_counted_once() -> None:
    """Six documents, the first left out: copy found, original alone, wrong cluster, two missed."""
    score = online(gold(), Settings(), order="depth-first")
    # Depth first: b1 (left out), b2 (a storm in the budget, but nothing to link to yet: missed),
    # b3 and b4 (missed; b4 could not be processed), s1 (an original linked to b2), s2 (to b2).
    assert score == Score(tp=0, fp=2, tn=0, fn=3)


def test_precision_recall_f1() -> None:
    score = Score(tp=6, fp=2, tn=1, fn=4)
    assert (score.precision, score.recall) == (0.75, 0.6)
    assert score.f1 == pytest.approx(2 * 0.75 * 0.6 / 1.35)
    assert Score(0, 0, 3, 0).f1 == 0


def test_original_first_is_random_but_for_the_originals() -> None:
    orders = [arrival(gold(), "original-first", seed) for seed in range(20)]
    assert len({tuple(order) for order in orders}) > 5
    for order in orders:
        assert sorted(order) == sorted(gold().cluster)
        assert order.index("s1") < order.index("s2")
        assert all(order.index("b1") < order.index(other) for other in ("b2", "b3", "b4"))


def test_dates_do_not_reorder_an_online_run(tmp_path: Path) -> None:
    """The copy carries the earlier date and still comes second."""
    rows = [
        {"id": "s1", "text": STORM, "published": "2026-02-02"},
        {"id": "s2", "text": STORM, "published": "2026-01-01"},
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / "clusters.csv").write_text("id,cluster,is_original\ns1,a,1\ns2,a,0\n")
    score = online(load(tmp_path, Settings()), Settings())
    assert score == Score(tp=1, fp=0, tn=0, fn=0)


def test_a_set_of_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read from HTML, extracted once; the command prints one object."""
    monkeypatch.setenv("ESDEDUP_CACHE", str(tmp_path / "cache"))
    with tarfile.open(tmp_path / "html.tar.gz", "w:gz") as tar:
        for id_, text in (("a/1.html", STORM), ("a/2.html", STORM), ("b/1.html", BUDGET)):
            body = f"<title>News</title><article><p>{text}.</p><p>{text}.</p></article>"
            page = f"<html><head></head><body>{body}</body></html>".encode()
            info = tarfile.TarInfo(id_)
            info.size = len(page)
            tar.addfile(info, BytesIO(page))
    labels = "id,cluster,is_original\na/1.html,a,1\na/2.html,a,0\nb/1.html,b,1\n"
    (tmp_path / "clusters.csv").write_text(labels)
    for _ in range(2):  # the second run reads the cache
        result = CliRunner().invoke(app, ["eval", str(tmp_path), "--json"])
        assert result.exit_code == 0, result.output
        row = json.loads(result.output)
        assert (row["tp"], row["fp"], row["tn"], row["fn"]) == (1, 0, 1, 0)
        assert row["precision"] == row["recall"] == row["f1"] == 1.0


@pytest.mark.parametrize(
    ("labels", "message"),
    [(None, "no clusters.csv"), ("a,b\n1,2\n", "columns"), ("id,cluster\nx,a\n", "docs.jsonl")],
)
def test_a_folder_that_is_no_set(tmp_path: Path, labels: str | None, message: str) -> None:
    if labels is not None:
        (tmp_path / "clusters.csv").write_text(labels)
    with pytest.raises(InputError, match=message):
        load(tmp_path, Settings())


def test_gold_set_from_html_reaches_the_bar() -> None:
    """SpotSigs, tune part, one preset fixed beforehand: F1 .955, the figure of paper 000."""
    settings = Settings.load(environment={})
    score = online(load(labelled("spotsigs"), settings), settings)
    assert score.f1 >= 0.955
    assert score.tp + score.fp + score.tn + score.fn == 909


def test_paper_000_reaches_its_own_figure() -> None:
    """Preset nrc-gphin on the gold set's tune part; the paper has .955 on the whole set."""
    settings = Settings.load(preset="nrc-gphin", environment={})
    assert online(load(labelled("spotsigs"), settings), settings).f1 >= 0.955
