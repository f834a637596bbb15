"""The feature gates that kube-scheduler of each minor version knows, with their stages, defaults and dependencies.

The data is in ``gate_table``: a line for each gate with its history, ``1.35 alpha off, 1.37 beta on``. An entry holds
from its minor version on, until the next entry; ``removed`` ends it. ``tests/oracle/read_gates.py`` writes the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

from scheduler_runtime.catalog.gate_table import GATES, NEEDS
from scheduler_runtime.catalog.kubernetes_version import Version

Stage = Literal["alpha", "beta", "ga", "deprecated"]
_STAGES: Mapping[str, Stage] = {"alpha": "alpha", "beta": "beta", "ga": "ga", "deprecated": "deprecated"}


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
