"""Vocabulary of generated clusters: few words, so that labels and selectors meet."""

from __future__ import annotations

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
RACK = "example.com/rack"
GPU = "example.com/gpu"
FPGA = "vendor.io/fpga"
HUGE = "hugepages-2Mi"

NAMESPACES = {
    "alpha": {"team": "red"},
    "beta": {"team": "blue"},
    "gamma": {"team": "red", "env": "prod"},
}
ZONES = ("a", "b", "c")
APPS = ("web", "db", "cache")
TIERS = ("front", "back")
IMAGES = {
    "registry.example/app:v1": 350_000_000,
    "registry.example/app:v2": 900_000_000,
    "nginx": 60_000_000,
    "docker.io/library/redis:7": 1_500_000_000,
    "registry.example:5000/tiny": 5_000_000,
    "registry.example/huge@sha256:" + "ab" * 32: 4_000_000_000,
}
TAINTS = (
    {"key": "dedicated", "value": "batch", "effect": "NoSchedule"},
    {"key": "dedicated", "value": "web", "effect": "NoSchedule"},
    {"key": "draining", "effect": "NoExecute"},
    {"key": "spot", "value": "yes", "effect": "PreferNoSchedule"},
    {"key": "slow", "effect": "PreferNoSchedule"},
    {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
)
LEVELS = tuple(
    {"key": "level", "value": value, "effect": effect}
    for value in ("5", "10", "none")
    for effect in ("NoSchedule", "PreferNoSchedule")
)
"""Taints for the operators of tolerations that compare."""
FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "SomethingElse")
PRIORITIES = (0, 5, -10, 100, 100, 1000)
"""Of the pods that run."""
URGENCIES = (0, 5, 100, 100, 1000, 2000, 2000)
"""Of the pods that come."""
