"""The service as a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx

from tests.support.waiting import PATIENCE, wait_until


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
        wait_until(self._is_ready, self.log)

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self.log()
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/readyz").is_success
        except httpx.HTTPError:
            return False

    def documents(self) -> int:
        stats = httpx.get(f"http://127.0.0.1:{self.port}/v1/stats", timeout=PATIENCE).json()
        return int(stats["documents"])

    def log(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        self._log.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
