"""From the draft of a process to the objects of the API."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError

from scheduler_operator.migrate.draft import POINTS, Process, ProfileDraft
from scheduler_operator.migrate.images import choose_image
from scheduler_operator.migrate.naming import label, named
from scheduler_operator.migrate.outcome import Notes
from scheduler_operator.migrate.shortest import shorten, written_args, written_plugins
from scheduler_operator.models import API_VERSION, PluginConfigSpec, ProfileSpec
from scheduler_operator.render.findings import ANNOTATION
from scheduler_runtime import catalog
from scheduler_runtime.config import DEFAULT_SCHEDULER_NAME, explain

Object = dict[str, Any]
_ALL = "*"
_SCHEDULER_ORDER = (
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
"""What ``spec.scheduler`` means where it says nothing."""
_DOCUMENT_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "/enableProfiling": True,
        "/delayCacheUntilActive": False,
        "/clientConnection/contentType": "application/vnd.kubernetes.protobuf",
    }
)
_ALONE = 1
_UNSET_DURATIONS = ("", "0", "0s")
_SHARED_EXTENDERS = (
    "became an override, because they are asked about the pods of every profile of the process; give a profile a "
    "process and extenders of its own to have them asked about its pods alone"
)


def objects(process: Process, wished: str, notes: Notes, taken: set[str]) -> list[Object]:
    """The objects that make ``process`` run again: PluginConfigs first, then the profile and those that join it.

    ``taken`` are the names that other profiles have already; the new ones are added.
    """
    names: list[str] = []
    for draft in process.profiles:
        names.append(named(draft, wished, {*taken, *names}, notes))
        shorten(draft, notes, is_alone=len(process.profiles) == 1)
    taken.update(names)
    foreign = [list(_foreign(draft)) for draft in process.profiles]
    _choose_engine(process, foreign, notes)
    choose_image(process, list(dict.fromkeys(plugin for plugins in foreign for plugin in plugins)), notes)
    _tell_election(process, notes)
    declared = {plugin: _declares(plugin, process, notes) for plugins in foreign for plugin in plugins}
    found: list[Object] = []
    for name, draft, plugins in zip(names, process.profiles, foreign, strict=True):
        found += [_plugin_config(name, draft, plugin, declared[plugin]) for plugin in plugins]
        spec = _spec(name, names[0], draft, process, plugins)
        found.append(_object("SchedulerProfile", name, spec, process.allowed))
    _check(found, notes)
    return found


def _object(kind: str, name: str, spec: Object, allowed: Collection[str] = ()) -> Object:
    metadata: Object = {"name": name}
    if allowed:
        metadata["annotations"] = {ANNOTATION: ", ".join(sorted(allowed))}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def _choose_engine(process: Process, foreign: list[list[str]], notes: Notes) -> None:
    if any(foreign):
        process.needs_kube_scheduler = True
    if process.extenders and len(process.profiles) > 1:
        process.override("/extenders", process.extenders)
        process.extenders = []
        notes.remark(process.extenders_path, _SHARED_EXTENDERS)


def _tell_election(process: Process, notes: Notes) -> None:
    """One process for an input without leader election, unless it says itself how many there are to be."""
    if process.unelected is None:
        return
    became = "left out" if "replicas" in process.scheduler else f"became scheduler.replicas: {_ALONE}"
    process.scheduler.setdefault("replicas", _ALONE)
    message = f"{process.unelected.words} {became}: Berth's schedulers elect a leader always, so that several are safe"
    notes.remark(process.unelected.path, message.lstrip())


def _spec(name: str, first: str, draft: ProfileDraft, process: Process, foreign: list[str]) -> Object:
    is_first = name == first
    spec: Object = {
        "engine": "KubeScheduler" if process.needs_kube_scheduler else None,
        "replacesDefaultScheduler": name == DEFAULT_SCHEDULER_NAME,
        "plugins": {point: written for point in POINTS if (written := written_plugins(draft).get(point))},
        "pluginConfig": _plugin_args(name, draft, foreign),
        "percentageOfNodesToScore": draft.percentage_of_nodes_to_score,
        "nodes": {"matchExpressions": draft.nodes} if draft.nodes else None,
        "extenders": process.extenders if is_first else None,
        "overrides": _overrides(process) if is_first else None,
        "joins": None if is_first else first,
        "scheduler": _scheduler(process.scheduler) if is_first else None,
    }
    return {key: without_nulls(value) for key, value in spec.items() if value or _is_zero(value)}


def _scheduler(given: Object) -> Object:
    """What differs from the defaults, in the order in which the documentation shows it."""
    found = {key: _differing(given[key], DEFAULTS.get(key)) for key in _SCHEDULER_ORDER if key in given}
    return {key: value for key, value in found.items() if value not in (None, {}, [])}


def _differing(given: Any, default: Any) -> Any:
    if isinstance(given, dict) and isinstance(default, dict):
        return {key: value for key, value in given.items() if value not in (default[key], *_UNSET_DURATIONS)} or None
    return None if given == default else given


def _overrides(process: Process) -> list[Object]:
    return [
        {"op": "add", "path": pointer, "value": value}
        for pointer, value in process.overrides.items()
        if value not in (None, "", _DOCUMENT_DEFAULTS.get(pointer))
    ]


def _is_zero(value: Any) -> bool:
    return value == 0 and not isinstance(value, bool)


def _plugin_args(name: str, draft: ProfileDraft, foreign: list[str]) -> list[Object]:
    own = [entry for entry in written_args(draft) if entry["name"] not in foreign]
    return [*own, *({"name": plugin, "ref": _reference(name, plugin)} for plugin in foreign)]


def _foreign(draft: ProfileDraft) -> Iterator[str]:
    """The plugins of the profile that do not come with kube-scheduler, once each."""
    enabled = [entry.name for changes in draft.plugins.values() for entry in changes.enabled]
    for name in dict.fromkeys((*enabled, *draft.args)):
        if name and name != _ALL and not catalog.is_upstream_plugin(name):
            yield name


def _reference(profile: str, plugin: str) -> str:
    return f"{profile}-{label(plugin) or 'plugin'}"


def _plugin_config(profile: str, draft: ProfileDraft, plugin: str, declares: Object) -> Object:
    given = draft.args.get(plugin)
    spec: Object = {"plugin": plugin}
    if given and given.fields:
        spec["args"] = without_nulls(given.fields)
    return _object("PluginConfig", _reference(profile, plugin), {**spec, "declares": declares})


def _declares(plugin: str, process: Process, notes: Notes) -> Object:
    """What all profiles together tell of a plugin from elsewhere: every PluginConfig must declare the same."""
    drafts = [draft for draft in process.profiles if plugin in _foreign(draft)]
    enabling = {point for draft in drafts for point, changes in draft.plugins.items() if changes.enables(plugin)}
    hooks = [point for point in POINTS if point in enabling and point != "multiPoint"]
    for draft in drafts:
        _tell_foreign(plugin, draft, "multiPoint" in enabling or not hooks, "image" not in process.scheduler, notes)
    declares: Object = {"hooks": hooks or ["filter"]}
    if any(plugin in draft.args and draft.args[plugin].fields for draft in drafts):
        declares["argsSchema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return declares


def _tell_foreign(plugin: str, draft: ProfileDraft, is_guess: bool, has_no_image: bool, notes: Notes) -> None:
    todo = ["name its image in spec.scheduler.image"] if has_no_image else []
    points = "at which extension points it works, which the input does not tell, and " if is_guess else ""
    todo.append(f"let declares of its PluginConfig say {points}which permissions it needs")
    message = f"{plugin} does not come with kube-scheduler and is taken for one in Go, which is why engine is "
    notes.remark(draft.below("plugins"), f"{message}KubeScheduler: {', and '.join(todo)}; or write it in Python")


def _check(found: list[Object], notes: Notes) -> None:
    """Refuse what the API would refuse."""
    models: dict[str, type[BaseModel]] = {"SchedulerProfile": ProfileSpec, "PluginConfig": PluginConfigSpec}
    for each in found:
        model = models[each["kind"]]
        try:
            model.model_validate(each["spec"])
        except ValidationError as error:
            where = f"{each['kind']} {each['metadata']['name']}, which would come of it"
            for problem in explain(error, model):
                notes.refuse(f"{where}: spec.{problem.path}", problem.message)


def without_nulls(value: Any) -> Any:
    """``value`` without the fields that are null, which Kubernetes reads as left out."""
    match value:
        case dict():
            return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
        case list():
            return [without_nulls(inner) for inner in value]
    return value
