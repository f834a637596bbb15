"""Preemption on generated clusters, against upstream's rule written down without tables and caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Pod
from scheduler_runtime.framework import Placed
from scheduler_runtime.state import objects
from tests.support.preempting import Scene, budget, pod

SEEDS = range(60)
PRIORITIES = (-100, 0, 0, 100, 1000)
CPU, PORTS, APPS = (50, 100, 150, 200, 300), (0, 0, 0, 80, 81), ("a", "b", "c")
ALL = {"minCandidateNodesPercentage": 100}
NODE_CPU = 500


@dataclass(frozen=True)
class Wants:
    """All that the filters look at in a pod of these clusters."""

    pod: Pod
    cpu: int
    port: int
    app: str
    avoids: str


def random_pod(random: Random, name: str, node: str = "", *, is_peaceful: bool = False) -> Wants:
    cpu, port, app = random.choice(CPU), random.choice(PORTS), random.choice(APPS)
    avoids = random.choice(APPS) if random.random() < 0.25 and not is_peaceful else ""
    more: dict[str, Any] = {"affinity": apart(avoids)} if avoids else {}
    if port:
        more["containers"] = [
            {"ports": [{"hostPort": port}], "resources": {"requests": {"cpu": f"{cpu}m", "memory": "1Mi"}}}
        ]
    started = f"2026-01-01T00:00:{random.randrange(4):02}Z" if random.random() < 0.8 else ""
    priority = random.choice(PRIORITIES) if node else random.choice((0, 100, 1000, 2000))
    requests = {"cpu": f"{cpu}m", "memory": "1Mi"}
    labels = {"app": app} if random.random() < 0.9 else {}
    built = pod(name, priority, requests, node=node, labels=labels, started=started, **more)
    return Wants(built, cpu, port, app if labels else "", avoids)


def apart(app: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


# Upstream's rule.


def fits(incoming: Wants, others: Sequence[Wants]) -> bool:
    room = incoming.cpu + sum(other.cpu for other in others) <= NODE_CPU
    ports = not incoming.port or all(other.port != incoming.port for other in others)
    peace = all(other.app != incoming.avoids or not incoming.avoids for other in others)
    welcome = all(other.avoids != incoming.app or not other.avoids for other in others)
    return room and ports and peace and welcome


def fits_with(incoming: Wants, others: Sequence[Wants], nominated: Sequence[Wants]) -> bool:
    ahead = [other for other in nominated if other.pod.spec.priority >= incoming.pod.spec.priority]
    return fits(incoming, [*others, *ahead]) and fits(incoming, others)


def importance(wants: Wants) -> tuple[int, str]:
    return -wants.pod.spec.priority, wants.pod.status.start_time or "9999"


def violating(potential: Sequence[Wants], budgets: Sequence[Mapping[str, Any]]) -> list[Wants]:
    """Before 1.37: each budget counts each pod."""
    allowed = [one["status"]["disruptionsAllowed"] for one in budgets]
    result = []
    for wants in potential:
        is_violating = False
        for index, one in enumerate(budgets):
            if wants.app and wants.app == one["spec"]["selector"]["matchLabels"]["app"]:
                allowed[index] -= 1
                is_violating = is_violating or allowed[index] < 0
        if is_violating:
            result.append(wants)
    return result


def victims(
    incoming: Wants, others: Sequence[Wants], nominated: Sequence[Wants], budgets: Sequence[Mapping[str, Any]]
) -> tuple[list[str], int] | None:
    potential = sorted((one for one in others if one.pod.spec.priority < incoming.pod.spec.priority), key=importance)
    stay = [one for one in others if one not in potential]
    if not potential or not fits_with(incoming, stay, nominated):
        return None
    guarded = violating(potential, budgets)
    removed, violations = [], 0
    for one in [*guarded, *(other for other in potential if other not in guarded)]:
        if fits_with(incoming, [*stay, one], nominated):
            stay.append(one)
        else:
            removed.append(one)
            violations += one in guarded
    return [one.pod.name for one in sorted(removed, key=importance)], violations


def cost(candidate: tuple[list[str], int], by_name: Mapping[str, Wants]) -> tuple[Any, ...]:
    priorities = [by_name[name].pod.spec.priority for name in candidate[0]]
    starts = [by_name[name] for name in candidate[0] if by_name[name].pod.spec.priority == max(priorities)]
    latest = min(importance(other)[1] for other in starts)
    least = (candidate[1], max(priorities), sum(priorities) + 2**31 * len(priorities), len(priorities))
    return *least, tuple(-ord(letter) for letter in latest)


class World:
    """A generated cluster."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)  # noqa: S311
        self.names = [f"n{number}" for number in range(6)]
        # Where nobody avoids anybody nodes are tried together, elsewhere one by one.
        is_peaceful = seed % 2 == 0
        self.incoming = random_pod(random, "incoming", is_peaceful=is_peaceful)
        self.on: dict[str, list[Wants]] = {name: [] for name in self.names}
        for number in range(random.randrange(12, 48)):
            node = random.choice(self.names)
            self.on[node].append(random_pod(random, f"p{number}", node, is_peaceful=is_peaceful))
        apps = [random.choice(APPS) for _ in range(random.randrange(3))]
        self.budgets = [budget(f"b{number}", random.randrange(3), app=app) for number, app in enumerate(apps)]
        # Upstream overlooks whom a nominated pod avoids while nobody on a node avoids the incoming one.
        self.nominated = {
            name: [random_pod(random, f"nominated-{name}", name, is_peaceful=True)] if random.random() < 0.3 else []
            for name in self.names
        }

    def scene(self) -> Scene:
        nodes: list[str | objects.Node] = [testing.node(name, cpu=f"{NODE_CPU}m", memory="1Gi") for name in self.names]
        pods = [one.pod for on_node in self.on.values() for one in on_node]
        profile = {"pluginConfig": [{"name": "DefaultPreemption", "args": ALL}]}
        scene = Scene(nodes, pods, budgets=self.budgets, profile=profile)
        for name, nominated in self.nominated.items():
            for one in nominated:
                scene.nominations.nominate(one.pod, name)
        return scene

    def feasible(self) -> list[str]:
        return [name for name in self.names if fits_with(self.incoming, self.on[name], self.nominated[name])]

    def expected(self) -> dict[str, tuple[list[str], int]]:
        by_name = {
            name: victims(self.incoming, self.on[name], self.nominated[name], self.budgets) for name in self.names
        }
        return {name: candidate for name, candidate in by_name.items() if candidate is not None}


