"""Time that plugins take: the durations of extension points and single plugins, and a warning about slow ones.

Extension points are measured in every decision, single plugins in one of ten. A plugin from elsewhere that takes too
large a part of the decisions is named in the log. Kubernetes' own plugins are not watched so: bench/ measures their
time, and a clock beside each call costs some.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

from scheduler_runtime.api import SKIP, Reject
from scheduler_runtime.framework.hook import CallCount, Hook, HookTimer, exhausting

logger = logging.getLogger(__name__)

PRE_FILTER, FILTER, PRE_SCORE, SCORE = "PreFilter", "Filter", "PreScore", "Score"

POINTS = {
    "pre_enqueue": "PreEnqueue",
    "pre_filter": PRE_FILTER,
    "filter": FILTER,
    "filter_row": FILTER,
    "post_filter": "PostFilter",
    "pre_score": PRE_SCORE,
    "score": SCORE,
    "normalize_score": "ScoreExtensionNormalize",
    "reserve": "Reserve",
    "permit": "Permit",
}
"""Upstream's names for the extension points of our hooks."""


class Observer(Protocol):
    """A histogram."""

    def observe(self, number: float) -> None:
        """Count ``number``."""
        ...


class Measures(Protocol):
    """The metrics that a framework writes."""

    def point(self, point: str, status: str, profile: str) -> Observer:
        """Return the durations of an extension point of a profile."""
        ...

    def plugin(self, plugin: str, point: str, status: str) -> Observer:
        """Return the durations of one plugin at an extension point."""
        ...

    def evaluations(self, plugin: str, point: str, profile: str) -> CallCount:
        """Return the counter of calls of one plugin."""
        ...


class Unmeasured:
    """Metrics that nobody reads."""

    number = 0.0

    def point(self, point: str, status: str, profile: str) -> Unmeasured:
        """Return something that counts nothing."""
        return self

    def plugin(self, plugin: str, point: str, status: str) -> Unmeasured:
        """Return something that counts nothing."""
        return self

    def evaluations(self, plugin: str, point: str, profile: str) -> Unmeasured:
        """Return something that counts nothing."""
        return self

    def observe(self, number: float) -> None:
        """Count nothing."""


class PointTimes(dict[tuple[str, str], Observer]):
    """The durations of the extension points of one profile, by the point and upstream's name of the outcome."""

    def __init__(self, measures: Measures, profile: str) -> None:
        super().__init__()
        self._measures = measures
        self._profile = profile

    def __missing__(self, key: tuple[str, str]) -> Observer:
        observer = self[key] = self._measures.point(*key, self._profile)
        return observer


def hook_timer(measures: Measures) -> HookTimer:
    """Return a timer that adds the durations of hooks to ``measures``."""

    def add_clock(hook: Hook) -> Callable[..., Any]:
        point, run = POINTS[hook.name], hook.run
        if point == FILTER:
            run = exhausting(run)  # A generator does its work after it has returned.

        def run_with_clock(*args: Any) -> Any:
            began = perf_counter()
            status = "Error"
            try:
                answer = run(*args)
                if answer is SKIP:
                    status = "Skip"
                elif isinstance(answer, Reject):
                    status = rejection_status(resolvable=answer.resolvable is True)
                else:
                    status = "Success"
            finally:
                measures.plugin(hook.plugin, point, status).observe(perf_counter() - began)
            return answer

        return run_with_clock

    return HookTimer(add_clock)


def rejection_status(*, resolvable: bool) -> str:
    """Return upstream's name for the status of a rejection."""
    return "Unschedulable" if resolvable else "UnschedulableAndUnresolvable"


SLOW_SECONDS = 0.010
WARNING_INTERVAL_SECONDS = 60.0
_WEIGHT_OF_ONE = 0.1
"""How much one decision counts in the moving average."""
_GENERATORS = frozenset({"filter", "filter_row"})
_IN_DECISIONS = _GENERATORS | {
    "signature",
    "pre_filter",
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


@dataclass(slots=True)
class PluginTime:
    """The time that one plugin takes."""

    spent: float = 0.0
    """In the decision that is being made."""
    average: float = 0.0
    """Per decision. It starts from 0, as if decisions without that plugin came before: one slow one is no news."""
    weight: float = 0.0
    """The weight that the decisions so far have in the average."""
    warned_at: float = float("-inf")


class SlowPluginWatch:
    """The time that some plugins of one profile take for a decision, on a moving average."""

    def __init__(self, plugins: Iterable[str], clock: Callable[[], float] = time.perf_counter) -> None:
        self.times = {plugin: PluginTime() for plugin in plugins}
        """Of the plugins that are watched."""
        self._clock = clock

    def watch(self, plugin: str, hook: str, run: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``run``, with a clock beside it if that plugin is watched and the hook is part of decisions."""
        times = self.times.get(plugin)
        if times is None or hook not in _IN_DECISIONS:
            return run
        complete = exhausting(run) if hook in _GENERATORS else run
        clock = self._clock

        def run_with_clock(*args: Any) -> Any:
            began = clock()
            try:
                return complete(*args)
            finally:
                times.spent += clock() - began

        return run_with_clock

    def end_decision(self) -> None:
        """Add up the decision that has ended, and warn about plugins that are too slow, once a minute at most."""
        for plugin, times in self.times.items():
            # Both averages grow from 0 alike, so that average / weight is the mean of the decisions so far.
            times.average += _WEIGHT_OF_ONE * (times.spent - times.average)
            times.weight += _WEIGHT_OF_ONE * (1 - times.weight)
            times.spent = 0.0
            if times.average > SLOW_SECONDS and self._clock() - times.warned_at >= WARNING_INTERVAL_SECONDS:
                times.warned_at = self._clock()
                logger.warning(
                    "plugin %s takes %.0f ms of every decision on average, and all pods wait for it: give it a "
                    "signature so that its answers are kept, or let it look at whole columns",
                    plugin,
                    times.average / times.weight * 1000,
                )
