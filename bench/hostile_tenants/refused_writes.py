"""Requests that nobody of the attackers may do: each must be refused, for the reason that protects against it.

Each is tried in every round. All have ``dryRun``: a policy that fails is told, and the rest of the story goes on.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench.hostile_tenants.attacker import TENANT, Object, Outcomes, Target, attacker
from bench.hostile_tenants.author_attacks import PLUGIN_CONFIGS, PROFILES, plugin_config, profile
from bench.hostile_tenants.tenant_attacks import PODS, pod
from examples.demo.installation import NAMESPACE

ROUND_SECONDS = 15.0
HELD_POD = "held"
"""The pod that a stolen token is used on. No scheduler takes it."""
CORE = f"/api/v1/namespaces/{NAMESPACE}"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
JSON, MERGE, APPLY = "application/json", "application/merge-patch+json", "application/apply-patch+yaml"
STRATEGIC_MERGE = "application/strategic-merge-patch+json"
NO_RIGHT = "is forbidden: User"
"""The beginning of what the API server says to whom no role permits a request."""
MANAGED = {"app.kubernetes.io/managed-by": "berth"}


@dataclass(frozen=True, slots=True)
class Write:
    """A request, and the words of its refusal."""

    reason: str
    method: str
    path: str
    body: Object | bytes = b""
    kind: str = JSON


def of_author(_target: Target) -> Iterator[Write]:
    """Power for a scheduler, a name that is another's, and objects that no API server could read back."""

    def creating(reason: str, **spec: Any) -> Write:
        return Write(reason, "POST", PROFILES, profile("refused", **spec))

    unallowed = "is not among what profiles may have here"
    yield creating(f"spec.scheduler.image: evil:1 {unallowed}", scheduler={"image": "evil:1"})
    yield creating(f"spec.engine: KubeScheduler {unallowed}", engine="KubeScheduler")
    yield creating(unallowed, scheduler={"priorityClassName": "system-node-critical"})
    confined = {"container.apparmor.security.beta.kubernetes.io/scheduler": "unconfined"}
    yield creating(unallowed, scheduler={"podAnnotations": confined})
    yield creating(unallowed, scheduler={"podLabels": {"sidecar.istio.io/inject": "true"}})
    default = profile("default-scheduler")
    yield Write("default-scheduler belongs to the cluster's own scheduler", "POST", PROFILES, default)
    for depth in (300, 1500, 9500):
        nested = json.dumps(plugin_config("refused", plugin="NodeResourcesFit", args={"a": "HERE"}))
        text = nested.replace('"HERE"', '{"a":' * depth + "{}" + "}" * depth).encode()
        yield Write("more than 100 levels of nesting", "POST", PLUGIN_CONFIGS, text)
    wide = plugin_config("refused", plugin="NodeResourcesFit", args={"a": list(range(8000))})
    yield Write("more than 2000 entries in one list", "POST", PLUGIN_CONFIGS, wide)


def of_config_map_writer(target: Target) -> Iterator[Write]:
    """Code, extenders and ownership of the ConfigMap that a scheduler follows; also in the operator's name."""
    reason, name = "the berth operator writes the ConfigMaps called berth-", f"berth-{target.profile}"
    path, manager = f"{CORE}/configmaps/{name}", "fieldManager=berth"
    code = "raise SystemExit(7)"
    digest = hashlib.sha256(code.encode()).hexdigest()
    source = f"plugins: {{E: {{configMap: {{name: {name}, key: e.py, sha256: {digest}}}}}}}"
    change = {"data": {"e.py": code, "berth.yaml": source}}
    taken = {"metadata": {"labels": None, "ownerReferences": None}}
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": change["data"]}
    yield Write(reason, "PATCH", path, change, MERGE)
    yield Write(reason, "PATCH", f"{path}?{manager}", change, MERGE)
    yield Write(reason, "PATCH", f"{path}?{manager}&force=true", applied, APPLY)
    yield Write(reason, "PATCH", path, taken, MERGE)
    yield Write(reason, "DELETE", path)
    yield Write(reason, "POST", f"{CORE}/configmaps", {"metadata": {"name": "berth-to-come"}})
    yield Write(reason, "POST", f"{CORE}/configmaps", {"metadata": {"name": "other", "labels": MANAGED}})


