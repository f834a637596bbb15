"""One profile as it stands in a document, before anything is known of the version or of other profiles."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from scheduler_operator.models import ProfileSpec, Scheduler
from scheduler_operator.models.fields import DNS_LABEL
from scheduler_operator.models.plugins import PluginArgs, PluginSet
from scheduler_operator.render import node_selection as nodes
from scheduler_operator.render.origins import Fields, Items, Origin, replace_subtree, with_origins
from scheduler_operator.render.outcome import PluginConfigs, Problems
from scheduler_operator.render.reading import AnyModel, Reading, read_leniently
from scheduler_operator.resources.names import (
    DEFAULT_SCHEDULER_MESSAGE,
    INVALID_NAME_MESSAGE,
    NAME_LENGTH,
    RESERVED,
    RESERVED_NAME_MESSAGE,
)
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.config import DEFAULT_SCHEDULER_NAME, Problem, explain


@dataclass(frozen=True, slots=True)
class Draft:
    """A profile that was read: its part of the document, where each piece came from, and what is wrong already."""

    profile: UserObject
    spec: ProfileSpec
    reading: Reading[ProfileSpec]
    """What could be read, and what could not."""
    part: dict[str, Any]
    tree: Fields
    extenders: list[dict[str, Any]]
    mistakes: tuple[Problem, ...]
    missing: tuple[Problem, ...]
    """The PluginConfigs that are referred to and are not there."""

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def scheduler(self) -> Scheduler:
        return self.spec.scheduler or Scheduler()

    @property
    def enabled(self) -> dict[str, list[str]]:
        """At which extension points each plugin is enabled by its name; multiPoint is none."""
        found: dict[str, list[str]] = {}
        plugins = self.spec.plugins
        for name, field in type(plugins).model_fields.items() if plugins else ():
            for plugin in (getattr(plugins, name) or PluginSet()).enabled or ():
                points = found.setdefault(plugin.name, [])
                points.extend([field.alias or name] if name != "multi_point" else [])
        return found

    @property
    def plugins(self) -> list[str]:
        """Every plugin that the profile enables or gives arguments to."""
        return [*self.enabled, *(entry.name for entry in self.spec.plugin_config or ())]


def read(model: type[AnyModel], written: Mapping[str, Any], prefix: str = "spec") -> AnyModel | Problems:
    """``written`` as a ``model``; the CRD may be older than this operator and have let through what it refuses."""
    try:
        return model.model_validate(written)
    except ValidationError as error:
        return Problems("Invalid", tuple(problem.below(prefix) for problem in explain(error, model)))


def draft(profile: UserObject, plugin_configs: PluginConfigs, joined: bool) -> Draft | Problems:
    """Read ``profile``; ``joined`` says whether its document holds others, so that comments have to tell which."""
    misnamed = tuple(_misnamed(profile))
    reading = read_leniently(ProfileSpec, profile.spec, "spec")
    if (spec := reading.value) is None:
        return Problems("Invalid", (*misnamed, *reading.problems))
    part, tree = _part(profile.name, spec, plugin_configs, f"SchedulerProfile {profile.name}: " if joined else "")
    dumped = spec.model_dump(by_alias=True, exclude_none=True, include={"extenders"})
    return Draft(
        profile,
        spec,
        reading,
        part,
        tree,
        extenders=dumped.get("extenders", []),
        mistakes=(
            *misnamed,
            *reading.problems,
            *reading.as_written(_mistakes(profile.name, spec, plugin_configs)),
        ),
        missing=tuple(reading.as_written(_missing(spec, plugin_configs))),
    )


def _part(name: str, spec: ProfileSpec, plugin_configs: PluginConfigs, prefix: str) -> tuple[dict[str, Any], Fields]:
    def origin(path: str, label: str = "") -> Origin:
        return Origin(f"{prefix}{label or path}", path, name)

    tree = Fields(origin("spec"), {"schedulerName": origin("metadata.name")})
    part: dict[str, Any] = {"schedulerName": name}
    copied = spec.model_dump(by_alias=True, exclude_none=True, include={"percentage_of_nodes_to_score", "plugins"})
    for field, value in copied.items():
        part[field], tree[field] = value, with_origins(value, origin(f"spec.{field}"))
    entries = [_entry(index, entry, plugin_configs, origin) for index, entry in enumerate(spec.plugin_config or ())]
    entries = _with_nodes(
        entries, nodes.expressions(spec.nodes), Origin(f"{prefix}spec.nodes", "spec.nodes", name, True)
    )
    if entries:
        part["pluginConfig"] = [written for written, _ in entries]
        tree["pluginConfig"] = Items(origin("spec.pluginConfig"), [grows for _, grows in entries])
    return part, tree


Entry = tuple[dict[str, Any], Fields]


def _entry(index: int, entry: PluginArgs, plugin_configs: PluginConfigs, origin: Any) -> Entry:
    path = f"spec.pluginConfig[{index}]"
    args, label, args_path = entry.args or {}, path, f"{path}.args"
    if entry.ref:
        found = plugin_configs.get(entry.ref)
        args = (found.spec.get("args") or {}) if found else {}
        label, args_path = f"PluginConfig {entry.ref}", f"PluginConfig {entry.ref}: spec.args"
    tree = Fields(origin(path, label), {"name": origin(f"{path}.name", label)})
    tree["args"] = with_origins(args, origin(args_path, label))
    return {"name": entry.name, "args": args}, tree


def _with_nodes(entries: list[Entry], wanted: nodes.Expressions, origin: Origin) -> list[Entry]:
    """The entries with what ``spec.nodes`` asks of NodeAffinity."""
    if not wanted:
        return entries
    for index, (written, tree) in enumerate(entries):
        if written["name"] == nodes.PLUGIN:
            args = nodes.added_affinity(written["args"], wanted)
            changed = Fields(tree.origin, {**tree, "args": replace_subtree(args, tree["args"], origin)})
            return [*entries[:index], ({**written, "args": args}, changed), *entries[index + 1 :]]
    made = {"name": nodes.PLUGIN, "args": nodes.added_affinity({}, wanted)}
    return [*entries, (made, Fields(origin, {key: with_origins(value, origin) for key, value in made.items()}))]


def references(profile: UserObject) -> set[str]:
    """The names of the PluginConfigs that a profile refers to, however wrong the rest of it is."""
    entries = profile.spec.get("pluginConfig")
    found = (each.get("ref") for each in entries if isinstance(each, Mapping)) if isinstance(entries, Sequence) else ()
    return {each for each in found if isinstance(each, str) and each}


def uses(profile: UserObject, plugin_config: UserObject) -> bool:
    """Whether ``profile`` refers to ``plugin_config``, or names the plugin that it declares."""
    if plugin_config.name in references(profile):
        return True
    plugin = plugin_config.spec.get("plugin")
    return bool(plugin_config.spec.get("declares")) and plugin in _named(profile.spec)


def _named(spec: Mapping[str, Any]) -> set[Any]:
    """Every name of a plugin that a spec enables or gives arguments to, however wrong the rest of it is."""
    plugins = spec.get("plugins")
    sets = plugins.values() if isinstance(plugins, Mapping) else ()
    lists = [spec.get("pluginConfig"), *(each.get("enabled") for each in sets if isinstance(each, Mapping))]
    entries = [entry for each in lists if isinstance(each, list) for entry in each if isinstance(entry, Mapping)]
    return {name for entry in entries if isinstance(name := entry.get("name"), str)}


def _misnamed(profile: UserObject) -> Iterator[Problem]:
    if len(profile.name) > NAME_LENGTH or not re.fullmatch(DNS_LABEL, profile.name):
        yield Problem("metadata.name", f"{profile.name} {INVALID_NAME_MESSAGE}")
    if profile.name in RESERVED:
        yield Problem("metadata.name", RESERVED_NAME_MESSAGE)
    if profile.name == DEFAULT_SCHEDULER_NAME and profile.spec.get("replacesDefaultScheduler") is not True:
        yield Problem("spec.replacesDefaultScheduler", DEFAULT_SCHEDULER_MESSAGE)


def _mistakes(name: str, spec: ProfileSpec, plugin_configs: PluginConfigs) -> Iterator[Problem]:
    """What the API server refuses by a rule, and a file on its own can hold."""
    if spec.joins is not None:
        yield from _joining_mistakes(name, spec)
    for index, entry in enumerate(spec.plugin_config or ()):
        if (entry.args is None) == (entry.ref is None):
            yield Problem(f"spec.pluginConfig[{index}]", "give exactly one of args and ref")
        referred = plugin_configs.get(entry.ref or "")
        plugin = referred.spec.get("plugin") if referred else entry.name
        if plugin != entry.name:
            message = f"PluginConfig {entry.ref} holds the arguments of {plugin}, not of {entry.name}"
            yield Problem(f"spec.pluginConfig[{index}].ref", message)
    for index, override in enumerate(spec.overrides or ()):
        if (override.op in ("move", "copy")) != (override.source is not None):
            yield Problem(f"spec.overrides[{index}]", "move and copy need from; the other operations take none")


def _joining_mistakes(name: str, spec: ProfileSpec) -> Iterator[Problem]:
    if spec.joins == name:
        yield Problem("spec.joins", "a profile cannot join itself: leave out joins for a process of its own")
    if spec.scheduler is not None:
        yield Problem("spec.scheduler", "a profile that joins another runs in its process: leave out scheduler")
    if spec.overrides is not None:
        message = "overrides change the document of a process: write them in the profile that is joined"
        yield Problem("spec.overrides", message)
    if spec.paused:
        yield Problem("spec.paused", "a process cannot pause for one of its profiles: pause the profile that is joined")


def _missing(spec: ProfileSpec, plugin_configs: PluginConfigs) -> Iterator[Problem]:
    for index, entry in enumerate(spec.plugin_config or ()):
        if entry.ref and entry.ref not in plugin_configs:
            message = f"there is no PluginConfig {entry.ref}; create it, or write the arguments here as args"
            yield Problem(f"spec.pluginConfig[{index}].ref", message)
