"""Labelled sets: a folder with documents, and clusters or judged pairs of them.

    docs.jsonl[.gz]   one object a line: id, title, text, lang, published
    html.tar.gz       pages, each named by the id of its document (with or without .html)
    clusters.csv      id, cluster, is_original (where one is known)
    pairs.csv         two ids, and one of the label columns below

What the label of a pair may be called, and what makes a pair of copies:

    label, duplicate, copy, match, same, same_story, related   1/0, true/false, yes/no, or a word
    coder1, coder2, … (judge1, …)   each 1/0; a pair on which they differ is left out
    reuse, degree, kind             a word; `non`, `none`, `different`, `unrelated` are no copies
    overall                         1 (very similar) to 4; up to 1.33 is the same story
    similarity, human_similarity    0 to 1; from .8

Where all listed pairs are copies, every pair that is not listed is none.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from esdedup.errors import DocumentError, InputError
from esdedup.evaluation.cache import Progress, extract_pages
from esdedup.model import Document, Failure, parse_time
from esdedup.settings import Settings

Source = Literal["html", "text", "visible"]
Kind = Literal["any", "clusters", "pairs", "none"]

_ID = ("id", "doc_id", "docid", "document", "doc", "file", "path")
_CLUSTER = ("cluster", "cluster_id", "group", "group_id", "story", "event", "topic", "label")
_ORIGINAL = ("is_original", "original", "is_first", "canonical")
_FIRST = ("id1", "id_1", "a", "id_a", "left", "source_id", "source", "doc1", "first")
_SECOND = ("id2", "id_2", "b", "id_b", "right", "answer_id", "target", "doc2", "second")
_YES = frozenset({"1", "1.0", "true", "yes", "y", "t", "same", "duplicate", "dup", "copy", "match"})
_NO = frozenset(
    {"0", "0.0", "false", "no", "n", "f", "-1", "different", "unrelated", "original", "non", "none"}
    | {"non-duplicate", "nonduplicate", "not_duplicate", "distinct"}
)
_BINARY = (
    *("label", "duplicate", "is_duplicate", "copy", "is_copy", "match", "same"),
    *("same_story", "related", "gold", "y"),
)
_WORDS = ("reuse", "degree", "kind", "class")
_CODER = re.compile(r"(?:coder|judge|annotator|rater)_?\d+$")
_SAME_STORY = 1.33  # of `overall`: 1 is very similar, 4 very dissimilar
_SIMILAR = 0.8  # of `similarity`
_PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".txt")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two documents and their label; `is_copy` is None if the coders disagree."""

    a: str
    b: str
    is_copy: bool | None
    degree: str = ""  # the label as it stands, where there are more than yes and no
    grade: float | None = None  # more is more alike


@dataclass(frozen=True, slots=True)
class GoldSet:
    """Labelled documents; a page that could not be read is a failure and counts as original."""

    name: str
    items: Mapping[str, Document | Failure]
    cluster: Mapping[str, str]
    originals: frozenset[str]
    pairs: Sequence[Pair] = ()
    is_closed: bool = False  # pairs that are not listed are no copies
    are_clusters_given: bool = True  # or follow from a full list of copies


def load(
    folder: Path,
    settings: Settings,
    *,
    source: Source | None = None,
    labels: Kind = "any",
    progress: Progress = lambda done, total: None,
) -> GoldSet:
    """Read a labelled set: HTML if it has any, unless `source` is `text`. With `visible` the text
    of a page is all that it shows."""
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder")
    cluster, originals = _read_clusters(folder / "clusters.csv", labels)
    pairs = _read_pairs(folder / "pairs.csv", labels)
    if not cluster and not pairs and labels != "none":
        raise InputError(
            f"{folder}: no clusters.csv with the columns id, cluster, is_original, and no "
            "pairs.csv with id1, id2, label"
            if labels == "any"
            else f"{folder}: no {labels}.csv, which this protocol needs"
        )
    items = _read_items(folder, settings, source, progress)
    wanted = list(dict.fromkeys([*cluster, *(i for p in pairs for i in (p.a, p.b))]))
    items = _with_labelled_ids(folder, items, wanted)
    is_closed = bool(pairs) and all(p.is_copy for p in pairs)
    given = bool(cluster)
    if is_closed and not given:
        cluster, originals = _join_copies(items, pairs), frozenset()
    return GoldSet(folder.name, items, cluster, originals, tuple(pairs), is_closed, given)


