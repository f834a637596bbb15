"""Outcomes of rendering: a document with its effective plugins, or the problems of a profile.

Of effective plugins there are also the permissions they need, and a summary of their difference from the defaults.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Self

from scheduler_operator.models import SchedulerSpec
from scheduler_operator.models.plugin_config import ConfigMapSource
from scheduler_operator.models.scheduler_profile import Engine
from scheduler_operator.models.status import Reason
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Declaration, Rule, Target, Version
from scheduler_runtime.catalog.bounds import MAX_MESSAGE, cut, describe_excess
from scheduler_runtime.config import Document, EffectiveProfile, Finding, Problem

PluginConfigs = Mapping[str, UserObject]

SUMMARY_LENGTH = 60
"""A column of ``kubectl get -o wide``; the effective plugins are in the status, too."""
_MAX_PLACES = 3
_PATH_LENGTH = 256
_HEAD_LENGTH = 64
"""Room for the lines around those of the problems."""


@dataclass(frozen=True, slots=True)
class RenderedProfile:
    """The effective form of one profile of a process."""

    effective: EffectiveProfile
    absent: frozenset[str]
    """Effective plugins that the engine does not have."""
    foreign: frozenset[str]
    """Effective plugins that only a PluginConfig declares."""
    findings: tuple[Finding, ...]
    """Findings at the author's paths, without those that are allowed."""
    summary: str
    """The difference of its plugins from the default ones, in a few words."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The profiles of one process, rendered for one version of kube-scheduler."""

    engine: Engine
    scheduler: SchedulerSpec
    target: Target
    document: Document
    text: str
    extras: str
    """Settings that upstream's document has no field for, as YAML; empty for other engines than Python."""
    hash: str
    """SHA-256 of all that the process reads."""
    startup_hash: str
    """Of that part of the document that a running process does not follow."""
    profiles: Mapping[str, RenderedProfile]
    """Each profile by name; the first is the one whose process it is."""
    rules: tuple[Rule, ...]
    """The permissions that the process and its enabled plugins need, apart from those on its own objects."""
    declared_by: Mapping[str, tuple[Rule, ...]]
    """The part of ``rules`` that PluginConfigs declare, by plugin: nobody has granted these yet."""
    sources: Mapping[str, ConfigMapSource] = field(default_factory=dict)
    """The place of each plugin's code that is in a ConfigMap."""
    extender_secrets: tuple[str, ...] = ()
    """The Secrets whose files the document names, for extenders."""

    def without_arguments(self) -> Self:
        """Return the same with no profiles in the document, and no arguments: whoever applies it reads neither."""
        profiles = {
            name: replace(member, effective=replace(member.effective, points=dict(member.effective.points), args={}))
            for name, member in self.profiles.items()
        }
        return replace(self, document=self.document.model_copy(update={"profiles": ()}), profiles=profiles)

    @property
    def declared(self) -> tuple[Rule, ...]:
        """All rules that PluginConfigs declare."""
        return tuple(rule for rules in self.declared_by.values() for rule in rules)

    @property
    def posts_events(self) -> bool:
        """Whether the process posts any events."""
        return self.scheduler.events != "None"

    @property
    def version(self) -> Version:
        return self.target.version

    @property
    def first(self) -> RenderedProfile:
        """The profile whose process this is."""
        return next(iter(self.profiles.values()))

    @property
    def effective(self) -> EffectiveProfile:
        return self.first.effective

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all profiles, each in turn."""
        return tuple(finding for member in self.profiles.values() for finding in member.findings)


@dataclass(frozen=True, slots=True)
class ObjectProblems:
    """Reasons why a profile cannot run, which only its author can correct. Never empty."""

    reason: Reason
    problems: tuple[Problem, ...]

    def __str__(self) -> str:
        return "; ".join(str(problem) for problem in self.problems)

    def listed(self) -> str:
        """Return all problems, each on a line of its own when there are several.

        The lines are indented as far as ``kubectl describe`` writes the messages of conditions.
        """
        if len(self.problems) == 1:
            return str(self)
        lines, room = [], MAX_MESSAGE - _HEAD_LENGTH
        for problem in self.problems:
            lines.append(f"\n      - {cut(str(problem), MAX_MESSAGE // 4)}")
            room -= len(lines[-1])
            if room < 0:
                lines[-1] = f"\n      - and {len(self.problems) - len(lines) + 1} more"
                break
        return f"{len(self.problems)} problems:{''.join(lines)}"

    def places(self) -> str:
        """Return the number of problems and their paths, on one line."""
        paths = list(dict.fromkeys(cut(problem.path, _PATH_LENGTH) for problem in self.problems if problem.path))
        more = [f"{len(paths) - _MAX_PLACES} more places"] if len(paths) > _MAX_PLACES else []
        places = [*paths[:_MAX_PLACES], *more]
        where = " and ".join(filter(None, (", ".join(places[:-1]), *places[-1:])))
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        return f"{count} at {where}" if where else count


def bounds_problem(user_object: UserObject) -> Problem | None:
    """Return the problem of a spec that exceeds the bounds on what people write; None when it is within them.

    Nothing else may be done with such a spec: all other work relies on the bounds.
    """
    message = user_object.unreadable or describe_excess(user_object.spec, "spec")
    return Problem("spec", message) if message else None


def required_rules(effective: EffectiveProfile, declared: Mapping[str, Declaration]) -> tuple[Rule, ...]:
    """Return the permissions of the enabled plugins, as far as their declarations exist."""
    declarations = {**catalog.in_tree(), **declared}
    plugins = [name for name in effective.names if name in declarations]
    return tuple(rule for name in plugins for rule in declarations[name].rules_for(effective.args.get(name)))


def summarize(effective: EffectiveProfile, target: Target) -> str:
    """Summarize how the plugins differ from the default ones: ``+Added -Removed -Partly(filter) Weighed=5``."""
    # The defaults of the profile's own version and gates: what is new in a version is no difference.
    default = _default_points(target.version, tuple(sorted(target.feature_gates.items())))
    actual = _points_by_plugin(effective)
    words: list[str] = []
    for name in {**actual, **default}:
        before, now = default.get(name, {}), actual.get(name, {})
        weight = now.get("score", 0)
        if not now:
            words.append(f"-{name}")
        elif not before:
            words.append(f"+{name}={weight}" if weight > 1 else f"+{name}")
        else:
            if removed := [point for point in before if point not in now]:
                words.append(f"-{name}({','.join(removed)})")
            if added := [point for point in now if point not in before]:
                words.append(f"+{name}({','.join(added)})")
            if weight and before.get("score", weight) != weight:
                words.append(f"{name}={weight}")
    return cut(" ".join(words) or "default", SUMMARY_LENGTH)


@lru_cache(maxsize=16)
def _default_points(version: Version, gates: tuple[tuple[str, bool], ...]) -> dict[str, dict[str, int]]:
    """Return the extension points of the default plugins."""
    return _points_by_plugin(config.default_profile(Target(version, dict(gates))))


def _points_by_plugin(effective: EffectiveProfile) -> dict[str, dict[str, int]]:
    """Return the extension points of each plugin, and its weight there."""
    points_by_plugin: dict[str, dict[str, int]] = {}
    for point, plugins in effective.points.items():
        for plugin in plugins:
            points_by_plugin.setdefault(plugin.name, {})[point] = plugin.weight
    return points_by_plugin
