"""Outcomes of rendering: a document with its effective plugins, or the problems of a profile."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler_operator.models import SchedulerSpec
from scheduler_operator.models.scheduler_profile import Engine
from scheduler_operator.models.status import Reason
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.catalog import Rule, Target, Version
from scheduler_runtime.config import Document, EffectiveProfile, Finding, Problem

PluginConfigs = Mapping[str, UserObject]

_MAX_PLACES = 3


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
    profiles: Mapping[str, RenderedProfile]
    """Each profile by name; the first is the one whose process it is."""
    rules: tuple[Rule, ...]
    """The permissions that the enabled plugins need."""
    declared_by: Mapping[str, tuple[Rule, ...]]
    """The part of ``rules`` that PluginConfigs declare, by plugin: nobody has granted these yet."""
    sources: tuple[str, ...] = ()
    """The ConfigMaps with plugin code."""

    @property
    def declared(self) -> tuple[Rule, ...]:
        """All rules that PluginConfigs declare."""
        return tuple(rule for rules in self.declared_by.values() for rule in rules)

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
        return f"{len(self.problems)} problems:" + "".join(f"\n      - {problem}" for problem in self.problems)

    def places(self) -> str:
        """Return the number of problems and their paths, on one line."""
        paths = list(dict.fromkeys(problem.path for problem in self.problems if problem.path))
        more = [f"{len(paths) - _MAX_PLACES} more places"] if len(paths) > _MAX_PLACES else []
        places = [*paths[:_MAX_PLACES], *more]
        where = " and ".join(filter(None, (", ".join(places[:-1]), *places[-1:])))
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        return f"{count} at {where}" if where else count
