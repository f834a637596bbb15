"""Amounts that wrapped around int64 on one node keep no pod from the others."""

from __future__ import annotations

import pytest

from scheduler_runtime import testing
from scheduler_runtime.framework import Placed
from scheduler_runtime.state.cache import Cache


@pytest.mark.parametrize("strategy", ["LeastAllocated", "MostAllocated"])
@pytest.mark.parametrize("amount", ["10000000000000000000", "9223372036854775808", "18446744073709551615"])
@pytest.mark.parametrize("is_seen_first", [True, False], ids=["all-rows", "one-row"])
def test_one_pod_with_such_requests_keeps_no_other_waiting(strategy: str, amount: str, is_seen_first: bool) -> None:
    args = {
        "scoringStrategy": {"type": strategy, "resources": [{"name": name, "weight": 1} for name in ("cpu", "memory")]}
    }
    framework = testing.framework({"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]})
    cache = Cache()
    for number in range(3):
        cache.set_node(testing.node(f"n{number}"))
    if not is_seen_first:  # scores of all nodes are kept, and that of one node is computed anew
        ready = framework.schedule(testing.pod("p", {"cpu": "100m"}, schedulerName="test"), cache)
        assert isinstance(ready, Placed)
    cache.add(testing.pod("bad", {"memory": amount}, nodeName="n1"))
    assert cache.table.requested("memory").min() < 0
    for number in range(4):
        placed = framework.schedule(testing.pod(f"q{number}", {"cpu": "100m"}, schedulerName="test"), cache)
        assert isinstance(placed, Placed)


@pytest.mark.parametrize("requests", [{"memory": "9223372036854775808"}, {"cpu": "7Ei"}])
@pytest.mark.parametrize("is_seen_first", [True, False], ids=["all-rows", "one-row"])
def test_a_pod_with_such_requests_is_scored(requests: dict[str, str], is_seen_first: bool) -> None:
    framework, cache = testing.framework(), Cache()
    for number in range(3):
        cache.set_node(testing.node(f"n{number}"))
    if not is_seen_first:
        assert isinstance(framework.schedule(testing.pod("p", requests, schedulerName="test"), cache), Placed)
    pod = testing.pod("bad", requests, schedulerName="test")
    assert min(pod.requests.amounts.values()) == -(2**63)
    assert isinstance(framework.schedule(pod, cache), Placed)
