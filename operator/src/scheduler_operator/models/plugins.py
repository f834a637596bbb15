"""Plugins and their arguments (``spec.plugins``, ``spec.pluginConfig``), in upstream's format."""

from typing import Annotated

from pydantic import ConfigDict, Field

from scheduler_operator.models.fields import AnyObject, Int32, Model, ObjectName, PluginName, cel, list_map, rules


class EnabledPlugin(Model):
    """A plugin to run, in addition to the defaults or instead of the default of that name."""

    name: PluginName = Field(description="The plugin's name.")
    weight: Int32 | None = Field(
        None,
        ge=0,
        description="Its weight among the score plugins. Absent or 0 means 1, even for a default plugin with more.",
    )


class DisabledPlugin(Model):
    """A default plugin to disable."""

    name: PluginName = Field(description="The plugin's name, or * for all of them.")


class PluginSet(Model):
    """Changes to the default plugins of an extension point."""

    enabled: Annotated[list[EnabledPlugin], Field(max_length=64, json_schema_extra=list_map("name"))] | None = Field(
        None, description="Plugins to run."
    )
    disabled: Annotated[list[DisabledPlugin], Field(max_length=64, json_schema_extra=list_map("name"))] | None = Field(
        None, description="Default plugins to disable; * for all of them."
    )


class Plugins(Model):
    """Changes to the default plugins, by extension point."""

    pre_enqueue: PluginSet | None = Field(None, description="Called before a pod enters the queue.")
    queue_sort: PluginSet | None = Field(None, description="The order of waiting pods: exactly one plugin.")
    pre_filter: PluginSet | None = Field(None, description="Called once for a pod, before its nodes are filtered.")
    filter: PluginSet | None = Field(None, description="Reject nodes that a pod cannot run on.")
    post_filter: PluginSet | None = Field(None, description="Called when no node is left: preemption.")
    pre_score: PluginSet | None = Field(None, description="Called once for a pod, before its nodes are scored.")
    score: PluginSet | None = Field(None, description="Prefer some of the remaining nodes.")
    reserve: PluginSet | None = Field(None, description="Reserve resources on the chosen node.")
    permit: PluginSet | None = Field(None, description="Allow, reject or delay the binding.")
    pre_bind: PluginSet | None = Field(None, description="Called before a pod is bound.")
    bind: PluginSet | None = Field(None, description="Bind the pod to its node: at least one plugin.")
    post_bind: PluginSet | None = Field(None, description="Called after a pod was bound.")
    placement_generate: PluginSet | None = Field(None, description="Propose where a group of pods may be placed.")
    placement_score: PluginSet | None = Field(None, description="Prefer some of the places proposed for a group.")
    pod_group_post_filter: PluginSet | None = Field(None, description="Called when a group of pods fits nowhere.")
    multi_point: PluginSet | None = Field(None, description="Every extension point that the plugin has.")


class PluginConfigEntry(Model):
    """The arguments of a plugin: given here, or in a PluginConfig."""

    model_config = ConfigDict(
        json_schema_extra=rules(cel("has(self.args) != has(self.ref)", "give exactly one of args and ref"))
    )

    name: PluginName = Field(description="The plugin's name.")
    args: AnyObject | None = Field(None, description="The arguments, as the plugin documents them.")
    ref: ObjectName | None = Field(None, description="The name of a PluginConfig that holds the arguments.")
