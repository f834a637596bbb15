"""Draft of one profile's part of a document, before the version and the other profiles are considered."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from scheduler_operator.models import ProfileSpec, SchedulerSpec
from scheduler_operator.models.extender import FILES_TWICE_MESSAGE
from scheduler_operator.models.fields import DNS_LABEL
from scheduler_operator.models.label_selector import LabelSelector
from scheduler_operator.models.plugins import PluginSet
from scheduler_operator.render.lenient_reading import AnyModel, Reading, read_leniently
from scheduler_operator.render.origins import Fields, Items, Origin, replace_subtree, with_origins
from scheduler_operator.render.outcome import ObjectProblems, PluginConfigs, bounds_problem
from scheduler_operator.resources.names import (
    DEFAULT_SCHEDULER_MESSAGE,
    EXTENDER_FILES_DIRECTORY,
    INVALID_NAME_MESSAGE,
    NAME_LENGTH,
    RESERVED,
    RESERVED_NAME_MESSAGE,
)
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.config import DEFAULT_SCHEDULER_NAME, Problem, explain

NODE_AFFINITY = "NodeAffinity"
"""The plugin to which ``spec.nodes`` is passed, as its addedAffinity."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS = "nodeSelectorTerms"

Expressions = Sequence[Mapping[str, Any]]
"""Requirements on the labels of a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A profile's part of the document with its origins, and the problems found so far."""

    profile: UserObject
    name: str
    spec: ProfileSpec
    reading: Reading[ProfileSpec]
    """The readable part of the spec, and the problems of the rest."""
    scheduler: SchedulerSpec
    enabled: Mapping[str, Sequence[str]]
    """The extension points at which each plugin is enabled by name; multiPoint is not among them."""
    plugins: Sequence[str]
    """Every plugin that the profile enables or gives arguments to."""
    node_expressions: Expressions
    """The nodes that the profile is limited to; empty for every node."""
    part: dict[str, Any]
    tree: Fields
    extenders: list[dict[str, Any]]
    extender_secrets: frozenset[str]
    """The Secrets whose files the extenders name."""
    mistakes: tuple[Problem, ...]
    missing: tuple[Problem, ...]
    """Problems of references to PluginConfigs that do not exist."""


def read(model: type[AnyModel], source: Mapping[str, Any], prefix: str = "spec") -> AnyModel | ObjectProblems:
    """Read ``source`` into a ``model``: an older CRD may have accepted what this operator refuses."""
    try:
        return model.model_validate(source)
    except ValidationError as error:
        return ObjectProblems("Invalid", tuple(problem.below(prefix) for problem in explain(error, model)))


def make_draft(profile: UserObject, plugin_configs: PluginConfigs, joined: bool) -> Draft | ObjectProblems:
    """Read ``profile``. With ``joined``, its document has other profiles too, so that comments name the profile."""
    if (too_much := bounds_problem(profile)) is not None:
        return ObjectProblems("Invalid", (too_much,))
    name_problems = []
    if len(profile.name) > NAME_LENGTH or not re.fullmatch(DNS_LABEL, profile.name):
        name_problems.append(Problem("metadata.name", f"{profile.name} {INVALID_NAME_MESSAGE}"))
    if profile.name in RESERVED:
        name_problems.append(Problem("metadata.name", RESERVED_NAME_MESSAGE))
    if profile.name == DEFAULT_SCHEDULER_NAME and profile.spec.get("replacesDefaultScheduler") is not True:
        name_problems.append(Problem("spec.replacesDefaultScheduler", DEFAULT_SCHEDULER_MESSAGE))
    reading = read_leniently(ProfileSpec, profile.spec, "spec")
    if (spec := reading.value) is None:
        return ObjectProblems("Invalid", (*name_problems, *reading.problems))
    oversized = [
        Problem(f"PluginConfig {ref}: {problem.path}", problem.message)
        for ref in dict.fromkeys(entry.ref or "" for entry in spec.plugin_config or ())
        if ref in plugin_configs and (problem := bounds_problem(plugin_configs[ref]))
    ]
    if oversized:
        return ObjectProblems("Invalid", (*name_problems, *oversized))
    part, tree = _part(profile.name, spec, plugin_configs, f"SchedulerProfile {profile.name}: " if joined else "")
    extenders, extender_secrets = extenders_with_files(spec)
    missing = [
        Problem(
            f"spec.pluginConfig[{index}].ref",
            f"there is no PluginConfig {entry.ref}; create it, or write the arguments here as args",
        )
        for index, entry in enumerate(spec.plugin_config or ())
        if entry.ref and entry.ref not in plugin_configs
    ]
    enabled = _enabled_plugins(spec)
    return Draft(
        profile=profile,
        name=profile.name,
        spec=spec,
        reading=reading,
        scheduler=spec.scheduler or SchedulerSpec(),
        enabled=enabled,
        plugins=[*enabled, *(entry.name for entry in spec.plugin_config or ())],
        node_expressions=node_expressions(spec.nodes),
        part=part,
        tree=tree,
        extenders=extenders,
        extender_secrets=extender_secrets,
        mistakes=(
            *name_problems,
            *reading.problems,
            *reading.at_source_paths(_mistakes(profile.name, spec, plugin_configs)),
        ),
        missing=tuple(reading.at_source_paths(missing)),
    )


