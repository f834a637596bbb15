"""What was used lately is remembered."""

from __future__ import annotations

import pytest

from scheduler_runtime.plugins.interpodaffinity import wanted as wanted_module
from scheduler_runtime.recent import Recent
from tests.scheduler_runtime.plugins.interpodaffinity.clusters import plugin, pod, required, term


def test_what_was_not_used_for_the_longest_time_is_forgotten() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (1, None, 3)


def test_what_pods_want_is_remembered_for_as_long_as_they_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wanted_module, "MAX_KEPT", 2)
    wants = plugin()._wants
    first, second, third = (pod(app, affinity=required("podAffinity", term("zone", app=app))) for app in "abc")
    known = wants.of(first)
    wants.of(second)
    wants.of(first)
    wants.of(third)
    assert wants.of(first) is known
