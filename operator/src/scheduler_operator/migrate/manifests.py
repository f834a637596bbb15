"""Pods, DaemonSets and Deployments that run kube-scheduler: their flags, and how their pods are placed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from scheduler_operator.migrate.command_line import read_command_line
from scheduler_operator.migrate.context import Context
from scheduler_operator.migrate.draft import Image, Process
from scheduler_operator.migrate.flags import PROGRAM
from scheduler_operator.migrate.images import last_of
from scheduler_operator.migrate.parts import Part

ReadConfiguration = Callable[[Part], Process | None]
WORKLOADS = ("Pod", "PodTemplate", "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController")
_PLACING = ("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "priorityClassName")

_OWN = (
    "left out, because Berth makes the pods of its schedulers itself, with names, labels, probes, volumes, permissions "
    "and security of its own; what can be chosen is under spec.scheduler, such as podLabels for your tools to select by"
)
_ALONE = "left out: Berth's pods run the scheduler alone; run what it needs besides in a pod of its own"
_VARIABLES = "left out: a profile has no field for environment variables; what depends on them goes into arguments"
_EXPLAINED: Mapping[str, str] = MappingProxyType(
    {
        "imagePullSecrets": "left out: Berth's pods name no pull secrets, so that the nodes themselves must be allowed "
        "to pull the image",
        "initContainers": _ALONE,
        "env": _VARIABLES,
        "envFrom": _VARIABLES,
    }
)
"""What somebody chose on purpose, and may miss."""


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
    _tell_own(source, [each for each in spec.entries("containers") if each is not container])
    return process


def _tell_own(source: Part, others: list[Part]) -> None:
    """What Berth decides itself is told in one remark, because nearly every manifest has most of it."""
    for other in others:
        source.notes.remark(other.path, _ALONE)
    beside = tuple(f"{other.path}." for other in others)
    unread = [(part.at(key), key) for part, key in source.unread() if not part.at(key).startswith(beside)]
    for path, key in unread:
        if key in _EXPLAINED:
            source.notes.remark(path, _EXPLAINED[key])
    if places := tuple(path for path, key in unread if key not in _EXPLAINED):
        names = ", ".join(path.removeprefix(source.path).removeprefix(".") for path in places)
        source.notes.remark(source.path, f"{names}: {_OWN}", places)


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
