"""Pods of low, medium and high priority, and a node that is soon full."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.upstream.support import Object, World, node, pod

LOW, MEDIUM, HIGH = 100, 200, 300
SMALL = {"cpu": "100m", "memory": "100"}
ROOM = {"cpu": "500m", "memory": "500"}

EITHER_WAY = [
    pytest.param({"SchedulerAsyncPreemption": True}, id="async"),
    pytest.param({"SchedulerAsyncPreemption": False}, id="not-async"),
]
"""Most tables are gone through with preemption in the background, and before anything else is decided."""


def asking(name: str, cpu: str, memory: str, priority: int, **spec: Any) -> Object:
    return pod(name, {"cpu": cpu, "memory": memory}, priority=priority, **spec)


def small(name: str, priority: int, **spec: Any) -> Object:
    return pod(name, SMALL, priority=priority, **spec)


def with_cpu(name: str, cpu: str, priority: int, **spec: Any) -> Object:
    return pod(name, {"cpu": cpu}, priority=priority, **spec)


def small_node(name: str = "node1", **labels: str) -> Object:
    return node(name, labels, allocatable=ROOM)


VICTIM, PREEMPTOR = asking("victim-pod", "400m", "200", LOW), asking("preemptor-pod", "300m", "200", HIGH)


async def are_preempted(there: World, *names: str) -> None:
    """Wait until these pods are asked to leave, and it is said why."""
    for name in names:
        await there.until(lambda name=name: there.is_leaving(name))  # type: ignore[misc]
        if there.pod(name):
            assert there.has_condition(name, "DisruptionTarget")
