"""A service as people start it, on the shipped sample, and a browser to look at it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Failure
from esdedup.sample import pages
from tests.support.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NO_BROWSER = "no Chromium was found: apt-get install chromium, or name one in ESDEDUP_CHROMIUM"
# The sample is small: fewer stories make an event than in a stream of thousands a day.
EVENTS = ("event_items=5", "event_sources=2", "event_time=published")

FERRY = "https://wire.meridian-news.example/item/20260303-ferry-fire-off-eastshire"
FERRY_COPY = "https://haverford-ledger.example/2026/03/ferry-fire-ledger/"
FERRY_UPDATE = "https://wire.meridian-news.example/item/20260303-ferry-fire-toll-17"
# Of `crane_articles`; an event has its name from the first article at its core.
CRANE_EVENT = "ev-5e0f3c1c5ea2"
REVISED = "crane-2"
LATE = "late-ferry"

_CRANE = "The Lindmouth harbour crane collapsed onto the container quay at dawn."
_CRANE_STORIES = (
    "Harbour engineers blamed a cracked bolt in the crane and closed the Lindmouth quay to ships.",
    "Dock workers near the container quay told how the crane fell; unions in Lindmouth want talks.",
    "Insurers put the damage to the crane and the quay of Lindmouth harbour at nine million.",
    "Two container ships turned away from Lindmouth harbour wait at sea until the crane is gone.",
    "The maker of the harbour crane sent its own inspectors to the Lindmouth container quay.",
    "Lindmouth council meets tonight about the crane, the quay and the future of the harbour.",
    "Lorries queue for miles since the crane on the container quay of Lindmouth harbour fell.",
    "A crane like that of Lindmouth stands on four other container quays, the harbour board says.",
    "Divers search the harbour basin below the fallen crane on the Lindmouth container quay.",
    "Prices for container freight rose after the crane closed the main quay of Lindmouth harbour.",
)
_FILLER = (
    "Witnesses gathered behind tape while rain came down over empty warehouses nearby.",
    "A hearing was promised for later this month, though nobody could name a date for it.",
    "Shops along the promenade opened late, and schools told parents to use another road.",
    "Experts warned against quick answers, recalling how long earlier inquiries had taken.",
    "Families brought soup and blankets, and a church on the hill kept its doors open.",
    "The minister will visit on Friday, a spokeswoman said, without giving any details.",
    "Archives show that repairs were put off twice when money for them ran out in spring.",
    "Neighbouring ports offered berths, tugs and pilots for as long as they are needed.",
    "Television crews arrived by helicopter, to the anger of farmers in surrounding fields.",
    "Analysts expect the effect on trade to fade within weeks if the weather stays calm.",
)
HOSTILE = (
    "<img src=x onerror=\"window.hacked='title'\"><script>window.hacked='script'</script>",
    "javascript:window.hacked='link'",
    "\"><svg onload=\"window.hacked='svg'\"> &lt;b&gt; ' onclick='window.hacked=1",
)


def crane_articles() -> list[dict[str, Any]]:
    """Ten stories about one thing within three hours: an event."""
    return [
        {
            "id": f"crane-{n}",
            "title": " ".join(text.rstrip(".").split()[:9]),
            "text": f"{text} {_CRANE} {_FILLER[n]} {_FILLER[(3 * n + 4) % 10]}",
            "source": ("Harbour Wire", "Coastline24", "Lindmouth Echo", "Meridian News")[n % 4],
            "published": f"2026-03-09T{6 + n // 4:02d}:{(n * 13) % 60:02d}:00Z",
            "lang": "en",
        }
        for n, text in enumerate(_CRANE_STORIES)
    ]


def hostile_articles() -> list[dict[str, Any]]:
    """A story of three, in which every field that a page shows tries to run something."""
    body = (
        "The hostile archive of Markup Bay keeps {n} sheets with strange angle brackets on them. "
        "<script>window.hacked='text'</script> Visitors are asked not to run what they read "
        "<img src=x onerror=window.hacked='body'>. The keeper said that every bracket is only ink, "
        "and that ink is all anybody will ever see on the walls of the reading room there."
    )
    return [
        {
            "id": f"hostile-{n}<script>window.hacked='id'</script>",
            "title": title,
            "text": body.format(n=(12, 12, 17)[n]),
            "url": "javascript:window.hacked='url'",
            "source": "<b onmouseover=window.hacked='source'>Ink",
            "lang": '"><script>',
            "published": f"2026-03-10T0{n + 6}:00:00Z",
        }
        for n, title in enumerate(HOSTILE)
    ]


def earlier_versions() -> list[dict[str, Any]]:
    """Of two of these articles, which are written again later."""
    crane, hostile = crane_articles()[2], hostile_articles()[0]
    first = crane["text"].replace("nine million", "four million")
    second = f"{crane['text'].replace('nine', 'seven')}\n\nCorrection: The port lies in Lindmouth."
    return [
        {**crane, "text": first, "title": "Crane damage at four million"},
        {**crane, "text": second},
        {**hostile, "text": hostile["text"].replace("12", "<b>9</b>"), "title": HOSTILE[2]},
    ]


@dataclass(frozen=True)
class Site:
    url: str

    def at(self, address: str) -> str:
        return f"{self.url}/{address}"


def fill(store: Path | str, folder: Path) -> None:
    """The sample pages, an event, and a story that nobody should trust."""
    more = folder / "more.ndjson"
    articles = [*earlier_versions(), *crane_articles(), *hostile_articles()]
    more.write_text("".join(json.dumps(article) + "\n" for article in articles))
    settings = [part for name in EVENTS for part in ("--set", name)]
    for what in (str(pages()), str(more)):
        _esdedup("index", what, "--store", str(store), "--quiet", *settings)


def hold_back(store: Path | str) -> None:
    """A copy of the ferry story into the quarantine, where it took too long: it can be read now."""
    with Deduplicator.open(str(store)) as deduplicator:
        (told,) = deduplicator.store.documents.get([FERRY]).values()
        late = replace(told.document, id=LATE, url=None, source="Slow Gazette")
        reason = "it took longer than 20 s"
        deduplicator.store.quarantine.add([Failure(LATE, "late.html", reason, document=late)])


@contextmanager
def serving(store: Path | str, folder: Path, *options: str) -> Iterator[Site]:
    """The real command in a process of its own; its log goes into the folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "esdedup", "serve", "--store", str(store)]
    log = folder / f"serve-{port}.log"
    with log.open("wb") as lines:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--workers", "1", *options], stderr=lines
        )
        site = Site(f"http://127.0.0.1:{port}")
        try:
            _wait(site, process, log)
            yield site
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(PATIENCE)


def _wait(site: Site, process: subprocess.Popen[bytes], log: Path) -> None:
    def answers() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"esdedup serve ended: {log.read_text()[-2000:]}")
        try:
            return httpx.get(site.at("healthz"), timeout=PATIENCE).is_success
        except httpx.TransportError:
            return False

    wait_until(answers, log.read_text)


def new_key(keys: Path, name: str, scope: str) -> str:
    done = _esdedup("keys", "add", name, "--scope", scope, "--keys", str(keys))
    return done.stdout.strip()


def _esdedup(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "esdedup", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)


def chromium() -> str | None:
    """Where a Chromium is, if anywhere; ESDEDUP_CHROMIUM names another one."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("ESDEDUP_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@contextmanager
def browsing(path: str) -> Iterator[Browser]:
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=120_000)  # a busy machine takes longer than the usual 5 s
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