def extenders_with_files(spec: ProfileSpec) -> tuple[list[dict[str, Any]], frozenset[str]]:
    """Return the extenders in upstream's format, which has files instead of Secrets; and the Secrets of the files."""
    extenders = spec.model_dump(by_alias=True, exclude_none=True, include={"extenders"}).get("extenders", [])
    secrets: set[str] = set()
    for extender in extenders:
        tls = extender.get("tlsConfig", {})
        if name := tls.pop("secretName", ""):
            secrets.add(name)
            directory = f"{EXTENDER_FILES_DIRECTORY}/{name}"
            tls |= {"certFile": f"{directory}/tls.crt", "keyFile": f"{directory}/tls.key"}
            if not tls.get("caData") and not tls.get("insecure"):
                tls["caFile"] = f"{directory}/ca.crt"
    return extenders, frozenset(secrets)


def _enabled_plugins(spec: ProfileSpec) -> dict[str, list[str]]:
    enabled: dict[str, list[str]] = {}
    plugins = spec.plugins
    for name, field in type(plugins).model_fields.items() if plugins else ():
        for plugin in (getattr(plugins, name) or PluginSet()).enabled or ():
            points = enabled.setdefault(plugin.name, [])
            points.extend([field.alias or name] if name != "multi_point" else [])
    return enabled


Entry = tuple[dict[str, Any], Fields]
"""An entry of ``pluginConfig`` in the document, and its origins."""


def _part(name: str, spec: ProfileSpec, plugin_configs: PluginConfigs, prefix: str) -> tuple[dict[str, Any], Fields]:
    """Return the profile as the document has it, and its origins; ``prefix`` is the start of every comment."""

    def origin(path: str, label: str = "") -> Origin:
        return Origin(f"{prefix}{label or path}", path, name)

    tree = Fields(origin("spec"), {"schedulerName": origin("metadata.name")})
    part: dict[str, Any] = {"schedulerName": name}
    unchanged = spec.model_dump(by_alias=True, exclude_none=True, include={"percentage_of_nodes_to_score", "plugins"})
    for field, value in unchanged.items():
        part[field], tree[field] = value, with_origins(value, origin(f"spec.{field}"))
    entries: list[Entry] = []
    for index, plugin_args in enumerate(spec.plugin_config or ()):
        path = f"spec.pluginConfig[{index}]"
        # Problems of shared arguments are reported at the PluginConfig, which is the object to change.
        args, label, args_path = plugin_args.args or {}, path, f"{path}.args"
        if plugin_args.ref:
            plugin_config = plugin_configs.get(plugin_args.ref)
            args = (plugin_config.spec.get("args") or {}) if plugin_config else {}
            label, args_path = f"PluginConfig {plugin_args.ref}", f"PluginConfig {plugin_args.ref}: spec.args"
        subtree = Fields(origin(path, label), {"name": origin(f"{path}.name", label)})
        subtree["args"] = with_origins(args, origin(args_path, label))
        entries.append(({"name": plugin_args.name, "args": args}, subtree))
    if expressions := node_expressions(spec.nodes):
        # They are added to the arguments of NodeAffinity; a second entry of one plugin is refused later.
        nodes = Origin(f"{prefix}spec.nodes", "spec.nodes", name, is_whole=True)
        index = next((index for index, (entry, _) in enumerate(entries) if entry["name"] == NODE_AFFINITY), -1)
        if index < 0:
            entry: dict[str, Any] = {
                "name": NODE_AFFINITY,
                "args": _added_affinity({}, expressions),
            }
            entries.append((entry, Fields(nodes, {key: with_origins(value, nodes) for key, value in entry.items()})))
        else:
            entry, subtree = entries[index]
            new_args = _added_affinity(entry["args"], expressions)
            new_tree = Fields(subtree.origin, {**subtree, "args": replace_subtree(new_args, subtree["args"], nodes)})
            entries[index] = {**entry, "args": new_args}, new_tree
    if entries:
        part["pluginConfig"] = [entry for entry, _ in entries]
        tree["pluginConfig"] = Items(origin("spec.pluginConfig"), [subtree for _, subtree in entries])
    return part, tree


