"""Configuration of the service."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, fields
from pathlib import Path

from esdedup.errors import SettingsError
from esdedup.settings import Settings

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """The store, the settings and the limits of one process."""

    store: str = field(repr=False)  # its URL may hold a password
    settings: Settings | None = None
    keys_file: Path | None = None
    read_only: bool = False
    # A page of the largest size that extraction takes (page_megabytes), in Base64, fits.
    body_bytes: int = 16_000_000
    # Silence between two pieces of a body, and the time for a whole one that is not a stream.
    body_seconds: float = 30.0
    # Writes admitted at once, prepared or waiting; further ones get 429.
    queue: int = 64
    # Text and pages in all admitted writes together.
    queue_bytes: int = 128_000_000
    # Requests at once, whatever they ask, and connections, each of which may hold one body.
    requests: int = 200
    connections: int = 256
    # Streams of articles, and of events, at once.
    streams: int = 8
    # Answers to a stream that its client has not read; they wait on the disk.
    answers_bytes: int = 1_000_000_000
    # Connections that read, and the longest wait for a free one.
    readers: int = 4
    reader_seconds: float = 10.0
    # Pause between two looks for breaking events, while somebody listens for them.
    events_seconds: float = 5.0
    # Processes for extraction.
    workers: int = 2

    def __post_init__(self) -> None:
        for field_ in fields(self):
            value = getattr(self, field_.name)
            if field_.type == "int" and value < 1:
                raise SettingsError(f"{field_.name} is {value}; it must be at least 1")
        if ":memory:" in self.store:
            raise SettingsError(
                "a store in memory lives in one connection and the service needs several; name a "
                "file"
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address; a name other than localhost is not asked."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
