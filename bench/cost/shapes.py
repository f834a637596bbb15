"""Pods and nodes with one list or map as long as somebody likes: what users, and kubelets, can make a scheduler read.

Each shape is a patch of an ordinary object, with as many entries in a list or map as numbers are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bench.cost.builders import (
    HOST,
    PREFERRED,
    REQUIRED,
    WEIGHT,
    Object,
    affinity,
    allocated_resources,
    amounts,
    conditions,
    container,
    container_statuses,
    containers,
    environment,
    expressions,
    finalizers,
    host_port,
    host_ports,
    host_ports_apart,
    images,
    labelled,
    labels,
    managed_fields,
    managers,
    merged,
    mounts,
    named_nodes,
    node_terms,
    nothing,
    offers,
    one_constraint,
    one_container,
    one_node_term,
    one_pod_term,
    one_preferred_node_term,
    one_preferred_pod_term,
    owners,
    pod_level_resources,
    pod_terms,
    preferred_node_terms,
    preferred_pod_terms,
    resource_claims,
    resources,
    resources_of_many,
    spread,
    taints,
    texts,
    tolerations,
    volumes,
    volumes_on_node,
)


@dataclass(frozen=True, slots=True)
class LongList:
    """A pod or a node with a long list or map.

    Each function gets the numbers of the entries. They are other numbers each time, so that nothing which a scheduler
    remembers of an earlier object is of use.
    """

    title: str
    patch: Callable[[range], Object]
    """The fields of metadata, spec and status that make an object of this shape."""
    kind: str = "Pod"
    status: Callable[[range], Object] | None = None
    """The status that a kubelet writes after the pod was created."""
    node: Callable[[range], Object] | None = None
    """A node that is there before the pod: where a list of the one is compared with a list of the other."""
    resident: Callable[[range], Object] | None = None
    """A pod that is on a node before the pod."""
    left_out: tuple[str, ...] = ()
    """Ways in which the API server does not take such a pod."""
    is_tried: bool = True
    """False for a pod that waits for something before it is tried, without a condition that says so."""

    @property
    def ways(self) -> tuple[str, ...]:
        """What is done with it (``bench.cost.beside``)."""
        if self.kind == "Node":
            return ("added", "updated")
        if self.node or self.resident:
            return ("waiting", "in vain")
        return tuple(way for way in ("waiting", "in vain", "assigned") if way not in self.left_out)


ORDINARY = MappingProxyType({kind: LongList(f"an ordinary {kind.lower()}", nothing, kind) for kind in ("Pod", "Node")})
"""What an object costs without any list."""

SHAPES: Mapping[str, LongList] = MappingProxyType(
    {
        "soft-spread": LongList("spread constraints, ScheduleAnyway", lambda n: spread(n, "ScheduleAnyway")),
        "hard-spread": LongList("spread constraints, DoNotSchedule", lambda n: spread(n, "DoNotSchedule")),
        "spread-selectors": LongList(
            "spread constraints, each with a selector",
            lambda n: spread(n, "ScheduleAnyway", labelSelector={"matchLabels": {"app": "x"}}),
        ),
        "spread-labels": LongList(
            "labels of the selector of one spread constraint",
            lambda n: one_constraint(labelSelector={"matchLabels": labels(n)}),
        ),
        "spread-expressions": LongList(
            "requirements of the selector of one spread constraint",
            lambda n: one_constraint(labelSelector={"matchExpressions": expressions(n)}),
        ),
        "spread-values": LongList(
            "values of one requirement of one spread constraint",
            lambda n: one_constraint(
                labelSelector={"matchExpressions": [{"key": "app", "operator": "In", "values": texts(n)}]}
            ),
        ),
        "spread-label-keys": LongList(
            "matchLabelKeys of one spread constraint",
            lambda n: one_constraint(labelSelector={"matchLabels": {"a": "x"}}, matchLabelKeys=texts(n, "k")),
        ),
        "pod-affinity": LongList("required terms of pod affinity", lambda n: pod_terms("podAffinity", n)),
        "pod-affinity-keys": LongList(
            "required terms of pod affinity, each by a label of its own", lambda n: pod_terms("podAffinity", n, "l{}")
        ),
        "anti-affinity": LongList("required terms of pod anti-affinity", lambda n: pod_terms("podAntiAffinity", n)),
        "anti-affinity-keys": LongList(
            "required terms of pod anti-affinity, each by a label of its own",
            lambda n: pod_terms("podAntiAffinity", n, "l{}"),
        ),
        "rather-near": LongList("preferred terms of pod affinity", lambda n: preferred_pod_terms("podAffinity", n)),
        "rather-apart": LongList(
            "preferred terms of pod anti-affinity", lambda n: preferred_pod_terms("podAntiAffinity", n)
        ),
        "rather-apart-keys": LongList(
            "preferred terms of pod anti-affinity, each by a label of its own",
            lambda n: preferred_pod_terms("podAntiAffinity", n, "l{}"),
        ),
        "term-labels": LongList(
            "labels of the selector of one term", lambda n: one_pod_term(labelSelector={"matchLabels": labels(n)})
        ),
        "term-expressions": LongList(
            "requirements of the selector of one term",
            lambda n: one_pod_term(labelSelector={"matchExpressions": expressions(n)}),
        ),
        "term-values": LongList(
            "values of one requirement of one term",
            lambda n: one_pod_term(
                labelSelector={"matchExpressions": [{"key": "app", "operator": "In", "values": texts(n)}]}
            ),
        ),
        "term-label-keys": LongList(
            "matchLabelKeys of one term, of a pod with these labels",
            lambda n: merged(one_pod_term(matchLabelKeys=texts(n, "k")), labelled(n)),
        ),
        "term-namespaces": LongList("namespaces of one term", lambda n: one_pod_term(namespaces=texts(n, "ns"))),
        "term-namespace-labels": LongList(
            "labels of the namespaceSelector of one term",
            lambda n: one_pod_term(namespaceSelector={"matchLabels": labels(n)}),
        ),
        "term-namespace-selector": LongList(
            "requirements of the namespaceSelector of one term",
            lambda n: one_pod_term(namespaceSelector={"matchExpressions": expressions(n)}),
        ),
        "term-namespace-values": LongList(
            "values of one requirement of the namespaceSelector of one term",
            lambda n: one_pod_term(
                namespaceSelector={"matchExpressions": [{"key": "team", "operator": "In", "values": texts(n)}]}
            ),
        ),
        "rather-term-expressions": LongList(
            "requirements of the selector of one preferred term",
            lambda n: one_preferred_pod_term(labelSelector={"matchExpressions": expressions(n)}),
        ),
        "namespace-selectors": LongList(
            "required terms of pod anti-affinity, each with a namespaceSelector",
            lambda n: pod_terms("podAntiAffinity", n, namespaceSelector={"matchLabels": {"team": "x"}}),
        ),
        "node-terms": LongList("required terms of node affinity", node_terms),
        "node-names": LongList("required terms of node affinity, each with a node's name", named_nodes),
        "node-expressions": LongList(
            "requirements of one term of node affinity", lambda n: one_node_term(expressions(n, "DoesNotExist"))
        ),
        "node-values": LongList(
            "values of one requirement of node affinity",
            lambda n: one_node_term([{"key": HOST, "operator": "NotIn", "values": texts(n)}]),
        ),
        "rather-nodes": LongList("preferred terms of node affinity", preferred_node_terms),
        "rather-node-expressions": LongList(
            "requirements of one preferred term of node affinity",
            lambda n: one_preferred_node_term(expressions(n, "DoesNotExist")),
        ),
        "rather-node-values": LongList(
            "values of one requirement of preferred node affinity",
            lambda n: one_preferred_node_term([{"key": HOST, "operator": "NotIn", "values": texts(n)}]),
        ),
        "node-selector": LongList("labels of nodeSelector", lambda n: {"spec": {"nodeSelector": labels(n)}}),
        "tolerations": LongList("tolerations", tolerations),
        "host-ports": LongList("host ports of one container", host_ports),
        "host-ports-apart": LongList("containers with a host port each", host_ports_apart),
        "containers": LongList("containers", containers),
        "container-images": LongList(
            "containers, each with an image of its own",
            lambda n: {"spec": {"containers": [{"name": f"c{index}", "image": f"i{index}"} for index in n]}},
        ),
        "requesting": LongList(
            "containers with requests",
            lambda n: containers(n, resources={"requests": {"cpu": "1u", "memory": "1"}}),
        ),
        "init-containers": LongList(
            "init containers with requests",
            lambda n: containers(n, "initContainers", resources={"requests": {"cpu": "1u", "memory": "1"}}),
        ),
        "sidecars": LongList(
            "sidecars with requests",
            lambda n: containers(
                n, "initContainers", restartPolicy="Always", resources={"requests": {"cpu": "1u", "memory": "1"}}
            ),
        ),
        "sidecar-ports": LongList(
            "sidecars with a port each",
            lambda n: {
                "spec": {
                    "initContainers": [
                        container(f"c{index}", restartPolicy="Always", ports=[host_port(index)]) for index in n
                    ],
                    "containers": [container("main")],
                }
            },
        ),
        "resources": LongList("resources that a container requests", lambda n: one_container(resources=resources(n))),
        "resources-of-many": LongList("resources of one container, beside containers with one each", resources_of_many),
        "init-resources": LongList(
            "resources of one init container, beside init containers with one each",
            lambda n: resources_of_many(n, "initContainers"),
        ),
        "pod-level-resources": LongList("resources of the pod as a whole", pod_level_resources),
        "overhead": LongList("resources of the overhead", lambda n: {"spec": {"overhead": amounts(n, "1")}}),
        "environment": LongList("variables of a container", environment),
        "mounts": LongList("volumes mounted into a container", mounts),
        "pull-secrets": LongList(
            "secrets to pull images with",
            lambda n: {"spec": {"imagePullSecrets": [{"name": name} for name in texts(n, "s")]}},
        ),
        "readiness-gates": LongList(
            "readiness gates",
            lambda n: {"spec": {"readinessGates": [{"conditionType": name} for name in texts(n, "example.com/g")]}},
        ),
        "volumes": LongList("volumes", lambda n: volumes(n, lambda _: {"emptyDir": {}})),
        "image-volumes": LongList(
            "volumes with an image each", lambda n: volumes(n, lambda index: {"image": {"reference": f"i{index}"}})
        ),
        "claims": LongList(
            "volumes with a claim",
            lambda n: volumes(n, lambda index: {"persistentVolumeClaim": {"claimName": f"c{index}"}}),
        ),
        "resource-claims": LongList("resource claims that are not there", resource_claims, is_tried=False),
        "pod-labels": LongList("labels of a pod", labelled),
        "annotations": LongList("annotations of a pod", lambda n: {"metadata": {"annotations": labels(n)}}),
        "owners": LongList("owners of a pod", owners),
        "finalizers": LongList("finalizers of a pod", finalizers),
        "managed-fields": LongList("managed fields of a pod", managed_fields),
        # An API server takes half a minute to write a condition of such a pod.
        "managers": LongList("managers of fields of a pod", managers, left_out=("in vain",)),
        "gates": LongList(
            "scheduling gates",
            lambda n: {"spec": {"schedulingGates": [{"name": gate} for gate in texts(n, "g")]}},
            left_out=("assigned",),
        ),
        "pod-conditions": LongList("conditions of a pod", nothing, status=conditions),
        "container-statuses": LongList("statuses of containers", containers, status=container_statuses),
        "allocated-resources": LongList(
            "resources of a container, requested and allocated",
            lambda n: one_container(resources=resources(n)),
            status=allocated_resources,
        ),
        "taints": LongList("taints of a node", taints, "Node"),
        "images": LongList("images of a node", images, "Node"),
        "image-names": LongList(
            "names of one image of a node",
            lambda n: {"status": {"images": [{"names": texts(n, "i"), "sizeBytes": 50_000_000}]}},
            "Node",
        ),
        "node-labels": LongList("labels of a node", labelled, "Node"),
        "node-annotations": LongList(
            "annotations of a node", lambda n: {"metadata": {"annotations": labels(n)}}, "Node"
        ),
        "node-owners": LongList("owners of a node", owners, "Node"),
        "node-finalizers": LongList("finalizers of a node", finalizers, "Node"),
        "node-managed-fields": LongList("managed fields of a node", managed_fields, "Node"),
        "node-resources": LongList("resources of a node", offers, "Node"),
        "node-conditions": LongList("conditions of a node", conditions, "Node"),
        "node-volumes": LongList("volumes attached to a node, and in use", volumes_on_node, "Node"),
        "node-features": LongList(
            "features that a node declares", lambda n: {"status": {"declaredFeatures": sorted(texts(n, "F"))}}, "Node"
        ),
        "node-addresses": LongList(
            "addresses of a node",
            lambda n: {"status": {"addresses": [{"type": "Hostname", "address": text} for text in texts(n, "h")]}},
            "Node",
        ),
        "taints-tolerated": LongList("tolerations, and a node with these taints", tolerations, node=taints),
        "hard-taints-tolerated": LongList(
            "tolerations, and a node with these taints that keep pods away",
            tolerations,
            node=lambda n: taints(n, "NoSchedule"),
        ),
        "labels-selected": LongList(
            "requirements of node affinity, and a node with these labels",
            lambda n: one_node_term(expressions(n, "Exists")),
            node=labelled,
        ),
        "labels-preferred": LongList(
            "preferred terms of node affinity, and a node with these labels",
            lambda n: affinity(
                "nodeAffinity",
                PREFERRED,
                [
                    {"weight": WEIGHT, "preference": {"matchExpressions": [requirement]}}
                    for requirement in expressions(n, "Exists")
                ],
            ),
            node=labelled,
        ),
        "labels-spread": LongList(
            "spread constraints, and a node with these labels",
            lambda n: spread(n, "DoNotSchedule", "k{}", labelSelector={"matchLabels": {"app": "x"}}),
            node=labelled,
        ),
        "labels-rather-spread": LongList(
            "spread constraints, ScheduleAnyway, and a node with these labels",
            lambda n: spread(n, "ScheduleAnyway", "k{}", labelSelector={"matchLabels": {"app": "x"}}),
            node=labelled,
        ),
        "labels-apart": LongList(
            "required terms of pod anti-affinity that select every pod, and a node with these labels",
            lambda n: affinity(
                "podAntiAffinity", REQUIRED, [{"topologyKey": key, "labelSelector": {}} for key in labels(n)]
            ),
            node=labelled,
        ),
        "labels-together": LongList(
            "required terms of pod affinity that select every pod, and a node with these labels",
            lambda n: affinity(
                "podAffinity", REQUIRED, [{"topologyKey": key, "labelSelector": {}} for key in labels(n)]
            ),
            node=labelled,
        ),
        "labels-kept-off": LongList(
            "a node with labels, and a pod with required anti-affinity by each of them to every pod",
            nothing,
            node=labelled,
            resident=lambda n: affinity(
                "podAntiAffinity", REQUIRED, [{"topologyKey": key, "labelSelector": {}} for key in labels(n)]
            ),
        ),
        "labels-near": LongList(
            "preferred terms of pod affinity that select a pod on a node with these labels",
            lambda n: affinity(
                "podAffinity",
                PREFERRED,
                [{"weight": 1, "podAffinityTerm": {"topologyKey": key, "labelSelector": {}}} for key in labels(n)],
            ),
            node=labelled,
        ),
        "images-present": LongList(
            "containers, and a node with their images",
            lambda n: {"spec": {"containers": [{"name": f"c{index}", "image": f"i{index}:1"} for index in n]}},
            node=images,
        ),
        "resources-offered": LongList(
            "resources that a container requests, and a node that offers them",
            lambda n: one_container(resources=resources(n, "1")),
            node=offers,
        ),
        "ports-taken": LongList("host ports, and a pod that has them", host_ports, resident=host_ports),
        "labels-avoided": LongList(
            "labels of a pod, and a pod with required anti-affinity to each",
            labelled,
            resident=lambda n: affinity(
                "podAntiAffinity",
                REQUIRED,
                [{"topologyKey": HOST, "labelSelector": {"matchLabels": {key: "x"}}} for key in labels(n)],
            ),
        ),
        "labels-sought": LongList(
            "labels of a pod, and a pod with preferred affinity to each",
            labelled,
            resident=lambda n: affinity(
                "podAffinity",
                PREFERRED,
                [
                    {
                        "weight": 1,
                        "podAffinityTerm": {"topologyKey": HOST, "labelSelector": {"matchLabels": {key: value}}},
                    }
                    for key, value in labels(n).items()
                ],
            ),
        ),
    }
)
