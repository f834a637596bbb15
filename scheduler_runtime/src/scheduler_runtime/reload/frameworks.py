"""The frameworks of all profiles, which a new document replaces together, between two decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from scheduler_runtime.catalog import Target
from scheduler_runtime.config import EffectiveProfile, Extender
from scheduler_runtime.framework import Framework, PluginServices
from scheduler_runtime.scheduling.extenders import ExtenderChain
from scheduler_runtime.scheduling.plan import Plan


class Frameworks(Mapping[str, Framework]):
    """The frameworks by the names of their profiles. Every holder of this object sees it change."""

    def __init__(
        self,
        target: Target,
        seed: int | None = None,
        create_extenders: Callable[[Sequence[Extender]], ExtenderChain | None] = lambda _: None,
    ) -> None:
        """``create_extenders`` returns the extenders of a profile; it may raise RegistrationError."""
        self._target = target
        self._seed = seed
        self._create_extenders = create_extenders
        self._plan: Plan | None = None
        self._frameworks: dict[str, Framework] = {}

    def __getitem__(self, name: str) -> Framework:
        return self._frameworks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frameworks)

    def __len__(self) -> int:
        return len(self._frameworks)

    def build(self, plan: Plan, services: PluginServices) -> dict[str, Framework]:
        """Return the frameworks for ``plan``: a new one for each profile that changes, else the present one.

        Raises RegistrationError.
        """
        version, gates = self._target.version, self._target.feature_gates
        frameworks: dict[str, Framework] = {}
        for profile in plan.profiles:
            name = profile.scheduler_name
            if self._plan and name in self._frameworks and self._stays(profile, self._plan, plan):
                frameworks[name] = self._frameworks[name]
            else:
                extenders = self._create_extenders(plan.extenders_of(profile))
                frameworks[name] = Framework(profile, services, version, self._seed, plan.classes, gates, extenders)
        return frameworks

    def _stays(self, profile: EffectiveProfile, before: Plan, plan: Plan) -> bool:
        """Whether the profile has the same plugins with the same arguments and code, and the same extenders."""
        return (
            self._frameworks[profile.scheduler_name].profile == profile
            and before.extenders_of(profile) == plan.extenders_of(profile)
            and before.classes_of(profile) == plan.classes_of(profile)
        )

    def replace(self, plan: Plan, frameworks: Mapping[str, Framework]) -> frozenset[str]:
        """Put the ``frameworks`` that were built for ``plan`` in force; return the profiles that changed, came or went.

        Raises nothing.
        """
        before, self._frameworks, self._plan = self._frameworks, dict(frameworks), plan
        changed = {name for name in before.keys() | frameworks.keys() if before.get(name) is not frameworks.get(name)}
        for name in changed & before.keys() & frameworks.keys():
            frameworks[name].take_over_from(before[name])
        return frozenset(changed)
