"""Ports of the node, against upstream's rule written down for a single node."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_runtime import testing
from scheduler_runtime.api import QUEUE, SKIP, Action, Event, Pod
from tests.support.lone_plugin import every, lone_plugin, rejections

TAKEN = "node(s) didn't have free ports for the requested pod ports"
PORT = st.fixed_dictionaries(
    {"hostPort": st.sampled_from([0, 80, 81])},
    optional={
        "hostIP": st.sampled_from(["", "0.0.0.0", "10.0.0.1", "10.0.0.2"]),  # noqa: S104 - what pods ask for
        "protocol": st.sampled_from(["TCP", "UDP"]),
    },
)
PORTS = st.lists(PORT, max_size=3)


def pod(name: str, ports: list[dict[str, Any]], sidecar: list[dict[str, Any]] = [], **spec: Any) -> Pod:  # noqa: B006 - never changed
    init = [
        {"name": "side", "restartPolicy": "Always", "ports": sidecar},
        {"name": "init", "ports": [{"hostPort": 80}]},
    ]
    return testing.pod(name, containers=[{"name": "main", "ports": ports}], initContainers=init, **spec)


def naive_ports(pod: Pod) -> set[tuple[str, str, int]]:
    sidecars = [container for container in pod.spec.init_containers if container.restart_policy == "Always"]
    ports = [port for container in (*pod.spec.containers, *sidecars) for port in container.ports]
    return {(port.host_ip or "0.0.0.0", port.protocol, port.host_port) for port in ports if port.host_port}  # noqa: S104


def clash(one: set[tuple[str, str, int]], other: set[tuple[str, str, int]]) -> bool:
    for address, *rest in one:
        for another, *others in other:
            if rest == others and (address == another or "0.0.0.0" in (address, another)):  # noqa: S104
                return True
    return False


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.tuples(PORTS, PORTS), max_size=2), min_size=1, max_size=4), PORTS, PORTS)
def test_a_node_is_out_where_a_port_is_taken(
    on_nodes: list[list[tuple[list[dict[str, Any]], list[dict[str, Any]]]]],
    incoming_ports: list[dict[str, Any]],
    sidecar: list[dict[str, Any]],
) -> None:
    cluster, incoming = testing.Cluster(), pod("incoming", incoming_ports, sidecar)
    expected = {}
    for number, pods in enumerate(on_nodes):
        cluster.table.set_node(testing.node(f"node-{number}"))
        placed = [pod(f"pod-{number}-{index}", *ports) for index, ports in enumerate(pods)]
        for other in placed:
            cluster.place(other, f"node-{number}")
        is_in_use = any(clash(naive_ports(incoming), naive_ports(other)) for other in placed)
        expected[f"node-{number}"] = {(TAKEN, True)} if is_in_use else set()
    assert rejections(lone_plugin("NodePorts"), incoming, cluster) == expected


def test_a_pod_without_ports_of_the_node_is_left_alone() -> None:
    plugin, cluster = lone_plugin("NodePorts"), testing.Cluster(testing.node("a"))
    assert plugin.pre_filter(pod("p", [{"containerPort": 80}]), every(cluster), {}) is SKIP


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        pytest.param(pod("gone", [{"hostPort": 80}], nodeName="a"), QUEUE, id="the-same-port"),
        pytest.param(pod("gone", [{"hostPort": 80, "hostIP": "10.0.0.1"}], nodeName="a"), QUEUE, id="on-one-address"),
        pytest.param(pod("gone", [{"hostPort": 81}], nodeName="a"), SKIP, id="another-port"),
        pytest.param(pod("gone", [{"hostPort": 80, "protocol": "UDP"}], nodeName="a"), SKIP, id="another-protocol"),
        pytest.param(pod("gone", [], nodeName="a"), SKIP, id="no-port"),
        pytest.param(pod("gone", [{"hostPort": 80}]), SKIP, id="it-was-nowhere"),
    ],
)
def test_a_pod_that_goes_helps_when_it_had_a_port_that_is_wanted(deleted: Pod, expected: object) -> None:
    waiting = pod("waiting", [{"hostPort": 80}])
    assert lone_plugin("NodePorts").hint(Event("Pod", Action.DELETE, deleted, None), waiting) is expected


def test_a_new_node_helps() -> None:
    added = Event("Node", Action.ADD, None, testing.node("a"))
    assert lone_plugin("NodePorts").hint(added, pod("waiting", [{"hostPort": 80}])) is QUEUE


def test_the_second_pod_with_a_port_goes_elsewhere_and_the_third_nowhere() -> None:
    cluster, decides = testing.Cluster(testing.node("a"), testing.node("b")), testing.framework()
    nodes = {decides.schedule(pod(name, [{"hostPort": 80}]), cluster).node for name in ("first", "second")}  # type: ignore[union-attr]
    assert nodes == {"a", "b"}
    message = decides.schedule(pod("third", [{"hostPort": 80}]), cluster).message  # type: ignore[union-attr]
    assert message.startswith(f"0/2 nodes are available: 2 {TAKEN}.")


@pytest.mark.parametrize(("address", "is_in_use"), [("10.0.0.1", True), ("10.0.0.2", False), ("", True)])
def test_a_port_of_one_address_is_free_on_another_and_not_on_all(address: str, is_in_use: bool) -> None:
    cluster = testing.Cluster(testing.node("a"))
    cluster.place(pod("there", [{"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 81}]), "a")
    incoming = pod("p", [{"hostPort": 80, "hostIP": address}])
    assert rejections(lone_plugin("NodePorts"), incoming, cluster) == {"a": {(TAKEN, True)} if is_in_use else set()}
