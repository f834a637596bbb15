"""The kube-scheduler that is meant: which version, and with which of its feature gates turned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from scheduler_runtime.catalog.gates import Gate, known_gates, required_gates
from scheduler_runtime.catalog.kubernetes_version import Version
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest

KNOWN_MINORS = ("1.35", "1.36", "1.37")
"""The minor versions whose behaviour is known, oldest first."""
_NONE: Mapping[str, bool] = MappingProxyType({})
_ALL = {"AllAlpha": "alpha", "AllBeta": "beta"}


@dataclass(frozen=True, slots=True)
class Target:
    """A version and what its ``--feature-gates`` were set to. Gates that are not named have their default."""

    version: Version
    feature_gates: Mapping[str, bool] = field(default_factory=lambda: _NONE)

    @classmethod
    def parse(cls, version: str, feature_gates: Mapping[str, bool] = _NONE) -> Target:
        """The target of a version written as text. Raises ValueError when the text is no version."""
        return cls(Version.parse(version), feature_gates)

    @property
    def minor(self) -> str:
        """The known minor version that is nearest to the one meant, such as ``1.36``."""
        return _nearest_known(self.version)

    def enabled(self, gate: str) -> bool:
        """Whether the feature ``gate`` is on. A gate that the version does not have is off."""
        if gate in self.feature_gates:
            return self.feature_gates[gate]
        found = known_gates(self.minor).get(gate)
        return found is not None and self._by_default(found)

    def _by_default(self, gate: Gate) -> bool:
        for name, stage in _ALL.items():
            if stage == gate.stage and name in self.feature_gates:
                return self.feature_gates[name]
        return gate.default

    def __str__(self) -> str:
        return f"Kubernetes {self.version.major}.{self.version.minor}"


@cache
def _nearest_known(version: Version) -> str:
    known = [minor for minor in KNOWN_MINORS if version.at_least(minor)]
    return known[-1] if known else KNOWN_MINORS[0]


def is_too_old(version: Version) -> bool:
    """Whether nothing is known of how ``version`` schedules."""
    return not version.at_least(KNOWN_MINORS[0])


def is_too_new(version: Version) -> bool:
    """Whether the newest version that is known has to do for ``version``."""
    newest = Version.parse(KNOWN_MINORS[-1])
    return (version.major, version.minor) > (newest.major, newest.minor)


def gate_problems(target: Target) -> tuple[str, ...]:
    """Why kube-scheduler refuses the feature gates of ``target``, a sentence for each; empty when it takes them."""
    known = known_gates(target.minor)
    problems = [said for gate, on in target.feature_gates.items() if (said := _refusal(target, known, gate, on))]
    return tuple(problems) or tuple(_unmet(target, known))


def _refusal(target: Target, known: Mapping[str, Gate], gate: str, on: bool) -> str:
    if gate in _ALL:
        return ""
    found = known.get(gate)
    if found is None:
        hint = did_you_mean(nearest(gate, [*known, *_ALL], most=3, alike=0.7)) or describe_other_versions(gate, target)
        return f"{gate} is not a feature gate of {target}{hint}"
    if found.locked and found.default != on:
        return f"{gate} cannot be turned {'on' if on else 'off'}: {target} has locked it {'off' if on else 'on'}"
    return ""


def describe_other_versions(gate: str, target: Target) -> str:
    """Which other versions have ``gate``, as the end of a sentence; empty when none has."""
    others = [minor for minor in KNOWN_MINORS if minor != target.minor and gate in known_gates(minor)]
    return f"; {' and '.join(others)} {'has' if len(others) == 1 else 'have'} it" if others else ""


def _unmet(target: Target, known: Mapping[str, Gate]) -> Iterator[str]:
    for gate, needed in required_gates(target.minor).items():
        off = [each for each in needed if not target.enabled(each)]
        if gate in known and off and target.enabled(gate):
            yield f"{gate} is on and needs {' and '.join(off)}; turn {'it' if len(off) == 1 else 'these'} on too"
