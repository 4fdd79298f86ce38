"""The file that statistics are kept in, and those that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from esdedup.errors import InputError
from esdedup.settings.word_file import FORMAT, read_version
from esdedup.text.statistics.corpus import Statistics
from esdedup.text.statistics.countmin import Shape
from esdedup.text.statistics.file import read, write
from tests.text.statistics.corpus import corpus_article, counted, of_counted, same


def test_a_file_holds_everything(corpus: Statistics, file: Path, tmp_path: Path) -> None:
    again = read(file)
    assert same(again, corpus)
    assert again.version == read_version(file) == write(corpus, tmp_path / "other")
    assert len(again.version) == 12
    assert file.read_bytes() == (tmp_path / "other").read_bytes()
    assert write(counted([corpus_article(1)]), tmp_path / "third") != again.version
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "third"]


def test_a_file_that_is_not_whole_is_refused(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    broken = tmp_path / "broken.words"
    for size in [0, 1, 3, 100, len(whole) // 2, len(whole) - 1]:
        broken.write_bytes(whole[:size])
        for reading in (read, read_version):
            with pytest.raises(InputError, match=r"broken\.words: .*(not whole|damaged)"):
                reading(broken)


def test_a_file_with_other_numbers_is_refused(file: Path, tmp_path: Path) -> None:
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files}
    changed = arrays["phrases"].copy()
    changed[0, 0] += 1
    damaged = tmp_path / "damaged.npz"
    np.savez(damaged, allow_pickle=False, **{**arrays, "phrases": changed})
    with pytest.raises(InputError, match=r"damaged \(its content is not that of version"):
        read(damaged)
    np.savez(damaged, allow_pickle=False, **{k: v for k, v in arrays.items() if k != "phrases"})
    with pytest.raises(InputError, match=r"damaged \(KeyError: 'phrases'\); copy the file again"):
        read(damaged)


def described(file: Path, **changed: Any) -> dict[str, Any]:
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files}
    description = {**json.loads(arrays["description"].tobytes()), **changed}
    return {**arrays, "description": np.frombuffer(json.dumps(description).encode(), np.uint8)}


def test_a_file_of_another_format_is_refused(file: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer.npz"
    np.savez(newer, allow_pickle=False, **described(file, format=FORMAT + 1))
    with pytest.raises(InputError, match=rf"of format {FORMAT + 1}, and .* reads format {FORMAT}"):
        read(newer)
    np.savez(newer, allow_pickle=False, **described(file, version=None))
    with pytest.raises(InputError, match="names no version"):
        read(newer)


@pytest.mark.parametrize("kind", ["text", "json", "npy", "npz", "other", "pickle", "zip"])
def test_a_file_of_another_program_is_refused(kind: str, file: Path, tmp_path: Path) -> None:
    foreign = tmp_path / f"foreign.{kind}"
    match kind:
        case "text":
            foreign.write_text("The ferry caught fire.\n" * 20)
        case "json":
            foreign.write_text('{"version": "abc"}')
        case "npy":
            with foreign.open("wb") as stream:
                np.save(stream, np.arange(5))
        case "npz":
            with foreign.open("wb") as stream:
                np.savez(stream, counts=np.arange(5))
        case "other":
            with foreign.open("wb") as stream:
                np.savez(stream, allow_pickle=False, **described(file, program="else"))
        case "pickle":
            with foreign.open("wb") as stream:
                np.savez(stream, description=np.array([{"program": "esdedup words"}], object))
        case _:
            import zipfile

            with zipfile.ZipFile(foreign, "w") as archive:
                archive.writestr("description.npy", "x")
    with pytest.raises(InputError, match=r"foreign\.\w+: no statistics of `esdedup words build`"):
        read(foreign)


def test_a_file_that_is_not_there(tmp_path: Path, corpus: Statistics) -> None:
    with pytest.raises(InputError, match=r"No such file or directory; `esdedup words build` makes"):
        read(tmp_path / "none.words")
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        write(corpus, tmp_path / "no" / "folder.words")


def test_statistics_of_another_shape_do_not_add_up() -> None:
    one = of_counted([corpus_article(1)])
    with pytest.raises(InputError, match="do not add to those of 3 words in 64 x 2; build both"):
        one.merge(of_counted([corpus_article(1)], Shape(64, 2)))
