"""Logs for machines: one JSON object a line on standard error.

No header, query string or body is ever logged: they hold keys, search words and articles.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

from esdedup.model import JSON, iso

request_id: ContextVar[str | None] = ContextVar("esdedup_request_id", default=None)
# Secrets in addresses and keys, should one get into a message after all.
_SECRETS = re.compile(r"(?<=://)[^/\s@]+@|esdedup_[a-z0-9-]+_[A-Za-z0-9_-]{43}|ApiKey\s+\S+")


def redact(text: str) -> str:
    return _SECRETS.sub("***", text)


class JsonFormatter(logging.Formatter):
    """A record with its fields; line breaks in it are escaped, so nobody can forge a line."""

    def format(self, record: logging.LogRecord) -> str:
        out: JSON = {
            "time": iso(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "event": redact(record.getMessage()),
        }
        if (current := request_id.get()) is not None:
            out["request_id"] = current
        out |= getattr(record, "fields", {})
        if record.exc_info:
            out["trace"] = redact(self.formatException(record.exc_info))
        return json.dumps(out, ensure_ascii=True, default=str)


def configure(level: str = "info", stream: TextIO | None = None) -> None:
    """For a process that is the service: everything goes through one handler."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    # Extraction says a word about every odd page, the clients about every request.
    for name in ("trafilatura", "htmldate", "elastic_transport", "opensearch", "urllib3"):
        logging.getLogger(name).setLevel(logging.ERROR)


def log(logger: logging.Logger, event: str, **fields: Any) -> None:
    logger.info(event, extra={"fields": fields})
