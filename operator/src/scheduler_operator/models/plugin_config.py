"""PluginConfig: arguments of a plugin, for several profiles to share."""

from pydantic import Field

from scheduler_operator.models.fields import AnyObject, Model, PluginName


class PluginConfigSpec(Model):
    """The arguments of one plugin."""

    plugin: PluginName = Field(description="The plugin whose arguments these are.")
    args: AnyObject | None = Field(None, description="The arguments, as the plugin documents them.")