# --- labels ------------------------------------------------------------------------------------


def _read_rows(file: Path) -> list[dict[str, str]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            found = csv.DictReader(lines)
            rows = [{_name(k): (v or "").strip() for k, v in r.items() if k} for r in found]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    if not rows:
        raise InputError(f"{file}: there is no line with a label")
    return rows


def _name(column: str) -> str:
    return column.strip().lower().replace(" ", "_")


def _column(names: Iterable[str], known: Sequence[str]) -> str | None:
    there = set(names)
    return next((name for name in known if name in there), None)


def _read_clusters(file: Path, labels: Kind) -> tuple[dict[str, str], frozenset[str]]:
    if not file.is_file() or labels in ("pairs", "none"):
        return {}, frozenset()
    rows = _read_rows(file)
    id_, cluster = _column(rows[0], _ID), _column(rows[0], _CLUSTER)
    if id_ is None or cluster is None:
        raise InputError(f"{file}: needs the columns id and cluster; it has {', '.join(rows[0])}")
    out: dict[str, str] = {}
    for place, row in enumerate(rows, start=2):
        if not row[id_] or not row[cluster]:
            raise InputError(f"{file}, line {place}: the id or the cluster is empty")
        if out.setdefault(row[id_], row[cluster]) != row[cluster]:
            raise InputError(f"{file}, line {place}: {row[id_]} is in two clusters")
    original = _column(rows[0], _ORIGINAL)
    marked = (r[id_] for r in rows if original and r[original].lower() in _YES | {"original"})
    return out, frozenset(marked)


def _read_pairs(file: Path, labels: Kind) -> list[Pair]:
    if not file.is_file() or labels in ("clusters", "none"):
        return []
    rows = _read_rows(file)
    first, second = _column(rows[0], _FIRST), _column(rows[0], _SECOND)
    if first is None or second is None:
        raise InputError(f"{file}: needs the columns id1 and id2; it has {', '.join(rows[0])}")
    read = _reader_of_label(file, rows[0])
    out: dict[tuple[str, str], Pair] = {}
    for place, row in enumerate(rows, start=2):
        a, b = row[first], row[second]
        if not a or not b or a == b:
            raise InputError(f"{file}, line {place}: {a!r} and {b!r} are no pair of documents")
        try:
            is_copy, degree, grade = read(row)
        except ValueError as error:
            raise InputError(f"{file}, line {place}: {error}") from error
        pair = Pair(a, b, is_copy, degree, grade)
        key = (min(a, b), max(a, b))
        if key in out and out[key].is_copy != is_copy:
            raise InputError(f"{file}, line {place}: {a} and {b} were judged otherwise before")
        out.setdefault(key, pair)
    return list(out.values())


_Label = tuple[bool | None, str, float | None]


def _reader_of_label(file: Path, columns: Iterable[str]) -> Callable[[Mapping[str, str]], _Label]:
    names = list(columns)
    coders = [name for name in names if _CODER.match(name)]
    if coders:
        return lambda row: _read_coders([row[name] for name in coders])
    readers: dict[str, Callable[[str], _Label]] = {
        **dict.fromkeys(_WORDS, _read_word),
        **dict.fromkeys(_BINARY, lambda value: (_parse_yes_or_no(value), "", None)),
        "overall": _read_rating,
        **dict.fromkeys(("human_similarity", "similarity", "score"), _read_similarity),
    }
    name = _column(names, tuple(readers))
    if name is None:
        raise InputError(f"{file}: no column with a label; known are {', '.join(readers)}, coder1")
    read = readers[name]
    return lambda row: read(row[name])


def _parse_yes_or_no(value: str) -> bool:
    if value.lower() in _YES:
        return True
    if value.lower() in _NO:
        return False
    raise ValueError(f"the label {value!r} is neither yes (1) nor no (0)")


def _read_coders(values: Sequence[str]) -> _Label:
    verdicts = {_parse_yes_or_no(value) for value in values}
    return (verdicts.pop() if len(verdicts) == 1 else None), "", None


def _read_word(value: str) -> _Label:
    if not value:
        raise ValueError("the label is empty")
    return value.lower() not in _NO, value.lower(), None


def _read_rating(value: str) -> _Label:
    rating = float(value)
    degree = "1 to 1.33" if rating <= _SAME_STORY else "to 2.5" if rating <= 2.5 else "above 2.5"
    return rating <= _SAME_STORY, degree, -rating


def _read_similarity(value: str) -> _Label:
    likeness = float(value)
    return likeness >= _SIMILAR, f"{int(min(likeness, 0.99) * 5) / 5:.1f} and more", likeness


def _join_copies(items: Mapping[str, Document | Failure], pairs: Sequence[Pair]) -> dict[str, str]:
    """Clusters from a complete list of copies: connected documents; every other one alone."""
    leader = {id_: id_ for id_ in items}

    def find(id_: str) -> str:
        while leader[id_] != id_:
            leader[id_] = leader[leader[id_]]
            id_ = leader[id_]
        return id_

    for pair in pairs:
        one, other = sorted((find(pair.a), find(pair.b)))
        leader[other] = one
    return {id_: find(id_) for id_ in items}


# --- documents ---------------------------------------------------------------------------------


def _read_items(
    folder: Path, settings: Settings, source: Source | None, progress: Progress
) -> dict[str, Document | Failure]:
    archive = next(
        (f for n in ("html.tar.gz", "html.tgz", "html.tar") if (f := folder / n).is_file()), None
    )
    if source in ("html", "visible") and archive is None:
        raise InputError(f"{folder}: no html.tar.gz; --from text reads docs.jsonl")
    if archive is not None and source == "visible":
        from esdedup.evaluation.visible import read_visible

        return {page.id: read_visible(page) for page in _read_pages(archive)}
    if archive is not None and source != "text":
        return extract_pages(_read_pages(archive), settings, progress)
    return _read_texts(folder)


def _read_texts(folder: Path) -> dict[str, Document | Failure]:
    file = next((f for n in ("docs.jsonl.gz", "docs.jsonl") if (f := folder / n).is_file()), None)
    if file is None:
        raise InputError(f"{folder}: no docs.jsonl, docs.jsonl.gz or html.tar.gz")
    out: dict[str, Document | Failure] = {}
    for place, line in read_lines(file):
        document = _parse_document(file, place, line)
        if document.id in out:
            raise InputError(f"{file}, line {place}: a second document with the id {document.id}")
        out[document.id] = document
    if not out:
        raise InputError(f"{file}: there is no document in it")
    return out


def read_lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not empty, numbered from 1; `.gz` is unpacked."""
    open_text = gzip.open if file.suffix == ".gz" else open
    try:
        with open_text(file, "rt", encoding="utf-8") as lines:
            for place, line in enumerate(lines, start=1):
                if line.strip():
                    yield place, line
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error


def _parse_document(file: Path, place: int, line: str) -> Document:
    try:
        raw = json.loads(line)
        published = raw.pop("published", None)
        document = Document.from_json(raw)
    except (ValueError, TypeError, KeyError, AttributeError, DocumentError) as error:
        raise InputError(f"{file}, line {place}: no document with an id: {error}") from error
    try:
        return replace(document, published=parse_time(published))
    except (ValueError, OverflowError, OSError):  # dates matter to the order `time` alone
        return document


def _read_pages(archive: Path) -> list[Document]:
    pages: dict[str, Document] = {}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if member.isfile() and not Path(name).name.startswith("."):
                    file = tar.extractfile(member)
                    pages[name] = Document(id=name, html=file.read() if file else b"")
    except (OSError, EOFError, tarfile.TarError) as error:
        raise InputError(f"{archive} cannot be read: {error}") from error
    if not pages:
        raise InputError(f"{archive}: there is no page in it")
    return list(pages.values())


def _with_labelled_ids(
    folder: Path, items: dict[str, Document | Failure], wanted: Sequence[str]
) -> dict[str, Document | Failure]:
    """Documents under the ids of the labels: a page may be called by its id and a suffix."""
    missing = [id_ for id_ in wanted if id_ not in items]
    if not missing:
        return items
    by_stem: dict[str, str] = {}
    for name in items:
        stem = next((name.removesuffix(s) for s in _PAGE_SUFFIXES if name.endswith(s)), name)
        for alias in (stem, Path(stem).name, Path(name).name):
            by_stem[alias] = name if by_stem.get(alias, name) == name else ""  # two of the name
    out = dict(items)
    for id_ in missing:
        if found := by_stem.get(id_):
            out[id_] = replace(out.pop(found), id=id_)
    if absent := [id_ for id_ in missing if id_ not in out]:
        raise InputError(
            f"{folder}: {len(absent)} labelled ids have no document, as {absent[0]}; are the "
            "documents those of another edition, or is --from text (html) what is meant?"
        )
    return out
