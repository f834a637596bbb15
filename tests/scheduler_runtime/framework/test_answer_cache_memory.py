"""The memory of cached answers, and the changes of pods that they follow."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, MutableMapping
from typing import Any, ClassVar

import numpy as np
import pytest
from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.api import Action, ClusterEvent, NodeTable, Plugin, Pod, Reject
from scheduler_runtime.framework import Framework, Placed, Unschedulable, answer_cache
from scheduler_runtime.state import objects

BUDGET = 300_000
RELATIVE = [objects.Taint(key=key, value="v", effect="PreferNoSchedule") for key in "abc"]


def in_zone(zone: str, weight: int) -> dict[str, Any]:
    preference = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
    return {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "preference": preference}]
        }
    }


def array_bytes(decides: Framework) -> int:
    """The memory of the arrays of all entries, and of the NodeAnswers that they hold on to."""
    cache = decides.answer_cache
    node_answers = {
        id(answers): answers
        for answers in (*cache._node_entries.values(), *(entry.node_answers for entry in cache._pod_entries.values()))
    }
    own = sum(entry.mask.nbytes + entry.total.nbytes for entry in cache._pod_entries.values())
    return own + sum(
        answers.mask.nbytes + answers.total.nbytes + sum(entry.scores.nbytes for entry in answers.unnormalized)
        for answers in node_answers.values()
    )


def test_the_cache_stays_within_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "BUDGET_BYTES", BUDGET)
    nodes = [
        testing.node(f"n{number}", labels={"zone": str(number % 3)}, taints=[RELATIVE[number % 3]])
        for number in range(300)
    ]
    cluster, decides = testing.Cluster(*nodes), testing.framework()
    for number in range(1, 91):
        pod = testing.pod(f"p{number}", affinity=in_zone(str(number % 3), number))
        assert decides.answer_cache.lookup(pod, cluster.table) is not None
        if number % 10 == 0:
            cluster.table.set_node(nodes[number])
        assert array_bytes(decides) <= decides.answer_cache.size(len(nodes)) <= BUDGET
    assert 16 < len(decides.answer_cache._pod_entries) < 90


@pytest.mark.parametrize("size", [20_000, 500_000, 1_500_000])
def test_what_users_write_counts_as_memory(size: int) -> None:
    cluster, decides = testing.Cluster(testing.node("n")), testing.framework()
    cache = decides.answer_cache
    for number in range(64_000_000 // size):
        tolerations = [{"key": f"{number}-{'x' * size}", "operator": "Exists"}]
        assert cache.lookup(testing.pod("p", tolerations=tolerations), cluster.table) is not None
    specs = [spec for spec, _, _ in cache._signatures._keys.values()]
    assert size * max(len(cache._node_entries), len(cache._pod_entries)) < 16_000_000
    assert size * len(specs) < 8_000_000


def for_node(name: str) -> dict[str, Any]:
    """The affinity that the controller of DaemonSets writes."""
    by_name = {"key": "metadata.name", "operator": "In", "values": [name]}
    terms = {"nodeSelectorTerms": [{"matchFields": [by_name]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def test_pods_of_a_daemon_set_displace_no_cached_answers() -> None:
    cluster = testing.Cluster(*(testing.node(f"n{number}") for number in range(3)))
    decides = testing.framework()
    decides.schedule(testing.pod("plain"), cluster)
    before = dict(decides.answer_cache._pod_entries), dict(decides.answer_cache._node_entries)
    for number in range(3):
        outcome = decides.schedule(testing.pod(f"p{number}", affinity=for_node(f"n{number}")), cluster)
        assert isinstance(outcome, Placed)
        assert outcome.node == f"n{number}"
    assert (decides.answer_cache._pod_entries, decides.answer_cache._node_entries) == before


class Closes(Plugin):
    """Lets no pod in while there is a node of this name."""

    looks_at_pods = False

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: MutableMapping[str, Any]) -> Reject | None:
        return Reject(True, "closed") if "closes" in nodes.names else None

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield from ()

    def signature(self, pod: Pod) -> Hashable:
        return ()


class Scored(Plugin):
    """Notes that its scores are asked for."""

    row_local = True
    scored: ClassVar[list[str]] = []

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: MutableMapping[str, Any]) -> None:
        self.scored.append(pod.name)

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Any:
        return np.zeros(len(nodes), np.int64)

    def score_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> int:
        return 0

    def signature(self, pod: Pod) -> Hashable:
        return ()


def test_what_does_not_hold_any_more_for_a_class_takes_no_room_and_is_not_scored() -> None:
    cluster = testing.Cluster(testing.node("a"), testing.node("b"))
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "Closes"}, {"name": "Scored"}]}}}
    decides = testing.framework(profile, Closes, Scored)
    assert isinstance(decides.schedule(testing.pod("first"), cluster), Placed)
    assert len(decides.answer_cache._pod_entries) == len(decides.answer_cache._node_entries) == 1
    cluster.table.set_node(testing.node("closes"))
    for _ in range(2):
        assert isinstance(decides.schedule(testing.pod("second"), cluster), Unschedulable)
    assert not decides.answer_cache._pod_entries
    assert not decides.answer_cache._node_entries
    assert Scored.scored == ["first"]


class Starting(Plugin):
    """Keeps pods off nodes on which others are still starting."""

    row_local = True
    events: ClassVar[Any] = (ClusterEvent("Pod", Action.ALL),)

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(np.array([self._waits(nodes, row) for row in range(len(nodes))]), "others are starting")

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
        if self._waits(nodes, row):
            yield Reject(True, "others are starting")

    def _waits(self, nodes: NodeTable, row: int) -> bool:
        return any(other.status.phase == "Pending" for other in nodes.pods(row))

    def signature(self, pod: Pod) -> Hashable:
        return ()


def test_a_cached_plugin_may_look_at_fields_that_the_table_does_not_count() -> None:
    cluster = testing.Cluster(testing.node("a"))
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "Starting"}]}}}
    decides = testing.framework(profile, Starting)
    starts = replace(testing.pod("there"), status=objects.PodStatus(phase="Pending"))
    cluster.place(starts, "a")
    assert isinstance(decides.schedule(testing.pod("p"), cluster), Unschedulable)
    cluster.table.replace_pod(replace(starts, status=objects.PodStatus(phase="Running")), "a")
    assert isinstance(decides.schedule(testing.pod("p"), cluster), Placed)


def test_changes_of_fields_that_the_table_does_not_count_are_not_logged_without_such_a_plugin() -> None:
    cluster, decides = testing.Cluster(testing.node("a")), testing.framework()
    there = testing.pod("there")
    cluster.place(there, "a")
    decides.schedule(testing.pod("p"), cluster)
    position = cluster.table.changes.position
    cluster.table.replace_pod(replace(there, status=objects.PodStatus(phase="Running")), "a")
    assert cluster.table.changes.position == position
