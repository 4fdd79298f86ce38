"""HTML page to article: title, body, date, source, language and address.

The body is trafilatura's, or resiliparse's if `extractor` is `fast`; what the page says about
itself is read here. trafilatura's own metadata costs as much time as the extraction (25 ms of 53 ms
a page), mostly for guessing dates from the text, and a wrong date is worse than none: groups are
ordered by date.
"""

from __future__ import annotations

import html as entities
import json
import logging
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import urljoin, urlsplit

from esdedup.errors import ExtractionError, SettingsError
from esdedup.ingest.readers.dates import parse_date
from esdedup.ingest.readers.encodings import decode, looks_binary
from esdedup.ingest.readers.records import clean, parse_language, url_id
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.settings.table import ExtractorName

HtmlElement = Any  # lxml brings no types

# Encodings are declared at the top: HTML requires the first 1024 bytes, pages use some more.
_HEAD_BYTES = 8192
_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_LANG = re.compile(rb"<html[^>]*?\slang\s*=\s*[\"']?([\w-]{2,12})", re.IGNORECASE)
_XML_DECLARATION = re.compile(r"\s*<\?xml[^>]*>", re.IGNORECASE)

# With fewer words than this, extraction is tried again with tables and favouring recall.
_FEW_WORDS = 40
# Of two readings of a page the one with tables is taken where it keeps less than this of the other.
# On 310 pages of L3S-GN1, whose articles people marked, it is then better in 15 cases and never
# worse (F1 of 4-word sequences .904 -> .915); at .7 better in 10, at .9 in 16 and worse in 3.
_KEPT_OF_SAME = 0.8
_SEQUENCE = 4
# On a page with tables only lines that readability-lxml has as well are kept, if these are between
# the two shares of the words. With less the two have read different things. With more the rest are
# captions and bylines, and cutting them makes copies differ. docs/evaluation.md has the figures.
_LEAST_CONFIRMED, _MOST_CONFIRMED = 0.4, 0.9

# Names under which pages give the time of publication, the most reliable first.
_PUBLISHED_META = (
    "article:published_time",
    "article:published",
    "og:published_time",
    "og:article:published_time",
    "datepublished",
    "parsely-pub-date",
    "sailthru.date",
    "cxenseparse:recs:publishtime",
    "citation_publication_date",
    "dc.date.issued",
    "dcterms.issued",
    "publication_date",
    "publicationdate",
    "publish_date",
    "publishdate",
    "publish-date",
    "published",
    "pubdate",
    "pub_date",
    "dc.date.created",
    "dcterms.created",
    "dc.date",
    "dcterms.date",
    "createdate",
    "date",
    "pdate",
)
# No page is older than the web: an earlier date is a default of its template (1970, 0001).
_EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
_DAY_IN_URL = re.compile(
    r"/((?:19|20)\d\d)[/-](0?[1-9]|1[0-2])[/-](0?[1-9]|[12]\d|3[01])(?=[/-]|$)"
)
# The microformat of blogs that write no <article>.
_HENTRY = '//*[contains(concat(" ", normalize-space(@class), " "), " hentry ")]'
_BETWEEN_TITLE_AND_SITE = (" | ", " - ", " – ", " — ", " :: ", " » ")


def extract(document: Document, settings: Settings) -> Document:
    """The article in `document.html`; what the document already says goes before the page.

    A document that has its text is returned as it is. An id made from the content is replaced by
    the page's own address, where it names one.
    """
    if document.html is None:
        return document
    charset = document.extra.get("charset")  # as the server declared it
    declared = (charset,) if isinstance(charset, str) and charset.isascii() else ()
    page = _decode(_check_page(document.html, settings), declared)
    tree = _trafilatura().utils.load_html(page)
    if tree is None:
        raise ExtractionError("the page cannot be parsed as HTML")
    about = _About(tree, document.url)
    text = _read_fast(page) if settings.extractor == "fast" else _read_accurately(tree)
    if not re.search(r"\w", text):
        raise ExtractionError("no article text was found in the page")
    url = document.url or about.url
    id_ = document.id
    if id_.startswith("content:") and document.url is None:
        id_ = url_id(about.url) or id_
    source = document.source or about.site or _host(url)
    title = document.title or _without_site(about.title, source)
    return replace(
        document,
        id=id_,
        title=title,
        text=_without_headline(text, title),
        url=url,
        source=source,
        lang=document.lang or about.lang,
        published=document.published or about.published or _day_in(url),
        html=None,
    )


