"""Turns one record of a file, whatever its field names, into a `Document` or a `Failure`."""

from __future__ import annotations

import base64
import binascii
import codecs
import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

from esdedup.errors import DocumentError, InputError
from esdedup.ingest.readers.dates import parse_date
from esdedup.ingest.readers.paragraphs import join_wrapped_lines
from esdedup.model import MAX_ID_BYTES, NESTED, Document, Failure
from esdedup.model.encoding import is_too_deep

Record = dict[str, Any]

# Our field and the names it goes by, in the order they are looked for.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": ("id",),
    "title": ("title", "headline"),
    "text": ("text", "body", "content", "article_text"),
    "url": ("url", "link"),
    "source": ("source", "publisher", "site"),
    "lang": ("lang", "language"),
    "published": ("published", "date", "published_at", "pubDate", "timestamp"),
    "html": ("html", "raw_html"),
}

# Parameters that identify a campaign or a click, not another article.
_TRACKING = re.compile(r"(utm_.*|(fb|g|d|y|ms)clid|igshid|mc_[ce]id)(=|$)", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}
# Removed from texts: null bytes, and halves of surrogate pairs, which cannot be encoded.
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})(?:[-_.].*)?$")
# ISO 639-2 codes seen in feeds for the languages most news is written in.
_TWO_LETTERS = {
    "ara": "ar", "chi": "zh", "deu": "de", "dut": "nl", "eng": "en", "fra": "fr", "fre": "fr",
    "ger": "de", "ita": "it", "jpn": "ja", "kor": "ko", "nld": "nl", "pol": "pl", "por": "pt",
    "rus": "ru", "spa": "es", "tha": "th", "tur": "tr", "ukr": "uk", "zho": "zh",
}  # fmt: skip


class FieldMap:
    """Maps our fields to fields of records: as given, else by the usual names."""

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        given = given or {}
        if unknown := sorted(set(given) - set(ALIASES)):
            raise InputError(
                f"there is no field {unknown[0]!r} to map to; the fields are {', '.join(ALIASES)}"
            )
        self._names = {**ALIASES, **{field: (name,) for field, name in given.items()}}

    def names(self, field: str) -> tuple[str, ...]:
        return self._names[field]

    def take(self, record: Record, field: str) -> Any:
        """The value of our `field`, removed from `record`; None where there is none."""
        for name in self._names[field]:
            if name in record or "." in name:
                value = _take(record, name)
                if value is not None and value != "":
                    return value
        return None

    def explain_missing_text(self, columns: list[str]) -> str | None:
        """Why a table cannot be read if no column holds the text; None if one does."""
        wanted = (*self.names("text"), *self.names("html"))
        if any(name in columns or name.split(".")[0] in columns for name in wanted):
            return None
        return (
            f"no column holds the text: there are {', '.join(columns)[:200]}; looked for "
            f"{', '.join(wanted)}. Say which it is: --field text=NAME"
        )


def to_document(record: Record, where: str, fields: FieldMap) -> Document | Failure:
    """The document of a record, or a failure that says why it cannot be used."""
    if is_too_deep(record):
        return record_failure(where, NESTED, id_=_parse_id(fields.take(dict(record), "id")) or None)
    rest = dict(record)
    given = {field: fields.take(rest, field) for field in ALIASES}
    known = {field: parse(given[field]) for field, parse in _PARSERS.items()}
    # A wrong date or language must not lose the article: the raw value is stored beside it.
    raw = {f"{f}_raw": given[f] for f, v in known.items() if v is None and given[f] is not None}
    if not isinstance(raw.get("published_raw", ""), str | int | float):
        raw["published_raw"] = str(raw["published_raw"])
    given_id, url, title = known["id"] or None, known["url"] or None, known["title"] or ""
    try:
        text, html = _content(given, fields)
    except ValueError as error:
        return record_failure(where, str(error), id_=given_id)

    def document_with(id_: str) -> Document:
        source, lang, published = known["source"] or None, known["lang"], known["published"]
        joined = join_wrapped_lines(text)
        return Document(id_, title, joined, url, source, lang, published, html, {**rest, **raw})

    if given_id is not None:
        try:
            return document_with(given_id)
        except DocumentError as error:
            reason = error.reason
    unnamed = document_with(url_id(url) or content_id(title=title, text=text, html=html))
    if given_id is None:
        return unnamed
    return Failure(unnamed.id, where, reason, final=True, document=unnamed)


def record_failure(where: str, reason: str, *, id_: str | None = None) -> Failure:
    """A final failure; without an id of its own it goes by its place."""
    if id_ is None or len(id_.encode()) > MAX_ID_BYTES:
        id_ = where if len(where.encode(errors="replace")) <= MAX_ID_BYTES else _short("at", where)
    return Failure(clean(id_), clean(where), clean(reason), final=True)


def clean(text: str) -> str:
    """Without null bytes; halves of surrogate pairs become U+FFFD."""
    if text.isascii():
        return text.replace("\x00", "")
    if "\x00" not in text and _is_encodable(text):
        return text
    return _UNUSABLE.sub(lambda found: "" if found[0] == "\x00" else "�", text)


