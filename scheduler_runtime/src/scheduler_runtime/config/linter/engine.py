"""Plugins that the scheduler which is to run the document does not have."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_runtime.config.available_plugins import missing_plugins, python_only_plugins
from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Code, Match, check
from scheduler_runtime.config.linter.inputs import EffectiveInput, ProfileInput


@check(
    Code(
        "NotInThisEngine",
        Severity.WARNING,
        "A plugin is enabled, weighed or configured that Berth's own scheduler does not have yet, so it does not run.",
        "Choose engine: KubeScheduler, which has every plugin of Kubernetes, or leave the plugin out.",
    )
)
def not_in_this_engine(meaning: EffectiveInput) -> Iterator[Match]:
    whole = meaning.written.whole
    named = _named(meaning.written)
    for name in missing_plugins(whole.engine, named, whole.others):
        if name in meaning.enabled.names:
            message = f"{name} is not in Berth's scheduler yet, so what is written here does nothing"
            yield Match(named[name], message, "engine: KubeScheduler, which has it; or remove this entry")


@check(
    Code(
        "NotInThisImage",
        Severity.ERROR,
        "A plugin is enabled that only a PluginConfig declares, but the profile names no image that has it: upstream's "
        "kube-scheduler ends as soon as it starts.",
        "Name an image with the plugin in spec.scheduler.image, or leave the plugin out.",
        refused=True,
    )
)
def not_in_this_image(written: ProfileInput) -> Iterator[Match]:
    if written.whole.engine != "UpstreamImage":
        return
    for name, path in _named(written).items():
        if name in written.whole.others and path.startswith("plugins."):
            message = (
                f"{name} is not in upstream's kube-scheduler, which runs as long as scheduler.image names no other"
            )
            yield Match(path, message, "scheduler: {image: …}, an image of kube-scheduler that has it")


@check(
    Code(
        "NotInKubeScheduler",
        Severity.ERROR,
        "A plugin is enabled that is a class in Python: kube-scheduler ends as soon as it starts.",
        "Let Berth's scheduler run the document, or leave the plugin out.",
        refused=True,
    )
)
def not_in_kube_scheduler(written: ProfileInput) -> Iterator[Match]:
    named = _named(written)
    for name in python_only_plugins(written.whole.engine, named, written.whole.others):
        if named[name].startswith("plugins."):
            message = f"{name} is a plugin of Berth's scheduler; kube-scheduler ends as soon as it starts"
            yield Match(named[name], message, "--engine Python, or remove this entry")


def _named(written: ProfileInput) -> dict[str, str]:
    """The plugins that the profile itself names as running, each with the path of the first entry."""
    found: dict[str, str] = {}
    for point in written.defaults.points_in_order():
        for index, plugin in enumerate(written.profile.plugins.at(point).enabled):
            found.setdefault(plugin.name, f"plugins.{point}.enabled[{index}]")
    for index, entry in enumerate(written.profile.plugin_config):
        found.setdefault(entry.name, f"pluginConfig[{index}]")
    return found
