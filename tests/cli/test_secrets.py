"""Secrets are in no output, whatever is wrong with them or with the command."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

import pytest

from esdedup.alerts.webhook import Address, Webhook, WebhookLimits
from esdedup.errors import EsdedupError, InputError, StoreError
from esdedup.service.config import ServiceConfig
from esdedup.service.keys import read_keys
from esdedup.stores import open_store
from esdedup.stores.cluster.connection import Target
from tests.servers import Server
from tests.support.backends import new_index
from tests.support.commands import ARTICLES, Cli, ndjson, store_commands

# Whatever stands between them, neither part may be shown.
PARTS = ("xyzzy", "plugh")
NOBODY = "elasticsearch+http://127.0.0.1:9/news"
# What no header can carry, or what takes an address apart.
MARKS = ["\n", "\r\n", "\0", "\x7f", "\x85", "ş", "℀", "\udcff", " ", "\t"]
UNSENDABLE = [mark for mark in MARKS if mark not in ("ş", "℀", " ")]


Wrong = tuple[str, dict[str, str]]
# What ends in a parser, in a client, and in no connection.
WRONG: list[Wrong] = [
    (NOBODY, {"ES_API_KEY": "xyzzy\nplugh"}),
    ("opensearch+http://me:xyzzyplugh@127.0.0.1:9/news", {"ES_API_KEY": "xyzzyplugh"}),
    ("me:xyzzyplugh@127.0.0.1:9/news", {}),
]
MORE: list[Wrong] = [
    (NOBODY, {"ES_API_KEY": "xyzzyşplugh"}),
    (NOBODY, {"ES_USERNAME": "xyzzy\nplugh", "ES_PASSWORD": "xyzzy\x7fplugh"}),
    ("elasticsearch+http://me:xyzzy%0Aplugh@127.0.0.1:9/news", {}),
    ("elasticsearch+http://me:xyzzy/plugh@127.0.0.1:9/news", {}),
    ("http://me:123/xyzzyplugh@127.0.0.1", {}),
    ("http://xyzzy.plugh:123/x@127.0.0.1", {}),
    ("http://me@plugh.org:123/xyzzy@127.0.0.1:9/news", {}),
    ("elasticsearch+http://me:xyzzy℀plugh@127.0.0.1:9/news", {}),
    ("http://me:xyzzyplugh@127.0.0.1:many/news", {}),
    ("http://me:xyzzyplugh@127.0.0.1:9/Wrong Name", {}),
    ("ftp://me:xyzzyplugh@127.0.0.1:9/news", {}),
]


@pytest.mark.parametrize("command", list(store_commands()), ids="-".join)
def test_no_command_shows_them(
    cli: Cli, command: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    cli.environment["ES_OPENING_SECONDS"] = "0"
    for store, environment in (*WRONG, *(MORE if command[0] == "stats" else ())):
        with caplog.at_level(logging.DEBUG):
            result = cli(*command, store, **environment)
        # `templates show` asks no cluster, and `doctor` tells of all that it finds.
        own = {("templates", "show"): 0, ("doctor",): 1}.get(command[:-1])
        assert result.exit_code in (2, 4, own), result.output
        assert isinstance(result.exception, SystemExit | None), result.exception
        shown = "".join(traceback.format_exception(result.exception))
        _assert_hidden(result.output + result.stderr + shown + caplog.text)
        assert not [path for path in cli.folder.rglob("*") if "xyzzy" in path.name]


@pytest.mark.servers
def test_no_command_that_succeeds_shows_them(
    cli: Cli, elasticsearch_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server without security takes any credentials."""
    monkeypatch.chdir(cli.folder)  # some commands write files
    place = f"{elasticsearch_server.url.removeprefix('http://')}/{new_index()}"
    store = f"elasticsearch+http://me:xyzzyplugh@{place}"
    texts = cli.file("news.ndjson", ndjson(*ARTICLES))
    shown = ""
    for command in (
        ("doctor", "--store"),
        ("index", texts, "--store"),
        ("index", texts, "--json", "--store"),
        *(
            c
            for c in store_commands()
            if c[0] not in ("serve", "delete", "eval", "expire", "index", "sweep")
        ),
        ("show", "first", "--store"),
        ("explain", "copy", "--store"),
        ("story", "first", "--store"),
        ("doctor", "--store"),
        ("sweep", "--since", "1h", "--store"),
        ("delete", "first", "nobody", "--store"),
        ("eval", "gold", "--store"),
    ):
        result = cli(*command, store)
        assert isinstance(result.exception, SystemExit | None), (command, result.exception)
        shown += result.output + result.stderr
    assert f"read into elasticsearch+http://{place}" in shown
    assert f"articles in elasticsearch+http://{place}" in shown
    _assert_hidden(shown)


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("name", ["ES_API_KEY", "ES_USERNAME", "ES_PASSWORD"])
def test_credentials_that_cannot_be_sent_are_told_by_name(name: str, mark: str) -> None:
    is_usable = name != "ES_API_KEY" and mark not in UNSENDABLE
    environment = {"ES_USERNAME": "me", name: f"xyzzy{mark}plugh"}
    if is_usable:
        _assert_hidden(repr(Target.parse(NOBODY, environment)))
        return
    with pytest.raises(StoreError, match=f"^{name}.* cannot be sent") as told:
        Target.parse(NOBODY, environment)
    _assert_hidden("".join(traceback.format_exception(told.value)))


