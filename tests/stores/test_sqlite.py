"""The embedded store in bad weather: each a clear message, and nothing lost."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.outcomes import Outcome
from esdedup.errors import (
    DocumentError,
    EsdedupError,
    QueryError,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
)
from esdedup.ingest.sign import prepare
from esdedup.model import Document, Failure
from esdedup.model.queries import Query, SearchOptions
from esdedup.search.searcher import Searcher
from esdedup.settings import Settings
from esdedup.stores import open_store
from esdedup.stores.sqlite import schema as sqlite_schema
from esdedup.stores.sqlite.rows import key_numbers, numbers_by_method
from esdedup.stores.sqlite.store import SQLiteStore
from tests.stores.contract import probe, record
from tests.support.waiting import PATIENCE

NOBODY = 65534
TEXT = "The river burst its banks near Tollmere after three days of rain, the mayor said."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "news.db"


def index(deduplicator: Deduplicator, *documents: Document) -> list[Outcome]:
    return deduplicator.write(prepare(documents, deduplicator.settings))


def filled(file: Path, count: int = 3) -> None:
    with Deduplicator.open(str(file)) as deduplicator:
        index(deduplicator, *(Document(id=f"d{i}", text=f"{TEXT} {i}") for i in range(count)))


def sqlite_store(deduplicator: Deduplicator) -> SQLiteStore:
    assert isinstance(deduplicator.store, SQLiteStore)
    return deduplicator.store


# --- opening --------------------------------------------------------------------------------------


def test_the_url_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for url, made in [
        ("one.db", "one.db"),
        ("sqlite:///two.db", "two.db"),
        (f"sqlite:///{tmp_path}/three.db", "three.db"),
    ]:
        open_store(url).close()
        assert (tmp_path / made).exists(), url
    with pytest.raises(StoreError, match="unknown store gopher://"):
        open_store("gopher://host/index")


def test_a_missing_folder(tmp_path: Path) -> None:
    folder = tmp_path / "missing"
    with pytest.raises(StoreError, match=f"the folder {folder} does not exist; make it first"):
        open_store(f"{folder}/news.db")


def test_an_empty_file_becomes_a_store_but_cannot_be_read(file: Path) -> None:
    file.touch()
    with pytest.raises(StoreError, match="is empty; `esdedup index` fills it"):
        open_store(str(file), mode="read")
    filled(file)
    store = open_store(str(file), mode="read")
    assert store.maintenance.stats()["documents"] == 3
    store.close()


def test_a_database_of_another_program_is_left_alone(file: Path) -> None:
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE letters (body)")
    db.close()
    before = file.read_bytes()
    with pytest.raises(StoreError, match="is a database of another program; name a new file"):
        open_store(str(file))
    assert file.read_bytes() == before


def test_a_file_that_is_no_database(file: Path) -> None:
    file.write_bytes(b"id,title,text\n" * 200)
    with pytest.raises(StoreCorrupt, match="not a database; restore it from a backup or index"):
        open_store(str(file))


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="unable to open database file; check that"):
        open_store(str(tmp_path))


def test_a_store_of_a_newer_version(file: Path) -> None:
    filled(file)
    db = sqlite3.connect(file)
    with db:
        db.execute("INSERT INTO migrations VALUES ('from the future', 0)")
    db.close()
    for mode in ("write", "read"):
        with pytest.raises(
            StoreError, match=r"newer esdedup \(migration 'from the future'\); upgr"
        ):
            open_store(str(file), mode=mode)


def test_migrations_run_once(file: Path) -> None:
    filled(file)
    filled(file)
    db = sqlite3.connect(file)
    applied = [name for (name,) in db.execute("SELECT name FROM migrations ORDER BY rowid")]
    assert applied == [name for name, _ in sqlite_schema.MIGRATIONS]
    db.close()


@pytest.fixture
def older(file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store as the first version made it."""
    with monkeypatch.context() as earlier:
        earlier.setattr(sqlite_schema, "MIGRATIONS", sqlite_schema.MIGRATIONS[:1])
        open_store(str(file)).close()
    return file


