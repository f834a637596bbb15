"""From a profile to the document its scheduler runs by. Pure: the same profile, the same bytes.

    profile, plugin configs ──► KubeSchedulerConfiguration ──► effective plugins ──► permissions

Everything that is wrong is told at once, at the path where its author wrote it.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from scheduler_operator import kubernetes_versions, nodes
from scheduler_operator.authored import Authored
from scheduler_operator.models import PluginConfigSpec, ProfileSpec, Scheduler
from scheduler_operator.models.fields import DNS_LABEL, NAME_LENGTH
from scheduler_operator.models.plugins import PluginArgs
from scheduler_operator.models.status import Reason
from scheduler_operator.names import NOT_A_NAME, OWN_NAME, RESERVED, TAKES_THE_PLACE, generated_name
from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Rule, Target, Version
from scheduler_runtime.config import API_VERSION, Document, EffectiveProfile, Problem, explain, unknown

PluginConfigs = Mapping[str, Authored]
AnyModel = TypeVar("AnyModel", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a profile means for one Kubernetes version."""

    engine: Literal["Python", "ConfigMap"]
    scheduler: Scheduler
    version: Version
    document: Document
    text: str
    hash: str
    effective: EffectiveProfile
    absent: frozenset[str]  # effective plugins that the engine does not have yet
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Problems:
    """Why a profile cannot be run: what only its author can mend. Never empty."""

    reason: Reason
    problems: tuple[Problem, ...]

    def __str__(self) -> str:
        return "; ".join(str(problem) for problem in self.problems)


def render(profile: Authored, plugin_configs: PluginConfigs, namespace: str, version: Version) -> Rendered | Problems:
    """Render ``profile`` for ``version``, or for the version that it names itself.

    ``namespace`` is where its scheduler runs and keeps its Lease.
    """
    misnamed = tuple(_misnamed(profile))
    spec = read(ProfileSpec, profile.spec)
    if isinstance(spec, Problems):
        return Problems(spec.reason, (*misnamed, *spec.problems))
    scheduler = spec.scheduler or Scheduler()
    version = Version.parse(scheduler.kubernetes_version) if scheduler.kubernetes_version else version
    mistakes = (*misnamed, *_outdated(scheduler, version), *_mistakes(spec, plugin_configs))
    missing = tuple(_missing(spec, plugin_configs))
    outcome = _expanded(spec, scheduler, _document(profile, spec, plugin_configs, namespace), version)
    more = outcome.problems if isinstance(outcome, Problems) else ()
    if mistakes or missing or isinstance(outcome, Problems):
        return Problems(_reason(spec, version, bool(missing)), (*mistakes, *missing, *more))
    return outcome


def _reason(spec: ProfileSpec, version: Version, is_missing: bool) -> Reason:
    """The one word for several problems: the most telling one."""
    plugins = spec.plugins.model_dump(exclude_none=True) if spec.plugins else {}
    enabled = [plugin["name"] for changes in plugins.values() for plugin in changes.get("enabled", ())]
    configured = [entry.name for entry in spec.plugin_config or ()]
    if not all(_exists(name, version) for name in (*enabled, *configured)):
        return "PluginUnknown"
    return "PluginConfigMissing" if is_missing else "Invalid"


def read(model: type[AnyModel], written: Mapping[str, Any], prefix: str = "spec") -> AnyModel | Problems:
    """``written`` as a ``model``; the CRD may be older than this operator and have let through what it refuses."""
    try:
        return model.model_validate(written)
    except ValidationError as error:
        return Problems("Invalid", tuple(problem.below(prefix) for problem in explain(error, model)))


