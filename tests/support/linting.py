"""A document, as short as it can be written, and what the linter says of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from scheduler_runtime import config
from scheduler_runtime.catalog import Declaration, Target

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
_NONE: Mapping[str, Declaration] = MappingProxyType({})
_NO_GATES: Mapping[str, bool] = MappingProxyType({})


def lint(
    text: str,
    version: str = "1.36",
    gates: Mapping[str, bool] = _NO_GATES,
    others: Mapping[str, Declaration] = _NONE,
    engine: config.Engine = "KubeScheduler",
) -> tuple[config.Finding, ...]:
    """What is said of a document, given without its header."""
    document = config.load(HEADER + text)
    assert isinstance(document, config.Document), document
    return config.lint(document, Target.parse(version, gates), others, engine)


def places(text: str, version: str = "1.36", others: Mapping[str, Declaration] = _NONE) -> list[str]:
    """The codes with their paths, in order. A profile's own paths start at the profile when there is only one."""
    return [
        f"{finding.code} {finding.path.removeprefix('profiles[0].')}" for finding in lint(text, version, others=others)
    ]


def plugins(text: str) -> str:
    """A document with one profile that has these plugins."""
    return f"profiles: [{{plugins: {{{text}}}}}]"


def args(plugin: str, text: str, more: str = "") -> str:
    """A document with one profile that has these arguments, and ``more`` plugins."""
    return f"profiles: [{{plugins: {{{more}}}, pluginConfig: [{{name: {plugin}, args: {{{text}}}}}]}}]"


def extender(text: str, name: str = "default-scheduler") -> str:
    """A document with one extender."""
    lease = f"leaderElection: {{resourceName: {name}}}"
    return f"{lease}\nprofiles: [{{schedulerName: {name}}}]\nextenders: [{{{text}}}]"
