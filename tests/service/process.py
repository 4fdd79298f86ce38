"""The service as a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx


class Process:
    """`esdedup serve`, as somebody would start it."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        command: Sequence[str] = (sys.executable, "-m", "esdedup"),
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.port = _free_port()
        self._log = (folder / "log").open("w+")
        store = ["--store", str(folder / "news.db")]
        self.process = subprocess.Popen(
            [*command, "serve", *store, "--port", str(self.port), *options],
            stderr=self._log,
            cwd=folder,
            env=dict(environment),
        )

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log()
            try:
                httpx.get(f"http://127.0.0.1:{self.port}/readyz").raise_for_status()
            except httpx.HTTPError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError(self.log())

    def documents(self) -> int:
        stats = httpx.get(f"http://127.0.0.1:{self.port}/v1/stats").json()
        return int(stats["documents"])

    def log(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)
        self._log.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
