"""Extraction: what a page says, in encodings as found in the wild, and pages that give nothing."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from esdedup import Deduplicator
from esdedup.errors import ExtractionError, SettingsError
from esdedup.ingest.html import decode_page, extract, load_extractor
from esdedup.ingest.readers import content_id
from esdedup.model import Document
from esdedup.settings import Settings

SETTINGS = Settings()
TURKISH = (
    "Cumhurbaşkanı dün akşam İstanbul'da yaptığı açıklamada, güneydoğuda meydana gelen depremde "
    "ölenlerin sayısının yükseldiğini söyledi. Bölgeye çok sayıda yardım ekibi gönderildi. "
)
FRENCH = (
    "Le président a déclaré mercredi que la réforme sera présentée à l'Assemblée après l'été. "
    "Les députés de l'opposition ont réagi avec colère, dénonçant un « coup de force » où tout "
    "était décidé d’avance. "
)
ENGLISH = (
    "The government said on Wednesday that it would present the bill to parliament next week. "
    "Members of the opposition reacted with anger and announced a debate on the new budget. "
)


def page(*, head: str = "", body: str = ENGLISH, attributes: str = "", extra: str = "") -> str:
    return (
        f"<html {attributes}><head><title>A headline of the day</title>{head}</head><body>"
        '<div id="menu"><ul><li><a href="/">Home</a><li><a href="/s">Sports</a></ul></div>'
        f"<div class='article'><h1>A headline of the day</h1>{extra}"
        f"<p>{body}</p><p>{body}</p></div>"
        '<div id="footer">Copyright. All rights reserved. <a href="/c">Contact</a></div>'
        "</body></html>"
    )


def extracted(html: str | bytes, **known: Any) -> Document:
    content = html if isinstance(html, bytes) else html.encode()
    return extract(Document(id=content_id(html=content), html=content, **known), SETTINGS)


def test_article_without_its_surroundings() -> None:
    document = extracted(page(attributes='lang="en-GB"'))
    assert document.title == "A headline of the day"
    assert document.text.count("present the bill") == 2
    assert "Sports" not in document.text
    assert "Copyright" not in document.text
    assert document.lang == "en"
    assert document.html is None
    assert document.published is None
    assert document.id.startswith("content:")


def in_table(article: str, around: str) -> str:
    return (
        "<html><head><title>A headline of the day</title></head><body>"
        f"{around}<table><tr><td>{article}</td></tr></table></body></html>"
    )


def test_an_article_in_a_table_goes_before_the_menu_beside_it() -> None:
    shows = " ".join(f"<a href='/{n}'>Show number {n} tonight</a>" for n in range(60))
    menu = f"<div><p>Programmes and contests {shows}</p></div>"
    article = "".join(f"<p>{ENGLISH}{n} members spoke.</p>" for n in range(8))
    document = extracted(in_table(article, menu))
    assert document.text.count("present the bill") == 8
    assert "Show number" not in document.text


def test_a_table_beside_the_article_adds_nothing() -> None:
    story = "".join(f"<p>{ENGLISH}{n} members spoke.</p>" for n in range(8))
    figures = "Share prices rose by a tenth of a percent in the afternoon, as on all days before."
    document = extracted(in_table(figures, f"<article>{story}</article>"))
    assert document.text.count("present the bill") == 8
    assert "Share prices" not in document.text


def test_of_a_page_laid_out_in_tables_lines_are_kept_that_two_algorithms_read() -> None:
    story = "".join(f"<p>{ENGLISH}{n} members spoke.</p>" for n in range(4))
    letter = "<p>Members of this site receive our weekly letter with the best stories.</p>"
    shop = "<p>Readers may also order photographs of all events that we cover.</p>"
    document = extracted(in_table(f"{story}</td></tr><tr><td>{letter}{shop}", ""))
    assert document.text.count("present the bill") == 4
    assert "weekly letter" not in document.text
    assert "photographs" not in document.text


def test_a_page_whose_article_is_in_its_json_ld_alone() -> None:
    body = json.dumps({"@type": "NewsArticle", "articleBody": ENGLISH * 3})
    script = f'<script type="application/ld+json">{body}</script>'
    document = extracted(f"<html><head>{script}</head><body><div id='app'></div></body></html>")
    assert document.text.count("present the bill") == 3


# --- the fast extractor ------------------------------------------------------------------------

FAST = replace(SETTINGS, extractor="fast")


def test_the_fast_extractor_reads_the_same_article() -> None:
    content = page(head='<meta property="article:published_time" content="2024-05-01">').encode()
    document = extract(Document(id="1", html=content), FAST)
    assert document.text.count("present the bill") == 2
    assert "Sports" not in document.text
    assert document.title == "A headline of the day"
    assert document.published == datetime(2024, 5, 1, tzinfo=UTC)


def test_the_fast_extractor_finds_no_article_in_an_empty_page() -> None:
    with pytest.raises(ExtractionError, match="no article text"):
        extract(Document(id="1", html=b"<html><body><script>x</script></body></html>"), FAST)


def test_without_resiliparse_the_error_comes_first_and_names_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "resiliparse.extract", None)
    load_extractor.cache_clear()
    with pytest.raises(SettingsError, match=r"pip install resiliparse.*extractor=accurate"):
        Deduplicator.open(f"sqlite:///{tmp_path}/news.db", FAST)
    assert not list(tmp_path.iterdir())
    load_extractor.cache_clear()


def test_ready_text_is_returned_as_it_is() -> None:
    document = Document(id="1", text="ready")
    assert extract(document, SETTINGS) is document


# --- encodings -------------------------------------------------------------------------------


def labelled(label: str) -> str:
    return f'<meta http-equiv="Content-Type" content="text/html; charset={label}">'


@pytest.mark.parametrize(
    ("body", "head", "encoding"),
    [
        (TURKISH, labelled("windows-1254"), "cp1254"),
        (TURKISH, labelled("iso-8859-9"), "cp1254"),
        (TURKISH, '<meta charset="utf-8">', "utf-8"),
        (TURKISH, "", "utf-8"),
        (TURKISH, "", "utf-8-sig"),
        (TURKISH, "", "utf-16"),
        (TURKISH, labelled("utf-8"), "cp1254"),  # mislabelled
        (TURKISH, labelled("iso-8859-1"), "utf-8"),  # mislabelled
        (TURKISH, labelled("nonsense"), "utf-8"),
        (TURKISH, "", "cp1254"),  # not labelled
        (FRENCH, labelled("iso-8859-1"), "cp1252"),  # with the quotes only cp1252 has
        (FRENCH, labelled("utf-8"), "cp1252"),
        (FRENCH, "", "cp1252"),
        (FRENCH, labelled("utf-16"), "utf-8"),
    ],
)
def test_encodings(body: str, head: str, encoding: str) -> None:
    assert body.strip() in extracted(page(body=body, head=head).encode(encoding)).text


def test_encoding_named_by_the_server() -> None:
    russian = "Президент заявил в среду, что переговоры будут продолжены на следующей неделе. "
    html = page(body=russian).encode("koi8-r")
    assert russian.strip() in extracted(html, extra={"charset": "koi8-r"}).text


def test_encoding_by_language_of_the_page() -> None:
    polish = "Rząd przyjął ustawę dotyczącą płac."
    html = f"<html lang=pl><body><p>{polish}</p></body></html>"
    assert polish in decode_page(html.encode("iso8859-2"))


def test_xml_declaration_in_another_encoding() -> None:
    html = '<?xml version="1.0" encoding="windows-1254"?>' + page(body=TURKISH)
    assert TURKISH.strip() in extracted(html.encode("cp1254")).text


def test_utf8_with_a_broken_letter_stays_utf8() -> None:
    html = page(body=TURKISH).encode().replace(b"Contact", b"Contact \xe9")[:-1] + b"\xc5"
    assert TURKISH.strip() in extracted(html).text


def test_null_bytes() -> None:
    html = page(body=TURKISH.replace("dün", "d\0ün")).encode()
    assert TURKISH.strip() in extracted(html).text


# --- what the page says about itself ---------------------------------------------------------


def linked_data(**fields: Any) -> str:
    return f'<script type="application/ld+json">{json.dumps(fields)}</script>'


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (
            '<meta property="article:published_time" content="2007-03-05T10:15:00+01:00">',
            datetime(2007, 3, 5, 9, 15, tzinfo=UTC),
        ),
        (
            linked_data(
                **{"@graph": [{"@type": "NewsArticle", "datePublished": "2007-03-05T10:15:00Z"}]}
            ),
            datetime(2007, 3, 5, 10, 15, tzinfo=UTC),
        ),
        ('<meta name="DC.date.issued" content="2007-03-05">', datetime(2007, 3, 5, tzinfo=UTC)),
        ('<meta name="PUBDATE" content="Jan 09, 2007">', datetime(2007, 1, 9, tzinfo=UTC)),
        ('<meta name="date" content="0001-01-01T00:00:00Z">', None),
        ('<meta name="date" content="1970-01-01">', None),
        ('<meta property="article:modified_time" content="2007-03-05">', None),
        ('<script type="application/ld+json">{"@type": "NewsArticle", </script>', None),
        (
            '<link rel="canonical" href="http://a.example/2007/03/05/x">',
            datetime(2007, 3, 5, tzinfo=UTC),
        ),
        ('<link rel="canonical" href="http://a.example/2007/13/05/x">', None),
        (linked_data(**{"@type": "WebPage", "datePublished": "2007-03-05"}), None),
    ],
)
def test_published(head: str, expected: datetime | None) -> None:
    assert extracted(page(head=head)).published == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('<time pubdate datetime="2007-03-05T10:15:00Z">x</time>', "2007-03-05T10:15:00+00:00"),
        ('<span itemprop="datePublished">2007-03-05</span>', "2007-03-05T00:00:00+00:00"),
        (
            '<article><time datetime="2007-03-05">5 March</time></article>',
            "2007-03-05T00:00:00+00:00",
        ),
        ('<time datetime="2007-03-05">related story</time>', None),
        ("<p>It happened on 5 March 2007 and again on 2007-03-06.</p>", None),
    ],
)
def test_published_in_the_body(body: str, expected: str | None) -> None:
    found = extracted(page(extra=body)).published
    assert (found.isoformat() if found else None) == expected


def test_canonical_address_replaces_an_id_made_from_content() -> None:
    html = page(head='<link rel="canonical" href="https://WWW.Daily.example/a/1?utm_source=x#c">')
    document = extracted(html)
    assert document.id == "https://www.daily.example/a/1"
    assert document.url == "https://WWW.Daily.example/a/1?utm_source=x#c"
    assert document.source == "daily.example"


def test_relative_canonical_address_needs_a_known_one() -> None:
    html = page(head='<link rel="canonical" href="/a/1">')
    assert extracted(html).url is None
    assert extracted(html, url="http://a.example/b").url == "http://a.example/b"


@pytest.mark.parametrize("front", ["http://a.example", "http://a.example/", "not an address", "["])
def test_front_page_is_no_address_of_an_article(front: str) -> None:
    document = extracted(page(head=f'<link rel="canonical" href="{front}">'))
    assert document.id.startswith("content:")
    assert document.url is None


def test_what_the_document_says_goes_before_the_page() -> None:
    html = page(
        attributes='lang="en"',
        head='<link rel="canonical" href="http://a.example/1">'
        '<meta name="date" content="2007-03-05"><meta property="og:site_name" content="A">',
    ).encode()
    day = datetime(2006, 1, 1, tzinfo=UTC)
    known = Document(
        id="mine",
        title="T",
        url="http://b.example/2",
        source="B",
        lang="fr",
        published=day,
        html=html,
    )
    document = extract(known, SETTINGS)
    assert (document.id, document.title, document.url) == ("mine", "T", "http://b.example/2")
    assert (document.source, document.lang, document.published) == ("B", "fr", day)


def test_title_without_the_name_of_the_site() -> None:
    head = (
        '<meta property="og:title" content="Bill &amp;amp; budget | The Daily">'
        '<meta property="og:site_name" content="The Daily">'
        '<meta property="og:locale" content="tr_TR">'
    )
    document = extracted(page(head=head))
    assert (document.title, document.source, document.lang) == ("Bill & budget", "The Daily", "tr")


# --- pages that give nothing -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        (b" \n", "the page is empty"),
        (bytes(range(256)) * 20, "the content is binary"),
        (b"\x89PNG\r\n", "the content is binary"),
        (b"<html><body><script>var x;</script></body></html>", "no article text"),
        (b"<" * 100_000, "no article text"),
        (b"<html><body>" + b"<div>" * 100_000 + b"deep", "no article text"),
        (b"<p>" + b"word " * 10_000_000, "the page has 50.0 MB; the limit (page_megabytes) is 10"),
    ],
    ids=["blank", "bytes", "png", "script", "angles", "nested", "50 MB"],
)
def test_no_article(html: bytes, reason: str) -> None:
    with pytest.raises(ExtractionError) as error:
        extracted(html)
    assert reason in str(error.value)


@pytest.mark.parametrize(
    "html", ["hello world", "<p>hello world</p>", "<title>T</title>hello world"]
)
def test_fragments(html: str) -> None:
    assert "hello world" in extracted(html).text
