"""The cache through assume, confirm and forget; the table always counts exactly the cache's pods."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from scheduler_runtime.state import objects
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.objects import Pod
from scheduler_runtime.testing import node, pod

NODES = ("one", "two", "three")


def bound(to: Pod, node_name: str) -> Pod:
    return replace(to, spec=replace(to.spec, node_name=node_name))


def cpu(cache: Cache, name: str) -> int:
    row = cache.table.row(name)
    assert row is not None
    return int(cache.table.requested("cpu")[row])


@pytest.fixture
def cache() -> Cache:
    cache = Cache()
    for name in NODES:
        cache.set_node(node(name))
    return cache


def test_an_assumed_pod_counts_until_it_is_forgotten(cache: Cache) -> None:
    one = pod("a", {"cpu": "1"})
    cache.assume(one, "one")
    assert (cpu(cache, "one"), cache.is_assumed(one.uid)) == (1000, True)
    cache.forget(one)
    assert (cpu(cache, "one"), cache.get(one.uid)) == (0, None)
    cache.forget(one)


def test_a_pod_is_assumed_once(cache: Cache) -> None:
    one = pod("a", {"cpu": "1"})
    cache.assume(one, "one")
    with pytest.raises(ValueError, match=r"pod default/a .* is on node one already"):
        cache.assume(one, "two")
    assert (cpu(cache, "one"), cpu(cache, "two")) == (1000, 0)


def test_add_pod_will_confirm(cache: Cache) -> None:
    one = pod("a", {"cpu": "1"})
    cache.assume(one, "one")
    cache.add(bound(one, "one"))
    assert (cpu(cache, "one"), cache.is_assumed(one.uid)) == (1000, False)
    cache.forget(one)
    assert cpu(cache, "one") == 1000


STATUS = objects.PodStatus(conditions=(objects.PodCondition("PodScheduled", "True"),))
RUNS = replace(STATUS, container_statuses=(objects.ContainerStatus("main", allocated_resources={"cpu": "1"}),))
INFEASIBLE = objects.PodCondition("PodResizePending", "True", "Infeasible")


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        pytest.param(objects.PodStatus(), STATUS, False, id="its-binding-is-seen"),
        pytest.param(RUNS, replace(RUNS, conditions=(objects.PodCondition("Ready", "True"),)), False, id="it-is-ready"),
        pytest.param(STATUS, RUNS, True, id="it-was-given-something"),
        pytest.param(RUNS, replace(RUNS, conditions=(INFEASIBLE,)), True, id="it-cannot-be-resized"),
    ],
)
def test_only_a_version_that_takes_something_else_is_counted_again(
    cache: Cache, before: objects.PodStatus, after: objects.PodStatus, counts: bool
) -> None:
    one = bound(pod("a", {"cpu": "1"}), "one")
    cache.add(replace(one, status=before))
    position = cache.table.changes.position
    cache.add(replace(one, status=after))
    assert (cache.table.changes.position > position) == counts
    assert cpu(cache, "one") == 1000


@pytest.mark.parametrize(("had", "counts"), [("1", False), ("2", True)])
def test_a_pod_that_runs_with_what_it_asked_for_is_not_counted_again(cache: Cache, had: str, counts: bool) -> None:
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    runs = {"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": had}}}]}
    raw_pod = {"metadata": {"name": "a", "uid": "a"}, "spec": {"nodeName": "one", "containers": [container]}}
    cache.add(objects.decode_pod(msgspec.json.encode(raw_pod)))
    position = cache.table.changes.position
    cache.add(objects.decode_pod(msgspec.json.encode({**raw_pod, "status": runs})))
    assert (cache.table.changes.position > position) == counts
    assert cpu(cache, "one") == 1000 * int(had)


def test_add_pod_will_replace_assumed(cache: Cache) -> None:
    one = pod("a", {"cpu": "1"})
    cache.assume(one, "one")
    cache.add(bound(one, "two"))
    assert (cpu(cache, "one"), cpu(cache, "two")) == (0, 1000)
    cache.forget(one)
    assert cpu(cache, "two") == 1000


def test_an_update_changes_what_is_counted(cache: Cache) -> None:
    cache.add(bound(pod("a", {"cpu": "2"}), "one"))
    cache.add(bound(pod("a", {"cpu": "1"}), "one"))
    assert (cpu(cache, "one"), len(cache)) == (1000, 1)


def test_a_deleted_pod_gives_its_room_back_even_when_only_assumed(cache: Cache) -> None:
    one = pod("a", {"cpu": "1"})
    cache.assume(one, "one")
    removed = cache.remove(one.uid)
    assert removed is not None
    assert (removed.node, removed.assumed, cpu(cache, "one")) == ("one", True, 0)
    assert cache.remove(one.uid) is None


def test_pods_of_a_node_that_goes_and_comes_back_are_still_there(cache: Cache) -> None:
    one, two = pod("a", {"cpu": "1"}), pod("b", {"cpu": "2"})
    cache.assume(one, "one")
    cache.add(bound(two, "one"))
    cache.remove_node("one")
    cache.forget(one)
    cache.set_node(node("one"))
    assert cpu(cache, "one") == 2000


class CacheMachine(RuleBasedStateMachine):
    """Nodes of four cores; a pod is assumed only where it fits, as a decision would."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache()
        self.nodes: set[str] = set()
        self.where: dict[str, tuple[Pod, str, bool]] = {}
        self.created = 0

    @rule(name=st.sampled_from(NODES))
    def node_comes(self, name: str) -> None:
        self.cache.set_node(node(name, cpu="4"))
        self.nodes.add(name)

    @precondition(lambda self: self.nodes)
    @rule(pick=st.integers(0, 9))
    def node_goes(self, pick: int) -> None:
        name = sorted(self.nodes)[pick % len(self.nodes)]
        self.cache.remove_node(name)
        self.nodes.remove(name)

    @precondition(lambda self: self.nodes)
    @rule(pick=st.integers(0, 9), cores=st.integers(1, 3))
    def assume(self, pick: int, cores: int) -> None:
        name = sorted(self.nodes)[pick % len(self.nodes)]
        if cpu(self.cache, name) + 1000 * cores > 4000:
            return
        self.created += 1
        one = pod(f"p{self.created}", {"cpu": str(cores)})
        self.cache.assume(one, name)
        self.where[one.uid] = (one, name, True)

    @precondition(lambda self: self.where)
    @rule(pick=st.integers(0, 99))
    def binding_fails(self, pick: int) -> None:
        one, _, assumed = self.picked(pick)
        self.cache.forget(one)
        if assumed:
            del self.where[one.uid]

    @precondition(lambda self: self.where)
    @rule(pick=st.integers(0, 99))
    def watch_confirms(self, pick: int) -> None:
        one, name, _ = self.picked(pick)
        self.cache.add(bound(one, name))
        self.where[one.uid] = (one, name, False)

    @precondition(lambda self: self.where)
    @rule(pick=st.integers(0, 99))
    def pod_goes(self, pick: int) -> None:
        one, _, _ = self.picked(pick)
        self.cache.remove(one.uid)
        del self.where[one.uid]

    def picked(self, pick: int) -> tuple[Pod, str, bool]:
        return list(self.where.values())[pick % len(self.where)]

    @invariant()
    def the_table_counts_what_the_cache_has(self) -> None:
        used: Counter[str] = Counter()
        for one, name, _ in self.where.values():
            used[name] += one.requests.amounts["cpu"]
        assert len(self.cache) == len(self.where)
        for uid, (_, name, assumed) in self.where.items():
            placed = self.cache.get(uid)
            assert placed is not None
            assert (placed.node, placed.assumed) == (name, assumed)
        for name in self.nodes:
            assert cpu(self.cache, name) == used[name] <= 4000


TestTheTableCountsWhatIsHeld = CacheMachine.TestCase
TestTheTableCountsWhatIsHeld.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
