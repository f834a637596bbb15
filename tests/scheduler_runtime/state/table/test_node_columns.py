"""Ports, images and declared features are at any time what a fresh look at the nodes and their pods would find."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from scheduler_runtime import testing
from scheduler_runtime.state import objects
from scheduler_runtime.state.table import EVERY_ADDRESS, HostPort, host_ports, node_columns
from tests.scheduler_runtime.state.table.changing import Changing

NAMES = st.sampled_from([f"node-{number}" for number in range(5)])
IMAGES = ["a:1", "a:2", "b:1"]
FEATURES = ["One", "Two"]
ADDRESSES = [EVERY_ADDRESS, "10.0.0.1", "10.0.0.2"]
PORTS = [HostPort(address, protocol, 80) for address in ADDRESSES for protocol in ("TCP", "UDP")]


def node(name: str, images: list[tuple[list[str], int]] = (), features: list[str] = ()) -> objects.Node:  # type: ignore[assignment]
    status = objects.NodeStatus(
        images=tuple(objects.ContainerImage(names=tuple(names), size_bytes=size) for names, size in images),
        declared_features=tuple(features),
    )
    return objects.Node(metadata=objects.AnnotatedMeta(name=name), status=status)


def port(**fields: Any) -> dict[str, Any]:
    return {"containerPort": 1, **fields}


def pod(name: str, ports: list[HostPort]) -> objects.Pod:
    raw_ports = [port(hostPort=one.number, hostIP=one.address, protocol=one.protocol) for one in ports]
    return testing.pod(name, containers=[{"name": "main", "ports": raw_ports}])


class AgainstAFreshLook(Changing):
    """Any sequence of changes, compared with what nodes and pods say themselves."""

    @rule(
        name=NAMES,
        images=st.lists(st.tuples(st.lists(st.sampled_from(IMAGES), max_size=2), st.integers(0, 9)), max_size=2),
        features=st.lists(st.sampled_from(FEATURES), unique=True),
    )
    def set_node(self, name: str, images: list[tuple[list[str], int]], features: list[str]) -> None:
        self.node_comes(node(name, images, features))

    @rule(name=NAMES, ports=st.lists(st.sampled_from(PORTS), max_size=2, unique=True))
    def add_pod(self, name: str, ports: list[HostPort]) -> None:
        self.pod_comes(pod(self.next_name(), ports), name)

    @invariant()
    def ports_are_those_of_the_pods(self) -> None:
        for port in PORTS:
            users = [0] * len(self.table)
            for one, name in self.pods.values():
                row = self.table.row(name)
                if row is not None:
                    users[row] += sum(port.conflicts(bound) for bound in host_ports(one))
            counts = [sum(column.item(row) for column in self.table.port_users(port)) for row in range(len(self.table))]
            assert counts == users

    @invariant()
    def images_are_those_of_the_nodes(self) -> None:
        for name in IMAGES:
            having = {
                one.name for one in self.nodes.values() if any(name in image.names for image in one.status.images)
            }
            image = self.table.image(name)
            assert (image.nodes if image else set()) == having
            if image:
                rows = self.table.image_rows(name)
                assert {self.table.names[row] for row in rows.nonzero()[0]} == having

    @invariant()
    def features_are_those_of_the_nodes(self) -> None:
        for row, name in enumerate(self.table.names):
            declared = self.table.feature_sets[self.table.feature_set_ids.item(row)]
            assert declared == self.nodes[name].status.declared_features


TestAgainstAFreshLook = AgainstAFreshLook.TestCase
TestAgainstAFreshLook.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)


def test_the_node_that_had_an_image_first_tells_its_size() -> None:
    table = testing.Cluster(node("first", [(["a"], 5)]), node("second", [(["a"], 7)])).table
    assert (image := table.image("a")) is not None
    assert image.size == 5
    table.remove_node("first")
    assert (image := table.image("a")) is not None
    assert image.size == 5
    table.set_node(node("second", [(["a"], 8)]))
    assert (image := table.image("a")) is not None
    assert image.size == 8


def test_ports_that_nobody_binds_any_more_take_no_room() -> None:
    table = testing.Cluster(testing.node("a")).table
    bound = [HostPort(EVERY_ADDRESS, "TCP", 80)]
    table.add_pod(pod("p", bound), "a")
    assert len(table.port_users(bound[0])) == 1
    table.remove_pod(pod("p", bound), "a")
    assert len(table.port_users(bound[0])) == 0


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [{"ports": [port()]}]}, []),
        ({"containers": [{"ports": [port(hostPort=80)]}]}, [(EVERY_ADDRESS, "TCP", 80)]),
        (
            {"containers": [{"ports": [port(hostPort=80, hostIP="10.0.0.1", protocol="UDP")]}]},
            [("10.0.0.1", "UDP", 80)],
        ),
        ({"initContainers": [{"ports": [port(hostPort=80)]}]}, []),
        ({"initContainers": [{"ports": [port(hostPort=80)], "restartPolicy": "Always"}]}, [(EVERY_ADDRESS, "TCP", 80)]),
    ],
    ids=["none", "on-every-address", "on-one", "of-an-init-container-that-ends", "of-a-sidecar"],
)
def test_which_ports_a_pod_binds(spec: dict[str, Any], expected: list[tuple[str, str, int]]) -> None:
    decoded = msgspec.convert({"metadata": {"name": "p"}, "spec": spec}, objects.Pod)
    assert [tuple(one) for one in host_ports(decoded)] == expected


@pytest.mark.parametrize("seed", range(10))
def test_labels_are_those_of_the_nodes_however_many_have_them(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_columns, "_MAX_RARE_LABELS", 2)
    random = Random(seed)  # noqa: S311
    table = testing.Cluster().table
    for number in range(120):
        name = f"node-{random.randrange(30)}"
        if table.row(name) is not None and random.random() < 0.4:
            table.remove_node(name)
        else:
            keys = [
                key
                for key in ("zone", "rack", *(f"rare-{name}-{number}" for number in range(3)))
                if random.random() < 0.7
            ]
            table.set_node(
                testing.node(name, labels={key: random.choice("ab") for key in [*keys, "rare"][: number % 6]})
            )
        for key in ("zone", "rack", "rare", *(f"rare-node-{random.randrange(30)}-{one}" for one in range(3))):
            expected = [table.node(row).labels.get(key) for row in range(len(table))]
            label = table.label(key)
            assert [label.values[one - 1] if one else None for one in label.ids] == expected
            assert label.exists().tolist() == [value is not None for value in expected]
            assert table.has_label(key) is any(expected)
    assert len([key for key in table._columns.labels if key.startswith("rare-")]) <= 2
