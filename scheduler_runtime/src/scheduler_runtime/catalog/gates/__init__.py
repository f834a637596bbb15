"""The feature gates that kube-scheduler of each minor version knows. Read when somebody asks, not before.

A module here is data and is written by ``tests/oracle/read_gates.py``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

Stage = Literal["alpha", "beta", "ga", "deprecated"]


@dataclass(frozen=True, slots=True)
class Gate:
    """One feature gate of one version."""

    stage: Stage
    default: bool
    locked: bool
    """Whether it can only be set to its default."""


@cache
def known_gates(minor: str) -> Mapping[str, Gate]:
    """The gates of ``minor``, such as ``1.36``, by name."""
    rows: Mapping[str, tuple[Stage, bool, bool]] = _module(minor).GATES
    return MappingProxyType({name: Gate(*row) for name, row in rows.items()})


def required_gates(minor: str) -> Mapping[str, tuple[str, ...]]:
    """Which gates must be on for another one to be on; kube-scheduler refuses to start otherwise."""
    found: Mapping[str, tuple[str, ...]] = _module(minor).NEEDS
    return found


def _module(minor: str) -> Any:
    return importlib.import_module(f"{__name__}.v{minor.replace('.', '_')}")
