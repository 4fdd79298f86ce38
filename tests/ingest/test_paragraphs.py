"""Plain text whose lines were broken at a width: joined into paragraphs, word for word the same."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.ingest.readers import content_id, read
from esdedup.ingest.readers.paragraphs import join_wrapped_lines
from esdedup.ingest.sign import sign_many
from esdedup.model import Document
from esdedup.settings import Settings

FERRY = (
    "The ferry Stella caught fire off the coast on Tuesday, and two people were hurt when they "
    "jumped into the water. The coastguard brought all 400 passengers to the harbour of Halvik, "
    "where most of them spent the night in a school."
)
INQUIRY = (
    "An inquiry will find out why the pumps did not start. The company said that they had been "
    "looked after in March, and that the crew had done what it was trained for."
)
VERSE = """\
The wind came down from the hill at night,
and nobody spoke,
the boats were in, the lamps were bright,
the harbour awoke
with bells and with calls and with feet on the stone,
and one boat was gone."""


@pytest.mark.parametrize("width", [45, 72, 80, 98])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_paragraphs_of_a_wrapped_text(width: int, line_end: str) -> None:
    wrapped = "\n\n".join(textwrap.fill(text, width) for text in (FERRY, INQUIRY))
    assert join_wrapped_lines(wrapped.replace("\n", line_end)) == f"{FERRY}\n\n{INQUIRY}"


def test_an_indent_begins_a_paragraph() -> None:
    wrapped = textwrap.fill(FERRY, 70) + "\n" + textwrap.fill(INQUIRY, 70, initial_indent="    ")
    assert join_wrapped_lines(wrapped) == f"{FERRY}\n    {INQUIRY}"


def test_a_short_line_that_goes_on_in_small_letters_is_joined() -> None:
    wrapped = "HALVIK (Wire) - The ferry\n" + textwrap.fill("was on fire. " + FERRY, 70)
    assert join_wrapped_lines(wrapped).startswith("HALVIK (Wire) - The ferry was on fire. The")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one line",
        f"{FERRY}\n{INQUIRY}",  # one line a paragraph
        VERSE,
        "Results:\n" + "\n".join(f"Halvik {n} - Torvald {n + 1}" for n in range(30)),
        textwrap.fill(FERRY, 30),  # a column of a caption
    ],
    ids=["empty", "line", "paragraphs", "verse", "list", "narrow"],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert join_wrapped_lines(text) == text


@given(st.text(alphabet="aB -.,\n\r\t(é", max_size=300), st.integers(40, 100))
def test_words_stay_the_same(text: str, width: int) -> None:
    for some in (text, textwrap.fill(text, width, break_long_words=False)):
        assert join_wrapped_lines(some).split() == some.split()


def test_a_text_file_has_the_id_of_its_content_as_written(tmp_path: Path) -> None:
    wrapped = textwrap.fill(FERRY, 60)
    file = tmp_path / "ferry.txt"
    file.write_text(wrapped, "utf-8")
    (document,) = read([str(file)])
    assert isinstance(document, Document)
    assert (document.text, document.id) == (FERRY, content_id(text=wrapped))


def test_keys_are_those_of_the_wrapped_text() -> None:
    settings = Settings(methods=("sketch", "simhash", "entities", "lengths", "spotsigs", "imatch"))
    wrapped = textwrap.fill(f"{FERRY} {INQUIRY}", 60)
    texts = (wrapped, join_wrapped_lines(wrapped))
    one, two = sign_many([Document(id=text, text=text, lang="en") for text in texts], settings)
    assert texts[0] != texts[1]
    assert one.signature.keys == two.signature.keys
