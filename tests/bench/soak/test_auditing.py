"""Bindings that should not have been are found in the API server's audit log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.soak.auditing import SCHEDULERS, Audit


def line(sender: str, second: int, resource: str, answered: int = 0, code: int = 201, **more: Any) -> str:
    """A record of a request that was received at ``second`` and answered at ``answered``, or at once."""
    kind, _, subresource = resource.partition("/")
    reference = {
        "resource": kind,
        "subresource": subresource,
        "name": more.pop("name", "p"),
        "uid": more.pop("uid", ""),
    }
    at = "2026-01-01T00:00:{:02}.000000Z"
    record = {
        "user": {"username": f"{SCHEDULERS}{sender}"},
        "verb": "create",
        "objectRef": reference,
        "responseStatus": {"code": code},
        "requestReceivedTimestamp": at.format(second),
        "stageTimestamp": at.format(answered or second),
        **more,
    }
    return json.dumps(record) + "\n"


def led(sender: str, second: int, holder: str = "somebody", code: int = 200) -> str:
    """A write to the lease."""
    return line(sender, second, "leases", code=code, requestObject={"spec": {"holderIdentity": holder}})


def bound(sender: str, second: int, uid: str, *, answered: int = 0, code: int = 201) -> str:
    return line(sender, second, "pods/binding", answered, code, uid=uid, name=f"pod-{uid}")


def audited(directory: Path, *lines: str) -> Audit:
    audit = Audit(directory)
    (directory / "audit.log").write_text("".join(lines))
    audit.read()
    return audit


def test_bindings_are_counted_by_who_sent_them(tmp_path: Path) -> None:
    audit = audited(tmp_path, led("a", 1), bound("a", 2, "1"), bound("a", 2, "2"), bound("a", 3, "2", code=409))
    assert (audit.bound, audit.refused, audit.wrong) == ({"a": 2}, {409: 1}, [])


def test_a_binding_that_the_server_gave_up_may_have_been_carried_out(tmp_path: Path) -> None:
    audit = audited(tmp_path, led("a", 1), bound("a", 2, "1", code=504), bound("b", 3, "2", code=409))
    assert (audit.bound, audit.sent("a").unknown, audit.sent("b").refused) == ({}, 1, 1)


def test_requests_that_change_something_are_counted_by_who_sent_them(tmp_path: Path) -> None:
    lines = [
        led("a", 1),
        bound("a", 2, "1"),
        line("a", 3, "events"),
        line("a", 3, "events", code=200, verb="patch"),
        line("a", 4, "pods", code=200, verb="delete"),
        line("a", 4, "pods", code=404, verb="delete"),
        line("b", 5, "pods/status", code=200, verb="patch"),
    ]
    sent = audited(tmp_path, *lines).sent("a")
    assert sent.by_method == {("POST", "201"): 2, ("PATCH", "200"): 1, ("DELETE", "200"): 1, ("DELETE", "404"): 1}
    assert (sent.bound, sent.refused, sent.evicted) == (1, 0, 1)


def test_what_was_sent_before_does_not_count(tmp_path: Path) -> None:
    audit = audited(tmp_path, led("a", 1), bound("a", 2, "1"))
    before = audit.sent("a")
    (tmp_path / "audit.log").write_text("".join([led("a", 1), bound("a", 2, "1"), bound("a", 3, "2")]))
    audit.read()
    assert (audit.sent("a").bound, audit.sent("a").since(before).bound) == (2, 1)


def test_a_pod_that_is_bound_again_is_wrong(tmp_path: Path) -> None:
    audit = audited(tmp_path, led("a", 1), bound("a", 2, "1"), bound("a", 3, "1"))
    assert audit.wrong == ["pod pod-1 was bound again by a"]


def test_a_binding_without_a_uid_is_wrong(tmp_path: Path) -> None:
    assert audited(tmp_path, bound("a", 2, "")).wrong == ["pod pod- was bound by a without its uid"]


def test_a_binding_after_another_leads_is_wrong(tmp_path: Path) -> None:
    audit = audited(tmp_path, led("a", 1), led("b", 10), bound("a", 12, "1"))
    assert audit.wrong == ["pod pod-1 was bound by a 2.00 s after b led"]


def test_a_binding_sent_before_another_led_may_be_answered_later(tmp_path: Path) -> None:
    assert audited(tmp_path, led("a", 1), led("b", 10), bound("a", 9, "1", answered=11)).wrong == []


@pytest.mark.parametrize(
    ("lines", "leaders"),
    [
        pytest.param([led("a", 1), led("a", 2), led("b", 3)], ["a", "b"], id="one-after-the-other"),
        pytest.param([led("a", 1), led("a", 2, ""), led("a", 3)], ["a", "a"], id="given-up-and-taken-again"),
        pytest.param([led("a", 1), led("b", 2, code=409)], ["a"], id="refused"),
    ],
)
def test_who_led_is_read_from_the_writes_to_the_lease(tmp_path: Path, lines: list[str], leaders: list[str]) -> None:
    assert [handover.leader for handover in audited(tmp_path, *lines).handovers] == leaders


def test_an_incomplete_line_is_read_when_it_is_complete(tmp_path: Path) -> None:
    whole = bound("a", 2, "1")
    audit = audited(tmp_path, whole, whole[:30])
    assert audit.bound == {"a": 1}
    (tmp_path / "audit.log").write_text(whole + bound("a", 2, "2"))
    audit.read()
    assert audit.bound == {"a": 2}
