"""Objects of the API from the draft of a process: a SchedulerProfile for each profile, PluginConfigs before it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError

from scheduler_operator.migrate.draft import POINTS, ProcessDraft, ProfileDraft
from scheduler_operator.migrate.input_part import ImportNotes
from scheduler_operator.migrate.minimal_form import shorten
from scheduler_operator.models import API_VERSION, PluginConfigSpec, ProfileSpec
from scheduler_operator.models.fields import DNS_LABEL
from scheduler_operator.render.findings import ANNOTATION
from scheduler_operator.resources.names import NAME_LENGTH, RESERVED
from scheduler_runtime import catalog
from scheduler_runtime.config import DEFAULT_SCHEDULER_NAME, explain

Object = dict[str, Any]
_SCHEDULER_FIELDS = (
    "replicas",
    "image",
    "kubernetesVersion",
    "leaderElection",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "parallelism",
    "clientConnection",
    "featureGates",
    "events",
    "logLevel",
    "resources",
    "nodeSelector",
    "tolerations",
    "affinity",
    "topologySpreadConstraints",
    "priorityClassName",
    "podLabels",
    "podAnnotations",
)
"""The fields of ``spec.scheduler`` in the order in which the documentation shows them."""
DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "replicas": 2,
        "leaderElection": {"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "2s"},
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 10,
        "parallelism": 16,
        "clientConnection": {"qps": -1, "burst": 0},
        "logLevel": 2,
    }
)
"""The meaning of ``spec.scheduler`` where a field is absent."""
_DOCUMENT_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "/enableProfiling": True,
        "/delayCacheUntilActive": False,
        "/clientConnection/contentType": "application/vnd.kubernetes.protobuf",
    }
)
_UNSET_DURATIONS = ("", "0", "0s")
_SHARED_EXTENDERS = (
    "became an override, because they are asked about the pods of every profile of the process; give a profile a "
    "process and extenders of its own to have them asked about its pods alone"
)
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


def build_objects(process: ProcessDraft, requested_name: str, notes: ImportNotes, used_names: set[str]) -> list[Object]:
    """Return the objects that make ``process`` run again: PluginConfigs, the profile, and those that join it.

    ``requested_name`` is for a profile without a name. ``used_names`` are those of other profiles; the new ones are
    added. Objects that the API would refuse become problems in ``notes``.
    """
    names: list[str] = []
    for draft in process.profiles:
        names.append(_choose_name(draft, requested_name, {*used_names, *names}, notes))
        shorten(draft, notes, is_alone=len(process.profiles) == 1)
    used_names.update(names)
    foreign = [_foreign_plugins(draft) for draft in process.profiles]
    if process.extenders and len(process.profiles) > 1:
        # spec.extenders of a profile are asked about its own pods, those of a document about the pods of all profiles.
        process.override("/extenders", process.extenders)
        process.extenders = []
        notes.remark(process.extenders_path, _SHARED_EXTENDERS)
    _choose_engine(process, list(dict.fromkeys(plugin for plugins in foreign for plugin in plugins)), notes)
    if process.election_off is not None:
        # One process, unless the input has a number: without election several would have decided side by side.
        became = "left out" if "replicas" in process.scheduler else "became scheduler.replicas: 1"
        process.scheduler.setdefault("replicas", 1)
        message = f"{process.election_off.words} {became}: Berth's schedulers elect a leader always, so that several "
        notes.remark(process.election_off.path, f"{message}are safe".lstrip())
    declares = {plugin: _declares(plugin, process, notes) for plugins in foreign for plugin in plugins}
    objects: list[Object] = []
    for name, draft, plugins in zip(names, process.profiles, foreign, strict=True):
        for plugin in plugins:
            spec: Object = {"plugin": plugin}
            if (args := draft.args.get(plugin)) and args.fields:
                spec["args"] = without_nulls(args.fields)
            objects.append(_object("PluginConfig", _reference(name, plugin), {**spec, "declares": declares[plugin]}))
        profile_spec = _profile_spec(name, names[0], draft, process, plugins)
        objects.append(_object("SchedulerProfile", name, profile_spec, process.allowed))
    models: dict[str, type[BaseModel]] = {"SchedulerProfile": ProfileSpec, "PluginConfig": PluginConfigSpec}
    for item in objects:
        model = models[item["kind"]]
        try:
            model.model_validate(item["spec"])
        except ValidationError as error:
            place = f"{item['kind']} {item['metadata']['name']}, which would come of it"
            for problem in explain(error, model):
                notes.refuse(f"{place}: spec.{problem.path}", problem.message)
    return objects


def is_profile_name(name: str) -> bool:
    """Return True if a profile can have this name."""
    return len(name) <= NAME_LENGTH and re.fullmatch(DNS_LABEL, name) is not None and name not in RESERVED


def _choose_name(draft: ProfileDraft, requested: str, used: Collection[str], notes: ImportNotes) -> str:
    """Return a name for the profile, with a remark whenever pods have to change their schedulerName.

    A schedulerName may be any text, the name of an object only a DNS label.
    """
    if not draft.name and requested:
        message = f"names no scheduler, which makes it {DEFAULT_SCHEDULER_NAME}; it is called {requested} as requested"
        notes.remark(draft.path, f"{message}, so that only pods with spec.schedulerName: {requested} are its own")
    original = name = draft.name or requested or DEFAULT_SCHEDULER_NAME
    if not is_profile_name(name) or name in used:
        # Ten characters are room for "-scheduler" or a number.
        stem = (_NOT_IN_NAMES.sub("-", name.lower()).strip("-") or "scheduler")[: NAME_LENGTH - 10].strip("-")
        if not is_profile_name(stem):
            stem = f"{stem}-scheduler"
        candidates = [stem, *(f"{stem}-{number}" for number in range(2, len(used) + 4))]
        name = next(candidate for candidate in candidates if is_profile_name(candidate) and candidate not in used)
    if name != original:
        is_used = is_profile_name(original)
        reason = "is the name of another one already" if is_used else "cannot be the name of a SchedulerProfile"
        message = f"{original!r} {reason}; it is called {name}: write "
        notes.remark(draft.name_path, f"{message}spec.schedulerName: {name} in its pods")
    if original == DEFAULT_SCHEDULER_NAME:
        message = f"serves every pod that names no scheduler, as {original} does: replacesDefaultScheduler is true; "
        message += "stop the cluster's own scheduler first, or import under another name"
        notes.remark(draft.name_path if draft.name else draft.path, message)
    return name


def _choose_engine(process: ProcessDraft, foreign: list[str], notes: ImportNotes) -> None:
    """Decide between Berth's scheduler and kube-scheduler, and whether the image of the input stays.

    ``foreign`` are the plugins that do not come with kube-scheduler: only an image with their Go code has them.
    """
    if foreign:
        process.needs_kube_scheduler = True
    image = process.image
    if image is None:
        return
    plugins = ", ".join(foreign)
    if image.is_upstream and foreign:
        message = f"is kept, but has the name of upstream's, which has no {plugins}: name one that has"
    elif image.is_upstream and process.needs_kube_scheduler:
        message = "is upstream's: engine KubeScheduler runs the kube-scheduler of the cluster's version"
    elif image.is_upstream:
        message = (
            "is upstream's: Berth's own scheduler, which behaves as kube-scheduler of the cluster's version does, "
            "takes its place; set spec.engine: KubeScheduler to stay with upstream's"
        )
    elif foreign:
        message = f"is not upstream's and kept with engine KubeScheduler: it is taken to have {plugins}"
    else:
        message = (
            "is not upstream's and kept with engine KubeScheduler, because it may hold plugins in Go; "
            "without any, delete image and engine"
        )
    notes.remark(image.path, message)
    if foreign or not image.is_upstream:
        process.scheduler["image"] = image.name
        process.needs_kube_scheduler = True


def _foreign_plugins(draft: ProfileDraft) -> list[str]:
    """Return the plugins of the profile that do not come with kube-scheduler, without repetition."""
    enabled = [entry.name for changes in draft.plugins.values() for entry in changes.enabled]
    names = dict.fromkeys((*enabled, *draft.args))
    return [name for name in names if name and name != "*" and not catalog.is_upstream_plugin(name)]


def _declares(plugin: str, process: ProcessDraft, notes: ImportNotes) -> Object:
    """Return ``declares`` of a foreign plugin, from all profiles: every PluginConfig of it must declare the same."""
    drafts = [draft for draft in process.profiles if plugin in _foreign_plugins(draft)]
    enabling = {point for draft in drafts for point, changes in draft.plugins.items() if changes.enables(plugin)}
    hooks = [point for point in POINTS if point in enabling and point != "multiPoint"]
    # Enabled at multiPoint, a plugin runs at points that only its code knows.
    is_guess = "multiPoint" in enabling or not hooks
    todo = ["name its image in spec.scheduler.image"] if "image" not in process.scheduler else []
    points = "at which extension points it works, which the input does not tell, and " if is_guess else ""
    todo.append(f"let declares of its PluginConfig say {points}which permissions it needs")
    message = f"{plugin} does not come with kube-scheduler and is taken for one in Go, which is why engine is "
    message += f"KubeScheduler: {', and '.join(todo)}; or write it in Python"
    for draft in drafts:
        notes.remark(draft.path_of("plugins"), message)
    declares: Object = {"hooks": hooks or ["filter"]}  # a plugin without any hook is refused
    if any(plugin in draft.args and draft.args[plugin].fields for draft in drafts):
        declares["argsSchema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return declares


def _profile_spec(name: str, first: str, draft: ProfileDraft, process: ProcessDraft, foreign: list[str]) -> Object:
    """Return the spec of a profile; fields of the process only for the ``first``, which the others join."""
    plugins = draft.plugins_field()
    spec: Object = {
        "engine": "KubeScheduler" if process.needs_kube_scheduler else None,
        "replacesDefaultScheduler": name == DEFAULT_SCHEDULER_NAME,
        "plugins": {point: plugins[point] for point in POINTS if point in plugins},
        "pluginConfig": [
            *(entry for entry in draft.plugin_config_field() if entry["name"] not in foreign),
            *({"name": plugin, "ref": _reference(name, plugin)} for plugin in foreign),
        ],
        "percentageOfNodesToScore": draft.percentage_of_nodes_to_score,
        "nodes": {"matchExpressions": draft.nodes} if draft.nodes else None,
    }
    if name == first:
        spec["extenders"] = process.extenders
        spec["overrides"] = [
            {"op": "add", "path": pointer, "value": value}
            for pointer, value in process.overrides.items()
            if value not in (None, "", _DOCUMENT_DEFAULTS.get(pointer))
        ]
        scheduler: Object = {}
        for key in _SCHEDULER_FIELDS:
            value, default = process.scheduler.get(key), DEFAULTS.get(key)
            if isinstance(value, dict) and isinstance(default, dict):
                # A duration of zero is one that is not set, for which kube-scheduler takes its default.
                unset = _UNSET_DURATIONS
                value = {field: inner for field, inner in value.items() if inner not in (default[field], *unset)}
            if value not in (None, {}, [], default):
                scheduler[key] = value
        spec["scheduler"] = scheduler
    else:
        spec["joins"] = first
    # A zero is a value, such as percentageOfNodesToScore: 0; False and empty values are the defaults.
    return {
        key: without_nulls(value)
        for key, value in spec.items()
        if value or (value == 0 and not isinstance(value, bool))
    }


def _reference(profile: str, plugin: str) -> str:
    """Return the name of the PluginConfig of a plugin: ``MyPlugin`` of ``mine`` is ``mine-my-plugin``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", plugin)
    return f"{profile}-{_NOT_IN_NAMES.sub('-', words.lower()).strip('-') or 'plugin'}"


def _object(kind: str, name: str, spec: Object, allowed: Collection[str] = ()) -> Object:
    metadata: Object = {"name": name}
    if allowed:
        metadata["annotations"] = {ANNOTATION: ", ".join(sorted(allowed))}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def without_nulls(value: Any) -> Any:
    """Return ``value`` without the fields that are null, which Kubernetes reads as absent."""
    match value:
        case dict():
            return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
        case list():
            return [without_nulls(inner) for inner in value]
    return value
