"""Made-up clusters, and the pods that come to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random
from typing import Any

import yaml
from hypothesis import strategies as st

from scheduler_runtime.catalog import Target
from tests.oracle.deciding.making.dice import Dice, Object
from tests.oracle.deciding.making.nodes import node
from tests.oracle.deciding.making.pods import incoming, running
from tests.oracle.deciding.making.selectors import pod_selector
from tests.oracle.deciding.making.themes import Theme
from tests.oracle.deciding.making.words import APPS, NAMESPACES


@dataclass(slots=True)
class Cluster:
    """What is there, and the pods that come, in this order."""

    name: str
    nodes: list[Object] = field(default_factory=list)
    pods: list[Object] = field(default_factory=list)
    others: list[Object] = field(default_factory=list)
    """Services, owners of pods, disruption budgets."""
    incoming: list[Object] = field(default_factory=list)
    changes: dict[str, Object] = field(default_factory=dict)
    """Nodes that appear, or are others from now on, each before the incoming pod of that name."""

    def __str__(self) -> str:
        return yaml.dump(asdict(self), Dumper=_Plain, sort_keys=False)

    @classmethod
    def read(cls, text: str) -> Cluster:
        """The cluster that was written as ``text``."""
        fields: dict[str, Any] = yaml.safe_load(text)
        return cls(**fields)


class _Plain(yaml.SafeDumper):
    """Writes everything out."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def clusters(theme: Theme, profiles: Sequence[str], target: Target, seed: int) -> st.SearchStrategy[Cluster]:
    """Clusters about ``theme``, of ``target``'s version, whose incoming pods belong to ``profiles``."""
    # Choices that hypothesis draws one by one are mostly the first, and its first example is always the same.
    return st.integers(0, 2**64 - 1).map(
        lambda number: cluster(Random(f"{seed} {theme.name} {number}"), theme, profiles, target)  # noqa: S311
    )


def cluster(random: Random, theme: Theme, profiles: Sequence[str], target: Target) -> Cluster:
    """One cluster."""
    dice = Dice(random)
    if not target.enabled("NodeDeclaredFeatures"):
        theme = replace(theme, demanding_features=0)
    if target.enabled("TaintTolerationComparisonOperators"):
        theme = replace(theme, comparing=40)
    new = Cluster(theme.name)
    new.nodes = [node(dice, theme, number) for number in range(dice.number(2, 9))]
    names = [node["metadata"]["name"] for node in new.nodes]
    count = dice.number(3 * len(names), 5 * len(names)) if theme.full else dice.number(0, 2 * len(names))
    new.pods = _settled([running(dice, theme, number, dice.pick(names)) for number in range(count)])
    new.others = _others(dice, theme)
    profile = (profiles[0], *profiles)
    new.incoming = [incoming(dice, theme, number, dice.pick(profile)) for number in range(dice.number(2, 5))]
    for pod in new.incoming[1:]:
        if dice.chance(25):
            new.changes[pod["metadata"]["name"]] = _change(dice, theme, new.nodes)
    return new


def _change(dice: Dice, theme: Theme, nodes: Sequence[Object]) -> Object:
    """A new node, or other labels, taints and room of one that is there. Images stay where they are."""
    number = dice.number(0, len(nodes))
    changed = node(dice, theme, number)
    changed["status"].pop("images", None)
    return changed


def _settled(pods: list[Object]) -> list[Object]:
    """Running pods, as a node would have them.

    Those of one node started one after the other, because of pods that started together any may be evicted first.
    No two of them bind the same port, because of such kube-scheduler forgets both when one goes.
    """
    on_node: Counter[str] = Counter()
    ports_in_use: set[tuple[str, int]] = set()
    for pod in pods:
        node = pod["spec"]["nodeName"]
        on_node[node] += 1
        pod["status"]["startTime"] = f"2026-01-01T00:00:{on_node[node]:02}Z"
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
            ports = {(node, port["hostPort"]) for port in container.get("ports", ())}
            if ports & ports_in_use:
                del container["ports"]
            else:
                ports_in_use |= ports
    return pods


def _others(dice: Dice, theme: Theme) -> list[Object]:
    objects = []
    if dice.chance(theme.owned):
        for namespace in NAMESPACES:
            objects += [_service(dice, namespace, number) for number in range(dice.number(0, 2))]
            objects += [
                _owner(dice, namespace, kind)
                for kind in dice.some(("ReplicaSet", "StatefulSet", "ReplicationController"))
            ]
    if dice.chance(theme.guarded):
        objects += [_budget(dice, dice.pick(("alpha", *NAMESPACES)), number) for number in range(dice.number(1, 3))]
    return objects


def _service(dice: Dice, namespace: str, number: int) -> Object:
    spec = {"ports": [{"port": 80}], "selector": {"app": dice.pick(APPS)}, "clusterIP": "None"}
    return _object("v1", "Service", f"service-{number}", namespace, spec)


def _owner(dice: Dice, namespace: str, kind: str) -> Object:
    labels = {"app": dice.pick(APPS)} | ({"tier": "front"} if dice.chance(50) else {})
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    if kind == "ReplicationController":
        return _object("v1", kind, "owner", namespace, {"selector": labels, "template": template})
    spec: Object = {"selector": {"matchLabels": labels}, "template": template}
    if kind == "StatefulSet":
        spec["serviceName"] = "service-0"
    return _object("apps/v1", kind, "owner", namespace, spec)


def _budget(dice: Dice, namespace: str, number: int) -> Object:
    spec = {"minAvailable": 1, "selector": pod_selector(dice)}
    budget = _object("policy/v1", "PodDisruptionBudget", f"budget-{number}", namespace, spec)
    budget["status"] = {
        "disruptionsAllowed": dice.number(0, 2),
        "currentHealthy": 3,
        "desiredHealthy": 1,
        "expectedPods": 3,
        "observedGeneration": 1,
    }
    if dice.chance(15):
        budget["status"]["disruptedPods"] = {f"run-{dice.number(0, 5)}": "2026-01-01T00:00:00Z"}
    return budget


def _object(version: str, kind: str, name: str, namespace: str, spec: Object) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
