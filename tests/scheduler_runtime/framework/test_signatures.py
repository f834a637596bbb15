"""Pods of one template share their spec: plugins that look at nothing else sign once, and others sign every pod."""

from __future__ import annotations

from collections.abc import Hashable

import pytest
from msgspec.structs import force_setattr, replace

from scheduler_runtime import testing
from scheduler_runtime.api import Node, NodePlugin, Pod
from scheduler_runtime.framework import Placed
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.plugins.nodename import NodeName
from scheduler_runtime.testing.random_objects import RandomObjects

SIGNING = sorted(name for name, plugin in IN_TREE.items() if "signature" in vars(plugin))


def sibling(pod: Pod, other: Pod) -> Pod:
    """A pod that has everything of ``other`` but its spec and requests."""
    result = Pod(replace(other.metadata, name=f"{pod.name}-sibling"), pod.spec, other.status)
    force_setattr(result, "derived", pod.requests)
    return result


@pytest.mark.parametrize("name", SIGNING)
def test_a_plugin_of_this_build_signs_nothing_but_spec_and_requests(name: str) -> None:
    chance, signatures = RandomObjects(1), testing.framework().answer_cache._signatures
    signs = {
        plugin.name: plugin.signature.run
        for plugin in (*signatures._node_plugins, *signatures._pod_plugins)
        if plugin.signs_spec
    }
    for _ in range(50):
        pod = chance.pod()
        assert signs[name](sibling(pod, chance.pod())) == signs[name](pod)


class ByTeam(NodePlugin):
    """Each team has a node."""

    def filter_node(self, pod: Pod, node: Node) -> str | None:
        return None if node.name == pod.labels["team"] else "another team's"

    def signature(self, pod: Pod) -> Hashable:
        return pod.labels["team"]


def test_a_plugin_from_elsewhere_signs_every_pod_of_a_template() -> None:
    cluster = testing.Cluster(testing.node("a"), testing.node("b"))
    decides = testing.framework({"plugins": {"multiPoint": {"enabled": [{"name": "ByTeam"}]}}}, ByTeam)
    first = testing.pod("p", labels={"team": "a"})
    for number, team in enumerate("abba"):
        pod = sibling(first, testing.pod(f"other-{number}", labels={"team": team}))
        outcome = decides.schedule(pod, cluster)
        assert isinstance(outcome, Placed)
        assert outcome.node == team


class Changed(NodeName):
    """A plugin of this build that somebody has changed, under its name."""

    name = "NodeName"

    def signature(self, pod: Pod) -> Hashable:
        return pod.name


def test_a_plugin_that_somebody_derived_from_one_of_this_build_signs_every_pod() -> None:
    decides = testing.framework({}, Changed)
    signatures = decides.answer_cache._signatures
    assert [
        plugin.signs_spec
        for plugin in (*signatures._node_plugins, *signatures._pod_plugins)
        if plugin.name == "NodeName"
    ] == [False]


def test_all_pods_of_one_template_are_signed_once() -> None:
    signatures, first = testing.framework().answer_cache._signatures, testing.pod("first", requests={"cpu": "1"})
    key = signatures.key(first)
    assert key is not None
    assert signatures.key(sibling(first, testing.pod("second"))) is key
    assert signatures.key(testing.pod("third", requests={"cpu": "1"})) == key
    assert signatures.key(testing.pod("fourth", requests={"cpu": "2"})) != key
    resized = sibling(first, testing.pod("fifth"))
    force_setattr(resized, "derived", testing.pod("sixth", requests={"cpu": "3"}).requests)
    assert signatures.key(resized) != key
