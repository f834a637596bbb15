"""The profiles of a process, each at work as a framework. They change as one, between two decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from scheduler_runtime.catalog import Target
from scheduler_runtime.config import EffectiveProfile, Extender
from scheduler_runtime.framework import Framework, PluginServices
from scheduler_runtime.reload.plan import Plan
from scheduler_runtime.scheduling.extenders import ExtenderChain


class Frameworks(Mapping[str, Framework]):
    """The frameworks by the names of their profiles. Whoever holds this sees them change."""

    def __init__(
        self,
        services: PluginServices,
        target: Target,
        seed: int | None = None,
        extenders: Callable[[Sequence[Extender]], ExtenderChain | None] = lambda _: None,
    ) -> None:
        """``extenders`` makes those of a document; it may raise RegistrationError."""
        self._services = services
        self._target = target
        self._seed = seed
        self._extenders = extenders
        self._plan: Plan | None = None
        self._frameworks: dict[str, Framework] = {}

    def __getitem__(self, name: str) -> Framework:
        return self._frameworks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frameworks)

    def __len__(self) -> int:
        return len(self._frameworks)

    def made(self, plan: Plan) -> dict[str, Framework]:
        """What would be at work by ``plan``; where nothing changes, what is at work. Raises RegistrationError."""
        return {
            profile.scheduler_name: self._unchanged(plan, profile.scheduler_name) or self._new(plan, profile)
            for profile in plan.profiles
        }

    def _new(self, plan: Plan, profile: EffectiveProfile) -> Framework:
        version, gates = self._target.version, self._target.feature_gates
        extenders = self._extenders(plan.extenders_of(profile))
        return Framework(profile, self._services, version, self._seed, plan.classes, gates, extenders)

    def replace(self, plan: Plan, made: Mapping[str, Framework]) -> frozenset[str]:
        """Let what was ``made`` for ``plan`` be at work; return the profiles that are others now, new or gone."""
        before, self._frameworks, self._plan = self._frameworks, dict(made), plan
        changed = {name for name in before.keys() | made.keys() if before.get(name) is not made.get(name)}
        for name in changed & before.keys() & made.keys():
            made[name].take_over_from(before[name])
        return frozenset(changed)

    def _unchanged(self, plan: Plan, name: str) -> Framework | None:
        """The framework of that profile if it has the same plugins with the same arguments, and the same extenders."""
        before = self._frameworks.get(name)
        profile = next(each for each in plan.profiles if each.scheduler_name == name)
        if before is None or self._plan is None or before.profile != profile:
            return None
        if self._plan.extenders_of(profile) != plan.extenders_of(profile):
            return None
        return before if self._plan.classes_of(profile) == plan.classes_of(profile) else None
