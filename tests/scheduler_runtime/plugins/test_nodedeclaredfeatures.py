"""Pods that need features which not every node has."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import QUEUE, SKIP, Action, Event, Pod
from scheduler_runtime.state import objects
from tests.support.lone_plugin import Reasons, every, lone_plugin, rejections

VERSIONS = ["v1.35.4", "v1.36.4", "v1.37.1"]
GATE = {"NodeDeclaredFeatures": True}
RESTART, USERS, MOUNTS = (
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "VolumeBindMountOptions",
)
UNMET = "node(s) didn't match Pod's required features"


def node(name: str, *features: str) -> objects.Node:
    return objects.Node(
        metadata=objects.AnnotatedMeta(name=name), status=objects.NodeStatus(declared_features=features)
    )


def container(**more: Any) -> list[dict[str, Any]]:
    return [{"name": "main"}, {"name": "special", **more}]


RULES = container(restartPolicyRules=[{"action": "Restart"}, {"action": "RestartAllContainers"}])
OPTIONS = container(volumeMounts=[{"name": "v"}, {"name": "w", "bindMountOptions": ["noexec"]}])

NEEDS = [
    pytest.param({}, {}, id="plain"),
    pytest.param({"containers": RULES}, {RESTART: "1.35"}, id="restarts-all"),
    pytest.param({"initContainers": RULES}, {RESTART: "1.35"}, id="an-init-container-restarts-all"),
    pytest.param({"containers": container(restartPolicyRules=[{"action": "Restart"}])}, {}, id="restarts-itself"),
    pytest.param({"hostNetwork": True, "hostUsers": False}, {USERS: "1.36"}, id="own-users-on-the-hosts-network"),
    pytest.param({"hostNetwork": True, "hostUsers": True}, {}, id="the-hosts-users"),
    pytest.param({"hostNetwork": True}, {}, id="users-left-open"),
    pytest.param({"hostUsers": False}, {}, id="own-network"),
    pytest.param({"containers": OPTIONS}, {MOUNTS: "1.37"}, id="mount-options"),
    pytest.param({"initContainers": OPTIONS}, {MOUNTS: "1.37"}, id="of-an-init-container"),
    pytest.param({"ephemeralContainers": OPTIONS}, {MOUNTS: "1.37"}, id="of-an-ephemeral-container"),
    pytest.param(
        {"containers": RULES, "hostNetwork": True, "hostUsers": False}, {RESTART: "1.35", USERS: "1.36"}, id="two"
    ),
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("spec", "needs"), NEEDS)
def test_a_pod_needs_what_follows_from_its_spec(spec: dict[str, Any], needs: dict[str, str], version: str) -> None:
    required = [feature for feature, since in needs.items() if version[1:5] >= since]
    plugin, pod = lone_plugin("NodeDeclaredFeatures", version=version, gates=GATE), testing.pod("p", **spec)
    cluster = testing.Cluster(node("none"), node("all", MOUNTS, RESTART, USERS), node("one", RESTART))

    def reasons(declared: set[str]) -> Reasons:
        missing = [feature for feature in required if feature not in declared]
        named = f"node declared features check failed - unsatisfied requirements: {', '.join(missing)}"
        return {(named if version == "v1.35.4" else UNMET, False)} if missing else set()

    actual = rejections(plugin, pod, cluster)
    assert actual == {"none": reasons(set()), "all": set(), "one": reasons({RESTART})}
    assert (plugin.pre_filter(pod, every(cluster), {}) is SKIP) == (not required)


def test_without_its_gate_it_asks_for_nothing() -> None:
    plugin, cluster = lone_plugin("NodeDeclaredFeatures", version="v1.35.4"), testing.Cluster(node("a"))
    pod = testing.pod("p", containers=RULES)
    assert plugin.pre_filter(pod, every(cluster), {}) is SKIP
    assert rejections(plugin, pod, cluster) == {"a": set()}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, node("a"), QUEUE, id="a-new-node"),
        pytest.param(node("a"), node("a", RESTART), QUEUE, id="it-declares-more"),
        pytest.param(node("a", RESTART), node("a", RESTART), SKIP, id="it-declares-the-same"),
        pytest.param(testing.pod("p", containers=RULES), testing.pod("p"), QUEUE, id="the-pod-needs-less"),
        pytest.param(
            testing.pod("p", containers=RULES), testing.pod("p", containers=RULES), SKIP, id="it-needs-the-same"
        ),
        pytest.param(testing.pod("q", containers=RULES), testing.pod("q"), SKIP, id="another-pod-needs-less"),
    ],
)
def test_which_changes_help(old: objects.Node | Pod | None, new: objects.Node | Pod, expected: object) -> None:
    resource = "Pod" if isinstance(new, Pod) else "Node"
    hint = lone_plugin("NodeDeclaredFeatures").hint(
        Event(resource, Action.UPDATE, old, new), testing.pod("p", containers=RULES)
    )
    assert hint is expected
