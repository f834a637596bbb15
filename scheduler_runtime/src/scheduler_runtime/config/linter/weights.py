"""Weights that are not what their author thinks."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Severity
from .code import Code, Told, check
from .subjects import Written


@check(
    Code(
        "WeightReset",
        Severity.WARNING,
        "A plugin that scores by default with weight 2 or 3 is named without a weight, and counts 1 from then on.",
        "Write the default weight beside the name, or the weight that is meant.",
    )
)
def weight_reset(written: Written) -> Iterator[Told]:
    default = dict(written.defaults.multi_point)
    weighed = {plugin.name for _, plugin in written.enabled("score")}
    for point in ("score", "multiPoint"):
        for path, plugin in written.enabled(point):
            outranked = point == "multiPoint" and plugin.name in weighed
            if plugin.weight is None and default.get(plugin.name, 0) > 1 and not outranked:
                weight = default[plugin.name]
                yield Told(
                    path,
                    f"{plugin.name} is named without a weight, so it counts 1 instead of its default {weight}",
                    f"{{name: {plugin.name}, weight: {weight}}}",
                )
