"""ConfigMap, Lease, Service, PodDisruptionBudget and Deployment of a profile's scheduler."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from scheduler_operator.desired.limits import Limits
from scheduler_operator.models import SchedulerSpec
from scheduler_operator.render import Rendered
from scheduler_operator.resources.names import (
    ACCOUNT_ANNOTATION,
    EXTENDER_FILES,
    EXTENDER_FILES_DIRECTORY,
    HASH_ANNOTATION,
    PROCESS_ANNOTATION,
    Object,
    UidOf,
    generated_name,
    metadata,
    pod_labels,
)
from scheduler_operator.resources.user_object import UserObject

PORT = 10259
PORT_NAME = "https-metrics"
CONFIG_DIRECTORY = "/etc/berth"
CONFIG_KEY = "config.yaml"
EXTRAS_KEY = "berth.yaml"
PROGRAMS = {"Python": "berth-scheduler", "KubeScheduler": "kube-scheduler"}
UPSTREAM_IMAGE = "registry.k8s.io/kube-scheduler"
UPSTREAM_USER = 65532
DEFAULT_REPLICAS = 2
DEFAULT_LOG_LEVEL = 2
DEFAULT_REQUESTS = {"cpu": "100m", "memory": "256Mi"}

RESTRICTED_POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
RESTRICTED_CONTAINER = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}
"""Pod Security's level ``restricted``: a scheduler needs nothing of its node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The namespace of generated objects, and what schedulers are and may be there."""

    namespace: str
    scheduler_image: str
    """The image of schedulers whose profile names none."""
    image_pull_policy: str = "IfNotPresent"
    image_pull_secrets: tuple[str, ...] = ()
    """Names of Secrets of the namespace with which schedulers' images are pulled."""
    allows_sources: bool = False
    """Whether schedulers may run plugin code from ConfigMaps."""
    grants_system_roles: bool = False
    """Whether kube-schedulers get the cluster's own roles for kube-scheduler instead of what their plugins need."""
    limits: Limits = field(default_factory=Limits)
    logs_json: bool = False
    """Whether schedulers write their logs as JSON."""


def config_map(profile: UserObject, rendered: Rendered, name: str, namespace: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {**metadata(profile, namespace), "name": name},
        "data": _document_texts(rendered),
    }


def _document_texts(rendered: Rendered) -> dict[str, str]:
    return {CONFIG_KEY: rendered.text, **({EXTRAS_KEY: rendered.extras} if rendered.extras else {})}


def lease(profile: UserObject, namespace: str) -> Object:
    """Return the Lease with metadata only: the schedulers write its holder."""
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata(profile, namespace)}


