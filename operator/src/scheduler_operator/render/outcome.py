"""What rendering ends in: a document with its meaning, or what somebody has to change."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler_operator.models import Scheduler
from scheduler_operator.models.scheduler_profile import Engine
from scheduler_operator.models.status import Reason
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.catalog import Rule, Target, Version
from scheduler_runtime.config import Document, EffectiveProfile, Finding, Problem

PluginConfigs = Mapping[str, UserObject]

_MOST_PLACES = 3


@dataclass(frozen=True, slots=True)
class Member:
    """What one profile of a process means."""

    effective: EffectiveProfile
    absent: frozenset[str]
    """Effective plugins that the engine does not have yet."""
    foreign: frozenset[str]
    """Effective plugins that only a PluginConfig declares."""
    findings: tuple[Finding, ...]
    """What its author should know, at the paths where it was written; nothing that was allowed."""
    summary: str
    """How its plugins differ from the default ones."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What the profiles of one process mean for one kube-scheduler."""

    engine: Engine
    scheduler: Scheduler
    target: Target
    document: Document
    text: str
    extras: str
    """What upstream's document has no field for, as YAML; empty where nobody reads it."""
    hash: str
    """SHA-256 of all that the process reads."""
    members: Mapping[str, Member]
    """By profile, the one whose process it is first."""
    rules: tuple[Rule, ...]
    """The permissions that the enabled plugins need."""
    declared_by: Mapping[str, tuple[Rule, ...]]
    """Those of them that a PluginConfig declares, which nobody has granted yet, by plugin."""
    sources: tuple[str, ...] = ()
    """The ConfigMaps that hold the code of plugins."""

    @property
    def declared(self) -> tuple[Rule, ...]:
        """All that is declared."""
        return tuple(rule for rules in self.declared_by.values() for rule in rules)

    @property
    def version(self) -> Version:
        return self.target.version

    @property
    def first(self) -> Member:
        """The profile whose process it is."""
        return next(iter(self.members.values()))

    @property
    def effective(self) -> EffectiveProfile:
        return self.first.effective

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is to be said of all profiles, each in turn."""
        return tuple(finding for member in self.members.values() for finding in member.findings)


@dataclass(frozen=True, slots=True)
class Problems:
    """Why a profile cannot be run: what only its author can mend. Never empty."""

    reason: Reason
    problems: tuple[Problem, ...]

    def __str__(self) -> str:
        return "; ".join(str(problem) for problem in self.problems)

    def listed(self) -> str:
        """All of it, each problem on a line of its own where there are several.

        The lines are indented as deep as ``kubectl describe`` writes the messages of conditions.
        """
        if len(self.problems) == 1:
            return str(self)
        return f"{len(self.problems)} problems:" + "".join(f"\n      - {problem}" for problem in self.problems)

    def places(self) -> str:
        """How many there are and where, in a line."""
        paths = list(dict.fromkeys(problem.path for problem in self.problems if problem.path))
        more = [f"{len(paths) - _MOST_PLACES} more places"] if len(paths) > _MOST_PLACES else []
        shown = [*paths[:_MOST_PLACES], *more]
        where = " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        return f"{count} at {where}" if where else count
