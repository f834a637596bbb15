"""The kinds of objects that the operator reads and writes, with their paths at the API server."""

from dataclasses import dataclass

GROUP = "berth.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """One kind of object."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool = True
    home: str = ""
    """The namespace of these objects, where it is not the operator's."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def definition(self) -> str:
        """The name of the CRD of this kind."""
        return f"{self.plural}.{self.group}"

    def collection(self, namespace: str) -> str:
        """The path of all objects of this kind; in ``namespace``, if the kind is namespaced."""
        root = f"/apis/{self.group}" if self.group else "/api"
        inside = f"/namespaces/{self.home or namespace}" if self.namespaced else ""
        return f"{root}/{self.version}{inside}/{self.plural}"


PROFILE = ResourceKind(GROUP, VERSION, "schedulerprofiles", "SchedulerProfile", namespaced=False)
PLUGIN_CONFIG = ResourceKind(GROUP, VERSION, "pluginconfigs", "PluginConfig", namespaced=False)
EVENT = ResourceKind("events.k8s.io", "v1", "events", "Event")
POD = ResourceKind("", "v1", "pods", "Pod")

CONFIG_MAP = ResourceKind("", "v1", "configmaps", "ConfigMap")
SERVICE_ACCOUNT = ResourceKind("", "v1", "serviceaccounts", "ServiceAccount")
SERVICE = ResourceKind("", "v1", "services", "Service")
CLUSTER_ROLE = ResourceKind("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDING = ResourceKind(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
ROLE = ResourceKind("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDING = ResourceKind("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
LEASE = ResourceKind("coordination.k8s.io", "v1", "leases", "Lease")
DEPLOYMENT = ResourceKind("apps", "v1", "deployments", "Deployment")
POD_DISRUPTION_BUDGET = ResourceKind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
REVISION = ResourceKind("apps", "v1", "controllerrevisions", "ControllerRevision")
"""Keeps the last good revision of a profile's objects (ADR 31)."""

SYSTEM_NAMESPACE = "kube-system"
READER_BINDING = ResourceKind("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", home=SYSTEM_NAMESPACE)
"""Lets a kube-scheduler read how to authenticate the callers of its own endpoint."""

GENERATED = (
    CONFIG_MAP,
    SERVICE_ACCOUNT,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    ROLE,
    ROLE_BINDING,
    LEASE,
    SERVICE,
    DEPLOYMENT,
    POD_DISRUPTION_BUDGET,
)
"""Every kind that a revision has objects of in the operator's namespace."""

WATCHED = (*GENERATED, REVISION, POD)
"""Every kind whose changes may concern a profile."""

ALL_GENERATED = (*GENERATED, READER_BINDING)
ALL = (PROFILE, PLUGIN_CONFIG, EVENT, POD, REVISION, *ALL_GENERATED)
