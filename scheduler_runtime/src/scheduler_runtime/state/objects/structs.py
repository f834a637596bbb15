"""Pods and nodes as they come from the API server: the fields that are read, and nothing else."""

from __future__ import annotations

from typing import Any

from msgspec import field
from msgspec.structs import force_setattr

from scheduler_runtime.kube.watch.envelopes import Wire
from scheduler_runtime.state.objects.pod_requests import Requests, sum_requests

ResourceList = dict[str, str | int | float]


class Present(Wire, frozen=True, gc=False):
    """Something of which it only matters that it is there."""


class OwnerReference(Wire, frozen=True, gc=False):
    """An object that another belongs to; at most one of them is its controller."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(Wire, frozen=True, gc=False):
    """An object's identity, labels and owners."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] = ()


class AnnotatedMeta(ObjectMeta, frozen=True, gc=False):
    """As of any object, with the annotations."""

    annotations: dict[str, str] | None = None


class ResourceRequirements(Wire, frozen=True, gc=False):
    """What a container, or a pod as a whole, asks for."""

    requests: ResourceList | None = None
    limits: ResourceList | None = None


class ContainerPort(Wire, frozen=True, gc=False):
    """A port of a container; it binds the node's when ``host_port`` is not 0."""

    host_port: int = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = "TCP"


class ContainerRestartRule(Wire, frozen=True, gc=False):
    """What happens when a container ends in a certain way."""

    action: str = ""


class VolumeMount(Wire, frozen=True, gc=False):
    """Where a container sees a volume; only what not every node can do is read."""

    bind_mount_options: tuple[str, ...] = ()


class Container(Wire, frozen=True, gc=False):
    """A container, or an init container; a sidecar when ``restart_policy`` is ``Always``."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()


class Toleration(Wire, frozen=True, gc=False):
    """A taint that does not keep the pod away."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class NodeSelectorRequirement(Wire, frozen=True, gc=False):
    """One condition on a label or field of a node."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Wire, frozen=True, gc=False):
    """Conditions that must all hold. A term without any matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Wire, frozen=True, gc=False):
    """Terms of which one must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Wire, frozen=True, gc=False):
    """A term and the points a matching node gets."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Wire, frozen=True, gc=False):
    """Which nodes a pod must, or would rather, run on."""

    required: NodeSelector | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[PreferredSchedulingTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class LabelSelectorRequirement(Wire, frozen=True, gc=False):
    """One condition on a label: ``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True, gc=False):
    """Conditions on labels that must all hold. Without any it matches everything; none at all matches nothing."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class PodAffinityTerm(Wire, frozen=True, gc=False):
    """Which pods, in which namespaces, and how near is near."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""


class WeightedPodAffinityTerm(Wire, frozen=True, gc=False):
    """A term and the points that being near gets."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinityTerms(Wire, frozen=True, gc=False):
    """Affinity, or anti-affinity, to other pods.

    The API server has merged ``matchLabelKeys`` and ``mismatchLabelKeys`` into the selectors.
    """

    required: tuple[PodAffinityTerm, ...] = field(default=(), name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Wire, frozen=True, gc=False):
    """All kinds of affinity of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinityTerms | None = None
    pod_anti_affinity: PodAffinityTerms | None = None


class TopologySpreadConstraint(Wire, frozen=True, gc=False):
    """How evenly pods must be spread."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class Named(Wire, frozen=True, gc=False):
    """Something of which only the name is read."""

    name: str = ""


class ImageVolume(Wire, frozen=True, gc=False):
    """A volume that is an image."""

    reference: str = ""


class Volume(Wire, frozen=True, gc=False):
    """A volume of a kind on which the choice of the node depends; all kinds are None for an ordinary one."""

    persistent_volume_claim: Present | None = None
    ephemeral: Present | None = None
    gce_persistent_disk: Present | None = None
    aws_elastic_block_store: Present | None = None
    azure_disk: Present | None = None
    azure_file: Present | None = None
    vsphere_volume: Present | None = None
    portworx_volume: Present | None = None
    cinder: Present | None = None
    iscsi: Present | None = None
    rbd: Present | None = None
    image: ImageVolume | None = None


class PodSpec(Wire, frozen=True, gc=False):
    """What a pod asks for."""

    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    priority: int = 0
    preemption_policy: str | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    host_network: bool = False
    host_users: bool | None = None
    overhead: ResourceList | None = None
    resources: ResourceRequirements | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    scheduling_gates: tuple[Named, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[Named, ...] = ()


class PodCondition(Wire, frozen=True, gc=False):
    """A condition in a pod's status."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class ContainerStatus(Wire, frozen=True, gc=False):
    """What a container really has, which differs from its spec while it is resized in place."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None


class PodStatus(Wire, frozen=True, gc=False):
    """How a pod is doing."""

    phase: str = ""
    nominated_node_name: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None
    start_time: str | None = None


class Pod(Wire, frozen=True, gc=False):
    """A pod. It is itself by ``uid``: a new pod of the same name is another pod."""

    metadata: AnnotatedMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
    derived: Requests | None = field(default=None, name=".requests")
    """Computed once from the spec and the status; no field of the API server has this name."""
    terms: dict[str, Any] | None = field(default=None, name=".terms")
    """The affinity terms as the table reads them, by the namespace in which they are read."""

    @property
    def uid(self) -> str:
        """What tells this pod from every other, for ever."""
        return self.metadata.uid

    @property
    def name(self) -> str:
        """Its name in its namespace."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """Where it lives."""
        return self.metadata.namespace

    @property
    def labels(self) -> dict[str, str]:
        """Its labels; empty when it has none."""
        return self.metadata.labels or {}

    @property
    def annotations(self) -> dict[str, str]:
        """Its annotations; empty when it has none."""
        return self.metadata.annotations or {}

    @property
    def key(self) -> str:
        """``namespace/name``, as messages name it."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def requests(self) -> Requests:
        """What it needs of a node, by upstream's rule. Raises ``QuantityError`` naming the field."""
        derived = self.derived
        if derived is None:
            derived = sum_requests(self)
            force_setattr(self, "derived", derived)
        return derived


class Taint(Wire, frozen=True, gc=False):
    """What keeps pods away from a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Wire, frozen=True, gc=False):
    """What an administrator says about a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(Wire, frozen=True, gc=False):
    """An image that a node has, under all its names."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeCondition(Wire, frozen=True, gc=False):
    """How a node is doing; the time of its last heartbeat is left out."""

    type: str = ""
    status: str = ""


class NodeStatus(Wire, frozen=True, gc=False):
    """What a node offers, how it is doing, and the images it has."""

    allocatable: ResourceList | None = None
    images: tuple[ContainerImage, ...] = ()
    conditions: tuple[NodeCondition, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Wire, frozen=True, gc=False):
    """A node. It is itself by name."""

    metadata: AnnotatedMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        """Its labels; empty when it has none."""
        return self.metadata.labels or {}