def decode_page(page: bytes, declared: tuple[str, ...] = ()) -> str:
    """The page as text, its encoding found as in the wild: mark, UTF-8, declared, guessed."""
    head = page[:_HEAD_BYTES]
    named = tuple(label.decode("ascii") for label in _DECLARED.findall(head))
    lang = _LANG.search(head)
    code = parse_language(lang[1].decode("ascii")) if lang else None
    return clean(decode(page, declared=(*declared, *named), lang=code))


def _check_page(page: bytes, settings: Settings) -> bytes:
    if len(page) > settings.page_megabytes * 1_000_000:
        raise ExtractionError(
            f"the page has {len(page) / 1e6:.1f} MB; the limit (page_megabytes) is "
            f"{settings.page_megabytes}"
        )
    if looks_binary(page):
        raise ExtractionError("this is not a page: the content is binary")
    if not page.strip():
        raise ExtractionError("the page is empty")
    return page


def _decode(page: bytes, declared: tuple[str, ...]) -> str:
    text = decode_page(page, declared)
    if found := _XML_DECLARATION.match(text):  # lxml refuses one in a text
        text = text[found.end() :]
    if "<html" not in text[:_HEAD_BYTES].lower():  # trafilatura refuses fragments
        text = f"<html><body>{text}</body></html>"
    return text