@pytest.mark.parametrize(
    "address",
    [
        "http://me:xyzzy/plugh@host/hook",
        "http://[xyzzy/plugh",
        "http://me:xyzzy℀plugh@host/hook",
        "http://host/xyzzy plugh",
        "http://host/hook?token=xyzzy\x01plugh",
        "http://host/hook?token=xyzzyşplugh",
        "ftp://me:xyzzyplugh@host/",
        f"http://xyzzy{'x' * 64}plugh/hook",
    ],
)
def test_addresses_that_cannot_be_asked(address: str) -> None:
    with pytest.raises(InputError, match="--notify") as told:
        Address.parse(address)
    _assert_hidden("".join(traceback.format_exception(told.value)))


def test_a_webhook_that_does_not_answer_is_told_by_its_host(tmp_path: Path) -> None:
    address = Address.parse("http://me:xyzzyplugh@127.0.0.1:9/xyzzyplugh?token=xyzzyplugh")
    _assert_hidden(repr(address))
    hook = Webhook(address, tmp_path / "left", limits=WebhookLimits(give_up=0.0))
    hook.write([{"notification": "n1"}])
    done = hook.close()
    assert "http://127.0.0.1:9 does not answer" in done.reason
    _assert_hidden(repr(done) + (tmp_path / "left").read_text())


def test_what_a_service_is_started_with_is_shown_without_them() -> None:
    _assert_hidden(repr(ServiceConfig(store="http://me:xyzzyplugh@127.0.0.1:9/news")))


@pytest.mark.parametrize("digest", ['"xyzzyplugh"', "5", "null", '"ab\\ud800"'])
def test_a_file_of_keys_with_something_else_in_it(tmp_path: Path, digest: str) -> None:
    file = tmp_path / "keys"
    entry = f'{{"name": "a", "scope": "read", "digest": {digest}, "created": "2026-01-01"}}'
    file.write_text(f'{{"keys": [{entry}]}}')
    with pytest.raises(EsdedupError, match="cannot be read as a file of keys") as told:
        read_keys(file)
    _assert_hidden("".join(traceback.format_exception(told.value, chain=False)))


def test_an_index_may_have_an_at_in_its_name() -> None:
    for place in ("127.0.0.1:9/news@2024", "[::1]:9/news@2024", "me:pw@localhost:9/news@2024"):
        assert Target.parse(f"http://{place}", {}).index == "news@2024"
    assert Target.parse("http://es.example:9/news%402024", {}).index == "news@2024"
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:9/news@2024 cannot be reached"):
        open_store("elasticsearch+http://127.0.0.1:9/news@2024")


def _assert_hidden(text: str) -> None:
    assert not [part for part in PARTS if part in text], text
