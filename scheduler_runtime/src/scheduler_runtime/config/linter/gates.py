"""Plugins that run and do nothing, because the feature they belong to is off."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_runtime.catalog import Target
from scheduler_runtime.catalog.gates import required_gates
from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Code, Match, check
from scheduler_runtime.config.linter.inputs import ProfileInput


@check(
    Code(
        "GateOff",
        Severity.WARNING,
        "A plugin is enabled whose feature gate is off, so it runs and does nothing.",
        "Turn the feature gate on, or do not name the plugin.",
    )
)
def gate_off(written: ProfileInput) -> Iterator[Match]:
    target = written.whole.target
    for point in written.defaults.points_in_order():
        for path, plugin in written.enabled(point):
            if written.is_idle(plugin.name):
                gate = written.gate(plugin.name)
                message = f"{plugin.name} does nothing in {target} while the feature gate {gate} is off"
                whole = all(plugin.name in written.runs(each) for each in written.points(plugin.name))
                turn_on = f"--feature-gates={_turned_on(target, gate)}, or " if whole else ""
                yield Match(path, message, f"{turn_on}remove this entry")  # half of it would break once it works


def _turned_on(target: Target, gate: str) -> str:
    """What turns ``gate`` on, and whatever it needs to be on."""
    needed = [each for each in required_gates(target.minor).get(gate, ()) if not target.enabled(each)]
    return ",".join(f"{each}=true" for each in (*needed, gate))