def _is_encodable(text: str) -> bool:
    """Whether there is no half of a surrogate pair; a search for one takes five times as long."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clean_values(value: Any) -> Any:
    """`clean` for every text inside a JSON value."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_values(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean_values(item) for key, item in value.items()}
    return value


def canonical_url(url: str) -> str:
    """One spelling for one address; over 512 bytes `url:` and 24 hex digits of its SHA-256.

    Scheme and host in lower case, no default port, no fragment, no tracking parameters. What is
    no address is returned as it is.
    """
    url = clean(url.strip())
    if (parts := _split(url)) is not None:
        query = "&".join(p for p in parts.query.split("&") if p and not _TRACKING.match(p))
        address = (parts.scheme, _host(parts), parts.path or "/", query, "")
        url = urlunsplit(address)
    return url if len(url.encode()) <= MAX_ID_BYTES else _short("url", url)


def url_id(url: str | None) -> str | None:
    """An id from a web address; None for anything else, which many articles could share."""
    if url is None or _split(clean(url.strip())) is None:
        return None
    return canonical_url(url)


def content_id(*, title: str = "", text: str = "", html: bytes | None = None) -> str:
    """An id from the content: the page's bytes, or title, newline and text."""
    if html is not None:
        content = html.removeprefix(codecs.BOM_UTF8)
    else:
        content = f"{title}\n{text}".encode(errors="replace")
    return "content:" + hashlib.sha256(content).hexdigest()[:24]


def parse_language(value: str) -> str | None:
    """`en-US`, `en_GB.UTF-8`, `eng` -> `en`; None for what is no language code."""
    found = _LANGUAGE.match(value.strip())
    if found is None:
        return None
    code = found[1].lower()
    return _TWO_LETTERS.get(code, code)


def _take(record: Record, name: str) -> Any:
    """Remove and return `name`, which may be a dotted path; what lies around it is copied."""
    if name in record:
        return record.pop(name)
    head, _, tail = name.partition(".")
    inner = record.get(head)
    if not tail or not isinstance(inner, dict):
        return None
    inner = dict(inner)
    value = _take(inner, tail)
    if value is not None:
        record[head] = inner
        if not inner:
            del record[head]
    return value


def _parse_id(value: Any) -> str | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return _parse_text(value) if is_number or isinstance(value, str) else None


def _parse_text(value: Any) -> str | None:
    """A text, trimmed, or a number as text; None for anything else."""
    if isinstance(value, str):
        return clean(value.strip())
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# Parsers of all fields but the text; None means that a value cannot be read.
_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "id": _parse_id,
    "url": _parse_text,
    "title": _parse_text,
    "source": _parse_text,
    "lang": lambda value: parse_language(value) if isinstance(value, str) else None,
    "published": parse_date,
}


def _content(known: Record, fields: FieldMap) -> tuple[str, bytes | None]:
    """The text, or the page it is to be taken from."""
    text, html = known["text"], known["html"]
    if text is not None and not isinstance(text, str):
        raise ValueError(f"the text is not a text but {_kind(text)}")
    if text is not None and (text := clean(text)).strip():
        return text, None
    if html is None:
        wanted = ", ".join((*fields.names("text"), *fields.names("html")))
        blank = "it is empty" if text is not None else f"looked for {wanted}"
        raise ValueError(f"the record has no text ({blank})")
    return "", _page(html)


def _page(html: Any) -> bytes:
    """The page's bytes: given as such, in Base64 (as `Document.to_json` writes), or as text.

    A page given as text is encoded as UTF-8 with a byte order mark, whatever it declares itself.
    """
    if isinstance(html, bytes):
        return html
    if not isinstance(html, str):
        raise ValueError(f"the page is not a text but {_kind(html)}")
    if "<" not in html:
        try:
            return base64.b64decode(html, validate=True)
        except (binascii.Error, ValueError):
            pass
    return codecs.BOM_UTF8 + html.encode("utf-8", "replace")


def _kind(value: Any) -> str:
    """The JSON name of a value's type, for people who do not write Python."""
    names = {dict: "an object", list: "a list", bool: "true or false", bytes: "bytes"}
    return names.get(
        type(value), "a number" if isinstance(value, int | float) else "something else"
    )


def _split(url: str) -> SplitResult | None:
    """The parts of a web address; None for anything else."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _DEFAULT_PORTS and parts.hostname and parts.port is not False
    except ValueError:  # a port that is no number, a bracket that does not close
        return None
    return parts if usable else None


def _host(parts: SplitResult) -> str:
    user, at, host = parts.netloc.rpartition("@")
    host = host.lower()
    if parts.port == _DEFAULT_PORTS[parts.scheme] or host.endswith(":"):
        host = host.rpartition(":")[0]
    return f"{user}{at}{host}"


def _short(kind: str, long: str) -> str:
    return f"{kind}:{hashlib.sha256(long.encode(errors='replace')).hexdigest()[:24]}"
