"""Pods, DaemonSets and Deployments that run kube-scheduler: their flags, and how their pods are placed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from scheduler_operator.importing.command_line import read_command_line
from scheduler_operator.importing.context import Context
from scheduler_operator.importing.draft import Image, Process
from scheduler_operator.importing.flags import PROGRAM
from scheduler_operator.importing.images import last_of
from scheduler_operator.importing.parts import Part

ReadConfiguration = Callable[[Part], Process | None]
WORKLOADS = ("Pod", "PodTemplate", "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController")
_PLACING = ("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "priorityClassName")

_OWN_PODS = "left out: Berth makes the pods of its schedulers itself; what can be chosen is under spec.scheduler"
_EXPLAINED: Mapping[str, str] = MappingProxyType(
    {
        "metadata": "left out: the objects that Berth makes have names, labels and annotations of their own; what "
        "your tools select pods by goes to spec.scheduler.podLabels",
        "status": "left out: it is what was observed, not what is wished",
        "volumes": "left out: Berth mounts what its schedulers need",
        "volumeMounts": "left out: Berth mounts what its schedulers need",
        "livenessProbe": "left out: Berth probes its schedulers in its own way",
        "readinessProbe": "left out: Berth probes its schedulers in its own way",
        "startupProbe": "left out: Berth probes its schedulers in its own way",
        "securityContext": "left out: Berth's schedulers run without any privilege",
        "serviceAccountName": "left out: Berth makes a ServiceAccount with the permissions that the plugins need",
        "serviceAccount": "left out: Berth makes a ServiceAccount with the permissions that the plugins need",
        "selector": "left out: Berth labels and selects the pods of its schedulers itself",
        "hostNetwork": "left out: Berth's schedulers need no network of the host",
    }
)


def runs_a_scheduler(source: Part) -> bool:
    """Whether a container of it does."""
    spec = _pod_spec(source)
    return any(_is_scheduler(container) for container in spec.entries("containers"))


def read_manifest(source: Part, context: Context, read_configuration: ReadConfiguration) -> Process | None:
    """The process that a manifest runs."""
    for key in ("apiVersion", "kind"):
        source.take(key)
    spec = _pod_spec(source)
    container = next((each for each in spec.entries("containers") if _is_scheduler(each)), None)
    if container is None:
        spec.refuse("containers", f"none of them runs {PROGRAM}: no command, argument or image says so")
        return None
    process = read_command_line(container, spec, context, read_configuration)
    if process is not None:
        _read_placing(spec, process)
        _read_container(container, process)
        _read_replicas(source, process)
        process.allowed |= source.allowed
    source.report_unread(lambda _path, key: _EXPLAINED.get(key, _OWN_PODS))
    return process


def _pod_spec(source: Part) -> Part:
    match source.value.get("kind"):
        case "Pod":
            return source.mapping("spec")
        case "PodTemplate":
            return source.mapping("template").mapping("spec")
    return source.mapping("spec").mapping("template").mapping("spec")


def _is_scheduler(container: Part) -> bool:
    words = [word for key in ("command", "args") for word in _words(container.value.get(key))]
    image = str(container.value.get("image") or "")
    return any(PROGRAM in word for word in words) or "scheduler" in last_of(image)


def _words(value: object) -> list[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def _read_placing(spec: Part, process: Process) -> None:
    for field in _PLACING:
        if value := spec.take(field):
            process.scheduler[field] = value


def _read_container(container: Part, process: Process) -> None:
    resources = container.mapping("resources")
    wanted = {field: value for field in ("requests", "limits") if (value := resources.whole(field))}
    if wanted:
        process.scheduler["resources"] = wanted
    if image := container.text("image"):
        process.image = Image(image, container.at("image"))


def _read_replicas(source: Part, process: Process) -> None:
    kind = source.value.get("kind")
    if kind in ("Pod", "PodTemplate", "DaemonSet"):
        count = "1 here" if process.unelected else "2 by default"
        message = "ran one process for each node that has it; Berth runs a Deployment with spec.scheduler.replicas, "
        source.notes.remark(source.path, f"a {kind} {message}{count}")
    elif (replicas := source.mapping("spec").integer("replicas")) is not None:
        process.scheduler["replicas"] = replicas
