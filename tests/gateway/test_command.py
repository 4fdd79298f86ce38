"""The command itself: what it refuses, and how it ends."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from esdedup.cli import app
from tests.gateway.running import Listener, commanded


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--upstream", "https://user:s3cret@host:9200"], "no credentials in the URL"),
        (["--upstream", "http://host:9200", "--listen", "nowhere"], "HOST:PORT"),
        (["--upstream", "http://host:9200", "--fold", "news=some"], "use off, group"),
        (["--upstream", "http://host:9200", "--fold", "story"], "Say PATTERN=story, or --index"),
        (["--upstream", "ftp://host:9200"], "unknown store"),
        (["--upstream", "http://host:9200", "--certificate", "/no/such"], "/no/such"),
    ],
)
def test_what_it_refuses(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["gateway", *arguments], prog_name="esdedup")
    assert done.exit_code not in (0, None)
    assert said in " ".join(done.output.split())
    assert "s3cret" not in done.output


def test_it_serves_until_it_is_told_to_stop() -> None:
    with Listener() as listener, commanded("--upstream", listener.url) as gateway:
        assert gateway.http("GET", "/x").status == 200
        assert gateway.http("GET", "/_esdedup/status").status == 200
    assert gateway.process.returncode == 0
    assert "enriching nothing" in gateway.told
    assert "Traceback" not in gateway.told