@pytest.mark.parametrize("mode", ["write", "read"])
def test_an_older_store_is_brought_up_to_date(older: Path, mode: Literal["write", "read"]) -> None:
    open_store(str(older), mode=mode).close()
    db = sqlite3.connect(older)
    assert db.execute("SELECT count(*) FROM migrations").fetchone() == (
        len(sqlite_schema.MIGRATIONS),
    )
    options = dict(db.execute("SELECT k, v FROM fulltext_config"))
    assert (options["automerge"], options["hashsize"], options["crisismerge"]) == (0, 1 << 24, 64)
    db.close()
    filled(older)
    with Deduplicator.open(str(older), mode="read") as deduplicator:
        assert deduplicator.store.maintenance.stats()["documents"] == 3
        assert deduplicator.store.maintenance.find_problems() == []


def test_keys_of_an_older_store_are_found_and_read(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sketch keys and others, which older stores held as texts."""
    before = tuple(one for one in sqlite_schema.MIGRATIONS if one[0] != "keys as numbers")
    with monkeypatch.context() as earlier:
        earlier.setattr(sqlite_schema, "MIGRATIONS", before)
        earlier.setattr("esdedup.stores.sqlite.rows.key_numbers", lambda keys: keys)
        with Deduplicator.open(str(file), Settings(methods=("sketch",))) as deduplicator:
            old = [Document(id="a", text=f"{TEXT} 0"), Document(id="b", text="River floods")]
            index(deduplicator, *old)
    db = sqlite3.connect(file)
    texts = {key for (key,) in db.execute("SELECT key FROM keys")}
    db.close()
    assert {key[0] for key in texts} == {"s", "x"}
    with Deduplicator.open(str(file)) as deduplicator:
        assert deduplicator.store.maintenance.find_problems() == []
        assert set(deduplicator.store.maintenance.over_frequent_keys(0)) <= texts
        again = [Document(id="n", text=f"{TEXT} 0"), Document(id="m", text="River floods")]
        assert {o.decision.role for o in index(deduplicator, *again)} == {"duplicate"}


@given(
    st.lists(
        st.from_regex("[a-z0-9]{1,3}:[0-9a-f]{1,14}|[a-z][A-Za-z0-9_-]{8,10}", fullmatch=True),
        max_size=8,
    )
)
def test_numbers_of_keys_do_not_depend_on_their_company(keys: list[str]) -> None:
    sketch = ["s03:93b9beca16d5", "s99:ffffffffffff", "s00:000000000000"]
    both = [*sketch, *keys]
    numbers = key_numbers(both)
    assert list(numbers) == [key_numbers([key])[0] for key in both]
    assert numbers_by_method([{"a": sketch, "b": keys}, {}, {"b": both}]) == [
        {"a": key_numbers(sketch)} | ({"b": key_numbers(keys)} if keys else {}),
        {},
        {"b": numbers},
    ]
    assert len(set(numbers)) == len(set(both))
    assert list(key_numbers(sketch)) == [0x03093B9BECA16D5, 0x0990FFFFFFFFFFFF, 0]
    assert all(-(1 << 63) <= number < 1 << 63 for number in numbers)


def test_an_older_store_that_cannot_be_written_to(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, how: how != os.W_OK)
    with pytest.raises(StoreError, match="older esdedup; open it once where it can be written to"):
        open_store(str(older), mode="read")


def test_candidates_of_many_probes_together() -> None:
    """Judged by counting: keys of all probes are walked in one order, answers are kept apart."""
    keys = [[n // 3 if i < 8 else n * i for i in range(20)] for n in range(40)]
    copies = set(range(2, 40, 3))
    stored = [
        record(f"d{n}", n, own, of=f"d{n - 1}" if n in copies else None)
        for n, own in enumerate(keys)
    ]
    for only in (True, False):
        with Deduplicator.open("sqlite://:memory:") as deduplicator:
            deduplicator.store.documents.put(stored)
            found = deduplicator.store.candidates.find(
                [probe(f"p{n}", 99, keys[n], 3, representatives_only=only) for n in range(40)]
            )
        for own, candidates in zip(keys, found, strict=True):
            shared = [sum(a == b for a, b in zip(own, other, strict=True)) for other in keys]
            assert {c.id: c.shared["sketch"] for c in candidates} == {
                f"d{n}": count
                for n, count in enumerate(shared)
                if count >= 3 and not (only and n in copies)
            }


# --- damage ---------------------------------------------------------------------------------------


def test_overwritten_pages_are_reported(file: Path) -> None:
    filled(file, 300)
    with file.open("r+b") as raw:
        for page in range(2, file.stat().st_size // 4096):
            raw.seek(page * 4096)
            raw.write(b"\xa5" * 2048)
    with pytest.raises(StoreCorrupt, match="restore it from a backup or index the articles into"):
        filled(file, 300)


def test_doctor_finds_a_damaged_page(file: Path) -> None:
    filled(file, 300)
    with file.open("r+b") as raw:
        raw.seek((file.stat().st_size // 4096 // 2) * 4096)
        raw.write(b"\xa5" * 4096)
    store = open_store(str(file), mode="read")
    try:
        problems = store.maintenance.find_problems()
    except StoreCorrupt as error:
        problems = [str(error)]
    store.close()
    assert any("damaged" in problem or "malformed" in problem for problem in problems)


# --- writing that cannot be -----------------------------------------------------------------------


def test_a_full_disk_loses_only_the_batch_in_hand(file: Path) -> None:
    filled(file)
    with Deduplicator.open(str(file)) as deduplicator:
        db = sqlite_store(deduplicator).database.db
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 2}")
        batch = [Document(id=f"n{i}", text=f"{i} {TEXT}" * 40) for i in range(50)]
        with pytest.raises(StoreUnavailable, match="full; the batch in hand was not written"):
            index(deduplicator, *batch)
        assert deduplicator.store.maintenance.stats()["documents"] == 3
        db.execute("PRAGMA max_page_count = 1000000")
        assert {o.status for o in index(deduplicator, *batch)} == {"new"}
        assert deduplicator.store.maintenance.find_problems() == []


def test_reading_mode_writes_nothing(file: Path) -> None:
    filled(file)
    with Deduplicator.open(str(file), mode="read") as deduplicator:
        with pytest.raises(StoreUnavailable, match="readonly database"):
            index(deduplicator, Document(id="x", text=TEXT))
        assert deduplicator.check(Document(id="x", text=f"{TEXT} 0")).role == "duplicate"


# --- several processes ----------------------------------------------------------------------------


def _write(path: str, name: str) -> None:
    with Deduplicator.open(path) as deduplicator:
        for i in range(8):
            index(deduplicator, Document(id=f"{name}{i}", text=f"{TEXT} {TEXT} {i}"))


def test_two_writers_take_turns(file: Path) -> None:
    filled(file, 1)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(str(file), name)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(PATIENCE)
    assert [writer.exitcode for writer in writers] == [0, 0]
    store = open_store(str(file))
    assert store.maintenance.stats()["documents"] == 17
    assert store.maintenance.find_problems() == []
    store.close()


def test_many_open_a_new_store_at_once(tmp_path: Path) -> None:
    problems: list[Exception] = []
    for trial in range(10):
        together = threading.Barrier(5)

        def make(
            file: Path = tmp_path / f"{trial}.db", start: threading.Barrier = together
        ) -> None:
            start.wait()
            try:
                open_store(str(file)).close()
            except EsdedupError as error:
                problems.append(error)

        threads = [threading.Thread(target=make) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    assert problems == []


def test_a_second_writer_waits_for_the_first(file: Path) -> None:
    first, second = open_store(str(file)), open_store(str(file))
    order: list[str] = []

    def write() -> None:
        second.documents.put([record("b", 2)])
        order.append("second")

    with first.concurrency.transaction():
        first.documents.put([record("a", 1)])
        waiting = threading.Thread(target=write)
        waiting.start()
        waiting.join(0.3)  # time for a second one that does not wait
        order.append("first")
    waiting.join(PATIENCE)
    assert order == ["first", "second"]
    assert set(first.documents.get(["a", "b"])) == {"a", "b"}
    first.close()
    second.close()


def test_a_writer_that_waits_too_long_says_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("esdedup.stores.sqlite.schema.BUSY_SECONDS", 0.05)
    first, second = open_store(str(file)), open_store(str(file))
    refusal = pytest.raises(StoreUnavailable, match="another process has been writing for")
    with first.concurrency.transaction(), refusal:
        second.documents.put([record("b", 2)])
    first.close()
    second.close()


def test_readers_see_whole_batches_while_one_writes(file: Path) -> None:
    filled(file)
    writer, reader = open_store(str(file)), open_store(str(file), mode="read")
    with writer.concurrency.transaction():
        writer.documents.put([record("x", 1, [1]), record("y", 2, [2])])
        assert reader.maintenance.stats()["documents"] == 3
        assert reader.candidates.find([probe("z", 9, [1])]) == [[]]
    assert reader.maintenance.stats()["documents"] == 5
    writer.close()
    reader.close()


def test_a_killed_writer_leaves_whole_batches(file: Path) -> None:
    filled(file)
    code = (
        "import os, sys\n"
        "from esdedup.stores import open_store\n"
        "from tests.stores.contract import record\n"
        "store = open_store(sys.argv[1])\n"
        "with store.concurrency.transaction():\n"
        "    store.documents.put([record(f'k{i}', i, [i]) for i in range(2000)])\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code, str(file)], cwd=root, check=False)
    assert run.returncode == -9
    store = open_store(str(file))
    assert store.maintenance.stats()["documents"] == 3
    assert store.maintenance.find_problems() == []
    store.close()


# --- strange documents ----------------------------------------------------------------------------


def test_a_reader_finds_words_without_their_diacritics(file: Path) -> None:
    with Deduplicator.open(str(file)) as news:
        news.add(Document(id="a", text="Erdoğan flew to Łódź, and nobody else did on that day"))
    with Deduplicator.open(str(file), mode="read") as news:
        for _ in range(2):
            (hit,) = Searcher(news.store).search("erdogan lodz").hits
            assert hit.document.id == "a"
        with pytest.raises(StoreError):
            news.store.documents.delete(["a"])


def test_null_bytes_and_half_pairs_are_stored(file: Path) -> None:
    strange = "a\0b \ud800 c"
    document = Document(
        id="nul\0id",
        title=strange,
        text=f"{TEXT} {strange}",
        url=strange,
        source=strange,
        lang="en",
        extra={strange: [strange, {"k": strange}]},
    )
    with Deduplicator.open(str(file)) as deduplicator:
        index(deduplicator, document)
        stored = deduplicator.store.documents.get(["nul\0id"])["nul\0id"].document
        assert stored == document
        assert stored.url == "a\0b � c"
        assert index(deduplicator, document)[0].status == "unchanged"
        assert Searcher(deduplicator.store).search("tollmere").total.articles == 1
        assert deduplicator.delete(["nul\0id"]) == {"nul\0id"}
        assert deduplicator.store.maintenance.find_problems() == []
        assert Searcher(deduplicator.store).search("tollmere").total.articles == 0


def test_a_failure_with_a_file_name_that_is_no_text(file: Path) -> None:
    store = open_store(str(file))
    name = os.fsdecode(b"caf\xe9.html")
    store.quarantine.add([Failure(name, name, f"{name}: broken")])
    assert [f.where for f in store.quarantine.entries()] == ["caf�.html"]
    store.close()


def test_asking_for_an_id_that_cannot_be_one(file: Path) -> None:
    with Deduplicator.open(str(file)) as deduplicator:
        with pytest.raises(StoreError, match=r"'\\ud800' holds half of a surrogate pair; no docu"):
            deduplicator.store.documents.get(["\ud800"])
        with pytest.raises(StoreError, match="no document has such an id"):
            deduplicator.delete(["\ud800"])


def test_what_json_cannot_hold_is_refused_by_name(file: Path) -> None:
    document = Document(id="a", text=TEXT, extra={"when": object()})
    with Deduplicator.open(str(file)) as deduplicator:
        with pytest.raises(DocumentError, match=r"^a: .*extra.*JSON"):
            index(deduplicator, document)
        assert deduplicator.store.maintenance.stats()["documents"] == 0


def test_every_error_is_one_of_ours() -> None:
    assert issubclass(StoreCorrupt, EsdedupError)
    with pytest.raises(EsdedupError, match="shingle_words"):
        Settings(shingle_words=0)


@pytest.mark.parametrize("name", ['a"b', "a\0b", ""])
def test_names_that_no_field_has_are_refused(name: str) -> None:
    with Deduplicator.open() as news, pytest.raises(QueryError, match="is no name of a field"):
        news.store.search.facets(Query(), [name], SearchOptions(), 10)
