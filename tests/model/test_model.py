"""Documents at the edge, the JSON forms, and the order."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.errors import DocumentError
from esdedup.features.numbers import NumberChange
from esdedup.model import (
    MAX_ID_BYTES,
    Decision,
    Document,
    Evidence,
    Failure,
    Signature,
    microseconds,
    order_of,
    parse_time,
)

any_text = st.text(st.characters(exclude_categories=()), max_size=20)


def test_an_empty_or_giant_id_is_refused_with_what_to_do() -> None:
    with pytest.raises(DocumentError, match="the id is empty; leave it out to have one made"):
        Document(id="")
    with pytest.raises(DocumentError, match=r"^x{40}…: the id is longer than 512 bytes"):
        Document(id="x" * 10_000)
    assert Document(id="ç" * (MAX_ID_BYTES // 2)).id
    with pytest.raises(DocumentError, match="longer than 512 bytes"):
        Document(id="ç" * (MAX_ID_BYTES // 2) + "x")


def test_an_id_with_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(DocumentError, match="�: the id holds half of a surrogate pair") as refusal:
        Document(id="a\ud800")
    str(refusal.value).encode()


@given(any_text, any_text, st.dictionaries(any_text, st.lists(any_text, max_size=2), max_size=2))
def test_no_field_holds_what_cannot_be_written(
    title: str, text: str, extra: dict[str, list[str]]
) -> None:
    document = Document(id="a", title=title, text=text, url=text, source=title, extra=extra)
    json.dumps(document.to_json(), ensure_ascii=False).encode()
    if not any("\ud800" <= c <= "\udfff" for c in title + text):
        assert (document.title, document.text) == (title, text), "well-formed text is untouched"


def test_split_pairs_are_joined_and_halves_replaced() -> None:
    assert Document(id="a", text="\ud83d\ude00 \ud83d.").text == "\N{GRINNING FACE} �."
    assert Failure("a", "caf\udce9.html", "x\udc00").where == "caf�.html"


def test_document_to_json_and_back() -> None:
    document = Document(
        id="a",
        title="T",
        text="x",
        url="u",
        source="s",
        lang="tr",
        published=datetime(2024, 2, 29, 12, 0, 0, 5001, timezone(timedelta(hours=3))),
        html=b"\0\xff",
        extra={"k": [1, {"n": None}]},
    )
    raw = json.loads(json.dumps(document.to_json()))
    assert raw["published"] == "2024-02-29T09:00:00.005001Z"
    assert Document.from_json(raw) == document
    assert Document.from_json({"id": 7, "title": None, "text": None, "x": 1}).extra == {"x": 1}


def test_an_extra_field_cannot_hide_a_field_of_ours() -> None:
    assert Document(id="a", text="x", extra={"text": "y"}).to_json()["text"] == "x"


def test_a_signature_is_sent_between_processes() -> None:
    keys = {"sketch": ("sAAAAAAAAB",), "exact": ("xAAAAAAAA",)}
    signature = Signature("0123456789ab", keys, "ff", 5, {"lengths": "3-4"})
    assert pickle.loads(pickle.dumps(signature)) == signature
    assert signature.to_json() == {
        "format": "0123456789ab",
        "keys": {"sketch": ["sAAAAAAAAB"], "exact": ["xAAAAAAAA"]},
        "kept": {"lengths": "3-4"},
        "digest": "ff",
        "words": 5,
    }


def test_decision_to_json_and_back() -> None:
    evidence = Evidence(
        "a", {"sketch": 4}, "dice", 0.5, 0.25, 1.0, {"min_overlap": 0.2}, "update", "numbers",
        (NumberChange("12", "17", "people"),),
    )  # fmt: skip
    decision = Decision("b", "update", "b", "a", 0.5, "sketch", (evidence,), "numbers")
    raw = json.loads(json.dumps(decision.to_json()))
    assert Decision.from_json(raw) == decision
    assert raw["evidence"][0]["numbers"] == [["12", "17", "people"]]
    assert (decision.link.parent, decision.link.canonical) == ("a", True)
    assert Decision("b", "original", "b", "b", evidence=(evidence,)).link.parent is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        (" 2024-05-01T10:00:00+02:00 ", datetime(2024, 5, 1, 8, tzinfo=UTC)),
        (1714557600, datetime(2024, 5, 1, 10, tzinfo=UTC)),
        (1714557600123, datetime(2024, 5, 1, 10, 0, 0, 123000, tzinfo=UTC)),
        (datetime(2024, 5, 1), datetime(2024, 5, 1, tzinfo=UTC)),
        ("", None),
        (None, None),
    ],
)
def test_times(value: object, expected: datetime | None) -> None:
    assert parse_time(value) == expected


@pytest.mark.parametrize("value", ["yesterday", True, "2024-13-01"])
def test_what_is_no_time(value: object) -> None:
    with pytest.raises(ValueError):
        parse_time(value)


def test_a_date_without_a_zone_is_utc() -> None:
    document = Document(id="a", published=datetime(2024, 5, 1))
    assert document.published == datetime(2024, 5, 1, tzinfo=UTC)


def test_order_is_published_then_id_and_distrusts_the_future() -> None:
    seen = microseconds(datetime(2024, 5, 1, tzinfo=UTC))
    day = timedelta(days=1)
    may = datetime(2024, 5, 1, tzinfo=UTC)
    assert order_of(may - day, seen, "a") == (seen - 86_400_000_000, "a")
    assert order_of(may + day, seen, "a") == (seen + 86_400_000_000, "a"), "zones may differ"
    assert order_of(may + day + timedelta(microseconds=1), seen, "a") == (seen, "a")
    assert order_of(None, seen, "a") < order_of(None, seen, "b")
    assert microseconds(datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)) == -999_999
