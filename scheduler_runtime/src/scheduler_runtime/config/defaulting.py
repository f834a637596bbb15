"""A document with every default filled in, as ``kube-scheduler --write-config-to`` prints it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, PluginArgs, Target
from scheduler_runtime.catalog.durations import Duration
from scheduler_runtime.config.arguments import FIT
from scheduler_runtime.config.document_check import ignored_resources
from scheduler_runtime.config.expansion import Expansion
from scheduler_runtime.config.merging import EnabledPlugin
from scheduler_runtime.config.models import API_VERSION, ClientConnection, Document, Extender, Profile, as_float32


def with_defaults(
    document: Document, target: Target, others: Mapping[str, Declaration] = MappingProxyType({})
) -> dict[str, Any]:
    """``document``, which the kube-scheduler that is the ``target`` accepts, with all that it leaves out."""
    ignored = ignored_resources(document.extenders)
    printed = {
        "apiVersion": document.api_version,
        "kind": document.kind,
        "parallelism": document.parallelism,
        "leaderElection": printed_model(document.leader_election),
        "clientConnection": _connection(document.client_connection),
        "enableProfiling": document.enable_profiling,
        "enableContentionProfiling": _contention(document),
        "percentageOfNodesToScore": document.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": document.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": document.pod_max_backoff_seconds,
        "profiles": [_profile(profile, Expansion(profile, target, others), ignored) for profile in document.profiles],
    }
    if document.extenders:
        printed["extenders"] = [_extender(extender) for extender in document.extenders]
    if document.delay_cache_until_active:
        printed["delayCacheUntilActive"] = True
    return printed


def _contention(document: Document) -> bool:
    written = "enable_contention_profiling" in document.model_fields_set
    return document.enable_contention_profiling if written else document.enable_profiling


def _connection(connection: ClientConnection) -> dict[str, Any]:
    return {
        "kubeconfig": connection.kubeconfig,
        "acceptContentTypes": connection.accept_content_types,
        "contentType": connection.content_type or "application/vnd.kubernetes.protobuf",
        "qps": _shortest(connection.qps) or 50,
        "burst": connection.burst or 100,
    }


def _shortest(number: float) -> float:
    """The shortest number that Go's float32 cannot tell from ``number``."""
    held = as_float32(number)
    candidates = (float(f"{held:.{digits}g}") for digits in range(1, 10))
    return next(each for each in candidates if as_float32(each) == held)


def _profile(profile: Profile, expansion: Expansion, ignored: tuple[str, ...]) -> dict[str, Any]:
    printed: dict[str, Any] = {"schedulerName": profile.scheduler_name}
    if profile.percentage_of_nodes_to_score is not None:
        printed["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    printed["plugins"] = dict(_plugins(profile, expansion))
    args = expansion.read_args()
    if ignored and FIT in args:
        args[FIT] = args[FIT].model_copy(update={"ignored_resources": ignored})
    configured = [{"name": name, "args": found} for name, found in sorted(_args(profile, expansion, args).items())]
    return {**printed, "pluginConfig": configured} if configured else printed


def _plugins(profile: Profile, expansion: Expansion) -> Iterator[tuple[str, Any]]:
    for point in (*expansion.defaults.points, "multiPoint"):
        custom = profile.plugins.at(point)
        own = [EnabledPlugin(plugin.name, plugin.weight or 0) for plugin in custom.enabled]
        enabled = expansion.multi_point if point == "multiPoint" else own
        found = {}
        if enabled:
            found["enabled"] = [{"name": plugin.name, "weight": plugin.weight} for plugin in enabled]
        if custom.disabled:
            found["disabled"] = [{"name": plugin.name, "weight": 0} for plugin in custom.disabled]
        yield point, found


def _args(profile: Profile, expansion: Expansion, read: Mapping[str, PluginArgs]) -> dict[str, Any]:
    """The arguments of every plugin that is enabled somewhere: those of in-tree models complete, others as written."""
    needed = expansion.needed
    written = {
        entry.name: entry.args
        for entry in profile.plugin_config
        if entry.name in needed and "args" in entry.model_fields_set
    }
    return {**written, **{name: _in_tree(name, args) for name, args in read.items() if name in needed}}


def _in_tree(name: str, args: PluginArgs) -> dict[str, Any]:
    if name not in catalog.IN_TREE_ARGS:
        return args.model_dump(by_alias=True, mode="json", fallback=repr)
    printed = {"apiVersion": API_VERSION, "kind": f"{name}Args", **printed_model(args)}
    if name == "DynamicResources":
        printed.setdefault("filterTimeout", None)
    return printed


def printed_model(part: BaseModel) -> dict[str, Any]:
    """The fields of ``part`` as Go prints them: what is empty is left out."""
    found = {}
    for name, field in type(part).model_fields.items():
        value = _printed(getattr(part, name))
        if value is not None and value != []:
            found[field.alias or name] = value
        elif field.alias == "nodeSelectorTerms":  # printed even when there are none
            found[field.alias] = value if name in part.model_fields_set else None
    return found


def _printed(value: Any) -> Any:
    match value:
        case Duration():
            return value.canonical
        case BaseModel():
            return printed_model(value)
        case tuple():
            return [_printed(each) for each in value]
    return value


def _extender(extender: Extender) -> dict[str, Any]:
    printed = {name: value for name, value in printed_model(extender).items() if value or name == "urlPrefix"}
    if extender.tls_config is not None:
        given = printed_model(extender.tls_config)
        printed["tlsConfig"] = {name: _canonical(name, value) for name, value in given.items() if value}
    for resource in printed.get("managedResources", ()):
        if not resource["ignoredByScheduler"]:
            del resource["ignoredByScheduler"]
    return printed


def _canonical(name: str, value: Any) -> Any:
    return base64.b64encode(base64.b64decode(value)).decode() if name.endswith("Data") else value
