"""What is released: the wheel has all that it needs, and works from any folder."""

from __future__ import annotations

import email
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import esdedup
from tests.service.process import Process
from tests.support.installed import Installed
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was made from what the sdist holds."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(released: Path) -> Path:
    (found,) = released.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"), str(wheel))


def _files(folder: str) -> Iterator[str]:
    for path in (ROOT / folder).rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(ROOT).as_posix()


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    wanted = {*_files("esdedup"), *(f"esdedup/{name}" for name in _files("mappings"))}
    about = f"esdedup-{esdedup.__version__}.dist-info/"
    assert {name for name in names if not name.startswith(about)} == wanted
    assert wanted >= {
        "esdedup/py.typed",
        "esdedup/mappings/component-template.json",
        "esdedup/data/gazetteers/world.txt.gz",
        "esdedup/data/stop_words.txt",
        "esdedup/sample/expected.csv",
        "esdedup/service/page/index.html",
    }
    assert {about + f"licenses/{name}" for name in ("LICENSE", "NOTICE")} <= set(names)


def test_the_wheel_says_what_the_project_says(wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    with zipfile.ZipFile(wheel) as archive:
        about = f"esdedup-{esdedup.__version__}.dist-info"
        metadata = email.message_from_bytes(archive.read(f"{about}/METADATA"))
        entries = archive.read(f"{about}/entry_points.txt").decode()
    assert metadata["Version"] == esdedup.__version__
    assert metadata["Requires-Python"] == project["requires-python"] == ">=3.11"
    assert set(metadata.get_all("Provides-Extra", [])) == set(project["optional-dependencies"])
    assert "esdedup = esdedup.cli:main" in entries


def test_the_sdist_has_what_tests_and_documentation_need(released: Path) -> None:
    (file,) = released.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = ("esdedup", "mappings", "tests", "docs", "docker", "requirements")
    assert names >= {name for folder in folders for name in _files(folder)}
    assert names >= {"pyproject.toml", "Makefile", "README.md", "LICENSE", "NOTICE", "CHANGELOG.md"}


def test_the_commands_work_from_any_folder(installed: Installed, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        return installed.run("esdedup", *arguments, folder=tmp_path)

    where = "import esdedup; print(esdedup.__file__)"
    file = installed.run("python", "-c", where, folder=tmp_path).strip()
    assert file == str(installed.package / "__init__.py")
    assert run("--version") == f"esdedup {esdedup.__version__}\n"
    demo = run("demo")
    assert "73 pages" in demo
    assert f"esdedup index {installed.package}/sample/pages" in demo.replace("\n", "")
    shutil.copytree(installed.package / "sample/pages/meridian-news", tmp_path / "pages")
    run("index", "pages", "--store", "news.db")
    assert "ferry" in run("search", "ferry", "--store", "news.db").lower()
    assert run("words", "--help")


def test_make_demo_sets_up_a_new_environment_without_a_warning(tmp_path: Path) -> None:
    """Everything that a first visitor sees: the set-up, then the demo. Needs a package registry."""
    own = ("PYTHON", "MAKE", "VIRTUAL_ENV")  # of the run of these tests
    environment = {name: v for name, v in os.environ.items() if not name.startswith(own)}
    ran = subprocess.run(
        ["make", "demo", f"VENV={tmp_path / 'venv'}", f"PYTHON={sys.executable}"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    set_up, _, demo = ran.stdout.partition("esdedup demo\n")
    assert "warning" not in set_up.lower()
    assert "73 pages" in demo


def test_the_service_and_its_page_work_from_any_folder(
    installed: Installed, tmp_path: Path
) -> None:
    service = Process(
        tmp_path, command=[str(installed.bin / "esdedup")], environment=installed.environment
    )
    try:
        service.wait_until_ready()
        address = f"http://127.0.0.1:{service.port}"
        assert httpx.get(f"{address}/healthz").status_code == 200
        page = httpx.get(address, follow_redirects=True)
        assert "<script" in page.text
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(PATIENCE) == 0, service.log()
    finally:
        service.close()
