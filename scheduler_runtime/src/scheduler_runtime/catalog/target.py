"""The kube-scheduler that a document is for: its version, and the feature gates that are set.

Everything that differs between versions is asked of a :class:`Target`, which has an answer for each version: a version
that is older or newer than all known ones is treated as the nearest known one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from scheduler_runtime.catalog.gates import gates_of, required_gates
from scheduler_runtime.catalog.kubernetes_version import Version
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest

SUPPORTED_MINORS = ("1.35", "1.36", "1.37")
"""The minor versions whose behaviour is known, oldest first."""
OLDEST_MINOR, NEWEST_MINOR = SUPPORTED_MINORS[0], SUPPORTED_MINORS[-1]
"""The first and the last minor version of Kubernetes whose behaviour is known."""
SUPPORTED_RANGE = f"{OLDEST_MINOR} to {NEWEST_MINOR}"
"""Both, as messages name them."""
_NONE: Mapping[str, bool] = MappingProxyType({})
_ALL = {"AllAlpha": "alpha", "AllBeta": "beta"}


@dataclass(frozen=True, slots=True)
class Target:
    """A version and the value of its ``--feature-gates``. Gates that are not named have their default."""

    version: Version
    feature_gates: Mapping[str, bool] = field(default_factory=lambda: _NONE)

    @classmethod
    def parse(cls, version: str, feature_gates: Mapping[str, bool] = _NONE) -> Target:
        """Make the target of a version given as text. Raises ValueError when the text is no version."""
        return cls(Version.parse(version), feature_gates)

    @property
    def minor(self) -> str:
        """The known minor version that is nearest to this one, such as ``1.36``."""
        return _nearest_supported(self.version)

    def enabled(self, gate: str) -> bool:
        """Return True if the feature ``gate`` is on. A gate that the version does not have is off.

        A gate set by name is stronger than AllAlpha and AllBeta, and these are stronger than the gate's default.
        """
        if gate in self.feature_gates:
            return self.feature_gates[gate]
        details = gates_of(self.minor).get(gate)
        if details is None:
            return False
        for name, stage in _ALL.items():
            if stage == details.stage and name in self.feature_gates:
                return self.feature_gates[name]
        return details.default

    def __str__(self) -> str:
        return f"Kubernetes {self.version.major}.{self.version.minor}"


@cache
def _nearest_supported(version: Version) -> str:
    """Return the newest supported minor up to ``version``, or the oldest. Cached: decisions ask for gates often."""
    supported = [minor for minor in SUPPORTED_MINORS if version.at_least(minor)]
    return supported[-1] if supported else SUPPORTED_MINORS[0]


def is_too_old(version: Version) -> bool:
    """Return True if ``version`` is older than all whose behaviour is known."""
    return not version.at_least(OLDEST_MINOR)


def is_too_new(version: Version) -> bool:
    """Return True if ``version`` is newer than all whose behaviour is known, so that the newest has to do for it."""
    newest = Version.parse(NEWEST_MINOR)
    return (version.major, version.minor) > (newest.major, newest.minor)


def newer_version_remark(version: Version) -> str:
    """Return the remark for users of a ``version`` that is newer than all known ones; empty for any other.

    Such a version is no mistake: it is treated as the newest known one, and statuses and commands say so.
    """
    if not is_too_new(version):
        return ""
    return f"Kubernetes {version.major}.{version.minor} is newer than this release knows, {NEWEST_MINOR} is used"


def gate_problems(target: Target) -> tuple[str, ...]:
    """Return a sentence for each reason why kube-scheduler refuses the feature gates of ``target``.

    As upstream, dependencies between gates are checked only when each gate by itself can be set so.
    """
    gates = gates_of(target.minor)
    problems: list[str] = []
    for name, on in target.feature_gates.items():
        gate = gates.get(name)
        if name in _ALL:
            continue
        if gate is None:
            hint = did_you_mean(nearest(name, [*gates, *_ALL], most=3, alike=0.7))
            problems.append(f"{name} is not a feature gate of {target}{hint or _describe_other_versions(name, target)}")
        elif gate.locked and gate.default != on:
            state, lock = ("on", "off") if on else ("off", "on")
            problems.append(f"{name} cannot be turned {state}: {target} has locked it {lock}")
    if problems:
        return tuple(problems)
    for name, required in required_gates(target.minor).items():
        off = [gate for gate in required if not target.enabled(gate)]
        if name in gates and off and target.enabled(name):
            pronoun = "it" if len(off) == 1 else "these"
            problems.append(f"{name} is on and needs {' and '.join(off)}; turn {pronoun} on too")
    return tuple(problems)


def _describe_other_versions(gate: str, target: Target) -> str:
    """Return the end of a sentence that names the other versions with ``gate``; empty when none has it."""
    others = [minor for minor in SUPPORTED_MINORS if minor != target.minor and gate in gates_of(minor)]
    return f"; {' and '.join(others)} {'has' if len(others) == 1 else 'have'} it" if others else ""
