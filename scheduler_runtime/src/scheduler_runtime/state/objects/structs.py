"""Structs of pods and nodes as the API server sends them: the fields that are read, and nothing else."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field
from msgspec.structs import force_setattr

from scheduler_runtime.kube.watch.kinds import Wire
from scheduler_runtime.state.objects.pod_requests import Requests, sum_requests

# As in Go, an object with a number that its field cannot hold is not decoded at all.
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
ResourceList = dict[str, str | int | float]


class Present(Wire, frozen=True, gc=False):
    """An object that is read for its presence only."""


class OwnerReference(Wire, frozen=True, gc=False):
    """An owner of an object; at most one of the owners is its controller."""

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
    generation: Int64 = 0
    labels: dict[str, str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] = ()


class AnnotatedMeta(ObjectMeta, frozen=True, gc=False):
    """Metadata with annotations, which only pods and nodes are asked for."""

    annotations: dict[str, str] | None = None


class ResourceRequirements(Wire, frozen=True, gc=False):
    """Requests and limits of a container, or of a pod as a whole."""

    requests: ResourceList | None = None
    limits: ResourceList | None = None


class ContainerPort(Wire, frozen=True, gc=False):
    """A port of a container; it binds a port of the node when ``host_port`` is not 0."""

    host_port: Int32 = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = "TCP"


class ContainerRestartRule(Wire, frozen=True, gc=False):
    """A rule for what happens when a container ends."""

    action: str = ""


class VolumeMount(Wire, frozen=True, gc=False):
    """A volume mounted into a container; only options that not every node supports are read."""

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
    """A kind of taint that does not repel the pod."""

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
    """Terms, at least one of which must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Wire, frozen=True, gc=False):
    """A term, and the points that a matching node gets."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Wire, frozen=True, gc=False):
    """Nodes that a pod requires or prefers."""

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
    """Conditions on labels that must all hold. An empty selector matches everything; a missing one matches nothing."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class PodAffinityTerm(Wire, frozen=True, gc=False):
    """Pods, by labels and namespaces, and the node label by which two nodes are near each other."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""


class WeightedPodAffinityTerm(Wire, frozen=True, gc=False):
    """A term, and the points that a node near such pods gets."""

    weight: Int32 = 0
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
    """Limits to how unevenly pods may be spread over the values of a node label."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class Named(Wire, frozen=True, gc=False):
    """An object of which only the name is read."""

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
    """The desired state of a pod."""

    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    priority: Int32 = 0
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
    """Resources that a container really has; they differ from its spec while it is resized in place."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None


class PodStatus(Wire, frozen=True, gc=False):
    """The observed state of a pod."""

    phase: str = ""
    nominated_node_name: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None
    start_time: str | None = None


class Pod(Wire, frozen=True, gc=False):
    """A pod. Its identity is its ``uid``: a new pod of the same name is another pod."""

    metadata: AnnotatedMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
    derived: Requests | None = field(default=None, name=".requests")
    """Computed once from the spec and the status; no field of the API server has this name."""
    terms: dict[str, Any] | None = field(default=None, name=".terms")
    """The affinity terms as the table reads them, by namespace; filled in by ``affinity_terms.terms_of``."""

    @property
    def uid(self) -> str:
        """The identity of this pod: no other pod ever has the same."""
        return self.metadata.uid

    @property
    def name(self) -> str:
        """The pod's name in its namespace."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """The pod's namespace."""
        return self.metadata.namespace

    @property
    def labels(self) -> dict[str, str]:
        """All labels; empty when there are none."""
        return self.metadata.labels or {}

    @property
    def annotations(self) -> dict[str, str]:
        """All annotations; empty when there are none."""
        return self.metadata.annotations or {}

    @property
    def key(self) -> str:
        """``namespace/name``, as messages name it."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def requests(self) -> Requests:
        """The pod's needs, added up by upstream's rule. Raises ``QuantityError`` naming the malformed field."""
        derived = self.derived
        if derived is None:
            # Frozen structs cannot be assigned to; this field follows from the others, so nobody sees it change.
            derived = sum_requests(self)
            force_setattr(self, "derived", derived)
        return derived


class Taint(Wire, frozen=True, gc=False):
    """A property of a node that repels pods without a matching toleration."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Wire, frozen=True, gc=False):
    """The desired state of a node, as an administrator writes it."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(Wire, frozen=True, gc=False):
    """A container image on a node, under all its names."""

    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeCondition(Wire, frozen=True, gc=False):
    """A condition in a node's status; the time of its last heartbeat is left out, because it changes all the time."""

    type: str = ""
    status: str = ""


class NodeStatus(Wire, frozen=True, gc=False):
    """The observed state of a node: allocatable resources, conditions and images."""

    allocatable: ResourceList | None = None
    images: tuple[ContainerImage, ...] = ()
    conditions: tuple[NodeCondition, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Wire, frozen=True, gc=False):
    """A node. Its identity is its name."""

    metadata: AnnotatedMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        """The node's name."""
        return self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        """All labels; empty when there are none."""
        return self.metadata.labels or {}
