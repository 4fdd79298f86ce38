"""Tenants: which headers tell them apart, and how many sessions they may have at once."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

import pytest

from esdedup.errors import StoreUnavailable
from esdedup.gateway import session_manager
from esdedup.gateway.server import Gateway, Options
from esdedup.gateway.session_manager import SessionManager, cause_of
from esdedup.gateway.tenants import CREDENTIAL_HEADERS, Cluster, Tenant
from esdedup.stores.cluster.connection import Target
from tests.gateway.running import Listener, running

TARGET = Target.parse("elasticsearch+http://127.0.0.1:1", {})


def test_only_credential_headers_make_a_tenant() -> None:
    one = Tenant.of([("Authorization", "ApiKey a"), ("X-Trace-Id", "1"), ("X-B3-SpanId", "2")])
    same = Tenant.of([("X-Trace-Id", "3"), ("authorization", "ApiKey a")])
    other = Tenant.of([("Authorization", "ApiKey b")])
    assert one == same
    assert one.headers == (("authorization", "ApiKey a"),)
    assert one.name != other.name
    assert "ApiKey" not in repr(one)


def test_further_headers_are_configured() -> None:
    options = Options(TARGET, credential_headers=("X-Staff-Name",))
    names = Gateway(options)._credential_headers
    assert names == {*CREDENTIAL_HEADERS, "x-staff-name"}
    assert Tenant.of([("X-STAFF-NAME", "bob")], names).headers == (("x-staff-name", "bob"),)


class Session:
    """As much of a session as its manager uses."""

    made: ClassVar[list[Session]] = []

    def __init__(self, *given: Any) -> None:
        self.pins = 0
        self.used = float(len(self.made))
        self.waiting = 0
        self.is_closed = self.has_ended = False
        self.made.append(self)

    @property
    def is_busy(self) -> bool:
        return self.pins > 0

    def end_epoch(self) -> None:
        self.waiting, self.has_ended = 0, True

    def abandon(self) -> int:
        return self.waiting

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> SessionManager:
    monkeypatch.setattr("esdedup.gateway.session.TenantSession", Session)
    monkeypatch.setattr(Session, "made", [])
    monkeypatch.setattr(session_manager, "_MOST_SESSIONS", 3)
    monkeypatch.setattr(Cluster, "store", lambda *given: None)
    return SessionManager(Cluster(TARGET))


def tenant(name: str) -> Tenant:
    return Tenant.of([("Authorization", name)])


def opened(manager: SessionManager, *names: str) -> list[Session]:
    for name in names:
        with manager.open(tenant(name), "news"):
            pass
    return Session.made


def test_the_limit_of_sessions_holds_though_all_have_documents_to_reconcile(
    manager: SessionManager,
) -> None:
    first, second, third = opened(manager, "a", "b", "c")
    for session in (first, second, third):
        session.waiting = 1
    opened(manager, "d")
    assert (first.has_ended, first.is_closed) == (True, True), "reconciled, then closed"
    assert not second.is_closed
    assert manager.waiting == 2
    second.waiting = third.waiting = 0
    opened(manager, "e", "f", "g", "b")
    assert sum(not session.is_closed for session in Session.made) == 3


def test_a_session_with_a_write_is_not_closed(manager: SessionManager) -> None:
    with (
        manager.open(tenant("a"), "news"),
        manager.open(tenant("b"), "news"),
        manager.open(tenant("c"), "news"),
    ):
        with pytest.raises(StoreUnavailable, match="esdedup sweep"):
            opened(manager, "d")
        assert [session.is_closed for session in Session.made] == [False, False, False, True]
    opened(manager, "d")
    assert Session.made[0].is_closed


def test_what_a_failing_session_leaves_is_logged(
    manager: SessionManager, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: Session) -> None:
        raise StoreUnavailable("no answer; run the same command again when it is back")

    (first, *_) = opened(manager, "a", "b", "c")
    for session in Session.made:
        session.waiting = 2
    Session.end_epoch, end_epoch = fail, Session.end_epoch  # type: ignore[method-assign]  # fails
    try:
        with caplog.at_level(logging.ERROR):
            opened(manager, "d")
    finally:
        Session.end_epoch = end_epoch  # type: ignore[method-assign]  # as before
    assert first.is_closed
    assert "2 documents of news are left to `esdedup sweep`: no answer" in caplog.text
    assert "command" not in caplog.text


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("no answer (x); run the same command again when it is back", "no answer (x)"),
        ("no shard; look at it and run the same command again", "no shard; look at it"),
        ("full; free disk space, then run the same command again", "full; free disk space"),
        ("may not: read; give it the rights", "may not: read; give it the rights"),
    ],
)  # fmt: skip
def test_messages_speak_of_no_command(said: str, cause: str) -> None:
    assert cause_of(StoreUnavailable(said)) == cause


def test_a_pattern_over_everything_where_there_is_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """A cluster without any index: the write passes and makes one; nothing has failed."""
    with (
        caplog.at_level(logging.WARNING, "esdedup"),
        Listener() as cluster,
        running(f"elasticsearch+{cluster.url}", indices=("*",)) as gateway,
    ):
        assert gateway.http("PUT", "/news/_doc/a", {"text": "an article"}).status == 200
        assert gateway.http("POST", "/news/_doc", {"text": "an article"}).status == 200
        gateway.settled()
        status = gateway.http("GET", "/_esdedup/status").json()
        assert (status.get("detection_failed", 0), status["unenriched"]) == (0, 2)
        assert b"PUT /news/_doc/a HTTP/1.1" in cluster.everything
    assert caplog.text == ""
