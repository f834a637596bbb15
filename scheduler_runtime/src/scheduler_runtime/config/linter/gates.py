"""Plugins that run and do nothing, because the feature they belong to is off."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Severity
from .checks import Code, Told, check
from .subjects import Written


@check(
    Code(
        "GateOff",
        Severity.WARNING,
        "A plugin is enabled whose feature gate is off, so it runs and does nothing.",
        "Turn the feature gate on, or do not name the plugin.",
    )
)
def gate_off(written: Written) -> Iterator[Told]:
    target = written.whole.target
    for point in written.defaults.points_in_order():
        for path, plugin in written.enabled(point):
            if written.is_idle(plugin.name):
                gate = written.gate(plugin.name)
                message = f"{plugin.name} does nothing in {target} while the feature gate {gate} is off"
                yield Told(path, message, f"--feature-gates={gate}=true")
