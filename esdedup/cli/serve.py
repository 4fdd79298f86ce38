"""Commands of the service: serve, keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from esdedup.cli.daemons import parse_date_option
from esdedup.cli.exit_codes import say
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    Preset,
    SettingsFile,
    SetValues,
    StoreUrl,
    check_store_exists,
    load_settings,
)
from esdedup.cli.output import console, print_json, table
from esdedup.errors import SettingsError

KeysFile = Annotated[
    Path,
    typer.Option("--keys", envvar="ESDEDUP_KEYS", metavar="FILE", help="The file of API keys."),
]
_KEYS = Path("esdedup-keys.json")


def serve(
    store: StoreUrl = DEFAULT_STORE,
    host: str = Option("127.0.0.1", help="Address to listen at."),
    port: int = Option(8765, min=0, max=65535, help="0: any free one."),
    keys: Path | None = Option(
        None,
        envvar="ESDEDUP_KEYS",
        metavar="FILE",
        help="File of API keys (`esdedup keys add`); required unless the host is local.",
    ),
    read_only: bool = Option(False, "--read-only", help="Refuse all writes."),
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    body_megabytes: int = Option(16, min=1, help="Larger bodies, or lines, are refused."),
    body_seconds: float = Option(30.0, min=0.1, help="Slower bodies are refused."),
    queue: int = Option(64, min=1, help="Writes under way at once; more get 429."),
    readers: int = Option(4, min=1, help="Concurrent reads."),
    workers: int = Option(2, min=1, help="Worker processes for HTML pages."),
    grace: float = Option(60.0, min=1, help="Seconds to finish in after SIGTERM."),
    log_level: Literal["debug", "info", "warning", "error"] = Option("info"),
) -> None:
    """Serve the store over HTTP, with a web page.

    SIGTERM and Ctrl-C finish the batch in hand. Logs are JSON lines on standard error.
    """
    from esdedup.ingest.sign import check_settings
    from esdedup.service.config import ServiceConfig, is_loopback
    from esdedup.service.keys import read_keys
    from esdedup.service.logs import configure

    try:
        from esdedup.service.app import make_app
        from esdedup.service.server import listen, run
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"the service needs {error.name}, which is not installed: pip install fastapi uvicorn"
        ) from error
    if keys is None and not is_loopback(host):
        raise SettingsError(
            f"others could reach {host}: name a file of keys (--keys, made by `esdedup keys add`), "
            "or listen at 127.0.0.1"
        )
    if keys is not None and not read_keys(keys):
        raise SettingsError(f"{keys} has no keys; make one: esdedup keys add NAME --keys {keys}")
    if read_only:
        check_store_exists(store)
    chosen = load_settings(store, preset, settings, set_)
    check_settings(chosen)
    config = ServiceConfig(
        store=store,
        settings=chosen,
        keys_file=keys,
        read_only=read_only,
        body_bytes=body_megabytes * 1_000_000,
        body_seconds=body_seconds,
        queue=queue,
        readers=readers,
        workers=workers,
    )
    app, listener = make_app(config), listen(host, port)
    configure(log_level)
    run(app, listener, grace=grace)


def add(
    name: str = Argument(..., help="Whose it is: crawler, portal, grafana."),
    scope: Literal["read", "write", "admin"] = Option("read"),
    expires: str | None = Option(None, metavar="DATE", help="Not valid from then on."),
    keys: KeysFile = _KEYS,
) -> None:
    """Create a key; it is printed once and stored as a digest."""
    from esdedup.service.keys import add_key

    print(add_key(keys, name, scope, parse_date_option(expires, "--expires")))
    say(f"{name} may {scope}; this is the only time the key is shown")


def list_(keys: KeysFile = _KEYS, json_: AsJson = False) -> None:
    """List the keys, without their secrets."""
    from esdedup.service.keys import read_keys

    found = list(read_keys(keys).values())
    if json_:
        print_json(found)
        return
    rows = table("name", "scope", "created", "expires")
    for key in found:
        rows.add_row(key.name, key.scope, key.created, key.expires or "never")
    console().print(rows)


def revoke(
    name: str = Argument(..., help="As `esdedup keys list` shows it."),
    keys: KeysFile = _KEYS,
) -> None:
    """Revoke a key; a running service notices."""
    from esdedup.service.keys import revoke_key

    revoke_key(keys, name)
    say(f"{name} is revoked")


keys_app = typer.Typer(no_args_is_help=True, help="API keys of the service.", rich_markup_mode=None)
keys_app.command()(add)
keys_app.command("list")(list_)
keys_app.command()(revoke)