def of_scheduler(target: Target) -> Iterator[Write]:
    """A stolen token of the honest profile's scheduler."""
    status, metadata = f"{PODS}/{HELD_POD}/status", "a berth scheduler writes no labels, annotations, finalizers"
    for taken in ({"labels": {"k8s-app": "kube-dns"}}, {"annotations": {"a/b": "c"}}, {"finalizers": ["x.y/z"]}):
        yield Write(metadata, "PATCH", status, {"metadata": taken}, MERGE)
    written = "a berth scheduler writes only PodScheduled"
    yield Write(written, "PATCH", status, {"status": {"phase": "Failed"}}, MERGE)
    ready = [{"type": "Ready", "status": "True"}]
    yield Write(written, "PATCH", status, {"status": {"conditions": ready}}, STRATEGIC_MERGE)
    binding = {"metadata": {"name": HELD_POD, "labels": {"app": "x"}}, "target": {"kind": "Node", "name": "x"}}
    yield Write("binds pods without labels and annotations", "POST", f"{PODS}/{HELD_POD}/binding", binding)
    yield Write("preempts no system-critical pod", "DELETE", f"{CORE}/pods/{target.operator_pod}")
    document = {"data": {"config.yaml": "x"}}
    yield Write(NO_RIGHT, "PATCH", f"{CORE}/configmaps/berth-{target.profile}", document, MERGE)
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/berth-operator"
    yield Write(NO_RIGHT, "PATCH", lease, {"spec": {"holderIdentity": "x"}}, MERGE)
    yield Write(NO_RIGHT, "PATCH", f"{PROFILES}/{target.profile}/status", {"status": {}}, MERGE)
    yield from _without_rights()


def of_operator(target: Target) -> Iterator[Write]:
    """A stolen token of the operator."""
    account = {"kind": "ServiceAccount", "name": f"berth-{target.profile}", "namespace": NAMESPACE}
    own_role: Object = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "berth-operator"}
    made: Object = {"metadata": {"name": f"berth-{target.profile}:more", "labels": MANAGED}}
    bindings = f"{RBAC}/clusterrolebindings"
    yield Write(
        "only roles and bindings that it made", "PATCH", f"{RBAC}/clusterroles/cluster-admin", {"rules": []}, MERGE
    )
    second = {**made, "roleRef": own_role, "subjects": [account]}
    yield Write("binds only the role that has the name of the binding", "POST", bindings, second)
    user: Object = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mallory"}
    foreign = {**made, "roleRef": {**own_role, "name": f"berth-{target.profile}"}, "subjects": [user]}
    yield Write("binds roles only to the account of the scheduler", "POST", bindings, foreign)
    rule = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["patch"]}
    roles = f"{RBAC}/namespaces/{NAMESPACE}/roles"
    yield Write("lets no scheduler write roles", "POST", roles, {**made, "rules": [rule]})
    deployment = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/berth-{target.profile}"
    changes: dict[str, Object] = {
        "nothing of its node or of Secrets": {"hostNetwork": True},
        "mounts only the document": {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]},
        "at Pod Security's level restricted": {"securityContext": {"runAsNonRoot": False}},
        "only under the account": {"serviceAccountName": "berth-operator"},
        "runs nothing but schedulers": {"containers": [{"name": "scheduler", "command": ["sh"]}]},
        "evil:1 is not among what profiles may have": {"containers": [{"name": "scheduler", "image": "evil:1"}]},
    }
    for reason, spec in changes.items():
        yield Write(reason, "PATCH", deployment, {"spec": {"template": {"spec": spec}}}, STRATEGIC_MERGE)
    service = f"{CORE}/services/berth-{target.profile}"
    yield Write("only Services without an address", "PATCH", service, {"spec": {"externalIPs": ["10.9.8.7"]}}, MERGE)
    accounts = f"{CORE}/serviceaccounts"
    yield Write("writes only the accounts of schedulers", "POST", accounts, {"metadata": {"name": "other"}})
    policy = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/berth-operator-roles"
    yield Write(NO_RIGHT, "DELETE", policy)
    yield Write(NO_RIGHT, "PATCH", f"{PROFILES}/{target.profile}", {"spec": {"paused": True}}, MERGE)
    yield from _without_rights()


def _without_rights() -> Iterator[Write]:
    """Secrets, tokens and commands in pods, which no account of Berth's may have."""
    yield Write(NO_RIGHT, "POST", f"{CORE}/secrets", {"metadata": {"name": "refused"}})
    yield Write(NO_RIGHT, "POST", f"{CORE}/serviceaccounts/berth-operator/token", {"spec": {}})
    yield Write(NO_RIGHT, "POST", f"{PODS}/{HELD_POD}/exec")
    yield Write(NO_RIGHT, "POST", f"/api/v1/namespaces/{TENANT}/pods", pod("refused", "nobody"))


ACCOUNTS = {
    "author": of_author,
    "config-map-writer": of_config_map_writer,
    "scheduler": of_scheduler,
    "operator": of_operator,
}


async def refused_writes(target: Target, outcomes: Outcomes) -> None:
    """Whatever a policy or a missing right has to refuse, with the tokens of all attackers, round after round."""
    async with attacker("refused writes", target.server("tenant"), outcomes) as tenant:
        await tenant.post(PODS, pod(HELD_POD, "nobody"))
    async with asyncio.TaskGroup() as group:
        for account in ACCOUNTS:
            group.create_task(_try_all(account, target, outcomes))


async def _try_all(account: str, target: Target, outcomes: Outcomes) -> None:
    name = f"refused writes of {account}"
    async with attacker(name, target.server(account), outcomes) as writer:
        while True:
            for write in ACCOUNTS[account](target):
                path = f"{write.path}{'&' if '?' in write.path else '?'}dryRun=All"
                await writer.be_refused(write.method, path, write.body, write.kind, write.reason)
            await asyncio.sleep(ROUND_SECONDS)
