"""A document with every default filled in, as ``kube-scheduler --write-config-to`` prints it.

Every oddity of that output is kept, so that the two can be compared: which empty fields are left out, how
durations and numbers are written, and that the plugins of multiPoint appear with the defaults already merged.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.catalog.syntax import Duration
from scheduler_runtime.config.arguments import FIT
from scheduler_runtime.config.document_check import ignored_resources
from scheduler_runtime.config.expansion import EnabledPlugin, Expansion
from scheduler_runtime.config.models import API_VERSION, Document, Profile, as_float32


def with_defaults(
    document: Document, target: Target, others: Mapping[str, Declaration] = MappingProxyType({})
) -> dict[str, Any]:
    """Return ``document`` with all that it leaves out, ready to be written.

    The kube-scheduler that is the ``target`` must accept the document. ``others`` are the plugins that do not come with
    this build.
    """
    ignored = ignored_resources(document.extenders)
    connection, contention = document.client_connection, document.enable_profiling
    if "enable_contention_profiling" in document.model_fields_set:
        contention = document.enable_contention_profiling
    printed = {
        "apiVersion": document.api_version,
        "kind": document.kind,
        "parallelism": document.parallelism,
        "leaderElection": _print_model(document.leader_election),
        "clientConnection": {
            "kubeconfig": connection.kubeconfig,
            "acceptContentTypes": connection.accept_content_types,
            "contentType": connection.content_type or "application/vnd.kubernetes.protobuf",
            "qps": _shortest(connection.qps) or 50,
            "burst": connection.burst or 100,
        },
        "enableProfiling": document.enable_profiling,
        "enableContentionProfiling": contention,
        "percentageOfNodesToScore": document.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": document.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": document.pod_max_backoff_seconds,
        "profiles": [_profile(profile, Expansion(profile, target, others), ignored) for profile in document.profiles],
    }
    if document.extenders:
        printed["extenders"] = _extenders(document)
    if document.delay_cache_until_active:
        printed["delayCacheUntilActive"] = True
    return printed


def _shortest(number: float) -> float:
    """Return the shortest number that Go's float32 cannot tell from ``number``."""
    rounded = as_float32(number)
    candidates = (float(f"{rounded:.{digits}g}") for digits in range(1, 10))
    return next(candidate for candidate in candidates if as_float32(candidate) == rounded)


def _profile(profile: Profile, expansion: Expansion, ignored: tuple[str, ...]) -> dict[str, Any]:
    printed: dict[str, Any] = {"schedulerName": profile.scheduler_name}
    if profile.percentage_of_nodes_to_score is not None:
        printed["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    printed["plugins"] = {}
    for point in (*expansion.defaults.points, "multiPoint"):
        custom = expansion.own[point]
        own = [EnabledPlugin(plugin.name, plugin.weight or 0) for plugin in custom.enabled]
        enabled = expansion.multi_point if point == "multiPoint" else own
        plugin_set: dict[str, Any] = {}
        printed["plugins"][point] = plugin_set
        if enabled:
            plugin_set["enabled"] = [{"name": plugin.name, "weight": plugin.weight} for plugin in enabled]
        if custom.disabled:
            plugin_set["disabled"] = [{"name": plugin.name, "weight": 0} for plugin in custom.disabled]
    configured = [{"name": name, "args": args} for name, args in sorted(_args(profile, expansion, ignored).items())]
    return {**printed, "pluginConfig": configured} if configured else printed


def _args(profile: Profile, expansion: Expansion, ignored: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments of every enabled plugin: in-tree ones complete, others as the document has them."""
    needed, args = expansion.needed, expansion.read_args()
    if ignored and FIT in args:
        args[FIT] = args[FIT].model_copy(update={"ignored_resources": ignored})
    printed: dict[str, Any] = {
        entry.name: entry.args
        for entry in profile.plugin_config
        if entry.name in needed and "args" in entry.model_fields_set
    }
    for name in needed & args.keys():
        if name not in catalog.IN_TREE_ARGS:
            printed[name] = args[name].model_dump(by_alias=True, mode="json", fallback=repr)
            continue
        printed[name] = {"apiVersion": API_VERSION, "kind": f"{name}Args", **_print_model(args[name])}
        if name == "DynamicResources":
            printed[name].setdefault("filterTimeout", None)
    return printed


def _print_model(model: BaseModel) -> dict[str, Any]:
    """Return the fields of ``model`` as Go prints them: those that are empty are left out."""
    fields = {}
    for name, field in type(model).model_fields.items():
        value = _print_value(getattr(model, name))
        if value is not None and value != []:
            fields[field.alias or name] = value
        elif field.alias == "nodeSelectorTerms":  # printed even when there are none: upstream has no omitempty there
            fields[field.alias] = value if name in model.model_fields_set else None
    return fields


def _print_value(value: Any) -> Any:
    match value:
        case Duration():
            return value.canonical
        case BaseModel():
            return _print_model(value)
        case tuple():
            return [_print_value(inner) for inner in value]
    return value


def _extenders(document: Document) -> list[dict[str, Any]]:
    printed = []
    for extender in document.extenders:
        fields = {name: value for name, value in _print_model(extender).items() if value or name == "urlPrefix"}
        if extender.tls_config is not None:
            fields["tlsConfig"] = {
                # Go holds certificates as bytes and prints their base64 without line breaks.
                name: base64.b64encode(base64.b64decode(value)).decode() if name.endswith("Data") else value
                for name, value in _print_model(extender.tls_config).items()
                if value
            }
        for resource in fields.get("managedResources", ()):
            if not resource["ignoredByScheduler"]:
                del resource["ignoredByScheduler"]
        printed.append(fields)
    return printed
