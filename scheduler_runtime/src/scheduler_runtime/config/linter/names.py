"""Names that name nothing: plugins that are gone, that are not there yet, or that were never at that point."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_runtime import catalog
from scheduler_runtime.catalog import REMOVED_PLUGINS, SUPPORTED_MINORS, Version
from scheduler_runtime.catalog.suggestions import did_you_mean
from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Code, Match, check
from scheduler_runtime.config.linter.inputs import ALL, ProfileInput, names


def lives_in(plugin: str, version: Version) -> str:
    """The known minor version that has ``plugin`` when ``version`` has not; empty when there is none."""
    if catalog.exists_in(plugin, version):
        return ""
    return next((minor for minor in SUPPORTED_MINORS if catalog.exists_in(plugin, Version.parse(minor))), "")


def _named(written: ProfileInput) -> Iterator[tuple[str, str]]:
    """Every name that kube-scheduler does not look up: what is disabled and what is configured."""
    for point in (*written.defaults.points, "multiPoint"):
        for index, name in enumerate(names(written.profile.plugins.at(point).disabled)):
            yield f"plugins.{point}.disabled[{index}]", name
    for index, entry in enumerate(written.profile.plugin_config):
        yield f"pluginConfig[{index}].name", entry.name


@check(
    Code(
        "RemovedPlugin",
        Severity.WARNING,
        "A plugin is named that kube-scheduler no longer has, at a place where nobody looks the name up.",
        "Remove the name; what does its work today is said in the finding.",
    )
)
def removed_plugin(written: ProfileInput) -> Iterator[Match]:
    for path, name in _named(written):
        if name in REMOVED_PLUGINS and not written.points(name):
            yield Match(path, f"{name} was removed from Kubernetes; {REMOVED_PLUGINS[name]}", "remove this entry")


@check(
    Code(
        "UnknownPluginForVersion",
        Severity.WARNING,
        "A plugin is named that another version of Kubernetes has, but not the one that is meant.",
        "Remove the name, or render for the version that has it.",
    )
)
def unknown_plugin_for_version(written: ProfileInput) -> Iterator[Match]:
    target = written.whole.target
    for path, name in _named(written):
        home = lives_in(name, target.version)
        if home and not written.points(name):
            yield Match(path, f"{name} is a plugin of Kubernetes {home}; this is {target}", "remove this entry")


@check(
    Code(
        "DisabledNothing",
        Severity.WARNING,
        "A plugin is disabled where it does not run, so nothing changes.",
        "Write the name of a plugin that runs there, at the point where it runs.",
    )
)
def disabled_nothing(written: ProfileInput) -> Iterator[Match]:
    defaults = tuple(written.default_plugins)
    spread = {*defaults, *names(written.profile.plugins.multi_point.enabled)}
    for point in (*written.defaults.points, "multiPoint"):
        for index, name in enumerate(names(written.profile.plugins.at(point).disabled)):
            path = f"plugins.{point}.disabled[{index}]"
            gone = name in REMOVED_PLUGINS or bool(lives_in(name, written.whole.target.version))
            runs = name == ALL or (name in spread if point != "multiPoint" else name in defaults)
            there = point == "multiPoint" or name == ALL or point in written.points(name)
            if not gone and not (runs and there):
                near = catalog.similar_plugins(name)[:1] if not written.points(name) else ()
                fix = next((f"name: {each}" for each in near), "remove this entry")
                yield Match(path, _why_nothing(written, name, point), fix)


def _why_nothing(written: ProfileInput, name: str, point: str) -> str:
    points = written.points(name)
    if not points:
        return f"there is no plugin {name!r}{did_you_mean(catalog.similar_plugins(name))}"
    if point != "multiPoint" and point not in points:
        return f"{name} has nothing to do at {point}; it works at {', '.join(points)}"
    return f"{name} is not enabled by default, so there is nothing to disable"