def check(plugin_config: Authored, version: Version) -> Problems | None:
    """What is wrong with a PluginConfig by itself."""
    spec = read(PluginConfigSpec, plugin_config.spec)
    if isinstance(spec, Problems):
        return spec
    if not _exists(spec.plugin, version):
        return Problems("PluginUnknown", (Problem("spec.plugin", unknown(spec.plugin)),))
    entry = config.PluginConfigEntry(name=spec.plugin, args=spec.args or {})
    match config.effective(config.Profile(plugin_config=(entry,)), Target(version)):
        case config.Problems() as found:
            return Problems(
                "Invalid",
                tuple(Problem(problem.path.replace("pluginConfig[0]", "spec"), problem.message) for problem in found),
            )
    return None


def references(profile: Authored) -> set[str]:
    """The names of the PluginConfigs that a profile refers to, however wrong the rest of it is."""
    entries = profile.spec.get("pluginConfig") or ()
    return {entry["ref"] for entry in entries if isinstance(entry, Mapping) and entry.get("ref")}


def _misnamed(profile: Authored) -> Iterator[Problem]:
    if len(profile.name) > NAME_LENGTH or not re.fullmatch(DNS_LABEL, profile.name):
        yield Problem("metadata.name", f"{profile.name} {NOT_A_NAME}")
    if profile.name in RESERVED:
        yield Problem("metadata.name", OWN_NAME)
    if profile.name == "default-scheduler" and profile.spec.get("replacesDefaultScheduler") is not True:
        yield Problem("spec.replacesDefaultScheduler", TAKES_THE_PLACE)


def _outdated(scheduler: Scheduler, version: Version) -> Iterator[Problem]:
    if not kubernetes_versions.is_too_old(version):
        return
    known = kubernetes_versions.RANGE
    if scheduler.kubernetes_version:
        message = f"{scheduler.kubernetes_version} is older than this release knows; it knows {known}"
        yield Problem("spec.scheduler.kubernetesVersion", message)
    else:
        message = f"the cluster's Kubernetes {version} is older than this release knows; it knows {known}; "
        yield Problem("", f"{message}upgrade the cluster, or use the release of berth that was made for it")


def _mistakes(spec: ProfileSpec, plugin_configs: PluginConfigs) -> Iterator[Problem]:
    """What the schema alone does not refuse."""
    scheduler = spec.scheduler or Scheduler()
    not_followed = {
        "engine": spec.engine == "KubeScheduler",
        "extenders": spec.extenders,
        "overrides": spec.overrides,
        "joins": spec.joins,
        "scheduler.featureGates": scheduler.feature_gates,
        "scheduler.events": scheduler.events not in (None, "All"),
    }
    for field in (field for field, given in not_followed.items() if given):
        yield Problem(f"spec.{field}", "is not followed by this build yet; leave it out")
    for index, entry in enumerate(spec.plugin_config or ()):
        if (entry.args is None) == (entry.ref is None):
            yield Problem(f"spec.pluginConfig[{index}]", "give exactly one of args and ref")
        if not entry.ref or entry.ref not in plugin_configs:
            continue
        plugin = plugin_configs[entry.ref].spec.get("plugin")
        if plugin != entry.name:
            message = f"PluginConfig {entry.ref} holds the arguments of {plugin}, not of {entry.name}"
            yield Problem(f"spec.pluginConfig[{index}].ref", message)


def _missing(spec: ProfileSpec, plugin_configs: PluginConfigs) -> Iterator[Problem]:
    for index, entry in enumerate(spec.plugin_config or ()):
        if entry.ref and entry.ref not in plugin_configs:
            message = f"there is no PluginConfig {entry.ref}; create it, or write the arguments here as args"
            yield Problem(f"spec.pluginConfig[{index}].ref", message)


def _exists(plugin: str, version: Version) -> bool:
    return catalog.known(plugin, version) or catalog.find(plugin) is not None


