"""Sets as people write them, and sets that are broken: each with an error that names the place."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest

from esdedup.errors import InputError
from esdedup.evaluation.sets import GoldSet, load
from esdedup.model import Document
from esdedup.settings import Settings


def made(folder: Path, ids: Sequence[str], **files: str) -> Path:
    rows = [{"id": i, "title": "t", "text": f"Words of the article {i}."} for i in ids]
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def read(folder: Path) -> GoldSet:
    return load(folder, Settings())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id1,id2,label\na,b,1\na,c,0\n", [True, False]),
        ("id1,id2,lang,same_story\na,b,en,1\na,c,en,0\n", [True, False]),
        ("source_id,answer_id,reuse\na,b,heavy\na,c,non\n", [True, False]),
        ("id1,id2,coder1,coder2\na,b,1,1\na,c,1,0\nb,c,0,0\n", [True, None, False]),
        ("id1,id2,lang,overall,tone\na,b,de,1.25,1\na,c,de,3.5,1\n", [True, False]),
        ("id1,id2,human_similarity\na,b,0.95\na,c,0.3\n", [True, False]),
        ("ID1, ID2 ,Is Duplicate\na,b,Yes\na,c,no\n", [True, False]),
        ("\ufeffid1,id2,kind\na,b,copy\na,c,different\n", [True, False]),
    ],
)
def test_labels_of_pairs(tmp_path: Path, text: str, expected: list[bool | None]) -> None:
    gold = read(made(tmp_path, "abc", pairs=text))
    assert [pair.is_copy for pair in gold.pairs] == expected


def test_a_full_list_of_copies_makes_clusters(tmp_path: Path) -> None:
    gold = read(made(tmp_path, "abcd", pairs="id1,id2,label\na,b,1\nb,c,1\n"))
    assert gold.is_closed
    assert len(set(gold.cluster.values())) == 2
    assert gold.cluster["a"] == gold.cluster["c"] != gold.cluster["d"]


@pytest.mark.parametrize(
    "text",
    [
        "id,cluster,is_original\na,x,1\nb,x,0\nc,y,1\n",
        "id,cluster\na,x\nb,x\nc,y\n",
        "doc_id,group,original\na,x,true\nb,x,\nc,y,yes\n",
    ],
)
def test_columns_of_clusters(tmp_path: Path, text: str) -> None:
    gold = read(made(tmp_path, "abc", clusters=text))
    assert gold.cluster == {"a": "x", "b": "x", "c": "y"}
    assert gold.originals in (frozenset("ac"), frozenset())


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no clusters.csv"),
        ({"clusters": "id,cluster\n"}, "no line with a label"),
        ({"clusters": "a,b\n1,2\n"}, "needs the columns id and cluster"),
        ({"clusters": "id,cluster\na,x\nnobody,x\n"}, "1 labelled ids have no document, as nobody"),
        ({"clusters": "id,cluster\na,\n"}, "line 2: the id or the cluster is empty"),
        ({"clusters": "id,cluster\na,x\na,y\n"}, "line 3: a is in two clusters"),
        ({"pairs": "id1,id2,label\n"}, "no line with a label"),
        ({"pairs": "id1,other,label\na,b,1\n"}, "needs the columns id1 and id2"),
        ({"pairs": "id1,id2,colour\na,b,red\n"}, "no column with a label"),
        ({"pairs": "id1,id2,label\na,b,perhaps\n"}, "line 2: the label 'perhaps' is neither"),
        ({"pairs": "id1,id2,label\na,a,1\n"}, "are no pair"),
        ({"pairs": "id1,id2,label\na,b,1\nb,a,0\n"}, "line 3: b and a were judged otherwise"),
        ({"pairs": "id1,id2,overall\na,b,high\n"}, "line 2: could not convert"),
        ({"pairs": "id1,id2,label\na,zz,1\n"}, "as zz"),
    ],
)
def test_bad_labels(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(made(tmp_path, "abc", **files))


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ("", "there is no document in it"),
        ('{"id": "a"}\n{"id": "a"}\n', "line 2: a second document with the id a"),
        ('{"id": "a"}\n{broken\n', "line 2: no document with an id"),
        ('{"text": "no id"}\n', "line 1: no document with an id"),
        ("[1, 2]\n", "line 1: no document with an id"),
    ],
)
def test_bad_documents(tmp_path: Path, documents: str, message: str) -> None:
    made(tmp_path, "a", clusters="id,cluster\na,x\n")
    (tmp_path / "docs.jsonl").write_text(documents)
    with pytest.raises(InputError, match=message):
        read(tmp_path)


def test_broken_archives(tmp_path: Path) -> None:
    made(tmp_path, "a", clusters="id,cluster\na,x\n")
    (tmp_path / "html.tar.gz").write_bytes(b"no archive")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path)
    assert load(tmp_path, Settings(), source="text").cluster == {"a": "x"}
    (tmp_path / "html.tar.gz").unlink()
    (tmp_path / "docs.jsonl").rename(tmp_path / "docs.jsonl.gz")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path)
    with pytest.raises(InputError, match=r"no html\.tar\.gz"):
        load(tmp_path, Settings(), source="html")
    with pytest.raises(InputError, match="no such folder"):
        read(tmp_path / "nowhere")


def test_dates_that_cannot_be_read_are_no_dates(tmp_path: Path) -> None:
    made(tmp_path, "a", clusters="id,cluster\na,x\n")
    (tmp_path / "docs.jsonl").write_text('{"id": "a", "text": "t", "published": "soon"}\n')
    assert read(tmp_path).items["a"].id == "a"


def test_visible_text_has_menus_and_no_scripts(tmp_path: Path) -> None:
    page = (
        b"<html><head><title>Ferry \n cancelled</title><style>p {}</style></head><body>"
        b"<!-- a note --><ul><li>Home</li><li>Sports</li></ul><p>The <b>ferry</b> is late.</p>"
        b"<script>var hidden;</script></body></html>"
    )
    with tarfile.open(tmp_path / "html.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("a.html")
        member.size = len(page)
        archive.addfile(member, BytesIO(page))
    (tmp_path / "clusters.csv").write_text("id,cluster,is_original\na,A,1\n")
    item = load(tmp_path, Settings(), source="visible").items["a"]
    assert isinstance(item, Document)
    assert (item.title, item.text) == ("Ferry cancelled", "Home Sports The ferry is late.")
