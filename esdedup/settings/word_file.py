"""The file that `words_file` names: a zip of numpy arrays and a description with a version."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from esdedup.errors import InputError

# Raised when the same corpus gives other numbers, or the same numbers mean something else.
FORMAT = 1
PROGRAM = "esdedup words"
DESCRIPTION = "description"

Array = NDArray[Any]


def read_version(file: str | os.PathLike[str]) -> str:
    """The version in the description of the file; the tables are not read."""
    return str(open_archive(file, whole=False)[0]["version"])


def open_archive(
    file: str | os.PathLike[str], *, whole: bool
) -> tuple[dict[str, Any], dict[str, Array]]:
    try:
        with Path(file).open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile) or DESCRIPTION not in archive:
                raise _foreign(file)
            description = json.loads(archive[DESCRIPTION].tobytes())
            _check_ours(file, description)
            names = [name for name in archive.files if name != DESCRIPTION] if whole else []
            return description, {name: archive[name] for name in names}
    except OSError as error:
        if error.errno is None:  # numpy's own, of a file that is something else
            raise _foreign(file) from error
        raise InputError(
            f"{file}: the statistics cannot be read: {error.strerror}; `esdedup words build` "
            "makes them"
        ) from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise damaged_file_error(file, str(error)) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise _foreign(file) from error


def _check_ours(file: str | os.PathLike[str], description: Any) -> None:
    if not isinstance(description, dict) or description.get("program") != PROGRAM:
        raise _foreign(file)
    if description.get("format") != FORMAT:
        raise InputError(
            f"{file}: statistics of format {description.get('format')}, and this is an esdedup "
            f"that reads format {FORMAT}; build them anew with `esdedup words build`, or use the "
            "esdedup that made them"
        )
    if not isinstance(description.get("version"), str):
        raise damaged_file_error(file, "it names no version")


def _foreign(file: str | os.PathLike[str]) -> InputError:
    return InputError(
        f"{file}: no statistics of `esdedup words build`, or not whole; give the file that it wrote"
    )


def damaged_file_error(file: str | os.PathLike[str], why: str) -> InputError:
    return InputError(
        f"{file}: the statistics are damaged ({why}); copy the file again, or build it anew with "
        "`esdedup words build`"
    )
