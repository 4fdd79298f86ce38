"""TLS towards the callers: real programs through the command, and files that are no use."""

from __future__ import annotations

import json
import random
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from typer.testing import CliRunner

from esdedup.cli import app
from esdedup.cli.exit_codes import ExitCode
from tests.gateway.articles import expected_groups, random_article, stored_groups
from tests.gateway.running import Commanded, Listener, commanded, running
from tests.gateway.test_clients import official_client
from tests.servers import Server


@dataclass(frozen=True)
class Files:
    """A certificate for this machine, its key, both in one file, and who vouches for it."""

    folder: Path

    @property
    def certificate(self) -> Path:
        return self.folder / "gateway.pem"

    @property
    def key(self) -> Path:
        return self.folder / "gateway.key"

    @property
    def both(self) -> Path:
        return self.folder / "both.pem"

    @property
    def authority(self) -> Path:
        return self.folder / "ca.pem"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    made = Files(tmp_path_factory.mktemp("tls"))
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(made.authority)
    made.certificate.write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(made.key)
    issued.private_key_and_cert_chain_pem.write_to_path(made.both)
    return made


# --- real programs --------------------------------------------------------------------------------


@pytest.fixture
def secure(server: Server, index: str, files: Files) -> Iterator[Commanded]:
    assert server.http("PUT", f"/{index}", {"settings": {"number_of_replicas": 0}}).status == 200
    tls = "--certificate", str(files.certificate), "--key", str(files.key)
    upstream = "--upstream", server.url, "--index", index
    with commanded(*upstream, *tls, authority=files.authority) as gateway:
        yield gateway
    assert gateway.process.returncode == 0
    assert "Traceback" not in gateway.told


@pytest.mark.servers
def test_official_client(secure: Commanded, server: Server, index: str, files: Files) -> None:
    client, helpers = official_client(server, secure.url, ca_certs=str(files.authority))
    articles = {f"a{n}": random_article(n, of=n % 7 if n > 6 else None) for n in range(70)}
    actions = [{"_index": index, "_id": id_, "_source": s} for id_, s in articles.items()]
    assert helpers.bulk(client, actions[:40], chunk_size=15) == (40, [])
    assert all(ok for ok, _ in helpers.parallel_bulk(client, actions[40:], chunk_size=5))
    client.indices.refresh(index=index)
    found = {h["_id"]: h["_source"]["text"] for h in helpers.scan(client, index=index, size=13)}
    assert found == {id_: source["text"] for id_, source in articles.items()}
    assert client.get(index=index, id="a1")["_source"]["title"] == "title 1"
    assert client.count(index=index)["count"] == 70
    client.close()
    secure.settled()
    assert stored_groups(server, index) == expected_groups(articles)
    folded = secure.http("GET", f"/{index}/_count?esdedup_fold=group").json()
    assert folded["count"] == len(set(expected_groups(articles).values()))


