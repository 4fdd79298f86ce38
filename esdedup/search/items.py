"""Items of any list: their fields under the usual names, and the rules that make two items one.

Pure functions. Folding two different articles does more harm than missing a copy, so every rule
for less than a whole text needs several agreements at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit

from esdedup.model import Document, parse_time, well_formed
from esdedup.text.fulltext import fold_for_index

Content = Literal["text", "snippet", "title", "nothing"]

# A shorter text is read as a snippet.
FULL_TEXT_WORDS = 50
# A snippet needs this many words to be compared, and more where there is no headline.
SNIPPET_WORDS, SNIPPET_WORDS_UNTITLED = 12, 20
# Of the shorter snippet's word sequences, how many the longer one must have.
SNIPPET_SHARED = 0.9
# Of the shorter headline's words, how many the longer one must have beside an equal snippet.
TITLE_SHARED = 0.5
# Equal headlines alone: short ones recur ("Weather for today"), undated ones more so.
TITLE_WORDS, TITLE_WORDS_UNDATED = 5, 7
# Snippets and headlines come back: the same words later than this are something new.
CLOSE = timedelta(days=3)

_TEXTS = ("text", "body", "content", "article")
_SNIPPETS = ("snippet", "summary", "description", "abstract", "excerpt")
_TITLES = ("title", "headline")
_URLS = ("url", "link", "href")
_TIMES = ("published", "published_at", "date", "pubDate", "timestamp", "@timestamp")
_SOURCES = ("source", "site", "publisher")
_WORD = re.compile(r"\w+")
# As many words as a text has at least, with spaces between them.
_FULL_TEXT = re.compile(rf"(?:\W*+\w\S*+){{{FULL_TEXT_WORDS}}}")
_CUT = re.compile(r"\s*\S*(?:…|\.\.\.|\[…\]|\[\.\.\.\])\s*$")
# Parameters that tell where a reader came from, not what the page is.
_TRACKING = re.compile(
    r"^(utm_.*|fbclid|gclid|dclid|msclkid|yclid|mc_cid|mc_eid|igshid|cmpid|ocid|ncid|_ga)$"
)


@dataclass(frozen=True, slots=True)
class Item:
    """The fields of a list item that folding reads."""

    place: int
    raw: Any
    id: str | None = None
    title: str = ""
    body: str = ""
    content: Content = "nothing"
    url: str | None = None
    source: str | None = None
    published: datetime | None = None
    group: str | None = None
    problem: str = ""

    @property
    def name(self) -> str:
        """For messages: its id, else where it stands."""
        return self.id if self.id is not None else f"item {self.place + 1}"


def item_of(raw: Any, place: int) -> Item:
    """An item from a mapping, a hit of a search engine or a Document; never an error."""
    if isinstance(raw, Document):
        raw_map: Mapping[str, Any] = raw.to_json()
    elif isinstance(raw, Mapping):
        raw_map = _flatten(raw)
    else:
        kind = "null" if raw is None else type(raw).__name__
        return Item(place, raw, problem=f"is no object but {kind}; kept as it is")
    title, text = _find_text(raw_map, _TITLES), _find_text(raw_map, _TEXTS)
    snippet = "" if text else _find_text(raw_map, _SNIPPETS)
    body = text or snippet
    content: Content = "title" if title else "nothing"
    if body:
        content = "text" if text and _is_full(text) else "snippet"
    published, problem = _find_time(raw_map)
    id_ = raw_map.get("id", raw_map.get("_id"))
    return Item(
        place=place,
        raw=raw,
        id=None if id_ in (None, "") or isinstance(id_, dict | list) else well_formed(str(id_)),
        title=title,
        body=body if content == "text" else _strip_cut_mark(body),
        content=content,
        url=page_address(_find_text(raw_map, _URLS)),
        source=_find_source(raw_map),
        published=published,
        group=_find_group(raw_map),
        problem=problem,
    )


def _is_full(text: str) -> bool:
    """Spaced words are counted first: enough for nearly all texts, without folding them."""
    return bool(_FULL_TEXT.match(text)) or len(words_of(text)) >= FULL_TEXT_WORDS


def _flatten(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """A hit of Elasticsearch or OpenSearch has its fields one level down."""
    source = raw.get("_source")
    return {**source, "_id": raw.get("_id")} if isinstance(source, Mapping) else raw


def _find_text(raw: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = raw.get(name)
        if isinstance(value, str) and (text := value.strip()):
            return well_formed(text)
    return ""


def _find_time(raw: Mapping[str, Any]) -> tuple[datetime | None, str]:
    for name in _TIMES:
        value = raw.get(name)
        if value in (None, ""):
            continue
        try:
            return parse_time(value), ""
        except (ValueError, TypeError, OverflowError, OSError):
            return None, f"has no date that can be read ({str(value)[:40]!r})"
    return None, ""


def _find_source(raw: Mapping[str, Any]) -> str | None:
    for name in _SOURCES:
        value = raw.get(name)
        if isinstance(value, Mapping):
            value = value.get("name") or value.get("title")
        if isinstance(value, str) and value.strip():
            return well_formed(value.strip())
    return None


def _find_group(raw: Mapping[str, Any]) -> str | None:
    dedup = raw.get("dedup")
    value = dedup.get("group") if isinstance(dedup, Mapping) else raw.get("dedup.group")
    return value if isinstance(value, str) and value else None


def _strip_cut_mark(snippet: str) -> str:
    """Without the mark of where it was cut off, and the half word before it."""
    return _CUT.sub("", snippet).strip(" …") if snippet else ""


def page_address(url: str) -> str | None:
    """A URL as the name of a page: without scheme, www, fragment and tracking; None for none."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return None
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        return None
    host = parts.hostname.lower().removeprefix("www.")
    if port not in (None, 80, 443):
        host = f"{host}:{port}"
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = urlencode([(k, v) for k, v in pairs if not _TRACKING.match(k)])
    return f"{host}{parts.path.rstrip('/')}{'?' + query if query else ''}"


