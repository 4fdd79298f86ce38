"""A store in a folder that its reader may not write to: read whole, or refused with the reason."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.ingest.sign import prepare
from esdedup.model import Document
from tests.support.waiting import PATIENCE

NOBODY = 65534
TEXT = "The river burst its banks near Tollmere after three days of rain, the mayor said."

# Permissions do not bind root, so root reads as somebody else. The reader opens the store, tells
# how many documents it sees, and tells it again for every line on its standard input.
READER = f"""
import os, sys
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import StoreUnavailable
from esdedup.ingest.sign import prepare
from esdedup.model import Document
from esdedup.settings import Settings
import esdedup.stores.sqlite.store
items = prepare([Document(id='x', text='y')], Settings())
if os.geteuid() == 0: os.setuid({NOBODY})
try:
    if sys.argv[2:]: Deduplicator.open(sys.argv[1]).write(items)
    reader = Deduplicator.open(sys.argv[1], mode='read')
    while True:
        print(reader.store.maintenance.stats()['documents'], 'documents', flush=True)
        if not sys.stdin.readline(): break
except StoreUnavailable as error:
    print(error, flush=True)
"""


class Reader:
    """Another user's process with the store open."""

    def __init__(self, file: Path, *more: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", READER, str(file), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.communicate(timeout=PATIENCE)

    def read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def read_again(self) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self.read()


@pytest.fixture
def file() -> Iterator[Path]:
    """In a folder that another user can reach, as pytest's own cannot."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder / "news.db"
    folder.chmod(0o755)
    shutil.rmtree(folder)


def add(deduplicator: Deduplicator, *ids: str) -> None:
    documents = [Document(id=id_, text=f"{TEXT} {id_}") for id_ in ids]
    deduplicator.write(prepare(documents, deduplicator.settings))


def fill(file: Path, *ids: str) -> None:
    with Deduplicator.open(str(file)) as deduplicator:
        add(deduplicator, *ids)


def close_folder(file: Path) -> None:
    """As root the reader is another user anyway; any other user takes its own right to write."""
    if os.geteuid() != 0:
        file.parent.chmod(0o555)


def test_a_file_that_nobody_writes(file: Path) -> None:
    fill(file, "a", "b", "c")
    file.chmod(0o444)
    file.parent.chmod(0o555)
    with Reader(file, "write first") as reader:
        assert "readonly database; allow writing to the file and its folder" in reader.read()
    with Reader(file) as reader:
        assert reader.read() == "3 documents\n"


def test_batches_in_the_log_of_a_writer_are_read(file: Path) -> None:
    with Deduplicator.open(str(file)) as writer:
        add(writer, "a", "b")
        close_folder(file)
        with Reader(file) as reader:
            assert reader.read() == "2 documents\n"
            add(writer, "c")
            assert reader.read_again() == "3 documents\n"


def test_batches_in_the_log_of_a_killed_writer_are_read(file: Path) -> None:
    copy = file.parent / "copy.db"
    with Deduplicator.open(str(file)) as writer:
        add(writer, "a", "b")
        for end in ("", "-wal", "-shm"):
            shutil.copy(f"{file}{end}", f"{copy}{end}")
    close_folder(file)
    with Reader(copy) as reader:
        assert reader.read() == "2 documents\n"


def test_a_log_that_cannot_be_read_is_an_error(file: Path) -> None:
    with Deduplicator.open(str(file)) as writer:
        add(writer, "a")
        Path(f"{file}-shm").chmod(0)
        close_folder(file)
        with Reader(file) as reader:
            told = reader.read()
        assert "the newest batches are in" in told
        assert "allow reading both files" in told
        Path(f"{file}-shm").chmod(0o644)


def test_a_writer_that_comes_later_is_noticed(file: Path) -> None:
    fill(file, "a")
    file.parent.chmod(0o555)
    with Reader(file) as reader:
        assert reader.read() == "1 documents\n"
        assert reader.read_again() == "1 documents\n"
        file.parent.chmod(0o755)
        with Deduplicator.open(str(file)) as writer:
            add(writer, "b")
            assert "another process began to write" in reader.read_again()
