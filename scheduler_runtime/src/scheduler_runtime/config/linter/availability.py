"""Plugins that are named where they can do nothing.

They are removed from Kubernetes or of another version, missing from the engine, behind a feature gate that is off, or
without the signature that a feature of the scheduler needs.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_runtime import catalog
from scheduler_runtime.catalog import REMOVED_PLUGINS, SUPPORTED_MINORS, Version
from scheduler_runtime.catalog.suggestions import did_you_mean
from scheduler_runtime.catalog.target import required_gates
from scheduler_runtime.config.available_plugins import missing_plugins, python_only_plugins
from scheduler_runtime.config.linter.checks import Match, Severity, check
from scheduler_runtime.config.linter.inputs import ALL, EffectiveInput, ProfileInput, names

_SIGNED_POINTS = ("preFilter", "filter", "preScore", "score")
_UNSIGNED = frozenset({"DeferredPodScheduling"})
"""Plugins of Kubernetes without a signature."""


def other_version_with(plugin: str, version: Version) -> str:
    """Return the supported minor version that has ``plugin`` when ``version`` has not; empty when there is none."""
    if catalog.exists_in(plugin, version):
        return ""
    return next((minor for minor in SUPPORTED_MINORS if catalog.exists_in(plugin, Version.parse(minor))), "")


def _unchecked_names(profile: ProfileInput) -> Iterator[tuple[str, str]]:
    """Yield every name that kube-scheduler does not look up, with its path: those disabled and those configured."""
    for point in profile.places:
        for index, plugin in enumerate(profile.own[point].disabled):
            yield f"plugins.{point}.disabled[{index}]", plugin.name
    for index, entry in enumerate(profile.fields.plugin_config):
        yield f"pluginConfig[{index}].name", entry.name


@check("RemovedPlugin", Severity.WARNING)
def removed_plugin(profile: ProfileInput) -> Iterator[Match]:
    """The document names a plugin that kube-scheduler no longer has, in a place where names are not checked.

    Remove the name; the finding says what replaces the plugin.
    """
    for path, name in _unchecked_names(profile):
        if name in REMOVED_PLUGINS and not profile.points_of(name):
            yield Match(path, f"{name} was removed from Kubernetes; {REMOVED_PLUGINS[name]}", "remove this entry")


@check("UnknownPluginForVersion", Severity.WARNING)
def unknown_plugin_for_version(profile: ProfileInput) -> Iterator[Match]:
    """The document names a plugin that only other versions of Kubernetes have.

    Remove the name, or use a version that has the plugin.
    """
    target = profile.document.target
    for path, name in _unchecked_names(profile):
        version = other_version_with(name, target.version)
        if version and not profile.points_of(name):
            yield Match(path, f"{name} is a plugin of Kubernetes {version}; this is {target}", "remove this entry")


@check("DisabledNothing", Severity.WARNING)
def disabled_nothing(profile: ProfileInput) -> Iterator[Match]:
    """A plugin is disabled where it does not run, so nothing changes.

    Write the name of a plugin that runs there, at the point where it runs.
    """
    defaults = tuple(profile.default_plugins)
    everywhere = {*defaults, *names(profile.own["multiPoint"].enabled)}
    for point in profile.places:
        for index, name in enumerate(names(profile.own[point].disabled)):
            if name in REMOVED_PLUGINS or other_version_with(name, profile.document.target.version):
                continue  # these have findings of their own
            points = profile.points_of(name)
            enabled = name == ALL or (name in everywhere if point != "multiPoint" else name in defaults)
            has_point = point == "multiPoint" or name == ALL or point in points
            if enabled and has_point:
                continue
            if not points:
                message = f"there is no plugin {name!r}{did_you_mean(catalog.similar_plugins(name))}"
            elif point != "multiPoint" and point not in points:
                message = f"{name} has nothing to do at {point}; it works at {', '.join(points)}"
            else:
                message = f"{name} is not enabled by default, so there is nothing to disable"
            similar = catalog.similar_plugins(name) if not points else []
            fix = f"name: {similar[0]}" if similar else "remove this entry"
            yield Match(f"plugins.{point}.disabled[{index}]", message, fix)


@check("NotInThisEngine", Severity.WARNING)
def not_in_this_engine(effective: EffectiveInput) -> Iterator[Match]:
    """The document enables, weighs or configures a plugin that Berth's own scheduler does not have yet, so it does not
    run.

    Choose engine: KubeScheduler, which has every plugin of Kubernetes, or leave the plugin out.
    """
    document, entries = effective.document, _first_entries(effective.profile)
    for name in missing_plugins(document.engine, entries, document.others):
        if name in effective.enabled.names:
            message = f"{name} is not in Berth's scheduler yet, so this has no effect"
            yield Match(entries[name], message, "engine: KubeScheduler, which has it; or remove this entry")


@check("NotInThisImage", Severity.ERROR, refused=True)
def not_in_this_image(profile: ProfileInput) -> Iterator[Match]:
    """Only a PluginConfig declares an enabled plugin, and the profile names no image that has it: upstream's
    kube-scheduler exits at its start.

    Name an image with the plugin in spec.scheduler.image, or leave the plugin out.
    """
    if profile.document.engine != "UpstreamImage":
        return
    for name, path in _first_entries(profile).items():
        if name in profile.document.others and path.startswith("plugins."):
            message = (
                f"{name} is not in upstream's kube-scheduler, which runs as long as scheduler.image names no other"
            )
            yield Match(path, message, "scheduler: {image: …}, an image of kube-scheduler that has it")


@check("NotInKubeScheduler", Severity.ERROR, refused=True)
def not_in_kube_scheduler(profile: ProfileInput) -> Iterator[Match]:
    """The document enables a plugin that is a Python class: kube-scheduler exits at its start.

    Run the document with Berth's scheduler, or leave the plugin out.
    """
    document, entries = profile.document, _first_entries(profile)
    for name in python_only_plugins(document.engine, entries, document.others):
        if entries[name].startswith("plugins."):
            message = f"{name} is a plugin of Berth's scheduler; kube-scheduler ends as soon as it starts"
            yield Match(entries[name], message, "--engine Python, or remove this entry")


def _first_entries(profile: ProfileInput) -> dict[str, str]:
    """Return the plugins that the profile itself enables or configures, each with the path of its first entry."""
    paths: dict[str, str] = {}
    for point in profile.places:
        for index, plugin in enumerate(profile.own[point].enabled):
            paths.setdefault(plugin.name, f"plugins.{point}.enabled[{index}]")
    for index, entry in enumerate(profile.fields.plugin_config):
        paths.setdefault(entry.name, f"pluginConfig[{index}]")
    return paths


@check("GateOff", Severity.WARNING)
def gate_off(profile: ProfileInput) -> Iterator[Match]:
    """A plugin is enabled, but its feature gate is off, so it has no effect.

    Turn the feature gate on, or do not name the plugin.
    """
    target = profile.document.target
    for point in profile.places:
        for path, plugin in profile.entries(point):
            if not profile.is_gated_off(plugin.name):
                continue
            gate = profile.gate_of(plugin.name)
            message = f"{plugin.name} does nothing in {target} while the feature gate {gate} is off"
            # Turning the gate on is no remedy for a plugin at some of its points: it would fail once it works.
            fix = "remove this entry"
            if all(plugin.name in profile.plugins_at(own) for own in profile.points_of(plugin.name)):
                off = [name for name in required_gates(target.minor).get(gate, ()) if not target.enabled(name)]
                fix = f"--feature-gates={','.join(f'{name}=true' for name in (*off, gate))}, or {fix}"
            yield Match(path, message, fix)


@check("BatchingDisabledByPlugin", Severity.NOTE)
def batching_disabled_by_plugin(effective: EffectiveInput) -> Iterator[Match]:
    """kube-scheduler could decide on equal pods together, but a plugin without a signature prevents it.

    Give the plugin a signature if its result depends only on the pod's fields.
    """
    document = effective.document
    if not document.target.enabled("OpportunisticBatching"):
        return
    if python_only_plugins(document.engine, effective.enabled.names, document.others):
        return  # kube-scheduler does not even start
    for name in dict.fromkeys(name for point in _SIGNED_POINTS for name in effective.at(point)):
        declaration = document.others.get(name)
        if name in effective.profile.defaults.extends:
            has_signature = name not in _UNSIGNED
        else:
            has_signature = declaration is not None and "signature" in declaration.hooks
        if not has_signature:
            point = next(point for point in _SIGNED_POINTS if effective.runs(name, point))
            message = f"{name} has no signature, so every pod of this profile is decided separately"
            yield Match(effective.profile.path_of_entry(name, point), message, f"a signature in {name}")