def node_expressions(nodes: LabelSelector | None) -> Expressions:
    """Return the requirements of ``spec.nodes`` on a node's labels; none when it is absent or empty: every node."""
    if nodes is None:
        return ()
    labels = sorted((nodes.match_labels or {}).items())
    return [
        *({"key": key, "operator": "In", "values": [value]} for key, value in labels),
        *(requirement.model_dump(by_alias=True, exclude_none=True) for requirement in nodes.match_expressions or ()),
    ]


def _added_affinity(args: Any, required_labels: Expressions) -> Any:
    """Return the ``args`` of NodeAffinity with ``required_labels`` added to what they require already.

    Parts that are malformed are left as they are: validation of the arguments reports them.
    """
    if not isinstance(args, Mapping):
        return args
    added = args.get("addedAffinity") or {}
    if not isinstance(added, Mapping):
        return args
    required = added.get(_REQUIRED)
    if required is None:
        required = {_TERMS: [{"matchExpressions": list(required_labels)}]}
    elif isinstance(required, Mapping) and isinstance(required.get(_TERMS), list):
        terms = list(required[_TERMS])
        for index, term in enumerate(terms):
            # A term without requirements matches no node in Kubernetes. With ours it would match some.
            if not isinstance(term, Mapping) or not any(term.values()):
                continue
            own = term.get("matchExpressions") or []
            if isinstance(own, list):
                terms[index] = {**term, "matchExpressions": [*own, *required_labels]}
        required = {**required, _TERMS: terms}
    return {**args, "addedAffinity": {**added, _REQUIRED: required}}


def _mistakes(name: str, spec: ProfileSpec, plugin_configs: PluginConfigs) -> Iterator[Problem]:
    """Yield what the CRD's rules refuse: a file that was never applied may contain it."""
    if spec.joins is not None:
        if spec.joins == name:
            yield Problem("spec.joins", "a profile cannot join itself: leave out joins for a process of its own")
        if spec.scheduler is not None:
            yield Problem("spec.scheduler", "a profile that joins another runs in its process: leave out scheduler")
        if spec.overrides is not None:
            message = "overrides change the document of a process: write them in the profile that is joined"
            yield Problem("spec.overrides", message)
        if spec.paused:
            message = "a process cannot pause for one of its profiles: pause the profile that is joined"
            yield Problem("spec.paused", message)
    for index, entry in enumerate(spec.plugin_config or ()):
        if (entry.args is None) == (entry.ref is None):
            yield Problem(f"spec.pluginConfig[{index}]", "give exactly one of args and ref")
        plugin_config = plugin_configs.get(entry.ref or "")
        plugin = plugin_config.spec.get("plugin") if plugin_config else entry.name
        if plugin != entry.name:
            message = f"PluginConfig {entry.ref} holds the arguments of {plugin}, not of {entry.name}"
            yield Problem(f"spec.pluginConfig[{index}].ref", message)
    for index, extender in enumerate(spec.extenders or ()):
        tls = extender.tls_config
        if tls and tls.secret_name and any((tls.cert_file, tls.key_file, tls.ca_file, tls.cert_data, tls.key_data)):
            yield Problem(f"spec.extenders[{index}].tlsConfig.secretName", FILES_TWICE_MESSAGE)
    for index, override in enumerate(spec.overrides or ()):
        if (override.op in ("move", "copy")) != (override.source is not None):
            yield Problem(f"spec.overrides[{index}]", "move and copy need from; the other operations take none")
