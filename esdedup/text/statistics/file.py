"""Statistics in one file: a zip of numpy arrays and a description, known by its content."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from esdedup.errors import InputError
from esdedup.text.statistics.corpus import LanguageCounts, Statistics
from esdedup.text.statistics.countmin import Exact, Shape

# Raised when the same corpus gives other numbers, or the same numbers mean something else.
FORMAT = 1
_PROGRAM = "esdedup words"
_DIGITS = 12
_DESCRIPTION = "description"
_TABLES = ("phrases", "site_pages", "site_stories", "sample_keys", "sample_counts")

Array = NDArray[Any]


def write(statistics: Statistics, file: str | os.PathLike[str]) -> str:
    """Whole or not at all; returns the version. The same counts give the same version."""
    description, arrays = _taken_apart(statistics)
    version = _version(description, arrays)
    text = json.dumps({**description, "version": version}, sort_keys=True)
    target = Path(file)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            packed = {_DESCRIPTION: np.frombuffer(text.encode(), np.uint8), **arrays}
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
    description, arrays = _opened(file, whole=True)
    version = description.pop("version")
    try:
        statistics = _put_together(description, arrays, version)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise _broken(file, f"{type(error).__name__}: {error}") from error
    if _version(description, arrays) != version:
        raise _broken(file, f"its content is not that of version {version}")
    return statistics


def version_of(file: str | os.PathLike[str]) -> str:
    """What the file says of itself, without reading the rest."""
    return str(_opened(file, whole=False)[0]["version"])


def _opened(
    file: str | os.PathLike[str], *, whole: bool
) -> tuple[dict[str, Any], dict[str, Array]]:
    try:
        with Path(file).open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile) or _DESCRIPTION not in archive:
                raise _foreign(file)
            description = json.loads(archive[_DESCRIPTION].tobytes())
            _check_ours(file, description)
            names = [name for name in archive.files if name != _DESCRIPTION] if whole else []
            return description, {name: archive[name] for name in names}
    except OSError as error:
        if error.errno is None:  # numpy's own, of a file that is something else
            raise _foreign(file) from error
        raise InputError(
            f"{file}: the statistics cannot be read: {error.strerror}; `esdedup words build` "
            "makes them"
        ) from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise _broken(file, str(error)) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise _foreign(file) from error


def _check_ours(file: str | os.PathLike[str], description: Any) -> None:
    if not isinstance(description, dict) or description.get("program") != _PROGRAM:
        raise _foreign(file)
    if description.get("format") != FORMAT:
        raise InputError(
            f"{file}: statistics of format {description.get('format')}, and this is an esdedup "
            f"that reads format {FORMAT}; build them anew with `esdedup words build`, or use the "
            "esdedup that made them"
        )
    if not isinstance(description.get("version"), str):
        raise _broken(file, "it names no version")


def _foreign(file: str | os.PathLike[str]) -> InputError:
    return InputError(
        f"{file}: no statistics of `esdedup words build`, or not whole; give the file that it wrote"
    )


def _broken(file: str | os.PathLike[str], why: str) -> InputError:
    return InputError(
        f"{file}: the statistics are damaged ({why}); copy the file again, or build it anew with "
        "`esdedup words build`"
    )


def _taken_apart(statistics: Statistics) -> tuple[dict[str, Any], dict[str, Array]]:
    description = {
        "program": _PROGRAM,
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
    return description, {name: _little_endian(array) for name, array in arrays.items()}


def _put_together(
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


def _little_endian(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _native(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("="), copy=False)
