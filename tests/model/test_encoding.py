"""What goes over the wire means what the standard encoder would have said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.model.encoding import RawJson, decode_json, encode_json

# Surrogates included, and numbers beyond 64 bits.
texts = st.text(st.characters(exclude_categories=()), max_size=20)
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(
    plain, lambda v: st.lists(v, max_size=4) | st.dictionaries(texts, v, max_size=4), max_leaves=20
)


@given(values)
def test_read_back_it_is_what_was_said(value: Any) -> None:
    line = encode_json(value)
    assert b"\n" not in line
    standard = json.dumps(value, ensure_ascii=False, allow_nan=True)
    if "Infinity" in standard:  # which is no JSON
        return
    assert json.loads(line.decode("utf-8", "surrogatepass")) == json.loads(standard)


def test_half_of_a_surrogate_pair_is_handed_on() -> None:
    assert encode_json({"id": "a\ud800"}) == b'{"id":"a\xed\xa0\x80"}'


def test_a_number_of_more_than_64_bits_keeps_its_digits() -> None:
    assert encode_json({"n": 1 << 70}) == b'{"n":1180591620717411303424}'


@pytest.mark.parametrize("beside", [1, 1 << 70, "\ud800"])
def test_what_is_json_already_is_sent_as_it_is(beside: Any) -> None:
    line = encode_json({"list": RawJson('[["12","ölde"]]'), "beside": beside})
    assert json.loads(line.decode("utf-8", "surrogatepass")) == {
        "list": [["12", "ölde"]],
        "beside": beside,
    }


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError, match="set"):
        encode_json({"set": {1}})


# Answers as long as those that are not left to the standard decoder.
PADDING = " " * 16_000


@given(values, st.sampled_from([None, 1]))
def test_an_answer_is_read_as_the_standard_decoder_reads_it(value: Any, indent: int | None) -> None:
    standard = json.dumps(value, indent=indent)
    expected = json.dumps(json.loads(standard))  # where 1 is not 1.0
    for form in (standard, json.dumps(value, ensure_ascii=False)):
        line = form.encode("utf-8", "surrogatepass")
        assert json.dumps(decode_json(line)) == expected
        assert json.dumps(decode_json(line + PADDING.encode())) == expected


_NUMBERS = st.integers(-(1 << 65), 1 << 65) | st.integers(-3, 3).flatmap(
    lambda n: st.sampled_from([n + bound for bound in (1 << 63, 1 << 64, -(1 << 63), 10**19)])
)


@given(st.lists(_NUMBERS, max_size=5))
def test_numbers_about_as_long_as_64_bits_keep_their_digits(numbers: list[int]) -> None:
    line = json.dumps(numbers)
    assert str(decode_json(f"{line}{PADDING}".encode())) == line


def test_an_answer_that_is_no_json_is_told() -> None:
    for padding in ("", PADDING):
        with pytest.raises(ValueError, match="line 1"):
            decode_json(f'{{"took":{padding}'.encode())
