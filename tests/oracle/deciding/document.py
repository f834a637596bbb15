"""The document that both schedulers run: several profiles, so that arguments are tried too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Object = dict[str, Any]

PROFILES: dict[str, Object] = {
    "plain": {},
    "packing": {
        "plugins": {"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 7}]}},
        "pluginConfig": [
            {
                "name": "NodeResourcesFit",
                "args": {
                    "ignoredResourceGroups": ["vendor.io"],
                    "scoringStrategy": {
                        "type": "MostAllocated",
                        "resources": [
                            {"name": "cpu", "weight": 3},
                            {"name": "memory", "weight": 1},
                            {"name": "example.com/gpu", "weight": 5},
                        ],
                    },
                },
            },
        ],
    },
    "shaped": {
        "pluginConfig": [
            {
                "name": "NodeResourcesFit",
                "args": {
                    "ignoredResources": ["example.com/gpu"],
                    "scoringStrategy": {
                        "type": "RequestedToCapacityRatio",
                        "resources": [{"name": "cpu", "weight": 2}, {"name": "ephemeral-storage", "weight": 1}],
                        "requestedToCapacityRatio": {
                            "shape": [
                                {"utilization": 0, "score": 0},
                                {"utilization": 45, "score": 9},
                                {"utilization": 80, "score": 3},
                                {"utilization": 100, "score": 10},
                            ]
                        },
                    },
                },
            },
            {
                "name": "NodeResourcesBalancedAllocation",
                "args": {"resources": [{"name": name, "weight": 1} for name in ("cpu", "memory", "example.com/gpu")]},
            },
            {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 60}},
        ],
    },
    "pooled": {
        "pluginConfig": [
            {
                "name": "NodeAffinity",
                "args": {
                    "addedAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["batch"]}]},
                                {"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
                            ]
                        },
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "weight": 30,
                                "preference": {
                                    "matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]
                                },
                            }
                        ],
                    }
                },
            },
            {"name": "InterPodAffinity", "args": {"ignorePreferredTermsOfExistingPods": True}},
        ],
    },
    "listed": {
        "plugins": {"multiPoint": {"enabled": [{"name": "PodTopologySpread", "weight": 5}]}},
        "pluginConfig": [
            {
                "name": "PodTopologySpread",
                "args": {
                    "defaultingType": "List",
                    "defaultConstraints": [
                        {"maxSkew": 1, "topologyKey": "example.com/rack", "whenUnsatisfiable": "ScheduleAnyway"},
                        {
                            "maxSkew": 2,
                            "topologyKey": "topology.kubernetes.io/zone",
                            "whenUnsatisfiable": "DoNotSchedule",
                        },
                    ],
                },
            },
        ],
    },
}


def document(kubeconfig: Path, extender: Object) -> Object:
    """All profiles, with every node considered."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 5000},
        "leaderElection": {"leaderElect": False},
        "percentageOfNodesToScore": 100,
        "extenders": [extender],
        "profiles": [{"schedulerName": name, **profile} for name, profile in PROFILES.items()],
    }
