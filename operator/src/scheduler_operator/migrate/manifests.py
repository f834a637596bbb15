"""Read Pods, DaemonSets and Deployments that run kube-scheduler: their flags, and the placement of their pods."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from scheduler_operator.migrate.command_line import ReadConfiguration, read_command_line
from scheduler_operator.migrate.draft import ProcessDraft, SchedulerImage
from scheduler_operator.migrate.flags import PROGRAM
from scheduler_operator.migrate.input_part import InputPart
from scheduler_operator.migrate.inputs import OtherInputs

WORKLOADS = ("Pod", "PodTemplate", "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController")
_PLACEMENT = ("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "priorityClassName")

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
"""Fields that somebody chose on purpose and may miss, with a remark of their own."""


def runs_scheduler(source: InputPart) -> bool:
    """Return True if a container of the manifest runs kube-scheduler."""
    return any(_is_scheduler(container) for container in _pod_spec(source).entries("containers"))


def read_manifest(source: InputPart, inputs: OtherInputs, read_configuration: ReadConfiguration) -> ProcessDraft | None:
    """Return the process that a manifest runs; None, with the reason among the problems, if it runs none."""
    for key in ("apiVersion", "kind"):
        source.take(key)
    spec = _pod_spec(source)
    containers = spec.entries("containers")
    container = next((container for container in containers if _is_scheduler(container)), None)
    if container is None:
        spec.refuse("containers", f"none of them runs {PROGRAM}: no command, argument or image says so")
        return None
    process = read_command_line(container, spec, inputs, read_configuration)
    if process is not None:
        for field in _PLACEMENT:
            if value := spec.take(field):
                process.scheduler[field] = value
        resources = container.mapping("resources")
        amounts = {field: value for field in ("requests", "limits") if (value := resources.raw_mapping(field))}
        if amounts:
            process.scheduler["resources"] = amounts
        if image := container.text("image"):
            process.image = SchedulerImage(image, container.path_of("image"))
        kind = source.value.get("kind")
        if kind in ("Pod", "PodTemplate", "DaemonSet"):
            count = "1 here" if process.election_off else "2 by default"
            message = f"a {kind} ran one process for each node that has it; Berth runs a Deployment with "
            source.notes.remark(source.path, f"{message}spec.scheduler.replicas, {count}")
        elif (replicas := source.mapping("spec").integer("replicas")) is not None:
            process.scheduler["replicas"] = replicas
        process.allowed |= source.allowed
    others = [other for other in containers if other is not container]
    for other in others:
        source.notes.remark(other.path, _ALONE)
    # The fields that Berth decides itself have one remark together, because nearly every manifest has most of them.
    unread = [(part.path_of(key), key) for part, key in source.unread()]
    unread = [(path, key) for path, key in unread if not path.startswith(tuple(f"{other.path}." for other in others))]
    for path, key in unread:
        if key in _EXPLAINED:
            source.notes.remark(path, _EXPLAINED[key])
    if places := tuple(path for path, key in unread if key not in _EXPLAINED):
        names = ", ".join(path.removeprefix(source.path).removeprefix(".") for path in places)
        source.notes.remark(source.path, f"{names}: {_OWN}", places)
    return process


def _pod_spec(source: InputPart) -> InputPart:
    match source.value.get("kind"):
        case "Pod":
            return source.mapping("spec")
        case "PodTemplate":
            return source.mapping("template").mapping("spec")
    return source.mapping("spec").mapping("template").mapping("spec")


def _is_scheduler(container: InputPart) -> bool:
    """Return True if a word of the command is kube-scheduler, or the image's name is that of any scheduler."""
    # Looks at the values without reading them: a container that is none must remain unread.
    for key in ("command", "args"):
        words = container.value.get(key)
        if isinstance(words, list) and any(isinstance(word, str) and PROGRAM in word for word in words):
            return True
    return "scheduler" in SchedulerImage(str(container.value.get("image") or "")).base_name
