"""Everything that the description allows, and much that it does not, is answered without a 5xx,
and as the description says."""

from __future__ import annotations

import json
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.conftest import Running
from tests.support.waiting import PATIENCE

_BOUNDED = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

# An answer is one of those described, of its type, and as its schema says.
_CONFORMING = [status_code_conformance, content_type_conformance, response_schema_conformance]


@schemathesis.serializer("application/x-ndjson")
def _ndjson(_: Any, value: Any) -> bytes:
    return str(value).encode("utf-8", "replace")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=str)
def test_no_question_breaks_the_service(service: Running, mode: GenerationMode) -> None:
    """Valid by the description, or made invalid on purpose; each answer is read to its end."""
    base = f"http://127.0.0.1:{service.port}"
    description = schemathesis.openapi.from_url(f"{base}/openapi.json")
    asked = {}
    for found in description.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]  # a failure is raised
        if operation.path != "/v1/events/stream":  # has no end
            asked[operation.label] = _statuses(operation, mode, base)
    assert len(asked) >= 18
    assert service.client.get("/readyz").status_code == 200


def test_no_line_of_a_bulk_breaks_the_service(service: Running) -> None:
    """A bulk is described as a text: its lines are articles as described, articles made invalid on
    purpose, or any text. Every line that is not blank has an answer, in its order."""
    url = f"http://127.0.0.1:{service.port}/openapi.json"
    article: Any = schemathesis.openapi.from_url(url)["/v1/articles"]["POST"]
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    bodies = [article.as_strategy(generation_mode=m).map(lambda case: case.body) for m in modes]
    line = st.one_of(
        st.text(), *(b.map(lambda body: json.dumps(body, default=str)) for b in bodies)
    )

    @_BOUNDED
    @given(lines=st.lists(line, max_size=6))
    def ask(lines: list[str]) -> None:
        sent = "\n".join(lines).encode("utf-8", "replace")
        answer = service.bulk(sent)
        assert answer.status_code == 200, (sent, answer.text)
        *answers, end = [json.loads(line) for line in answer.text.splitlines()]
        wanted = [n for n, line in enumerate(sent.split(b"\n"), 1) if line.strip()]
        assert [one["line"] for one in answers if "line" in one] == wanted, sent
        assert end["summary"]["complete"], sent

    ask()


def _statuses(operation: Any, mode: GenerationMode, base: str) -> set[int]:
    statuses = set()

    @_BOUNDED
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        answer = case.call(base_url=base, timeout=PATIENCE)
        statuses.add(answer.status_code)
        assert answer.status_code < 500, (case.as_curl_command(), answer.text)
        case.validate_response(answer, checks=_CONFORMING)

    try:
        ask()
    except Unsatisfiable:  # nothing about it can be made invalid
        assert mode is GenerationMode.NEGATIVE
    return statuses
