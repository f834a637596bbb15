"""Inputs of every kind in which each field says something of its own, so that none can hide behind another."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

Json = Any

TERMS = [{"matchExpressions": [{"key": "label-1", "operator": "In", "values": ["value-1"]}]}]
PROFILE: dict[str, Json] = {
    "schedulerName": "named-1",
    "percentageOfNodesToScore": 41,
    "plugins": {
        "preFilter": {"enabled": [{"name": "ForeignA"}], "disabled": [{"name": "NodePorts"}]},
        "filter": {"enabled": [{"name": "ForeignB", "weight": 42}, {"name": "EBSLimits"}], "disabled": [{"name": "*"}]},
        "score": {
            "enabled": [{"name": "NodeResourcesFit", "weight": 43}, {"name": "SelectorSpread", "weight": 44}],
            "disabled": [{"name": "ImageLocality", "weight": 45}, {"name": "NodeResourcesLeastAllocated"}],
        },
        "reserve": {"enabled": [{"name": "ForeignC"}]},
    },
    "pluginConfig": [
        {"name": "NodeAffinity", "args": {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": TERMS}}},
        {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 46, "unheard": "of-1"}},
        {"name": "NodeLabel", "args": {"presentLabels": ["label-2"], "absentLabelsPreference": ["label-3"]}},
        {"name": "ServiceAffinity", "args": {"affinityLabels": ["label-4"]}},
        {"name": "NodeName", "args": {"never": "read-1"}},
        {"name": "ForeignE", "args": {"deep": [{"er": "value-2"}], "apiVersion": "own/v7"}},
    ],
}
EXTENDER: dict[str, Json] = {
    "urlPrefix": "http://extender-1",
    "filterVerb": "verb-1",
    "preemptVerb": "verb-2",
    "prioritizeVerb": "verb-3",
    "weight": 47,
    "bindVerb": "verb-4",
    "enableHTTPS": True,
    "tlsConfig": {"caFile": "/file-1", "serverName": "server-1", "keyData": "a2V5"},
    "httpTimeout": "48s",
    "managedResources": [{"name": "example.com/managed-1", "ignoredByScheduler": True}],
}
DOCUMENT: dict[str, Json] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 49,
    "leaderElection": {
        "leaderElect": False,
        "leaseDuration": "151s",
        "renewDeadline": "152s",
        "retryPeriod": "53s",
        "resourceLock": "endpoints",
        "resourceName": "lease-1",
        "resourceNamespace": "space-1",
    },
    "clientConnection": {"kubeconfig": "/file-2", "acceptContentTypes": "type-1", "contentType": "type-2", "qps": 54},
    "enableProfiling": False,
    "delayCacheUntilActive": True,
    "percentageOfNodesToScore": 55,
    "podInitialBackoffSeconds": 56,
    "podMaxBackoffSeconds": 57,
    "profiles": [PROFILE, {"schedulerName": "Named.2", "percentageOfNodesToScore": 58}],
    "extenders": [EXTENDER],
}
POLICY: dict[str, Json] = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [
        {"name": "GeneralPredicates"},
        {"name": "OwnPredicate"},
        {"name": "A", "argument": {"serviceAffinity": {"labels": ["label-5"]}}},
        {"name": "B", "argument": {"labelsPresence": {"labels": ["label-6"], "presence": True}}},
    ],
    "priorities": [
        {"name": "ImageLocalityPriority", "weight": 61},
        {"name": "NodePreferAvoidPodsPriority", "weight": 62},
        {"name": "C", "weight": 63, "argument": {"serviceAntiAffinity": {"label": "label-7"}}},
        {"name": "D", "weight": 64, "argument": {"labelPreference": {"label": "label-8", "presence": True}}},
    ],
    "hardPodAffinitySymmetricWeight": 65,
    "alwaysCheckAllPredicates": True,
    "extenders": [{**EXTENDER, "unheard": "of-2"}],
    "unheard": "of-4",
}
DEPLOYMENT: dict[str, Json] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "object-1", "labels": {"key-1": "value-3"}},
    "spec": {
        "replicas": 31,
        "selector": {"matchLabels": {"key-2": "value-4"}},
        "strategy": {"type": "Strategy-1"},
        "template": {
            "metadata": {"annotations": {"key-3": "value-5"}},
            "spec": {
                "nodeSelector": {"key-4": "value-6"},
                "tolerations": [{"key": "key-5", "operator": "Exists", "tolerationSeconds": 66}],
                "affinity": {"nodeAffinity": {"anything": "value-7"}},
                "priorityClassName": "class-1",
                "serviceAccountName": "account-1",
                "hostNetwork": True,
                "initContainers": [{"name": "container-1", "image": "image-1"}],
                "volumes": [{"name": "volume-1", "hostPath": {"path": "/file-3"}}],
                "containers": [
                    {
                        "name": "container-2",
                        "image": "example.com/own/scheduler:67",
                        "command": ["kube-scheduler", "--scheduler-name=flag-1", "--v=7"],
                        "args": [
                            "--secure-port=68",
                            "--kube-api-qps=69",
                            "--own-flag=flag-2",
                            "--feature-gates=No=true",
                        ],
                        "resources": {"requests": {"cpu": "70m"}, "claims": [{"name": "claim-1"}]},
                        "env": [{"name": "ENV", "value": "value-8"}],
                        "livenessProbe": {"httpGet": {"port": 71}},
                    },
                    {"name": "container-3", "image": "sidecar:72"},
                ],
            },
        },
    },
    "status": {"replicas": 73},
}
OPENSHIFT: dict[str, Json] = {
    "apiVersion": "config.openshift.io/v1",
    "kind": "Scheduler",
    "metadata": {"name": "object-2"},
    "spec": {
        "profile": "HighNodeUtilization",
        "mastersSchedulable": True,
        "defaultNodeSelector": "key-6=value-9",
        "policy": {"name": "policy-1"},
        "profileCustomizations": {"dynamicResourceAllocation": "Disabled", "unheard": "of-5"},
    },
}
AKS: dict[str, Json] = {
    "apiVersion": "aks.azure.com/v1alpha1",
    "kind": "SchedulerConfiguration",
    "metadata": {"name": "upstream-1"},
    "spec": {"profiles": [PROFILE], "unheard": "of-6"},
}
KINDS = {"document": DOCUMENT, "policy": POLICY, "deployment": DEPLOYMENT, "openshift": OPENSHIFT, "aks": AKS}


def document_of(version: str) -> dict[str, Json]:
    """A whole document of any version, with what that version alone can have."""
    result = {**copy.deepcopy(DOCUMENT), "apiVersion": f"kubescheduler.config.k8s.io/{version}"}
    if version != "v1":
        result |= {"healthzBindAddress": "address-1", "metricsBindAddress": "address-2"}
    if version.startswith("v1alpha"):
        plugins = {**PROFILE["plugins"], "unreserve": {"enabled": [{"name": "ForeignD"}]}}
        result["profiles"] = [{**PROFILE, "plugins": plugins}]
    return {**result, "unheard": {"of": ["of-3"]}} if version == "v1alpha1" else result


def leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every leaf with its path."""
    match value:
        case dict():
            for key, inner in value.items():
                yield from leaves(inner, f"{path}.{key}" if path else key)
        case list():
            for index, inner in enumerate(value):
                yield from leaves(inner, f"{path}[{index}]")
        case _:
            yield path, value


@st.composite
def thinned(draw: st.DrawFn, template: Mapping[str, Json]) -> dict[str, Json]:
    """``template`` without some of its fields and list entries, kind and apiVersion aside."""
    result: dict[str, Json] = copy.deepcopy(dict(template))
    places = [place for place in _places(result) if place[1] not in ("kind", "apiVersion", "name")]
    deleted = draw(st.sets(st.integers(0, len(places) - 1), max_size=len(places)))
    for holder, key in (places[index] for index in sorted(deleted, reverse=True)):
        if isinstance(holder, list) or key in holder:
            del holder[key]
    return result


def _places(value: Json) -> Iterator[tuple[Json, Json]]:
    """Each holder with each key, so that what comes later can go without moving what comes before."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield value, key
        yield from _places(inner)
