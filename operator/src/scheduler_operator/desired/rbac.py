"""ServiceAccount, roles and bindings of a profile's scheduler."""

from collections.abc import Iterable

from scheduler_operator.desired import permissions
from scheduler_operator.resources.kinds import SYSTEM_NAMESPACE
from scheduler_operator.resources.names import Object, generated_name, metadata
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.catalog import Rule

RBAC = "rbac.authorization.k8s.io"

UPSTREAM_ROLES = ("kube-scheduler", "volume-scheduler")
"""The cluster's own ClusterRoles for kube-scheduler, without their prefix ``system:``; they follow its version."""

READER_ROLE = "extension-apiserver-authentication-reader"
"""The cluster's own Role, in kube-system, for reading how to authenticate the callers of an endpoint."""


def service_account(profile: UserObject, namespace: str) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(profile, namespace)}


def cluster_role(profile: UserObject, rules: Iterable[Rule]) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": metadata(profile, None),
        "rules": permissions.cluster_wide(rules),
    }


def role(profile: UserObject, rules: Iterable[Rule], namespace: str) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(profile, namespace),
        "rules": permissions.namespaced(namespace, rules),
    }


def cluster_role_binding(profile: UserObject, namespace: str) -> Object:
    return _binding(profile, "ClusterRole", generated_name(profile.name), metadata(profile, None), namespace)


def role_binding(profile: UserObject, namespace: str) -> Object:
    return _binding(profile, "Role", generated_name(profile.name), metadata(profile, namespace), namespace)


def upstream_bindings(profile: UserObject, namespace: str) -> list[Object]:
    """Return the bindings that a kube-scheduler needs with any plugins: the same roles as the cluster's own has."""
    reader = metadata(profile, SYSTEM_NAMESPACE, READER_ROLE)
    return [
        *(
            _binding(profile, "ClusterRole", f"system:{name}", metadata(profile, None, name), namespace)
            for name in UPSTREAM_ROLES
        ),
        _binding(profile, "Role", READER_ROLE, reader, namespace),
    ]


def _binding(profile: UserObject, kind: str, role_name: str, metadata: Object, namespace: str) -> Object:
    account = generated_name(profile.name)
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role_name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }
