"""How long a server is waited for: a wrong address is told soon, a lost server is waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from esdedup.errors import StoreUnavailable
from esdedup.stores import connection
from esdedup.stores.connection import Connection, Target, connect

TARGET = Target.parse("elasticsearch+http://127.0.0.1:9/news", {"ES_OPENING_SECONDS": "0"})


def of(answers: list[object], target: Target = TARGET) -> Connection:
    def perform(method: str, path: str, params: Mapping[str, Any], body: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Connection("elasticsearch", target, perform, lambda: None)


@pytest.mark.parametrize("product", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("host", ["127.0.0.1:9", "nobody.invalid:9200"])
def test_a_server_that_was_never_there_is_told_with_the_remedy(product: str, host: str) -> None:
    target = Target.parse(f"{product}+http://{host}/news", {"ES_OPENING_SECONDS": "0"})
    with pytest.raises(StoreUnavailable, match=r"cannot be reached.*host and port.*ES_OPENING"):
        connect(target).send("GET", "/")


def test_the_time_for_opening_can_be_set_and_is_never_longer_than_for_all_else() -> None:
    assert Target.parse("http://x/news", {}).opening_seconds == 10
    nobody = connection._NobodyThere("refused")
    short = Target.parse("http://x/news", {"ES_RETRY_SECONDS": "0", "ES_OPENING_SECONDS": "60"})
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        of([nobody], short).send("GET", "/")


def test_a_server_that_answered_is_waited_for() -> None:
    lost = connection._NobodyThere("refused")
    opened = of([{"first": True}, lost, lost, {"again": True}])
    assert opened.send("GET", "/") == {"first": True}
    assert opened.send("GET", "/") == {"again": True}
    assert opened.repeated == 2


def test_a_server_that_is_busy_while_it_is_opened_is_waited_for() -> None:
    busy, lost = connection._Later("503"), connection._NobodyThere("refused")
    assert of([busy, lost, {"up": True}]).send("GET", "/") == {"up": True}
