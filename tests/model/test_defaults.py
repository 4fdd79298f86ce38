"""A default that several entry points have is the same in all of them."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import pytest
from typer.models import OptionInfo

from esdedup.cli import folding, groups, options, search_options, searching
from esdedup.cli.folding import fold as fold_command
from esdedup.evaluation.online import Arrival
from esdedup.model.queries import (
    DEFAULT_BY,
    DEFAULT_COUNT,
    DEFAULT_MODE,
    DEFAULT_SHOW,
    DEFAULT_SIZE,
    FRONT_BY,
    FRONT_SIZE,
    By,
    SearchOptions,
    Show,
)
from esdedup.search.fold import Keep, fold
from esdedup.search.searcher import Searcher
from esdedup.service.routes import searching as routes
from esdedup.service.schemas import FoldIn, SearchIn, SearchLink
from esdedup.settings import table


def default_of(function: Any, name: str) -> Any:
    default = inspect.signature(function).parameters[name].default
    return default.default if isinstance(default, OptionInfo) else default


@pytest.mark.parametrize("asked", [SearchIn(), SearchLink(), SearchOptions()])
def test_a_search(asked: SearchIn | SearchLink | SearchOptions) -> None:
    assert (asked.mode, asked.by, asked.show) == (DEFAULT_MODE, DEFAULT_BY, DEFAULT_SHOW)
    assert asked.size in (DEFAULT_SIZE, None)
    assert getattr(asked, "total", DEFAULT_COUNT) == DEFAULT_COUNT


def test_the_search_of_the_command_line() -> None:
    assert default_of(searching.search, "by") == DEFAULT_BY
    assert default_of(searching.search, "show") == DEFAULT_SHOW
    assert default_of(searching.search, "number") == DEFAULT_SIZE


@pytest.mark.parametrize("entry", [fold, fold_command])
def test_folding_of_a_list(entry: Any) -> None:
    assert default_of(entry, "by") == FoldIn(items=[]).by == DEFAULT_BY


@pytest.mark.parametrize(
    ("entry", "size"),
    [(Searcher.front_page, "size"), (routes.front, "size"), (searching.front, "number")],
)
def test_a_front_page(entry: Any, size: str) -> None:
    assert default_of(entry, "by") == FRONT_BY
    assert default_of(entry, size) == FRONT_SIZE


@pytest.mark.parametrize(
    ("command", "library"),
    [
        (search_options.By, By),
        (search_options.ShowRule, Show),
        (folding.KeepRule, Keep),
        (groups.CanonicalRule, table.Keep),
        (options.Arrivals, Arrival),
    ],
)
def test_commands_offer_the_choices_of_the_library(command: Any, library: Any) -> None:
    """They repeat them: `esdedup --help` loads neither numpy nor a store."""
    assert get_args(command) == get_args(library)
