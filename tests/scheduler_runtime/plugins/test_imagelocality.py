"""Images, against upstream's rule written down for a single node."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_runtime import testing
from scheduler_runtime.api import Pod
from scheduler_runtime.state import objects
from tests.support.lone_plugin import lone_plugin, scores

MB = 1024 * 1024
NAMES = st.sampled_from(["a:latest", "a:1", "host:5000/b:latest", "host:5000/b"])
SIZES = st.one_of(
    st.integers(0, 4000 * MB),
    st.sampled_from([23 * MB - 1, 23 * MB, 23 * MB + 1, 1000 * MB, 3000 * MB, 2**62]),
)
IMAGES = st.lists(st.tuples(st.lists(NAMES, min_size=1, max_size=2), SIZES), max_size=3)
WANTED = st.lists(st.sampled_from(["a", "a:1", "host:5000/b", "host:5000/b:latest", "elsewhere"]), max_size=2)


def node(name: str, images: list[tuple[list[str], int]]) -> objects.Node:
    reported = tuple(objects.ContainerImage(names=tuple(names), size_bytes=size) for names, size in images)
    return objects.Node(metadata=objects.AnnotatedMeta(name=name), status=objects.NodeStatus(images=reported))


def pod(containers: list[str], init: list[str], volumes: list[str]) -> Pod:
    spec: dict[str, Any] = {
        "containers": [{"image": image} for image in containers],
        "initContainers": [{"image": image} for image in init],
        "volumes": [{"name": "v", "image": {"reference": image}} for image in volumes] + [{"name": "w"}],
    }
    return testing.pod("incoming", **spec)


def naive(nodes: dict[str, list[tuple[list[str], int]]], images: list[str], count: int) -> dict[str, int]:
    sizes: dict[str, int] = {}
    having: dict[str, set[str]] = {}
    for name, reported in nodes.items():
        for names, size in reported:
            for image in names:
                sizes.setdefault(image, size)
                having.setdefault(image, set()).add(name)
    result = {}
    for name in nodes:
        total = 0
        for image in images:
            full = image if ":" in image.rpartition("/")[2] else f"{image}:latest"
            if name in having.get(full, ()):
                total += int(float(sizes[full]) * (float(len(having[full])) / float(len(nodes))))
        most = 1000 * MB * count
        result[name] = 100 * (min(max(total, 23 * MB), most) - 23 * MB) // (most - 23 * MB)
    return result


@pytest.mark.parametrize("version", ["v1.35.4", "v1.36.4", "v1.37.1"])
@settings(max_examples=60, deadline=None)
@given(st.lists(IMAGES, min_size=1, max_size=4), WANTED, WANTED, WANTED)
def test_score(
    version: str, on_nodes: list[list[tuple[list[str], int]]], main: list[str], init: list[str], volumes: list[str]
) -> None:
    nodes = {f"node-{number}": images for number, images in enumerate(on_nodes)}
    containers = [*main, "never-there"]
    images, count = [*init, *containers], len(containers) + len(init)
    if version != "v1.35.4":
        images += volumes
    if version == "v1.37.1":
        count += len(volumes)
    cluster = testing.Cluster(*(node(name, images) for name, images in nodes.items()))
    actual = scores(lone_plugin("ImageLocality", version=version), pod(containers, init, volumes), cluster)
    assert actual == naive(nodes, images, count)


def test_pods_go_where_their_image_is_also_when_it_came_later() -> None:
    cluster = testing.Cluster(*(testing.node(name) for name in "abc"))
    decides = testing.framework(
        {"plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality"}]}}}
    )
    decides.schedule(pod(["big"], [], []), cluster)
    status = objects.NodeStatus(
        allocatable=testing.node("b").status.allocatable,
        images=(objects.ContainerImage(names=("big:latest",), size_bytes=900 * MB),),
    )
    cluster.table.set_node(objects.Node(metadata=objects.AnnotatedMeta(name="b"), status=status))
    second = testing.pod("second", containers=[{"image": "big"}])
    assert decides.schedule(second, cluster).node == "b"  # type: ignore[union-attr]


def test_pods_of_the_same_images_share_what_is_kept_and_others_do_not() -> None:
    plugin = lone_plugin("ImageLocality")
    assert plugin.signature(pod(["a"], [], [])) == plugin.signature(pod(["a"], [], []))
    signatures = [pod(["a"], [], []), pod(["b"], [], []), pod(["a"], ["b"], []), pod(["a"], [], ["b"])]
    assert len({plugin.signature(pod) for pod in signatures}) == 4
