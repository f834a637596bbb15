"""Who a scheduler is and what it may do."""

from collections.abc import Iterable

from scheduler_operator.desired import permissions
from scheduler_operator.resources.authored import UserObject
from scheduler_operator.resources.kinds import SYSTEM_NAMESPACE
from scheduler_operator.resources.names import Object, generated_name, metadata
from scheduler_runtime.catalog import Rule

RBAC = "rbac.authorization.k8s.io"

UPSTREAM_ROLES = ("kube-scheduler", "volume-scheduler")
"""The cluster's own ClusterRoles for kube-scheduler, which follow its version; ``system:`` stands before each."""

READER_ROLE = "extension-apiserver-authentication-reader"
"""The cluster's own Role, in kube-system, for reading how callers of an endpoint are to be authenticated."""


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
        "rules": permissions.inside(namespace, rules),
    }


def cluster_role_binding(profile: UserObject, namespace: str) -> Object:
    return _binding(profile, "ClusterRole", generated_name(profile.name), metadata(profile, None), namespace)


def role_binding(profile: UserObject, namespace: str) -> Object:
    return _binding(profile, "Role", generated_name(profile.name), metadata(profile, namespace), namespace)


def upstream_bindings(profile: UserObject, namespace: str) -> list[Object]:
    """What kube-scheduler needs whichever plugins it runs, granted as the cluster grants it to its own."""
    reader = metadata(profile, SYSTEM_NAMESPACE, READER_ROLE)
    return [
        *(
            _binding(profile, "ClusterRole", f"system:{name}", metadata(profile, None, name), namespace)
            for name in UPSTREAM_ROLES
        ),
        _binding(profile, "Role", READER_ROLE, reader, namespace),
    ]


def _binding(profile: UserObject, kind: str, role_name: str, placed: Object, namespace: str) -> Object:
    account = generated_name(profile.name)
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": placed,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role_name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }
