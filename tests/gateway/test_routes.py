"""What a request is taken for; tricks with names are taken for nothing of ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.gateway.routes import (
    covers,
    is_index,
    parameters,
    query_of,
    route_of,
    without_parameter,
)


@pytest.mark.parametrize(
    ("method", "path", "kind", "index"),
    [
        ("POST", "/_bulk", "bulk", ""),
        ("PUT", "/news/_bulk", "bulk", "news"),
        ("POST", "/news-2024/_doc", "index", "news-2024"),
        ("PUT", "/news/_doc/1", "index", "news"),
        ("PUT", "/n%65ws/_doc/1", "index", "news"),
        ("POST", "/news/_create/1", "create", "news"),
        ("POST", "/news/_update/1", "update", "news"),
        ("DELETE", "/news/_doc/1", "delete", "news"),
        ("GET", "/_search", "search", ""),
        ("GET", "/a,b*/_search", "search", "a,b*"),
        ("POST", "/_msearch", "msearch", ""),
        ("GET", "/news/_count", "count", "news"),
        ("POST", "/news/_doc/", "index", "news"),
        ("PUT", "/news/_doc/1//", "index", "news"),
        ("POST", "/_bulk/", "bulk", ""),
        ("GET", "/news/_search/", "search", "news"),
    ],
)
def test_ours(method: str, path: str, kind: str, index: str) -> None:
    route = route_of(method, path)
    assert (route.kind, route.index) == (kind, index)


@pytest.mark.parametrize(
    "path",
    [
        "/../news/_doc/1", "/news/../other/_doc/1", "/news%2f..%2fother/_doc/1", "/.%2e/_doc/1",
        "/_all/_doc/1", "/*/_doc/1", "/news*/_doc/1", "/news,other/_doc/1", "/news%2cother/_doc/1",
        "/%3Cnews-%7Bnow%7D%3E/_doc/1", "/News/_doc/1", "/.security/_doc/1", "/-news/_doc/1",
        "/news%00/_doc/1", "/news%0d%0a/_doc/1", "/news%ff/_doc/1", "//news/_doc/1",
        "/news//_doc/1", "/news/_doc/1/_source", "/news/type/1", "/cluster:news/_doc/1", "/", "",
        "/news/_search/scroll", "/_search/scroll", "/_doc/", "//", "/news%5c/_doc/1",
    ],
)  # fmt: skip
def test_none_of_ours(path: str) -> None:
    for method in ("PUT", "POST", "GET", "DELETE"):
        assert route_of(method, path).kind == "other", method


def test_expressions_that_a_default_covers() -> None:
    assert covers("news-*", "news-1,news-2024-*")
    assert covers("news-*", "news-*,-news-old")
    for beyond in ("", "_all", "*", "news*", "news-1,other", "-news-old", "other,-news-1"):
        assert not covers("news-*", beyond), beyond


@given(st.text(max_size=40))
def test_names_never_hold_separators(name: str) -> None:
    if is_index(name):
        assert not set(name) & set('/\\*?"<>| ,#:\x00\r\n')
        assert name not in (".", "..", "_all")


PAIRS = st.lists(st.tuples(st.text(min_size=1, max_size=8), st.text(max_size=8)), max_size=5)


@given(PAIRS)
def test_parameters_come_back(pairs: list[tuple[str, str]]) -> None:
    encodable = [(k, v) for k, v in pairs if (k + v).isprintable()]
    assert parameters(query_of(encodable)) == encodable


def test_our_parameter_is_taken_out() -> None:
    assert without_parameter("a=1&esdedup_fold=group&b=%2F", "esdedup_fold") == (
        "a=1&b=%2F",
        "group",
    )
    assert without_parameter("esdedup%5ffold=off", "esdedup_fold")[1] is None
    assert without_parameter("a=esdedup_fold", "esdedup_fold") == ("a=esdedup_fold", None)