def _document(
    profile: Authored, spec: ProfileSpec, plugin_configs: PluginConfigs, namespace: str
) -> Document | Problems:
    scheduler = (spec.scheduler or Scheduler()).model_dump(by_alias=True, exclude_none=True)
    raw: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {
            "leaderElect": True,
            **scheduler.get("leaderElection", {}),
            "resourceName": generated_name(profile.name),
            "resourceNamespace": namespace,
        },
        "clientConnection": {"qps": -1, "burst": 0, **scheduler.get("clientConnection", {})},
        **{field: scheduler[field] for field in _PROCESS_FIELDS if field in scheduler},
        "profiles": [_profile(profile.name, spec, plugin_configs)],
    }
    try:
        return Document.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        return Problems("Invalid", tuple(_as_written(problem, spec) for problem in explain(error, Document)))


_PROCESS_FIELDS = ("parallelism", "podInitialBackoffSeconds", "podMaxBackoffSeconds")


def _profile(name: str, spec: ProfileSpec, plugin_configs: PluginConfigs) -> dict[str, Any]:
    written = spec.model_dump(by_alias=True, exclude_none=True, include={"percentage_of_nodes_to_score", "plugins"})
    args = {entry.name: _args(entry, plugin_configs) for entry in spec.plugin_config or ()}
    if wanted := nodes.expressions(spec.nodes):
        args[nodes.PLUGIN] = nodes.added_affinity(args.get(nodes.PLUGIN, {}), wanted)
    if args:
        written["pluginConfig"] = [{"name": plugin, "args": given} for plugin, given in args.items()]
    return {"schedulerName": name, **written}


def _args(entry: PluginArgs, plugin_configs: PluginConfigs) -> Mapping[str, Any]:
    if entry.ref:
        return plugin_configs[entry.ref].spec.get("args") or {} if entry.ref in plugin_configs else {}
    return entry.args or {}


def _expanded(
    spec: ProfileSpec, scheduler: Scheduler, document: Document | Problems, version: Version
) -> Rendered | Problems:
    if isinstance(document, Problems):
        return document
    effective = config.effective(document.profiles[0], Target(version))
    if isinstance(effective, config.Problems):
        return Problems("Invalid", tuple(_as_written(problem.below("profiles[0]"), spec) for problem in effective))
    if nodes.expressions(spec.nodes) and nodes.PLUGIN not in {plugin.name for plugin in effective.points["filter"]}:
        message = f"has no effect, because {nodes.PLUGIN} does not filter; enable it, or leave nodes out"
        return Problems("Invalid", (Problem("spec.nodes", message),))
    text = config.dump(document)
    return Rendered(
        engine="ConfigMap" if spec.engine == "ConfigMap" else "Python",
        scheduler=scheduler,
        version=version,
        document=document,
        text=text,
        hash=hashlib.sha256(text.encode()).hexdigest(),
        effective=effective,
        absent=frozenset() if spec.engine == "ConfigMap" else _absent(effective),
        rules=_rules(effective),
    )


def _absent(effective: EffectiveProfile) -> frozenset[str]:
    return frozenset(name for name in effective.names if catalog.find(name) is None)


def _rules(effective: EffectiveProfile) -> tuple[Rule, ...]:
    declared = [(catalog.find(name), effective.args.get(name)) for name in effective.names]
    return catalog.BASE_RULES + tuple(rule for plugin, args in declared if plugin for rule in plugin.rules_for(args))


def _as_written(problem: Problem, spec: ProfileSpec) -> Problem:
    """The problem at the path of the profile, or of the PluginConfig, that its author wrote."""
    path = problem.path.removeprefix("profiles[0].")
    if path == problem.path:
        return problem.below("spec.scheduler")
    entries = spec.plugin_config or ()
    if (found := re.match(r"pluginConfig\[(\d+)\]\.args\b(.*)", path)) is None:
        return Problem(f"spec.{path}", problem.message)
    index, below = int(found[1]), found[2]
    if index >= len(entries):
        return Problem("spec.nodes", problem.message)
    if entries[index].ref:
        return Problem(f"PluginConfig {entries[index].ref}: spec.args{below}", problem.message)
    return Problem(f"spec.{path}", problem.message)
