"""One profile of a KubeSchedulerConfiguration."""

from __future__ import annotations

from scheduler_operator.migrate.draft import POINTS, Args, Entry, PluginChanges, ProfileDraft
from scheduler_operator.migrate.parts import Part
from scheduler_runtime import catalog


def read_profile(source: Part) -> ProfileDraft:
    """The profile that ``source`` is."""
    name = source.text("schedulerName")
    draft = ProfileDraft(name, source.path, name_path=source.at("schedulerName"), is_in_document=True)
    draft.percentage_of_nodes_to_score = source.integer("percentageOfNodesToScore")
    read_plugins(source.mapping("plugins"), draft)
    read_plugin_config(source.entries("pluginConfig"), draft)
    return draft


def read_plugins(source: Part, draft: ProfileDraft) -> None:
    """Every extension point that v1 has; what is left of ``source`` then, it has not."""
    for point in POINTS:
        if point in source:
            draft.plugins[point] = read_changes(source.mapping(point))


def read_changes(source: Part) -> PluginChanges:
    """What is enabled and disabled at one point."""
    enabled = [
        Entry(entry.text("name") or "", entry.integer("weight"), entry.path) for entry in source.entries("enabled")
    ]
    for entry in source.entries("disabled"):
        entry.remark("weight", "left out, because the weight of a plugin that is disabled means nothing")
    disabled = [Entry(entry.text("name") or "", path=entry.path) for entry in source.entries("disabled")]
    return PluginChanges(enabled, disabled)


def read_plugin_config(entries: list[Part], draft: ProfileDraft) -> None:
    """The arguments of the plugins."""
    for entry in entries:
        name = entry.text("name") or ""
        fields = entry.whole("args")
        if catalog.is_upstream_plugin(name) or name in catalog.REMOVED_PLUGINS:
            fields = {key: value for key, value in fields.items() if key not in ("apiVersion", "kind")}
        if not name:
            entry.refuse("name", "is required")
        elif name in draft.args:
            entry.refuse("name", f"{name!r} is configured at {draft.args[name].path} too; write its arguments once")
        else:
            draft.args[name] = Args(fields, entry.path)
        if not fields:
            entry.notes.remark(entry.path, f"left out, because it gives {name} no arguments")
        elif catalog.is_upstream_plugin(name) and name not in catalog.IN_TREE_ARGS:
            draft.args.pop(name, None)
            entry.notes.remark(entry.path, f"left out, because {name} takes no arguments and never read them")
