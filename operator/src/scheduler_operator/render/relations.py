"""Relations between users' objects: which profile joins which, and which PluginConfigs a profile uses."""

from collections.abc import Iterable, Mapping, Sequence

from scheduler_operator.render.outcome import ObjectProblems
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.config import Problem


def owner_name(profile: UserObject) -> str:
    """Return the profile in whose process ``profile`` asks to run; empty when it has one of its own."""
    target = profile.spec.get("joins")
    return target if isinstance(target, str) and target != profile.name else ""


def joiners(name: str, profiles: Iterable[UserObject]) -> list[UserObject]:
    """Return the profiles that join the one called ``name``, the oldest first."""
    joining = (profile for profile in profiles if owner_name(profile) == name)
    return sorted(joining, key=lambda profile: (profile.created, profile.name))


def join_problem(profile: UserObject, profiles: Mapping[str, UserObject]) -> ObjectProblems | None:
    """Return why ``profile`` cannot join: the other profile does not exist, or has no process of its own."""
    target = owner_name(profile)
    if not target:
        return None
    if target not in profiles:
        message = f"there is no profile {target}; create it, or leave joins out for a process of its own"
        return ObjectProblems("JoinTargetMissing", (Problem("spec.joins", message),))
    # One level only: a chain could be a circle, which has no process at all.
    if further := owner_name(profiles[target]):
        message = f"{target} has no process of its own, because it joins {further}; join {further} instead"
        return ObjectProblems("JoinConflict", (Problem("spec.joins", message),))
    return None


def references(profile: UserObject) -> set[str]:
    """Return the names of the PluginConfigs that a profile refers to, however wrong the rest of it is."""
    entries = profile.spec.get("pluginConfig")
    if not isinstance(entries, Sequence):
        return set()
    names = (entry.get("ref") for entry in entries if isinstance(entry, Mapping))
    return {name for name in names if isinstance(name, str) and name}


def uses(profile: UserObject, plugin_config: UserObject) -> bool:
    """Return whether ``profile`` refers to ``plugin_config``, or names the plugin that it declares."""
    if plugin_config.name in references(profile):
        return True
    if not plugin_config.spec.get("declares"):
        return False
    # The spec as it stands: a profile uses the plugin however wrong the rest of it is, and is reconciled with it.
    plugins = profile.spec.get("plugins")
    sets = plugins.values() if isinstance(plugins, Mapping) else ()
    lists = [
        profile.spec.get("pluginConfig"),
        *(plugin_set.get("enabled") for plugin_set in sets if isinstance(plugin_set, Mapping)),
    ]
    entries = [entry for items in lists if isinstance(items, list) for entry in items if isinstance(entry, Mapping)]
    plugin = plugin_config.spec.get("plugin")
    return isinstance(plugin, str) and any(entry.get("name") == plugin for entry in entries)