@cache
def _trafilatura() -> Any:
    """The package, quiet: what it warns of is reported by `ExtractionError`."""
    import trafilatura
    import trafilatura.external
    import trafilatura.metadata
    import trafilatura.utils

    for name in ("trafilatura", "htmldate", "courlan", "readability"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    return trafilatura


def _read_accurately(tree: HtmlElement) -> str:
    """The body of the article.

    Without tables, which are mostly furniture. Where a page is laid out in them, the article may be
    in one, and what is left are menus, comments and teasers: shown the tables, extraction then
    drops what it took at first. Where it only adds to it, the first reading stays. Either way much
    furniture comes along on such pages; a second algorithm has to confirm each line.
    """
    text = _body(tree, include_tables=False)
    if tree.find(".//table") is not None:
        wider = _body(tree, include_tables=True)
        own = _word_sequences(text)
        if own and len(own & _word_sequences(wider)) < _KEPT_OF_SAME * len(own):
            text = wider
        # readability-lxml, which trafilatura brings; "" if it fails
        other = _trafilatura().external.try_readability(deepcopy(tree)).text_content() or ""
        text = _keep_confirmed_lines(text, other)
    if len(text.split()) < _FEW_WORDS:
        generous = _body(tree, include_tables=True, favor_recall=True)
        text = max(text, generous, key=len)
    return text


def _read_fast(page: str) -> str:
    """The main content by the rules of resiliparse, in a tenth of the time."""
    html2text = load_extractor("fast")
    text: str = html2text.extract_plain_text(
        page, main_content=True, alt_texts=False, links=False, form_fields=False, noscript=False
    )
    return clean(text.strip())


@cache
def load_extractor(name: ExtractorName) -> Any:
    """The library of an extractor, or an error that says what to install."""
    if name == "accurate":
        return _trafilatura()
    try:
        from resiliparse.extract import html2text
    except ImportError as error:
        raise SettingsError(
            "extractor is fast, which needs resiliparse; install it with "
            "`pip install resiliparse`, or choose extractor=accurate"
        ) from error
    return html2text


def _keep_confirmed_lines(text: str, other: str) -> str:
    """The lines that another reading has, too, where that leaves out a menu or a sidebar."""
    known, written = _word_sequences(other), f" {' '.join(other.split())} "
    kept = []
    for line in text.split("\n"):
        own = _word_sequences(line)
        if own:
            is_confirmed = 2 * len(own & known) >= len(own)
        else:
            is_confirmed = f" {' '.join(line.split())} " in written
        if is_confirmed:
            kept.append(line)
    share = sum(len(line.split()) for line in kept) / max(1, len(text.split()))
    return "\n".join(kept) if _LEAST_CONFIRMED <= share < _MOST_CONFIRMED else text


def _word_sequences(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return set(zip(*(words[start:] for start in range(_SEQUENCE)), strict=False))


def _body(tree: HtmlElement, **options: bool) -> str:
    found = _trafilatura().bare_extraction(tree, include_comments=False, **options)
    return clean((found.text or "").strip()) if found is not None else ""


class _About:
    """What a page says about itself, in its head and its JSON-LD."""

    def __init__(self, tree: HtmlElement, url: str | None) -> None:
        self._tree = tree
        self._metas = _metas(tree)
        self._articles = list(_linked_data(tree))
        self._base = url

    @property
    def title(self) -> str:
        headline = next(
            (h for a in self._articles if isinstance(h := a.get("headline"), str)), None
        )
        metadata = _trafilatura().metadata
        found = headline or metadata.examine_meta(self._tree).title
        found = found or metadata.extract_title(self._tree) or ""
        return clean(" ".join(entities.unescape(found).split()))

    @property
    def site(self) -> str | None:
        name = self._metas.get("og:site_name", "").strip()
        return clean(name) or None

    @property
    def lang(self) -> str | None:
        root = self._tree.getroottree().getroot()
        declared = (
            root.get("lang"),
            root.get("xml:lang"),
            root.get("{http://www.w3.org/XML/1998/namespace}lang"),
            self._metas.get("content-language"),
            self._metas.get("language"),
            self._metas.get("og:locale"),
        )
        return next((code for value in declared if value and (code := parse_language(value))), None)

    @property
    def url(self) -> str | None:
        """The canonical address; not a front page, which careless sites name on every article."""
        links = self._tree.iterfind(".//link[@href]")
        named = [
            e.get("href") for e in links if "canonical" in (e.get("rel") or "").lower().split()
        ]
        for value in (*named, self._metas.get("og:url")):
            if value and (url := _address(value, self._base)) is not None:
                return url
        return None

    @property
    def published(self) -> datetime | None:
        for value in self._times():
            if (found := parse_date(value)) is not None and found >= _EARLIEST:
                return found
        return None

    def _times(self) -> Iterator[str]:
        """Times of publication, the most reliable first; never of change, never from the text."""
        for article in self._articles:
            if isinstance(value := article.get("datePublished"), str):
                yield value
        for name in _PUBLISHED_META:
            if name in self._metas:
                yield self._metas[name]
        marked = '//*[@itemprop="datePublished"]'
        for element in self._tree.xpath(f"{marked}|//time[@pubdate]"):
            yield element.get("datetime") or element.get("content") or element.text_content()
        # Unmarked times: those of the only article, not of the teasers around it.
        for container in ("//article", _HENTRY):
            articles = self._tree.xpath(container)
            if len(articles) == 1:
                yield from articles[0].xpath(".//time/@datetime")[:1]


def _metas(tree: HtmlElement) -> dict[str, str]:
    """`<meta>` by lower-case name or property, the first of each."""
    out: dict[str, str] = {}
    for element in tree.iter("meta"):
        content = (element.get("content") or "").strip()
        for attribute in ("property", "name", "itemprop", "http-equiv"):
            if content and (name := element.get(attribute)):
                out.setdefault(name.strip().lower(), content)
    return out


def _linked_data(tree: HtmlElement) -> Iterator[dict[str, Any]]:
    """The articles described in JSON-LD; broken JSON is ignored."""
    for script in tree.iter("script"):
        if "ld+json" not in (script.get("type") or "").lower() or not script.text:
            continue
        try:
            value = json.loads(script.text.strip().rstrip(";"), strict=False)
        except (ValueError, RecursionError):
            continue
        yield from _articles(value, depth=0)


def _articles(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth > 8:  # an article is at most `@graph` and a list deep; the rest is not worth a walk
        return
    if isinstance(value, list):
        for item in value:
            yield from _articles(item, depth + 1)
    elif isinstance(value, dict):
        kinds = value.get("@type")
        names = kinds if isinstance(kinds, list) else [kinds]
        if any(isinstance(n, str) and n.endswith(("Article", "Posting", "Report")) for n in names):
            yield value
        for key in ("@graph", "mainEntity", "mainEntityOfPage"):
            if isinstance(value.get(key), list | dict):
                yield from _articles(value[key], depth + 1)


def _address(value: str, base: str | None) -> str | None:
    try:
        url = urljoin(base or "", value.strip())
        front = urlsplit(url).path.strip("/") == "" and not urlsplit(url).query
    except ValueError:
        return None
    return None if front or url_id(url) is None else clean(url)


def _host(url: str | None) -> str | None:
    if url_id(url) is None:
        return None
    return (urlsplit(url or "").hostname or "").removeprefix("www.") or None


def _day_in(url: str | None) -> datetime | None:
    """`/2007/03/05/` in the address, as most newsrooms file their articles."""
    found = _DAY_IN_URL.search(urlsplit(url).path) if url_id(url) and url else None
    return parse_date("{}-{:0>2}-{:0>2}".format(*found.groups())) if found else None


def _without_headline(text: str, title: str) -> str:
    """Some layouts leave the headline as the first line of the body."""
    head, _, body = text.partition("\n")
    return body.lstrip() if body and title and head.strip() == title else text


def _without_site(title: str, site: str | None) -> str:
    """`Headline | The Daily` -> `Headline`, where the site is called so."""
    for separator in _BETWEEN_TITLE_AND_SITE:
        head, found, tail = title.rpartition(separator)
        if found and site and tail.strip().lower() == site.lower():
            return head.strip()
    return title
