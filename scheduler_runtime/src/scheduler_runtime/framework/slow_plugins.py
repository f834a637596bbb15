"""How much of a decision each plugin of somebody else's takes: one that slows all pods down is named.

Kubernetes' own plugins are not watched: their time is measured in bench/, and a clock beside each call costs some.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from scheduler_runtime.framework.hook import exhausting

logger = logging.getLogger(__name__)

SLOW_SECONDS = 0.010
SAID_EVERY_SECONDS = 60.0
_WEIGHT_OF_ONE = 0.1
"""How much one decision counts in the moving average."""
_IN_DECISIONS = frozenset(
    {
        "signature",
        "pre_filter",
        "filter",
        "filter_row",
        "add_pod",
        "remove_pod",
        "post_filter",
        "pre_score",
        "score",
        "score_row",
        "normalize_score",
        "reserve",
        "permit",
    }
)
_YIELDING = frozenset({"filter", "filter_row"})


@dataclass(slots=True)
class PluginTime:
    """What one plugin takes."""

    spent: float = 0.0
    """In the decision that is being made."""
    average: float = 0.0
    """Of the decisions so far and, at first, of others before them that took nothing: one slow decision is no news."""
    weight: float = 0.0
    """How much the decisions so far count in it."""
    said_at: float = float("-inf")

    def decided(self) -> None:
        """A decision has ended."""
        self.average += _WEIGHT_OF_ONE * (self.spent - self.average)
        self.weight += _WEIGHT_OF_ONE * (1 - self.weight)
        self.spent = 0.0


class SlowPluginWatch:
    """The time that some plugins of one profile take for a decision, on a moving average."""

    def __init__(self, plugins: Iterable[str], clock: Callable[[], float] = time.perf_counter) -> None:
        self._shares = {plugin: PluginTime() for plugin in plugins}
        self._clock = clock

    def watched(self, plugin: str, hook: str, run: Callable[..., Any]) -> Callable[..., Any]:
        """``run``, with a clock beside it if that plugin is watched and the hook is part of decisions."""
        share = self._shares.get(plugin)
        if share is None or hook not in _IN_DECISIONS:
            return run
        whole = exhausting(run) if hook in _YIELDING else run
        clock = self._clock

        def measured(*args: Any) -> Any:
            began = clock()
            try:
                return whole(*args)
            finally:
                share.spent += clock() - began

        return measured

    def decided(self) -> None:
        """A decision has ended: name who takes too long, once a minute at most."""
        for plugin, share in self._shares.items():
            share.decided()
            if share.average > SLOW_SECONDS and self._clock() - share.said_at >= SAID_EVERY_SECONDS:
                share.said_at = self._clock()
                logger.warning(
                    "plugin %s takes %.0f ms of every decision on average, and all pods wait for it: give it a "
                    "signature so that its answers are kept, or let it look at whole columns",
                    plugin,
                    share.average / share.weight * 1000,
                )
