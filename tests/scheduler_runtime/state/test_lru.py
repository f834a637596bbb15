"""What was used lately is remembered."""

from __future__ import annotations

import pytest

from scheduler_runtime.plugins.interpodaffinity import own_terms as wanted_module
from scheduler_runtime.state.lru import LruCache, next_cleanup_size
from tests.scheduler_runtime.plugins.interpodaffinity.clusters import plugin, pod, required, term


def test_what_was_not_used_for_the_longest_time_is_forgotten() -> None:
    recent: LruCache[str, int] = LruCache(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (1, None, 3)


def test_what_pods_want_is_remembered_for_as_long_as_they_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wanted_module, "MAX_CACHED", 2)
    wants = plugin()._own_terms
    first, second, third = (pod(app, affinity=required("podAffinity", term("zone", app=app))) for app in "abc")
    known = wants.get(first)
    wants.get(second)
    wants.get(first)
    wants.get(third)
    assert wants.get(first) is known


@pytest.mark.parametrize("living", [0, 100, 10_000])
def test_of_what_comes_and_goes_little_is_kept_and_little_is_looked_at(living: int) -> None:
    few, come, looked_at = 64, 100_000, 0
    kept = sweep_at = living
    for _ in range(come):
        kept += 1
        if kept >= sweep_at:
            looked_at += kept
            kept, sweep_at = living, next_cleanup_size(living, few)
        assert kept <= max(living * 1.25, living + few)
    assert looked_at <= 7 * come