@pytest.mark.servers
def test_curl(secure: Commanded, server: Server, index: str, files: Files) -> None:
    def curl(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = ["curl", "-sS", "--fail-with-body", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=300)

    trusted = "--cacert", str(files.authority)
    lines = ""
    for number in range(300):  # above 1 MB, where curl asks before it sends
        lines += json.dumps({"index": {"_id": str(number)}}) + "\n"
        lines += json.dumps({**random_article(number, of=number % 40), "page": "p" * 4_000}) + "\n"
    assert len(lines) > 1 << 20
    kind = "Content-Type: application/x-ndjson"
    written = curl(*trusted, "-H", kind, "--data-binary", "@-",
                   f"{secure.url}/{index}/_bulk?refresh=true", stdin=lines.encode())  # fmt: skip
    assert written.returncode == 0, written.stderr
    assert not json.loads(written.stdout)["errors"]
    secure.settled()
    several = curl(*trusted, "--compressed", f"{secure.url}/{index}/_search?size=300",
                   f"{secure.url}/{index}/_doc/7")  # fmt: skip
    assert several.returncode == 0, several.stderr
    straight = (server.http("GET", f"/{index}/{what}") for what in ("_search?size=300", "_doc/7"))
    ours = [_without_took(value) for value in _values(several.stdout.decode())]
    assert ours == [_without_took(answer.json()) for answer in straight]
    unknown = curl(f"{secure.url}/{index}")
    assert unknown.returncode == 60, "an authority that curl does not know"
    older = curl(*trusted, "--tls-max", "1.1", f"{secure.url}/{index}")
    assert older.returncode in (4, 35), "nothing older than TLS 1.2 is spoken"
    plain = curl(f"http://127.0.0.1:{secure.port}/{index}")
    assert plain.returncode != 0
    assert plain.stdout == b""
    assert curl(*trusted, "-I", f"{secure.url}/{index}").stdout.startswith(b"HTTP/1.1 200 ")


def _values(text: str) -> Iterator[Any]:
    """JSON values, one behind another."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value


def _without_took(answer: Any) -> Any:
    return {name: value for name, value in answer.items() if name != "took"}


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was sent."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *values: object) -> None: ...


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_large_bodies_on_one_connection(loop: str, files: Files) -> None:
    """On both event loops, whose TLS is not the same program."""
    loops = pytest.importorskip(loop)
    options: dict[str, Any] = {"certificate": files.both, "authority": files.authority}
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as cluster:
        threading.Thread(target=cluster.serve_forever, daemon=True).start()
        url = f"elasticsearch+http://127.0.0.1:{cluster.server_port}"
        with running(url, new_loop=loops.new_event_loop, **options) as gateway:
            connection = gateway.connection()
            for size in (0, 1, 3 << 20, 20_000):
                body = random.Random(size).randbytes(size)
                connection.request("POST", "/other/x", body=body)
                assert connection.getresponse().read() == body
            connection.close()
        cluster.shutdown()


# --- files ----------------------------------------------------------------------------------------


def test_one_file_holds_certificate_and_key(files: Files) -> None:
    with (
        Listener() as listener,
        commanded("--upstream", listener.url, "--certificate", str(files.both),
                  authority=files.authority) as gateway,
    ):  # fmt: skip
        assert gateway.http("GET", "/x").status == 200
    assert gateway.process.returncode == 0


def refused(*arguments: str) -> str:
    """What the command says, on one line."""
    command = ["gateway", "--upstream", "http://host:9200", *arguments]
    done = CliRunner().invoke(app, command, prog_name="esdedup", env={"COLUMNS": "400"})
    assert done.exit_code == ExitCode.USAGE, done.output
    assert "Traceback" not in done.output
    return " ".join(done.output.replace("│", " ").split())


def test_files_that_are_no_use(files: Files, tmp_path: Path) -> None:
    certificate = "--certificate", str(files.certificate)
    missing = tmp_path / "missing.key"
    said = refused(*certificate, "--key", str(missing))
    assert f"--key: {missing}: No such file" in said
    said = refused("--certificate", str(missing))
    assert f"--certificate: {missing}: No such file" in said
    said = refused(*certificate, "--key", str(tmp_path))
    assert f"--key: {tmp_path}: Is a directory" in said
    assert f"there is no private key in {files.certificate}" in refused(*certificate)
    other = trustme.CA().issue_cert("localhost").private_key_pem
    other.write_to_path(tmp_path / "other.key")
    said = refused(*certificate, "--key", str(tmp_path / "other.key"))
    assert f"{tmp_path / 'other.key'} is not the key of {files.certificate}" in said
    (tmp_path / "noise").write_text("no key at all")
    said = refused(*certificate, "--key", str(tmp_path / "noise"))
    assert f"there is no private key in {tmp_path / 'noise'}" in said
    said = refused("--certificate", str(tmp_path / "noise"), "--key", str(files.key))
    assert f"there is no certificate in {tmp_path / 'noise'}" in said


def test_a_key_with_a_password_asks_nobody(files: Files, tmp_path: Path) -> None:
    """A daemon has nobody to ask; OpenSSL would wait at the terminal."""
    key = serialization.load_pem_private_key(files.key.read_bytes(), None)
    locked = tmp_path / "locked.key"
    locked.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"s3cret"),
        )
    )
    said = refused("--certificate", str(files.certificate), "--key", str(locked))
    assert f"{locked} has a password" in said


def test_a_key_alone_is_no_tls(files: Files) -> None:
    """It would have listened in the clear, without a word."""
    assert "--key: needs --certificate" in refused("--key", str(files.key))
