"""Who a scheduler is and what it may do."""

from collections.abc import Iterable

from scheduler_operator import permissions
from scheduler_operator.authored import Authored
from scheduler_operator.names import Object, generated_name, metadata
from scheduler_runtime.catalog import Rule

RBAC = "rbac.authorization.k8s.io"


def service_account(profile: Authored, namespace: str) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(profile, namespace)}


def cluster_role(profile: Authored, rules: Iterable[Rule]) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": metadata(profile, None),
        "rules": permissions.cluster_wide(rules),
    }


def role(profile: Authored, rules: Iterable[Rule], namespace: str) -> Object:
    own = permissions.own_rules(namespace, generated_name(profile.name))
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(profile, namespace),
        "rules": permissions.inside(namespace, [*rules, *own]),
    }


def cluster_role_binding(profile: Authored, namespace: str) -> Object:
    return _binding(profile, "ClusterRole", metadata(profile, None), namespace)


def role_binding(profile: Authored, namespace: str) -> Object:
    return _binding(profile, "Role", metadata(profile, namespace), namespace)


def _binding(profile: Authored, kind: str, placed: Object, namespace: str) -> Object:
    name = generated_name(profile.name)
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": placed,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
