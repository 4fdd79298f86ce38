"""The command that stands in front of a cluster: gateway."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from typer import Option

from esdedup.cli.exit_codes import refuse, say
from esdedup.cli.options import (
    FieldNames,
    Preset,
    SettingsFile,
    SetValues,
    load_settings,
    parse_assignments,
)
from esdedup.errors import SettingsError

if TYPE_CHECKING:
    import ssl

    from esdedup.gateway.folding import Fold
    from esdedup.gateway.server import Options
    from esdedup.settings import Settings
    from esdedup.stores.cluster.connection import Target

# Of our own requests: a write waits for them.
_REQUEST_SECONDS = 10.0
_RETRY_SECONDS = 2.0
# A request that passes waits so long for each thread that reads a body. With Python's own 5 ms and
# four bulks of 90,000 actions being read it took 55 ms instead of 10.
_SWITCH_SECONDS = 0.001


def gateway(
    upstream: str = Option(
        ..., metavar="URL", help="The cluster: https://host:9200, or several hosts."
    ),
    index: list[str] | None = Option(
        None, metavar="PATTERN", help="Enrich writes to these: news-*; may be repeated."
    ),
    fold: list[str] | None = Option(
        None,
        metavar="[PATTERN=]MODE",
        help="Fold searches of these unless they say otherwise: group, story, canonical, off.",
    ),
    listen: str = Option("127.0.0.1:9201", metavar="HOST:PORT", help="Where to listen."),
    field: FieldNames = None,
    fail_closed: bool = Option(
        False, "--fail-closed", help="Refuse a write (503) that cannot be enriched."
    ),
    max_body: int = Option(
        100,
        metavar="MB",
        min=1,
        help="The largest body that is enriched or folded, also when unpacked.",
    ),
    max_actions: int = Option(100_000, min=1, help="The most actions of a bulk."),
    max_searches: int = Option(10_000, min=1, help="The most searches of a folded _msearch."),
    max_memory: int = Option(
        1_000,
        metavar="MB",
        min=1,
        help="Memory limit for all bodies in progress, unpacked and parsed.",
    ),
    credential_header: list[str] | None = Option(
        None,
        metavar="NAME",
        help="Another header by which a proxy names the user; may be repeated.",
    ),
    workers: int = Option(1, min=1, help="Processes that sign; 1 is this one."),
    certificate: Path | None = Option(
        None, metavar="FILE", help="Speak TLS, with this certificate."
    ),
    key: Path | None = Option(None, metavar="FILE", help="Its key, if not in the same file."),
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    verbose: bool = Option(
        False, "--verbose", help="Log the kind and time of every request, without content."
    ),
) -> None:
    """Speak the Elasticsearch/OpenSearch API in front of a cluster: detect, link and fold.

    Writes to --index are enriched, searches folded on demand; all else passes through, with the
    caller's own credentials. Runs until SIGTERM or Ctrl-C, and finishes what it has in hand.
    """
    import asyncio
    import logging
    import sys

    try:
        from esdedup.gateway.server import Options
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"the gateway needs {error.name}, which is not installed: pip install httptools"
        ) from error
    from esdedup.ingest.sign import check_settings
    from esdedup.ingest.workers import collect_less_often
    from esdedup.service.config import is_loopback

    host, port = _parse_address(listen)
    tls = _make_tls_context(certificate, key)
    patterns = tuple(index or ())
    chosen: Settings | None = None  # each index keeps the settings recorded in it
    if preset or settings or set_:
        chosen = load_settings(None, preset, settings, set_)
        check_settings(chosen)
    options = Options(
        target=_parse_upstream(upstream),
        indices=patterns,
        folds=_parse_folds(fold, patterns),
        fields=parse_assignments(field, "--field"),
        settings=chosen,
        fail_closed=fail_closed,
        max_body=max_body << 20,
        max_actions=max_actions,
        max_searches=max_searches,
        max_memory=max_memory << 20,
        workers=workers,
        credential_headers=tuple(credential_header or ()),
    )
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    for name in ("urllib3", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
    if tls is None and not is_loopback(host):
        say("listening beyond this machine without TLS: credentials pass in the clear")
    collect_less_often()
    sys.setswitchinterval(_SWITCH_SECONDS)
    loops: ModuleType = asyncio
    if find_spec("uvloop") is not None:  # the same in less time
        loops = import_module("uvloop")
    with asyncio.Runner(loop_factory=loops.new_event_loop) as runner:
        runner.run(_serve(options, host, port, tls))


async def _serve(options: Options, host: str, port: int, tls: ssl.SSLContext | None) -> None:
    import asyncio
    import signal

    from esdedup.gateway.server import Gateway

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for kind in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(kind, stopped.set)
    served = Gateway(options)
    await served.check_version()
    try:
        bound = await served.start(host, port, tls)
    except OSError as error:
        raise refuse("--listen", f"{host}:{port}: {error.strerror}") from error
    what = ", ".join(options.indices) or "nothing"
    say(f"gateway on {host}:{bound} to {','.join(options.target.hosts)}; enriching {what}")
    await stopped.wait()
    say("stopping: finishing requests, then reconciling what they wrote")
    await served.close()


def _parse_upstream(url: str) -> Target:
    from dataclasses import replace

    from esdedup.stores.cluster.connection import Target

    if "@" in url.partition("://")[2].partition("/")[0]:
        raise refuse(
            "--upstream", "no credentials in the URL: every request passes with those of its caller"
        )
    target = Target.parse(url)
    return replace(
        target,
        username=None,
        password=None,
        api_key=None,
        request_seconds=_REQUEST_SECONDS,
        retry_seconds=_RETRY_SECONDS,
    )


def _parse_folds(given: list[str] | None, patterns: tuple[str, ...]) -> dict[str, Fold]:
    """By pattern, the first that covers a search counts: a mode for all of --index comes last."""
    from esdedup.gateway.folding import fold_named

    named: dict[str, Fold] = {}
    others: dict[str, Fold] = {}
    for entry in given or []:
        pattern, equals, mode = entry.rpartition("=")
        if equals:
            named[pattern] = fold_named(mode)
        elif patterns:
            others = dict.fromkeys(patterns, fold_named(mode))
        else:
            raise refuse("--fold", f"{mode!r} for which indices? Say PATTERN={mode}, or --index")
    return {**named, **{name: fold for name, fold in others.items() if name not in named}}


def _parse_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65_535:
        raise refuse("--listen", f"{text!r} is not of the form HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def _make_tls_context(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if certificate is None:
        if key is not None:
            raise refuse("--key", "needs --certificate")
        return None
    import ssl

    _check_pem(certificate, "CERTIFICATE", "--certificate")
    _check_pem(key or certificate, "PRIVATE KEY", "--key")

    def refuse_password() -> str:
        """OpenSSL would ask for it at the terminal, which a daemon does not have."""
        raise refuse("--key", f"{key or certificate} has a password")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, refuse_password)
    except ssl.SSLError as error:
        if error.reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
            raise refuse(
                "--key", f"{key or certificate} is not the key of {certificate}"
            ) from error
        raise refuse("--certificate", f"{certificate}: {error}") from error
    return context


def _check_pem(file: Path, kind: str, option: str) -> None:
    """OpenSSL says neither which file is at fault nor what it lacks."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise refuse(option, f"{file}: {error.strerror}") from error
    if f"{kind}-----".encode() not in text:
        raise refuse(option, f"there is no {kind.lower()} in {file} (PEM)")
