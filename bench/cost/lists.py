"""The lists and maps of pods and nodes that a scheduler reads, and the shapes by which each is measured.

The API has some two hundred and fifty. What Berth does not decode costs a decision nothing: the decoder skips it, in
time in proportion to its bytes. So every list that is decoded is here, with its shapes or with the reason why it has
none. Some of the others are measured as well, because they have to be skipped. ``tests/bench`` compares this with the
schema of the API and with the structs of pods and nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_TERMS = tuple(
    f"Pod.spec.affinity.{kind}.{when}"
    for kind in ("podAffinity", "podAntiAffinity")
    for when in (f"{_REQUIRED}[]", f"{_PREFERRED}[].podAffinityTerm")
)
_CONTAINERS = ("Pod.spec.containers[]", "Pod.spec.initContainers[]")
_STATUSES = ("Pod.status.containerStatuses[]", "Pod.status.initContainerStatuses[]")
_REQUIRED_NODES = f"Pod.spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms[]"
_PREFERRED_NODES = f"Pod.spec.affinity.nodeAffinity.{_PREFERRED}[]"
_NODE_TERMS = (_REQUIRED_NODES, f"{_PREFERRED_NODES}.preference")
_SPREAD = "Pod.spec.topologySpreadConstraints[]"


@dataclass(frozen=True, slots=True)
class LongLists:
    """Lists, or maps, that the same code reads."""

    paths: tuple[str, ...]
    shapes: tuple[str, ...] = ()
    why: str = ""
    """Why there is no shape."""


def below(parents: tuple[str, ...], field: str) -> tuple[str, ...]:
    """The paths of a field of each of ``parents``."""
    return tuple(f"{parent}.{field}" for parent in parents)


READ = (
    LongLists(("Pod.metadata.labels{}",), ("pod-labels", "labels-avoided", "labels-sought")),
    LongLists(("Pod.metadata.annotations{}",), ("annotations",)),
    LongLists(("Pod.metadata.ownerReferences[]",), ("owners",)),
    LongLists(
        ("Pod.spec.containers[]",),
        ("containers", "container-images", "images-present", "requesting", "host-ports-apart"),
    ),
    LongLists(("Pod.spec.initContainers[]",), ("init-containers", "sidecars", "sidecar-ports")),
    LongLists(
        below(_CONTAINERS, "resources.requests{}"),
        ("resources", "resources-of-many", "init-resources", "resources-offered"),
    ),
    LongLists(below(_CONTAINERS, "resources.limits{}"), ("resources",)),
    LongLists(below(_CONTAINERS, "ports[]"), ("host-ports", "ports-taken")),
    LongLists(below(_CONTAINERS, "volumeMounts[]"), ("mounts",)),
    LongLists(
        below((*_CONTAINERS, "Pod.spec.ephemeralContainers[]"), "volumeMounts[].bindMountOptions[]"),
        why="new in 1.37 behind a gate; only whether there are any is read, where mounts are read",
    ),
    LongLists(
        below((*_CONTAINERS, "Pod.spec.ephemeralContainers[]"), "restartPolicyRules[]"),
        why="the API server takes 20 at most",
    ),
    LongLists(
        ("Pod.spec.ephemeralContainers[]", "Pod.spec.ephemeralContainers[].volumeMounts[]"),
        why="only whether one of their mounts has options is read, where those of containers are read",
    ),
    LongLists(
        (
            "Pod.spec.ephemeralContainers[].ports[]",
            "Pod.spec.ephemeralContainers[].resources.requests{}",
            "Pod.spec.ephemeralContainers[].resources.limits{}",
        ),
        why="no API server takes them, and nobody reads them",
    ),
    LongLists(("Pod.spec.overhead{}",), ("overhead",)),
    LongLists(("Pod.spec.resources.requests{}", "Pod.spec.resources.limits{}"), ("pod-level-resources",)),
    LongLists(("Pod.spec.nodeSelector{}",), ("node-selector",)),
    LongLists((f"{_REQUIRED_NODES}",), ("node-terms", "node-names")),
    LongLists((f"{_PREFERRED_NODES}",), ("rather-nodes", "labels-preferred")),
    LongLists(
        below(_NODE_TERMS, "matchExpressions[]"),
        ("node-expressions", "rather-node-expressions", "labels-selected"),
    ),
    LongLists(below(_NODE_TERMS, "matchExpressions[].values[]"), ("node-values", "rather-node-values")),
    LongLists(
        (*below(_NODE_TERMS, "matchFields[]"), *below(_NODE_TERMS, "matchFields[].values[]")),
        why="the only field is metadata.name, with one value; a term may name it again and again, as node-names does",
    ),
    LongLists(
        (_TERMS[0], _TERMS[2]),
        (
            "pod-affinity",
            "pod-affinity-keys",
            "anti-affinity",
            "anti-affinity-keys",
            "namespace-selectors",
            "labels-apart",
            "labels-together",
            "labels-kept-off",
        ),
    ),
    LongLists(
        tuple(path.removesuffix(".podAffinityTerm") for path in (_TERMS[1], _TERMS[3])),
        ("rather-near", "rather-apart", "rather-apart-keys", "labels-near"),
    ),
    LongLists(below(_TERMS, "labelSelector.matchLabels{}"), ("term-labels",)),
    LongLists(below(_TERMS, "labelSelector.matchExpressions[]"), ("term-expressions", "rather-term-expressions")),
    LongLists(below(_TERMS, "labelSelector.matchExpressions[].values[]"), ("term-values",)),
    LongLists(below(_TERMS, "namespaces[]"), ("term-namespaces",)),
    LongLists(below(_TERMS, "namespaceSelector.matchLabels{}"), ("term-namespace-labels",)),
    LongLists(below(_TERMS, "namespaceSelector.matchExpressions[]"), ("term-namespace-selector",)),
    LongLists(below(_TERMS, "namespaceSelector.matchExpressions[].values[]"), ("term-namespace-values",)),
    LongLists(("Pod.spec.tolerations[]",), ("tolerations", "taints-tolerated", "hard-taints-tolerated")),
    LongLists(("Pod.spec.schedulingGates[]",), ("gates",)),
    LongLists((_SPREAD,), ("soft-spread", "hard-spread", "spread-selectors", "labels-spread", "labels-rather-spread")),
    LongLists((f"{_SPREAD}.labelSelector.matchLabels{{}}",), ("spread-labels",)),
    LongLists((f"{_SPREAD}.labelSelector.matchExpressions[]",), ("spread-expressions",)),
    LongLists((f"{_SPREAD}.labelSelector.matchExpressions[].values[]",), ("spread-values",)),
    LongLists((f"{_SPREAD}.matchLabelKeys[]",), ("spread-label-keys",)),
    LongLists(("Pod.spec.volumes[]",), ("volumes", "image-volumes", "claims")),
    LongLists(("Pod.spec.resourceClaims[]",), ("resource-claims",)),
    LongLists(("Pod.status.conditions[]",), ("pod-conditions",)),
    LongLists(_STATUSES, ("container-statuses",)),
    LongLists(
        (*below(_STATUSES, "resources.requests{}"), *below(_STATUSES, "allocatedResources{}")),
        ("allocated-resources",),
    ),
    LongLists(
        (
            *below(_STATUSES, "resources.limits{}"),
            *below(("Pod.status.resources",), "requests{}"),
            *below(("Pod.status.resources",), "limits{}"),
            "Pod.status.allocatedResources{}",
        ),
        why="read where those of containers are read, or, limits, by nobody",
    ),
    LongLists(("Node.metadata.labels{}",), ("node-labels", "labels-selected", "labels-preferred", "labels-near")),
    LongLists(("Node.metadata.annotations{}",), ("node-annotations",)),
    LongLists(("Node.metadata.ownerReferences[]",), ("node-owners",)),
    LongLists(("Node.spec.taints[]",), ("taints", "taints-tolerated", "hard-taints-tolerated")),
    LongLists(("Node.status.allocatable{}",), ("node-resources", "resources-offered")),
    LongLists(("Node.status.images[]",), ("images", "images-present")),
    LongLists(("Node.status.images[].names[]",), ("image-names",)),
    LongLists(("Node.status.conditions[]",), ("node-conditions",)),
    LongLists(("Node.status.declaredFeatures[]",), ("node-features",)),
)

TAKEN_IN = (
    LongLists(("Pod.metadata.finalizers[]",), ("finalizers",)),
    LongLists(("Pod.metadata.managedFields[]",), ("managers",)),
    LongLists(("Pod.metadata.managedFields[].fieldsV1",), ("managed-fields",)),
    LongLists(("Pod.spec.containers[].env[]",), ("environment",)),
    LongLists(below(_TERMS, "matchLabelKeys[]"), ("term-label-keys",)),
    LongLists(("Pod.spec.imagePullSecrets[]",), ("pull-secrets",)),
    LongLists(("Pod.spec.readinessGates[]",), ("readiness-gates",)),
    LongLists(("Node.metadata.finalizers[]",), ("node-finalizers",)),
    LongLists(("Node.metadata.managedFields[].fieldsV1",), ("node-managed-fields",)),
    LongLists(("Node.status.volumesInUse[]", "Node.status.volumesAttached[]"), ("node-volumes",)),
    LongLists(("Node.status.addresses[]",), ("node-addresses",)),
)
"""Some of those that are not decoded."""
