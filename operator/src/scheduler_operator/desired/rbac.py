"""ServiceAccount, roles and bindings of a profile's scheduler: the fewest rules that grant what it needs."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from scheduler_operator.models.plugin_config import ConfigMapSource
from scheduler_operator.resources.kinds import SYSTEM_NAMESPACE
from scheduler_operator.resources.names import Object, generated_name, metadata
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.catalog import Rule
from scheduler_runtime.catalog.permissions import source_rule

PolicyRule = dict[str, Any]

_Names = frozenset[str]
_EVERY_NAME: _Names = frozenset()

RBAC = "rbac.authorization.k8s.io"

SYSTEM_ROLES = ("kube-scheduler", "volume-scheduler")
"""The cluster's own ClusterRoles for kube-scheduler, without their prefix ``system:``."""

READER_ROLE = "extension-apiserver-authentication-reader"
"""The cluster's own Role, in kube-system, for reading how to authenticate the callers of an endpoint."""


def service_account(profile: UserObject, namespace: str) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(profile, namespace)}


def cluster_role(profile: UserObject, rules: Iterable[Rule]) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": metadata(profile, None),
        "rules": cluster_wide(rules),
    }


def role(profile: UserObject, rules: Iterable[Rule], namespace: str) -> Object:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(profile, namespace),
        "rules": namespaced(namespace, rules),
    }


def cluster_role_binding(profile: UserObject, namespace: str) -> Object:
    return _binding(profile, "ClusterRole", generated_name(profile.name), metadata(profile, None), namespace)


def role_binding(profile: UserObject, namespace: str) -> Object:
    return _binding(profile, "Role", generated_name(profile.name), metadata(profile, namespace), namespace)


def reader_binding(profile: UserObject, namespace: str) -> Object:
    """Return the binding by which a kube-scheduler reads how callers of its endpoints are authenticated."""
    return _binding(profile, "Role", READER_ROLE, metadata(profile, SYSTEM_NAMESPACE, READER_ROLE), namespace)


def system_role_bindings(profile: UserObject, namespace: str) -> list[Object]:
    """Return the bindings to the roles that the cluster's own kube-scheduler has: enough for any plugins of its own."""
    return [
        _binding(profile, "ClusterRole", f"system:{name}", metadata(profile, None, name), namespace)
        for name in SYSTEM_ROLES
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


def cluster_wide(rules: Iterable[Rule]) -> list[PolicyRule]:
    """Return the rules of the ClusterRole."""
    return merge_rules(rule for rule in rules if not rule.namespace)


def namespaced(namespace: str, rules: Iterable[Rule]) -> list[PolicyRule]:
    """Return the rules of the Role in ``namespace``."""
    return merge_rules(rule for rule in rules if rule.namespace == namespace)


def merge_rules(rules: Iterable[Rule]) -> list[PolicyRule]:
    """Return the same permissions in the fewest rules, always in the same order.

    A verb granted for every object of a resource is not granted again for some of them by name.
    """
    verbs: dict[tuple[str, str, _Names], set[str]] = defaultdict(set)
    for rule in rules:
        for group in rule.api_groups:
            for resource in rule.resources:
                verbs[group, resource, frozenset(rule.resource_names)].update(rule.verbs)
    resources: dict[tuple[str, _Names, tuple[str, ...]], set[str]] = defaultdict(set)
    for (group, resource, names), granted in verbs.items():
        # A verb that is granted for every name need not be granted again for some.
        beyond = granted - verbs.get((group, resource, _EVERY_NAME), set()) if names else granted
        if beyond:
            resources[group, names, tuple(sorted(beyond))].add(resource)
    return [
        {
            "apiGroups": [group],
            "resources": sorted(resources[group, names, granted]),
            "verbs": list(granted),
            **({"resourceNames": sorted(names)} if names else {}),
        }
        for group, names, granted in sorted(resources, key=lambda key: (key[0], sorted(resources[key]), sorted(key[1])))
    ]


def lease_rules(namespace: str, name: str, *, posts_events: bool = True) -> list[Rule]:
    """Return the rules for a scheduler's own Lease, ``name``, and for events about it.

    The Lease exists before the scheduler does, so nothing is created: a right to create cannot be limited
    to a name, and would let a scheduler take the name of another's Lease.
    """
    lease = Rule(("coordination.k8s.io",), ("leases",), ("get", "update"), (name,), namespace)
    # As in kube-scheduler these are events of the core group, unlike those about pods.
    events = [Rule(("",), ("events",), ("create",), (), namespace)] if posts_events else []
    return [lease, *events]


def own_rules(
    namespace: str, name: str, sources: Sequence[ConfigMapSource] = (), *, posts_events: bool = True
) -> list[Rule]:
    """Return the rules for a Python scheduler's own objects.

    These are its Lease and its ConfigMap, both called ``name``, and ``sources``, the ConfigMaps with plugin code. Of
    that it may run what has their hashes (ADR 22).
    """
    document = Rule(("",), ("configmaps",), ("list", "watch"), (name,), namespace)
    rules = [*lease_rules(namespace, name, posts_events=posts_events), document]
    if sources:
        rules.append(Rule(("",), ("configmaps",), ("get",), tuple(source.name for source in sources), namespace))
        rules.append(source_rule((source.sha256 for source in sources), namespace))
    return rules


def uncovered_rules(rules: Iterable[Rule], granted: Sequence[PolicyRule]) -> list[PolicyRule]:
    """Return the part of ``rules`` that ``granted`` does not cover, as rules of a role."""
    missing = [
        Rule((group,), (resource,), (verb,), rule.resource_names, rule.namespace)
        for rule in rules
        for group in rule.api_groups
        for resource in rule.resources
        for verb in rule.verbs
        if not any(_covers(grant, group, resource, verb, rule.resource_names) for grant in granted)
    ]
    return merge_rules(missing)


def _covers(grant: PolicyRule, group: str, resource: str, verb: str, names: Sequence[str]) -> bool:
    needed = {"apiGroups": group, "resources": resource, "verbs": verb}
    if not all(word in grant.get(field, ()) or "*" in grant.get(field, ()) for field, word in needed.items()):
        return False
    # A rule limited to names covers only a rule limited to some of them: no names means every name.
    limits = grant.get("resourceNames") or ()
    return not limits or (bool(names) and set(names) <= set(limits))
