"""The files in docker/, as far as they can be checked without an engine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from esdedup.cli import app

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docker"
COMPOSE = sorted(FOLDER.glob("compose.*.yml"))
# What the compose specification knows, as far as these files use it.
SERVICE_KEYS = {
    "image", "build", "command", "depends_on", "entrypoint", "environment", "healthcheck",
    "networks", "ports", "restart", "ulimits", "user", "volumes",
}  # fmt: skip
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}
HEALTH_KEYS = {"test", "interval", "timeout", "start_period", "retries"}
DURATION = re.compile(r"(\d+(us|ms|s|m|h))+")


def load(path: Path) -> dict[str, Any]:
    loaded = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def services(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from load(path)["services"].items()


def instructions(path: Path) -> list[tuple[str, str]]:
    """The Dockerfile's instructions, continued lines joined."""
    text = re.sub(r"^#.*\n", "", path.read_text("utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line.strip()]


def first_stage(path: Path) -> list[tuple[str, str]]:
    found = instructions(path)
    (second,) = [n for n, (verb, _) in enumerate(found) if verb == "FROM" and n]
    return found[:second]


def test_there_is_one_for_each_product() -> None:
    assert [path.name for path in COMPOSE] == [
        "compose.elasticsearch.yml",
        "compose.opensearch.yml",
    ]


@pytest.mark.parametrize("path", COMPOSE, ids=lambda p: p.name)
class TestCompose:
    def test_structure(self, path: Path) -> None:
        file = load(path)
        assert set(file) <= {"name", "services", "volumes", "networks"}
        for name, service in services(path):
            assert set(service) <= SERVICE_KEYS, name
            assert ("image" in service) != ("build" in service), name
            for other, how in service.get("depends_on", {}).items():
                assert other in file["services"]
                assert how["condition"] in CONDITIONS
            for value in service["environment"].values() if "environment" in service else ():
                assert isinstance(value, str), f"{name}: quote {value!r}"

    def test_versions_are_pinned(self, path: Path) -> None:
        images = [s["image"] for _, s in services(path) if "image" in s]
        assert images
        assert all(re.search(r":\d+\.\d+\.\d+$", image) for image in images)

    def test_volumes_are_named_or_there(self, path: Path) -> None:
        file = load(path)
        for name, service in services(path):
            for volume in service.get("volumes", ()):
                source, target, *mode = volume.split(":")
                assert target.startswith("/")
                assert mode in ([], ["ro"])
                known = source in file["volumes"] or (FOLDER / source).exists()
                assert known, f"{name}: {source}"

    def test_mounted_files_exist(self, path: Path) -> None:
        used = re.findall(r"@(/mappings/[\w./-]+)", path.read_text("utf-8"))
        assert used
        assert all((ROOT / name.lstrip("/")).is_file() for name in used)

    def test_health(self, path: Path) -> None:
        """What others wait for to be healthy has a check."""
        file = load(path)["services"]
        waited = {
            other
            for service in file.values()
            for other, how in service.get("depends_on", {}).items()
            if how["condition"] == "service_healthy"
        }
        assert waited
        for name in waited:
            check = file[name]["healthcheck"]
            assert set(check) == HEALTH_KEYS
            assert check["test"][0] in ("CMD", "CMD-SHELL")
            assert all(
                DURATION.fullmatch(check[k]) for k in ("interval", "timeout", "start_period")
            )

    def test_esdedup_waits_for_a_healthy_cluster(self, path: Path) -> None:
        waits = load(path)["services"]["esdedup"]["depends_on"]
        assert "service_healthy" in {how["condition"] for how in waits.values()}

    def test_security_is_on(self, path: Path) -> None:
        text = path.read_text("utf-8")
        assert "https://" in text
        assert "http://" not in text
        assert "ES_CA_CERTS" in text
        assert not re.search(r"(DISABLE_SECURITY_PLUGIN|security\.enabled: .?false)", text)
        # No password in the file; each comes from docker/.env and must be there.
        for name in re.findall(r"\$\{(\w+)", text):
            assert f"${{{name}:?" in text or f"$${{{name}}}" in text
        wanted = set(re.findall(r"(?<!\$)\$\{(\w+)", text))
        assert wanted == {"ADMIN_PASSWORD", "ESDEDUP_PASSWORD"}
        example = (FOLDER / ".env.example").read_text("utf-8")
        assert all(re.search(rf"^{name}=$", example, re.MULTILINE) for name in wanted)

    def test_commands_exist(self, path: Path) -> None:
        ours = [s["command"] for _, s in services(path) if "build" in s]
        assert ours
        for command in ours:
            assert_command(command)

    def test_builds_from_the_dockerfile(self, path: Path) -> None:
        for _, service in services(path):
            if "build" in service:
                context = FOLDER / service["build"]["context"]
                assert (context / service["build"]["dockerfile"]).is_file()


def assert_command(words: list[str]) -> None:
    """The command and every option of it exist: the help of it names them."""
    verbs = [word for word in words if not word.startswith("-")]
    depth = 2 if verbs[0] == "templates" else 1
    result = CliRunner().invoke(app, [*words[:depth], "--help"])
    assert result.exit_code == 0, f"{words}: {result.output}"
    assert all(word in result.stdout for word in words if word.startswith("--"))


class TestDockerfile:
    def test_copies_what_is_there(self) -> None:
        ignored = (ROOT / ".dockerignore").read_text("utf-8")
        for verb, rest in instructions(FOLDER / "Dockerfile"):
            if verb == "COPY" and "--from" not in rest:
                *sources, _ = rest.split()
                for source in sources:
                    assert (ROOT / source).exists(), source
                    assert f"!{source}" in ignored, source

    def test_runs_as_nobody_special_and_has_a_health_check(self) -> None:
        found = dict(instructions(FOLDER / "Dockerfile"))
        assert found["USER"] == "esdedup"
        assert found["ENTRYPOINT"] == '["esdedup"]'
        command = yaml.safe_load(found["HEALTHCHECK"].split("CMD", 1)[1])
        assert command[0] == "esdedup"
        assert_command(command[1:])

    def test_its_install_steps_work(self, tmp_path: Path) -> None:
        """Those of the first stage, one after the other, with what it copies and nothing else."""
        stage, source, target = (tmp_path / name for name in ("stage", "source", "esdedup"))
        venv.create(stage, with_pip=True)
        environment = {**os.environ, "PATH": f"{stage}/bin:{os.environ['PATH']}"}
        source.mkdir()
        for verb, rest in first_stage(FOLDER / "Dockerfile"):
            if verb == "COPY":
                *names, _ = rest.split()
                for name in names:
                    copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                    copy(ROOT / name, source / name)
            if verb == "RUN":
                command = rest.replace("/opt/esdedup", str(target))
                ran = subprocess.run(
                    command, shell=True, cwd=source, env={**environment, "UV_SYSTEM_CERTS": "1"},
                    capture_output=True, text=True, check=False, timeout=600,
                )  # fmt: skip
                assert ran.returncode == 0, ran.stdout + ran.stderr
                assert "warning" not in ran.stderr.lower()
        shown = subprocess.run(
            [target / "bin" / "esdedup", "settings", "--json"],
            capture_output=True, text=True, check=True, cwd=tmp_path, env={"PATH": "/usr/bin"},
        )  # fmt: skip
        assert '"name": "min_overlap"' in shown.stdout

    def test_installs_what_is_pinned(self) -> None:
        runs = " ".join(rest for verb, rest in first_stage(FOLDER / "Dockerfile") if verb == "RUN")
        assert "-r requirements/run.txt" in runs
        installs = [step for step in runs.split("&&") if "pip install" in step]
        assert all("--no-deps" in step for step in installs if "uv pip" in step)


def test_steps_in_the_documentation_name_files_that_exist() -> None:
    page = (ROOT / "docs" / "how-to" / "docker.md").read_text("utf-8")
    for name in re.findall(r"docker/[\w.]+", page):
        assert (ROOT / name).exists() or name == "docker/.env", name
