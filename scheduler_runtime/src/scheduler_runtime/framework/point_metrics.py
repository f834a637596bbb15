"""How long plugins take: every extension point always, single plugins for one decision in ten."""

from __future__ import annotations

from time import perf_counter
from typing import Any, Protocol

from scheduler_runtime.api import SKIP, Reject
from scheduler_runtime.framework.hook import Count, Hook, exhausting

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
"""What upstream calls the extension points of our hooks."""

SAMPLED_EVERY = 10


class Observer(Protocol):
    """Where numbers are noted."""

    def observe(self, number: float) -> None:
        """Note ``number``."""
        ...


class Measures(Protocol):
    """Where what is measured goes."""

    def point(self, point: str, status: str, profile: str) -> Observer:
        """For an extension point of a profile."""
        ...

    def plugin(self, plugin: str, point: str, status: str) -> Observer:
        """For one plugin."""
        ...

    def evaluations(self, plugin: str, point: str, profile: str) -> Count:
        """For how often a plugin is asked."""
        ...


class Unmeasured:
    """Where nobody looks at what is measured."""

    number = 0.0

    def point(self, point: str, status: str, profile: str) -> Unmeasured:
        """Nothing."""
        return self

    def plugin(self, plugin: str, point: str, status: str) -> Unmeasured:
        """Nothing."""
        return self

    def evaluations(self, plugin: str, point: str, profile: str) -> Unmeasured:
        """Nothing."""
        return self

    def observe(self, number: float) -> None:
        """Note nothing."""


class Times:
    """How long the extension points of one profile take."""

    def __init__(self, measures: Measures, profile: str) -> None:
        self._measures = measures
        self._profile = profile
        self._spreads: dict[tuple[str, str], Observer] = {}

    def note(self, point: str, seconds: float, status: str = "Success") -> None:
        """Note one run of all plugins at ``point``."""
        spread = self._spreads.get((point, status))
        if spread is None:
            spread = self._spreads[point, status] = self._measures.point(point, status, self._profile)
        spread.observe(seconds)

    def since(self, point: str, began: float, status: str = "Success") -> None:
        """Note a run that ends now."""
        seconds = perf_counter() - began
        spread = self._spreads.get((point, status))
        if spread is None:
            self.note(point, seconds, status)
        else:
            spread.observe(seconds)


def timed(hook: Hook, measures: Measures) -> Hook:
    """The same hook, with a clock beside it."""
    point, run = POINTS[hook.name], hook.run
    if point == FILTER:
        run = exhausting(run)

    def measured(*args: Any) -> Any:
        began = perf_counter()
        status = "Error"
        try:
            answer = run(*args)
            status = _status(answer)
        finally:
            measures.plugin(hook.plugin, point, status).observe(perf_counter() - began)
        return answer

    return Hook(hook.plugin, hook.name, measured, hook.asked, hook.of)


def _status(answer: object) -> str:
    if answer is SKIP:
        return "Skip"
    if isinstance(answer, Reject):
        return rejection_status(resolvable=answer.resolvable is True)
    return "Success"


def rejection_status(*, resolvable: bool) -> str:
    """What upstream calls the status of a rejection."""
    return "Unschedulable" if resolvable else "UnschedulableAndUnresolvable"
