"""ServiceAccount, roles and bindings of a profile's scheduler: the fewest rules that grant what it needs."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from scheduler_operator.models.plugin_config import ConfigMapSource
from scheduler_operator.render import Rendered
from scheduler_operator.resources.kinds import SYSTEM_NAMESPACE
from scheduler_operator.resources.names import Object, generated_name, metadata
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import catalog
from scheduler_runtime.catalog import Rule, permissions

PolicyRule = dict[str, Any]

_Names = frozenset[str]
_EVERY_NAME: _Names = frozenset()

RBAC = "rbac.authorization.k8s.io"

SYSTEM_ROLES = ("kube-scheduler", "volume-scheduler")
"""The cluster's own ClusterRoles for kube-scheduler, without their prefix ``system:``."""

READER_ROLE = "extension-apiserver-authentication-reader"
"""The cluster's own Role, in kube-system, for reading how to authenticate the callers of an endpoint."""


def account_name(profile: UserObject, rendered: Rendered, image: str) -> str:
    """Return the name of the scheduler's account, of its roles and of their bindings.

    Code to which an administrator granted rights has an account of its own: other code of the profile, which ran
    before and whose processes need not end soon, never has these rights.
    """
    name = generated_name(profile.name)
    if not uncovered_rules(rendered.declared, in_tree_rules()):
        return name
    code = "\n".join([image, *sorted(source.sha256 for source in rendered.sources.values())])
    # No profile's name has a dot.
    return f"{name}.{hashlib.sha256(code.encode()).hexdigest()[:10]}"


@cache
def in_tree_rules() -> list[PolicyRule]:
    """Return what profiles can have by in-tree plugins: nobody has to grant it."""
    declared = [rule for plugin in catalog.in_tree().values() for rule in plugin.rules_for()]
    return cluster_wide([*permissions.PYTHON_RULES, *permissions.EVENT_RULES, *declared])


@dataclass(frozen=True, slots=True)
class AccountObjects:
    """Builders of an account of a profile, and of its roles and bindings, which all have its name."""

    profile: UserObject
    account: str
    namespace: str

    def service_account(self) -> Object:
        return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": self._metadata(self.namespace)}

    def cluster_role(self, rules: Iterable[Rule]) -> Object:
        metadata, granted = self._metadata(None), cluster_wide(rules)
        return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": granted}

    def role(self, rules: Iterable[Rule]) -> Object:
        metadata, granted = self._metadata(self.namespace), namespaced(self.namespace, rules)
        return {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": granted}

    def cluster_role_binding(self) -> Object:
        return self._binding("ClusterRole", self.account, self._metadata(None))

    def role_binding(self) -> Object:
        return self._binding("Role", self.account, self._metadata(self.namespace))

    def reader_binding(self) -> Object:
        """Return the binding by which a kube-scheduler reads how callers of its endpoints are authenticated."""
        return self._binding("Role", READER_ROLE, self._metadata(SYSTEM_NAMESPACE, READER_ROLE))

    def system_role_bindings(self) -> list[Object]:
        """Return the bindings to the roles of the cluster's own kube-scheduler: enough for any plugins of its own."""
        return [self._binding("ClusterRole", f"system:{name}", self._metadata(None, name)) for name in SYSTEM_ROLES]

    def _binding(self, kind: str, role_name: str, metadata: Object) -> Object:
        return {
            "apiVersion": f"{RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role_name},
            "subjects": [{"kind": "ServiceAccount", "name": self.account, "namespace": self.namespace}],
        }

    def _metadata(self, namespace: str | None, part: str = "") -> Object:
        # The colon before the part cannot be in the name of a profile, so no other profile can have this name.
        name = f"{self.account}:{part}" if part else self.account
        return {**metadata(self.profile, namespace), "name": name}


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
    namespace: str, name: str, document: str, sources: Sequence[ConfigMapSource] = (), *, posts_events: bool = True
) -> list[Rule]:
    """Return the rules for a Python scheduler's own objects.

    These are its Lease, called ``name``, its ConfigMap, called ``document``, and ``sources``, the ConfigMaps with
    plugin code. Of that it may run what has their hashes (ADR 22).
    """
    watched = Rule(("",), ("configmaps",), ("list", "watch"), (document,), namespace)
    rules = [*lease_rules(namespace, name, posts_events=posts_events), watched]
    if sources:
        rules.append(Rule(("",), ("configmaps",), ("get",), tuple(source.name for source in sources), namespace))
        rules.append(permissions.source_rule((source.sha256 for source in sources), namespace))
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