def check(seed: int) -> None:
    world = World(seed)
    scene = world.scene()
    feasible = world.feasible()
    if feasible:
        outcome = scene.framework.schedule(world.incoming.pod, scene.cluster)
        assert isinstance(outcome, Placed)
        assert outcome.node in feasible
        return
    node = scene.nominated(world.incoming.pod)
    expected = world.expected()
    assert scene.candidates == expected
    by_name = {one.pod.name: one for on_node in world.on.values() for one in on_node}
    costs = {name: cost(candidate, by_name) for name, candidate in expected.items()}
    assert node in [name for name in costs if costs[name] == min(costs.values())] or not expected


@pytest.mark.parametrize("seed", SEEDS)
def test_candidates_victims_and_choice_are_upstreams(seed: int) -> None:
    check(seed)


@pytest.mark.thorough
def test_candidates_victims_and_choice_are_upstreams_on_many_clusters() -> None:
    for seed in range(1000, 2500):
        check(seed)


def test_the_generated_clusters_are_of_all_kinds() -> None:
    """Nothing is shown by clusters where the pod always fits, or never can."""
    worlds = [world for world in map(World, SEEDS) if not world.feasible()]
    expected = [world.expected() for world in worlds]
    assert len(SEEDS) / 4 < len(worlds) < len(SEEDS)
    assert sum(len(candidates) > 1 for candidates in expected) > len(worlds) / 4
    assert sum(not candidates for candidates in expected)
    assert max(candidate[1] for candidates in expected for candidate in candidates.values()) > 1
