"""The kube-scheduler that a document is for: its version, and the feature gates that are set.

Everything that differs between versions is asked of a :class:`Target`, which has an answer for each version: a version
that is older or newer than all known ones is treated as the nearest known one.

The gates that each minor version knows, with their stages, defaults and dependencies, are in ``gate_table``: a line for
each gate with its history, ``1.35 alpha off, 1.37 beta on``. An entry holds from its minor version on, until the next
entry; ``removed`` ends it. ``tests/oracle/read_gates.py`` writes the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Literal

from scheduler_runtime.catalog.gate_table import GATES, NEEDS
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest

SUPPORTED_MINORS = ("1.35", "1.36", "1.37")
"""The minor versions whose behaviour is known, oldest first."""
OLDEST_MINOR, NEWEST_MINOR = SUPPORTED_MINORS[0], SUPPORTED_MINORS[-1]
"""The first and the last minor version of Kubernetes whose behaviour is known."""
SUPPORTED_RANGE = f"{OLDEST_MINOR} to {NEWEST_MINOR}"
"""Both, as messages name them."""
_NONE: Mapping[str, bool] = MappingProxyType({})
_ALL = {"AllAlpha": "alpha", "AllBeta": "beta"}
Stage = Literal["alpha", "beta", "ga", "deprecated"]
_STAGES: Mapping[str, Stage] = {"alpha": "alpha", "beta": "beta", "ga": "ga", "deprecated": "deprecated"}
_PATTERN = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+].*)?")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A Kubernetes version. Only ``major.minor`` decides about behaviour; the patch is for messages."""

    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read ``v1.36.4``, ``1.36`` or ``v1.37.0-rc.1``.

        Pre-releases count as the release they lead to. Raises ValueError when the text is no version.
        """
        match = _PATTERN.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a Kubernetes version; write it like v1.36.4")
        major, minor, patch = match.groups(default="0")
        return cls(int(major), int(minor), int(patch))

    def at_least(self, minor: str) -> bool:
        """Return True if this version is ``minor``, such as ``1.36``, or newer."""
        return (self.major, self.minor) >= _major_and_minor(minor)

    def __str__(self) -> str:
        return f"v{self.major}.{self.minor}.{self.patch}"


@cache
def _major_and_minor(text: str) -> tuple[int, int]:
    """Parse a minor version. Cached, because rules of a version are looked up for every pod and every gate."""
    version = Version.parse(text)
    return version.major, version.minor


@dataclass(frozen=True, slots=True)
class Gate:
    """One feature gate of one version."""

    stage: Stage
    default: bool
    locked: bool
    """Whether it can only be set to its default."""


@cache
def gates_of(minor: str) -> Mapping[str, Gate]:
    """Return the gates of the minor version ``minor``, such as ``1.36``, by name.

    A version newer than the table has the gates of the newest one in it, one older than the table has none.
    """
    rows = _rows_of(GATES, minor)
    return MappingProxyType(
        {name: Gate(_STAGES[stage], switch == "on", bool(locked)) for name, (stage, switch, *locked) in rows.items()}
    )


@cache
def required_gates(minor: str) -> Mapping[str, tuple[str, ...]]:
    """Return, for each gate of ``minor`` that depends on others, which these are.

    kube-scheduler refuses to start when a gate is on and one that it requires is off.
    """
    return MappingProxyType({name: tuple(names) for name, names in _rows_of(NEEDS, minor).items()})


def _rows_of(table: Mapping[str, str], minor: str) -> dict[str, list[str]]:
    """Return the words that hold in ``minor``, for each name that has any then."""
    version = Version.parse(minor)
    rows: dict[str, list[str]] = {}
    for name, history in table.items():
        for entry in history.split(", "):
            since, *words = entry.split(" ")
            if version.at_least(since):
                rows[name] = words
        if rows.get(name) == ["removed"]:
            del rows[name]
    return rows


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
