"""Feature gates: what is on, and what kube-scheduler refuses to be told."""

from __future__ import annotations

import pytest

from scheduler_runtime.catalog import SUPPORTED_MINORS, Target, Version, defaults, first_version_with, gate_problems
from scheduler_runtime.catalog.target import gates_of, required_gates


@pytest.mark.parametrize(
    ("version", "settings", "gate", "expected"),
    [
        ("1.36", {}, "StorageCapacityScoring", False),
        ("1.37", {}, "StorageCapacityScoring", True),
        ("1.42", {}, "StorageCapacityScoring", True),
        ("1.37", {"StorageCapacityScoring": False}, "StorageCapacityScoring", False),
        ("1.36", {"AllAlpha": True}, "StorageCapacityScoring", True),
        ("1.36", {"AllAlpha": True, "StorageCapacityScoring": False}, "StorageCapacityScoring", False),
        ("1.37", {"AllBeta": False}, "StorageCapacityScoring", False),
        ("1.37", {"AllAlpha": True}, "StorageCapacityScoring", True),
        ("1.37", {}, "NoSuchGate", False),
    ],
)
def test_a_gate_is_on_by_default_by_its_stage_or_by_name(
    version: str, settings: dict[str, bool], gate: str, expected: bool
) -> None:
    assert Target.parse(version, settings).enabled(gate) is expected


@pytest.mark.parametrize(
    ("version", "settings", "expected"),
    [
        ("1.36", {"StorageCapacityScoring": True, "AllAlpha": False}, ()),
        (
            "1.36",
            {"StorageCapacityScorin": True},
            ("StorageCapacityScorin is not a feature gate of Kubernetes 1.36; did you mean StorageCapacityScoring?",),
        ),
        (
            "1.35",
            {"CompositePodGroup": True},
            ("CompositePodGroup is not a feature gate of Kubernetes 1.35; 1.37 has it",),
        ),
        (
            "1.36",
            {"DynamicResourceAllocation": False},
            ("DynamicResourceAllocation cannot be turned off: Kubernetes 1.36 has locked it on",),
        ),
        (
            "1.37",
            {"TopologyAwareWorkloadScheduling": True},
            ("TopologyAwareWorkloadScheduling is on and needs GenericWorkload; turn it on too",),
        ),
        pytest.param("1.37", {"OpportunisticBatching": False}, (), id="beta and on is not locked"),
        pytest.param("1.37", {"DRAConsumableCapacity": False}, (), id="on only where nothing older must be served"),
        pytest.param(
            "1.35",
            {"DRADeviceTaintRules": True},
            ("DRADeviceTaintRules is on and needs DRADeviceTaints; turn it on too",),
            id="a row with a comment",
        ),
        pytest.param(
            "1.36",
            {"AtomicFIFO": False, "StaleControllerConsistencyJob": True, "AllBeta": False},
            ("StaleControllerConsistencyJob is on and needs AtomicFIFO; turn it on too",),
            id="a gate of another module",
        ),
    ],
)
def test_gates_that_kube_scheduler_would_refuse(
    version: str, settings: dict[str, bool], expected: tuple[str, ...]
) -> None:
    assert gate_problems(Target.parse(version, settings)) == expected


@pytest.mark.parametrize("minor", SUPPORTED_MINORS)
def test_every_gate_that_something_depends_on_exists(minor: str) -> None:
    gates = gates_of(minor)
    assert {gate for needed in required_gates(minor).values() for gate in needed} <= set(gates)
    assert {plugin.gate for plugin in defaults(Version.parse(minor)).gated} <= set(gates)
    assert not gate_problems(Target.parse(minor))


def test_plugins_and_points_appeared_in_a_version() -> None:
    names = ("NodeName", "placementScore", "DeferredPodScheduling", "Nothing")
    assert [first_version_with(name) for name in names] == ["1.35", "1.36", "1.37", None]
