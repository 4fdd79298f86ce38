"""Statistics in one file: a zip of numpy arrays and a description, known by its content."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from esdedup.errors import InputError
from esdedup.settings.word_file import (
    DESCRIPTION,
    FORMAT,
    PROGRAM,
    Array,
    damaged_file_error,
    open_archive,
)
from esdedup.text.statistics.corpus import LanguageCounts, Statistics
from esdedup.text.statistics.countmin import Exact, Shape

_DIGITS = 12
_TABLES = ("phrases", "site_pages", "site_stories", "sample_keys", "sample_counts")


def write(statistics: Statistics, file: str | os.PathLike[str]) -> str:
    """Whole or not at all; returns the version. The same counts give the same version."""
    description, arrays = _to_arrays(statistics)
    version = _version(description, arrays)
    text = json.dumps({**description, "version": version}, sort_keys=True)
    target = Path(file)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            packed = {DESCRIPTION: np.frombuffer(text.encode(), np.uint8), **arrays}
            np.savez_compressed(stream, allow_pickle=False, **packed)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(target)
    except OSError as error:
        raise InputError(f"{file}: the statistics cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return version


def read(file: str | os.PathLike[str]) -> Statistics:
    """Refused unless its content is what its version says."""
    description, arrays = open_archive(file, whole=True)
    version = description.pop("version")
    try:
        statistics = _from_arrays(description, arrays, version)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise damaged_file_error(file, f"{type(error).__name__}: {error}") from error
    if _version(description, arrays) != version:
        raise damaged_file_error(file, f"its content is not that of version {version}")
    return statistics


def _to_arrays(statistics: Statistics) -> tuple[dict[str, Any], dict[str, Array]]:
    description = {
        "program": PROGRAM,
        "format": FORMAT,
        "phrase_words": statistics.phrase_words,
        "sampled": statistics.sample.limit,
        "sites": dict(statistics.sites),
        "languages": {
            code: [counts.documents, counts.words] for code, counts in statistics.languages.items()
        },
    }
    arrays: dict[str, Array] = {
        "phrases": statistics.phrases,
        "site_pages": statistics.site_pages,
        "site_stories": statistics.site_stories,
        "sample_keys": statistics.sample.keys,
        "sample_counts": statistics.sample.counts,
    }
    for place, counts in enumerate(statistics.languages.values()):
        arrays[f"stems_{place}"] = counts.stems.keys
        arrays[f"documents_{place}"] = counts.stems.counts
    return description, {
        name: array.astype(array.dtype.newbyteorder("<"), copy=False)
        for name, array in arrays.items()
    }


def _from_arrays(
    description: Mapping[str, Any], arrays: Mapping[str, Array], version: str
) -> Statistics:
    tables = {name: _native(arrays[name]) for name in _TABLES}
    depth, width = tables["phrases"].shape
    of_sites = Shape(width, depth).for_sites()
    expected = {(of_sites.depth, of_sites.width)}
    if width & (width - 1) or {tables[name].shape for name in _TABLES[1:3]} != expected:
        raise ValueError("tables of impossible sizes")
    languages = {}
    for place, (code, (documents, words)) in enumerate(description["languages"].items()):
        stems = Exact(_native(arrays[f"stems_{place}"]), _native(arrays[f"documents_{place}"]))
        languages[str(code)] = LanguageCounts(int(documents), int(words), stems)
    return Statistics(
        int(description["phrase_words"]),
        languages,
        tables["phrases"],
        Exact(tables["sample_keys"], tables["sample_counts"], int(description["sampled"])),
        {str(site): int(pages) for site, pages in description["sites"].items()},
        tables["site_pages"],
        tables["site_stories"],
        version,
    )


def _version(description: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Of the numbers, not of the bytes of the zip: another zlib may pack them otherwise."""
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\n{name} {array.dtype.str} {list(array.shape)}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:_DIGITS]


def _native(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("="), copy=False)
