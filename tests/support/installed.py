"""An empty virtual environment in which esdedup is installed as users install it."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import venv
from pathlib import Path


class Installed:
    """The dependencies come from the current environment, so that installing takes seconds."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.bin = folder / "bin"
        venv.create(folder, with_pip=True)
        self.run("python", "-m", "pip", "install", "--quiet", "--no-deps", *arguments)
        (site,) = folder.glob("lib/python*/site-packages")
        # After its own packages on the path; `.pth` files over there are not read, so that an
        # esdedup which is installed there as a link to its sources stays unseen.
        (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
        self.package = site / "esdedup"

    @property
    def environment(self) -> dict[str, str]:
        """Nothing that could lead back to the sources (PYTHONPATH)."""
        return {"PATH": f"{self.bin}:{os.environ['PATH']}", "COLUMNS": "100"}

    def run(self, program: str, *arguments: str, folder: Path | None = None) -> str:
        ran = subprocess.run(
            [self.bin / program, *arguments], cwd=folder or self.bin, env=self.environment,
            capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        assert ran.returncode == 0, f"{program} {arguments}: {ran.stdout}{ran.stderr}"
        return ran.stdout
