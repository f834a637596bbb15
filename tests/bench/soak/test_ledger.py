"""Faults of pods and nodes are noted from the events of the watches, and nothing else is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bench.soak.ledger import CORDONED_SECONDS, Ledger, percentile
from bench.soak.objects import Node, Pod
from bench.soak.pod_families import APART, FAMILY


def pod(name: str, node: str = "", *, cpu: str = "1", reason: str = "", **spec: Any) -> Pod:
    labels = {FAMILY: "some", **({APART: spec.pop("apart")} if "apart" in spec else {})}
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": reason}]
    document = {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
        "spec": {"nodeName": node, "containers": [{"resources": {"requests": {"cpu": cpu}}}], **spec},
        "status": {"conditions": conditions if reason else []},
    }
    return msgspec.convert(document, Pod)


def node(name: str, *, cpu: str = "4", pool: str = "", cordoned: bool = False) -> Node:
    document = {
        "metadata": {"name": name, "labels": {"pool": pool}},
        "spec": {"unschedulable": cordoned},
        "status": {"allocatable": {"cpu": cpu, "pods": "110"}},
    }
    return msgspec.convert(document, Node)


def ledger(*entries: Pod | Node) -> Ledger:
    """A ledger with these entries, one a second."""
    result = Ledger()
    for now, entry in enumerate(entries):
        result.pod(entry, now) if isinstance(entry, Pod) else result.node(entry, now)
    return result


def test_a_node_that_is_just_full_is_in_order() -> None:
    assert ledger(node("n"), pod("a", "n", cpu="3500m"), pod("b", "n", cpu="0.5")).wrong == []


def test_a_node_with_too_much_on_it_is_wrong_even_if_only_for_a_moment() -> None:
    entries = ledger(node("n"), pod("a", "n", cpu="4"), pod("b", "n", cpu="1m"))
    entries.remove_pod("uid-a")
    assert entries.wrong == ["n has 4 cpu and pods that ask for 4.001: a, b"]


def test_a_node_that_comes_back_to_more_pods_than_it_can_hold_is_wrong() -> None:
    assert len(ledger(pod("a", "n", cpu="4"), pod("b", "n"), node("n")).wrong) == 1


def test_room_that_was_freed_can_be_used_again() -> None:
    entries = ledger(node("n"), pod("a", "n", cpu="4"))
    entries.remove_pod("uid-a")
    entries.pod(pod("b", "n", cpu="4"), 3)
    assert entries.wrong == []


def test_a_pod_that_changes_its_node_is_wrong() -> None:
    assert ledger(pod("a", "n"), pod("a", "m")).wrong == ["a was on n and is on m"]


def test_pods_that_stay_apart_are_wrong_together() -> None:
    entries = ledger(node("n"), pod("a", "n", apart="g"), pod("b", "n", apart="h"), pod("c", "n", apart="g"))
    assert entries.wrong == ["2 pods of g are on n"]


@pytest.mark.parametrize(("later", "faults"), [(CORDONED_SECONDS - 1, 0), (CORDONED_SECONDS + 1, 1)])
def test_a_pod_that_comes_to_a_node_long_after_it_was_cordoned_is_wrong(later: float, faults: int) -> None:
    entries = ledger(node("n", cordoned=True))
    entries.pod(pod("a", "n"), later)
    assert len(entries.wrong) == faults


@pytest.mark.parametrize(
    ("waiting", "is_lost"),
    [
        pytest.param(pod("p", cpu="2"), True, id="fits"),
        pytest.param(pod("p", cpu="3"), False, id="no-room"),
        pytest.param(pod("p", cpu="3", priority=5), True, id="room-when-the-less-important-go"),
        pytest.param(pod("p", cpu="5", priority=5), False, id="too-large-for-any-node"),
        pytest.param(pod("p", nodeSelector={"pool": "x"}), True, id="selects-the-node"),
        pytest.param(pod("p", nodeSelector={"pool": "y"}), False, id="selects-no-node"),
        pytest.param(pod("p", apart="g"), False, id="its-kind-is-there"),
        pytest.param(pod("p", schedulingGates=[{"name": "g"}]), False, id="gated"),
        pytest.param(pod("p", "elsewhere"), False, id="has-a-node"),
    ],
)
def test_a_pod_is_lost_when_it_waits_although_it_fits(waiting: Pod, is_lost: bool) -> None:
    there = ledger(node("n", pool="x"), pod("a", "n", cpu="2", apart="g"), node("c", cpu="64", cordoned=True))
    there.pod(waiting, 5)
    assert [pod.name for pod in there.lost()] == (["p"] if is_lost else [])


def test_a_pod_that_waits_needs_a_reason() -> None:
    entries = ledger(pod("a"), pod("b", reason="0/1 nodes are available"), pod("c", "n"))
    assert [pod.name for pod in entries.unexplained()] == ["a"]


def test_how_long_a_pod_waits_counts_from_the_opening_of_its_gate() -> None:
    entries = ledger(node("n"), pod("a", schedulingGates=[{"name": "g"}]))
    entries.pod(pod("a"), 10)
    entries.pod(pod("a", "n"), 12.5)
    assert (entries.waits, entries.bound) == ([2.5], 1)


def test_pods_on_a_removed_node_are_orphans_and_count_again_when_it_is_back() -> None:
    entries = ledger(node("n"), pod("a", "n", cpu="4"))
    entries.remove_node("n")
    assert [orphan.name for orphan in entries.orphans()] == ["a"]
    entries.node(node("n"), 5)
    entries.pod(pod("b"), 6)
    assert (entries.orphans(), entries.lost()) == ([], [])


def test_pods_are_counted_by_where_they_are() -> None:
    entries = ledger(pod("a"), pod("b", "n"), pod("c", schedulingGates=[{"name": "g"}]))
    assert entries.counts() == {"bound": 1, "waiting": 1, "gated": 1}


def test_what_pods_ask_for_is_added_up_by_their_nodes() -> None:
    entries = ledger(pod("a"), pod("b", "n", cpu="250m"), pod("c", "n", cpu="2"))
    assert entries.asks() == {("", "cpu"): 1.0, ("n", "cpu"): 2.25}


def test_a_percentile_is_one_of_the_numbers() -> None:
    assert [percentile([3.0, 1.0, 2.0], share) for share in (0.0, 0.5, 0.99)] == [1.0, 2.0, 3.0]
    assert percentile([], 0.5) == 0.0
