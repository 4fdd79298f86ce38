"""Stores of format 1, written by release 0.1.0, work and become stores of format 2 in place.

`format1/store.sqlite` and `format1/index.json` were written by that release: the same nine articles
in an SQLite file, and as a cluster had them with their mapping.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import SettingsMismatch, StoreError
from esdedup.maintenance.upgrade import Upgrade, upgraded_settings
from esdedup.methods.key_text import translate_key
from esdedup.model import Document
from esdedup.search.searcher import Searcher
from esdedup.settings import Settings
from esdedup.settings.presets import FORMAT_1
from esdedup.stores import Store
from esdedup.stores.cluster.connection import Target, connect
from tests.support.commands import Cli

FOLDER = Path(__file__).parent / "format1"
INDEX: dict[str, Any] = json.loads((FOLDER / "index.json").read_text("utf-8"))
GROUPS = {
    "ferry": "ferry",
    "ferry-copy": "ferry",
    "ferry-cut": "ferry",
    "ferry-update": "ferry-update",
    "bridge": "bridge",
    "bridge-copy": "bridge",
    "short": "short",
    "short-copy": "short",
    "undated": "undated",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Path(shutil.copy(FOLDER / "store.sqlite", tmp_path / "news.db"))


@pytest.fixture
def old_store(store_url: str, file: Path) -> Iterator[str]:
    """The URL of a store of format 1 on every backend."""
    if store_url.startswith("sqlite"):
        yield str(file)
        return
    fill_index(store_url)
    yield store_url


def fill_index(url: str) -> None:
    """An index as release 0.1.0 left it."""
    target = Target.parse(url, {})
    with closing(connect(target)) as connection:
        connection.create_index(target.index, {"mappings": INDEX["mapping"]})
        for id_, source in INDEX["documents"].items():
            path = f"/{target.index}/_doc/{id_}"
            connection.send("PUT", path, body=source, params={"refresh": "true"})


def groups(store: Store) -> dict[str, str]:
    return {id_: r.decision.group for id_, r in store.documents.get(GROUPS).items()}


def test_a_store_of_format_1_is_read_and_written(old_store: str) -> None:
    with Deduplicator.open(old_store) as news:
        assert (news.settings.format, news.settings.methods) == (1, ("sketch",))
        assert groups(news.store) == GROUPS
        assert news.store.maintenance.find_problems() == []
        ferry = news.store.documents.get(["ferry"])["ferry"].document
        copy = replace(ferry, id="late copy", published=None)
        assert news.add(copy).group == "ferry"
        assert news.add(Document("late short", text="Fire out")).group == "short"
        update = news.store.documents.get(["ferry-update"])["ferry-update"].decision
        assert [(c.old, c.new) for c in update.changes] == [("12", "17")]
        assert Searcher(news.store).search("skerrin").total.stories == 2


def test_other_settings_are_refused_with_the_remedy(file: Path) -> None:
    with pytest.raises(SettingsMismatch, match=r"format is 1 there and 2 here.*--upgrade"):
        Deduplicator.open(str(file), Settings())


def test_an_upgrade_gives_the_groups_and_keys_of_a_new_store(old_store: str) -> None:
    with Deduplicator.open(old_store) as news:
        preview = Upgrade(news).preview()
        assert preview.total == len(GROUPS)
        assert 0 < preview.bytes_after < preview.bytes_before
        assert groups(news.store) == GROUPS, "nothing was written"
        (*_, done) = Upgrade(news).run()
        assert done.done == len(GROUPS)
    with Deduplicator.open(old_store) as news, Deduplicator.open() as fresh:
        assert (news.settings.format, news.settings.reads_format_1) == (2, False)
        assert news.settings.methods == Settings().methods
        assert groups(news.store) == GROUPS
        assert news.store.maintenance.find_problems() == []
        records = news.store.documents.get(GROUPS)
        list(fresh.add_many(r.document for r in records.values()))
        expected = fresh.store.documents.get(GROUPS)
        for id_, record in records.items():
            assert record.signature == expected[id_].signature, id_
            assert record.decision.link == expected[id_].decision.link, id_
        assert next(Upgrade(news).run()).done == 0


def test_a_stopped_upgrade_works_and_resumes(file: Path) -> None:
    with Deduplicator.open(str(file)) as news:
        store = Deduplicator(news.store)
        store.settings = news.store.settings = replace(news.settings, batch=2)
        next(islice(Upgrade(store).run(), 1, None))
    with Deduplicator.open(str(file)) as news:
        records = news.store.documents.get(GROUPS)
        formats = {record.signature.format for record in records.values()}
        assert len(formats) == 2, "mixed"
        assert news.settings.reads_format_1
        for id_ in ("ferry", "bridge"):
            copy = replace(records[id_].document, id=f"{id_} again", published=None)
            assert news.add(copy).group == id_, "found whatever its format"
        (*_, done) = Upgrade(news).run()
        assert done.total < len(GROUPS)
        assert groups(news.store) == GROUPS
        assert news.store.maintenance.find_problems() == []
    with Deduplicator.open(str(file), mode="read") as news:
        assert not news.settings.reads_format_1


def test_by_command(cli: Cli) -> None:
    store = str(shutil.copy(FOLDER / "store.sqlite", cli.folder / "old.db"))
    shown = cli("backfill", "--upgrade", "--dry-run", "--store", store)
    assert shown.exit_code == 0, shown.output
    assert "9 articles would be upgraded" in shown.output
    done = cli("backfill", "--upgrade", "--store", store, "--json")
    assert json.loads(done.output)["done"] == 9
    assert cli("doctor", "--store", store).exit_code == 0


def test_papers_keep_their_methods_and_a_store_that_decides_once_is_refused(file: Path) -> None:
    tweezer = Settings.load(
        preset="tweezer", environment={}, flags={**FORMAT_1, "methods": "entities"}
    )
    assert upgraded_settings(tweezer).methods == ("entities",)
    assert upgraded_settings(tweezer).entity_keys == 0
    with Deduplicator.open(str(file)) as news:
        news.settings = news.store.settings = replace(news.settings, attract="all")
        with pytest.raises(StoreError, match="cannot be upgraded in place"):
            list(Upgrade(news).run())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("s03:93b9beca16d5", "sDk7m-yhbV"),
        ("s00:000000000000", "sAAAAAAAAA"),
        ("s70:ffffffffffff", "sBG________"),
    ],
)
def test_sketch_keys_are_the_same_bits_in_both_formats(old: str, new: str) -> None:
    assert (translate_key(old), translate_key(new)) == (new, old)


def test_keys_of_exact_texts_become_shorter() -> None:
    assert translate_key("x:00ff00ff00ff" + "0" * 20) == "xAP8A_wD_"
    assert translate_key("b0:cdef") is None
