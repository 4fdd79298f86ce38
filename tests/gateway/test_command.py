"""The command itself: what it refuses, and how it ends."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from esdedup.cli import app
from tests.gateway.running import Listener
from tests.servers.starting import free_ports


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--upstream", "https://user:s3cret@host:9200"], "no credentials in the URL"),
        (["--upstream", "http://host:9200", "--listen", "nowhere"], "HOST:PORT"),
        (["--upstream", "http://host:9200", "--fold", "news=some"], "use off, group"),
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
    (port,) = free_ports(1)
    with Listener() as listener:
        command = [sys.executable, "-m", "esdedup", "gateway", "--upstream", listener.url,
                   "--listen", f"127.0.0.1:{port}"]  # fmt: skip
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert _get(port, "/x") == 200
            assert _get(port, "/_esdedup/status") == 200
        finally:
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "enriching nothing" in told
    assert "Traceback" not in told


def _get(port: int, path: str) -> int:
    deadline = time.monotonic() + 60
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        finally:
            connection.close()
