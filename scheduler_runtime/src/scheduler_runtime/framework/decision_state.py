"""The state of one decision: all answers of plugins about one pod so far."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from scheduler_runtime.api import Pod, Reject
from scheduler_runtime.state.table import Table


@dataclass(slots=True)
class DecisionState:
    """One pod and all that plugins have answered about it so far, so that none is asked the same twice.

    Upstream's CycleState and what its schedulePod has in local variables.
    """

    pod: Pod
    table: Table
    cycle: dict[str, Any] = field(default_factory=dict)
    """The dict that plugins share."""
    pre_filter_answers: dict[str, Any] = field(default_factory=dict)
    rejections: dict[str, list[Reject]] = field(default_factory=dict)
    """The Rejects that each ``filter`` yielded."""
    states: Mapping[str, Any] = field(default_factory=dict)
    """The state of each plugin, for its filter and for the hooks after the choice."""
    skipped: AbstractSet[str] = frozenset()
    """The plugins whose filter does not run, because their ``pre_filter`` answered SKIP."""
    seconds: dict[str, float] = field(default_factory=dict)
    """The duration of each extension point."""