def service(profile: UserObject, namespace: str) -> Object:
    """Return the headless Service by which metrics are collected."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(profile, namespace),
        "spec": {
            "clusterIP": "None",
            "selector": pod_labels(profile.name),
            "ports": [{"name": PORT_NAME, "port": PORT, "targetPort": PORT, "protocol": "TCP"}],
        },
    }


def pod_disruption_budget(profile: UserObject, namespace: str) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(profile, namespace),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": pod_labels(profile.name)}},
    }


def replicas(scheduler: SchedulerSpec) -> int:
    """Return how many processes a profile asks for."""
    return DEFAULT_REPLICAS if scheduler.replicas is None else scheduler.replicas


def document_name(profile: UserObject, rendered: Rendered, account: str, release: Release) -> str:
    """Return the name of the ConfigMap: another one for each pod template.

    So pods that are about to be replaced keep the document that they started with (ADR 31).
    """
    name = generated_name(profile.name)
    text = json.dumps(pod_template(profile, rendered, account, name, release), sort_keys=True, default=str)
    # No profile's name has a dot.
    return f"{name}.{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def deployment(profile: UserObject, rendered: Rendered, account: str, document: str, release: Release) -> Object:
    """Return the Deployment, with the document in the ConfigMap called ``document``."""
    deadline = rendered.scheduler.progress_deadline_seconds
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(profile, release.namespace),
        "spec": {
            "replicas": replicas(rendered.scheduler),
            **({} if deadline is None else {"progressDeadlineSeconds": deadline}),
            "selector": {"matchLabels": pod_labels(profile.name)},
            "template": pod_template(profile, rendered, account, document, release),
        },
    }


def pod_template(profile: UserObject, rendered: Rendered, account: str, document: str, release: Release) -> Object:
    """Return the template, which changes, and so the pods, with whatever a running pod cannot follow."""
    scheduler = rendered.scheduler
    # A kube-scheduler reads its document when it starts; Berth's own follows all but some settings of the process.
    if rendered.engine == "Python":
        rollout = {PROCESS_ANNOTATION: rendered.startup_hash}
    else:
        rollout = {HASH_ANNOTATION: rendered.hash}
    # Credentials of a pod end with its ServiceAccount, also when one of the same name is made again (ADR 3).
    account_uid = {ACCOUNT_ANNOTATION: UidOf("ServiceAccount", account)}
    return {
        "metadata": {
            "labels": {**(scheduler.pod_labels or {}), **pod_labels(profile.name)},
            "annotations": {**(scheduler.pod_annotations or {}), **rollout, **account_uid},
        },
        "spec": pod_spec(rendered, account, document, release),
    }


def pod_spec(rendered: Rendered, account: str, document: str, release: Release) -> Object:
    scheduler = rendered.scheduler
    placement = scheduler.model_dump(
        by_alias=True,
        exclude_none=True,
        include={"node_selector", "tolerations", "affinity", "topology_spread_constraints", "priority_class_name"},
    )
    # What somebody else adds to the ConfigMap is no file of the scheduler.
    config_map = {
        "name": document,
        "items": [{"key": key, "path": key} for key in _document_texts(rendered)],
    }
    pull_secrets = [{"name": secret} for secret in release.image_pull_secrets]
    return {
        **placement,
        "schedulerName": "default-scheduler",  # a scheduler that had to place itself would never start
        "serviceAccountName": account,
        "securityContext": RESTRICTED_POD,
        **({"imagePullSecrets": pull_secrets} if pull_secrets else {}),
        "containers": [container(rendered, document, release)],
        "volumes": [{"name": "config", "configMap": config_map}, *_extender_volumes(rendered)],
    }


def image(rendered: Rendered, release: Release) -> str:
    """Return the image of the scheduler."""
    if rendered.scheduler.image:
        return rendered.scheduler.image
    if rendered.engine != "KubeScheduler":
        return release.scheduler_image
    return f"{UPSTREAM_IMAGE}:{rendered.version}"


def arguments(rendered: Rendered, document: str, release: Release) -> list[str]:
    """Return the arguments of the scheduler."""
    scheduler = rendered.scheduler
    log_level = DEFAULT_LOG_LEVEL if scheduler.log_level is None else scheduler.log_level
    own: tuple[str, ...] = ()
    if rendered.engine == "Python":
        own = (
            *("--config-map", f"{release.namespace}/{document}"),
            *("--extras", f"{CONFIG_DIRECTORY}/{EXTRAS_KEY}"),
            *("--kubernetes-version", str(rendered.version)),
            # Also without a source in the profile: one that is added later is followed without new pods.
            *(["--allow-plugin-sources"] if release.allows_sources else []),
        )
    gates = ",".join(f"{gate}={str(on).lower()}" for gate, on in sorted((scheduler.feature_gates or {}).items()))
    return [
        *("--config", f"{CONFIG_DIRECTORY}/{CONFIG_KEY}"),
        *own,
        *(["--feature-gates", gates] if gates else []),
        *(["--logging-format", "json"] if release.logs_json else []),
        *("--secure-port", str(PORT)),
        *("--bind-address", "$(POD_IP)"),
        *("-v", str(log_level)),
    ]


def container(rendered: Rendered, document: str, release: Release) -> Object:
    scheduler = rendered.scheduler
    # The image of kube-scheduler names no user, and a restricted pod may not run as root.
    user = {"runAsUser": UPSTREAM_USER} if rendered.engine == "KubeScheduler" else {}
    security_context = {**RESTRICTED_CONTAINER, **user}
    resources = scheduler.resources.model_dump(by_alias=True, exclude_none=True) if scheduler.resources else {}
    return {
        "name": "scheduler",
        "image": image(rendered, release),
        "imagePullPolicy": release.image_pull_policy,
        "command": [PROGRAMS[rendered.engine]],
        "args": arguments(rendered, document, release),
        "env": [
            _from_field("POD_IP", "status.podIP"),
            _from_field("POD_NAME", "metadata.name"),
            _from_field("POD_NAMESPACE", "metadata.namespace"),
        ],
        "ports": [{"name": PORT_NAME, "containerPort": PORT, "protocol": "TCP"}],
        # A probe that comes while the process starts as usual would fail, and the kubelet would write a Warning for it.
        "startupProbe": _probe("/livez", period_seconds=1, initialDelaySeconds=2, failureThreshold=60),
        "livenessProbe": _probe("/livez", period_seconds=5, failureThreshold=8),
        "readinessProbe": _probe("/readyz", period_seconds=2, initialDelaySeconds=3, failureThreshold=3),
        "resources": {"requests": DEFAULT_REQUESTS, **resources},
        "terminationMessagePolicy": "FallbackToLogsOnError",  # the profile's status shows why it ended
        "securityContext": security_context,
        "volumeMounts": [
            {"name": "config", "mountPath": CONFIG_DIRECTORY, "readOnly": True},
            *(
                {"name": volume["name"], "mountPath": EXTENDER_FILES_DIRECTORY, "readOnly": True}
                for volume in _extender_volumes(rendered)
            ),
        ],
    }


def _extender_volumes(rendered: Rendered) -> list[Object]:
    """Return the volume with the certificates for extenders, if there are any: of each Secret some keys and no others.

    All of it is optional, or a pod without it would not start, and only the kubelet would say why.
    """
    sources = [
        {
            "secret": {
                "name": secret,
                "optional": True,
                "items": [{"key": key, "path": f"{secret}/{key}"} for key in EXTENDER_FILES],
            }
        }
        for secret in rendered.extender_secrets
    ]
    return [{"name": "extenders", "projected": {"sources": sources}}] if sources else []


def _from_field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _probe(path: str, period_seconds: int, **more: Any) -> Object:
    question = {"path": path, "port": PORT, "scheme": "HTTPS"}
    return {"httpGet": question, "periodSeconds": period_seconds, "timeoutSeconds": 5, **more}