def is_one_page(address: str) -> bool:
    """Whether the address is of a page and not of a whole site: feeds give that for lack of one."""
    host, slash, path = address.partition("/")
    return bool(slash and path) or "?" in host


def host_of(address: str | None) -> str | None:
    return None if address is None else re.split(r"[/?]", address, maxsplit=1)[0]


def words_of(text: str) -> list[str]:
    return _WORD.findall(fold_for_index(text))


def title_words(item: Item) -> tuple[str, ...]:
    """A headline without the name of the site that engines put after it."""
    title = item.title
    for mark in (" | ", " - ", " – ", " — ", " :: ", " · "):
        head, found, tail = title.rpartition(mark)
        if found and _is_site(tail, item):
            title = head
    return tuple(words_of(title))


def _is_site(name: str, item: Item) -> bool:
    squeezed = "".join(words_of(name))
    source = "".join(words_of(item.source or ""))
    host = (host_of(item.url) or "").replace("-", "").replace(".", "")
    return bool(squeezed) and (squeezed == source or squeezed in host)


def numbers_in(words: list[str] | tuple[str, ...]) -> set[str]:
    return {word for word in words if any(c.isdigit() for c in word)}


def are_close(a: Item, b: Item, within: timedelta = CLOSE) -> bool:
    """Whether their dates, where both have one, are near each other."""
    if a.published is None or b.published is None:
        return True
    return abs(a.published - b.published) <= within


def are_titles_alike(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    if not a or not b:
        return False
    shared = len(set(a) & set(b))
    return shared >= TITLE_SHARED * min(len(set(a)), len(set(b))) and not (
        numbers_in(a) and numbers_in(b) and numbers_in(a) != numbers_in(b)
    )


def is_same_headline(a: Item, b: Item, words: tuple[str, ...]) -> bool:
    """For items with nothing but a headline; `words` are those of both, which are equal."""
    if host_of(a.url) is not None and host_of(a.url) == host_of(b.url):
        return False  # two pages of one site: a column, a live blog and its next part
    dated = a.published is not None and b.published is not None
    return len(words) >= (TITLE_WORDS if dated else TITLE_WORDS_UNDATED) and are_close(a, b)
