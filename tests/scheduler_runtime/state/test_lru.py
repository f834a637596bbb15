"""The LRU cache, and the sizes at which to clean up."""

from __future__ import annotations

import pytest

from scheduler_runtime import testing
from scheduler_runtime.plugins.interpodaffinity import own_terms as own_terms_module
from scheduler_runtime.state.lru import LruCache, next_cleanup_size, weight_of
from tests.scheduler_runtime.plugins.interpodaffinity.clusters import plugin, pod, required, term


def test_what_was_not_used_for_the_longest_time_is_forgotten() -> None:
    cache: LruCache[str, int] = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)


def test_heavy_values_leave_room_for_fewer_others() -> None:
    cache: LruCache[str, int] = LruCache(10)
    for name in "abcd":
        cache.put(name, 1)
    cache.put("heavy", 2, weight=8)
    assert [cache.get(name) for name in ("a", "b", "c", "d", "heavy")] == [None, None, 1, 1, 2]
    cache.put("heavy", 2)
    for name in "efghijk":
        cache.put(name, 3)
    assert len(cache) == 10
    cache.put("too heavy", 4, weight=100)
    assert (len(cache), cache.get("too heavy")) == (1, 4)
    cache.put("l", 5)
    assert (cache.get("too heavy"), cache.get("l")) == (None, 5)


def test_what_pods_want_is_remembered_for_as_long_as_they_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_terms_module, "MAX_CACHED", 2)
    own_terms = plugin()._own_terms
    first, second, third = (pod(app, affinity=required("podAffinity", term("zone", app=app))) for app in "abc")
    first_terms = own_terms.get(first)
    own_terms.get(second)
    own_terms.get(first)
    own_terms.get(third)
    assert own_terms.get(first) is first_terms


@pytest.mark.parametrize("living", [0, 100, 10_000])
def test_of_what_comes_and_goes_little_is_kept_and_little_is_looked_at(living: int) -> None:
    minimum, additions, looked_at = 64, 100_000, 0
    size = cleanup_at = living
    for _ in range(additions):
        size += 1
        if size >= cleanup_at:
            looked_at += size
            size, cleanup_at = living, next_cleanup_size(living, minimum)
        assert size <= max(living * 1.25, living + minimum)
    assert looked_at <= 7 * additions


def test_a_value_weighs_by_what_users_wrote() -> None:
    small, large = testing.pod("p").spec, testing.pod("p", nodeSelector={"k" * 100: "v" * 10_000}).spec
    assert weight_of(small, 1000) == 1
    assert weight_of(("key", frozenset(["x" * 5000]), large), 1000) == 16
    assert weight_of((object(), 10**30), 1000) == 1
