"""Plugins and extenders that fail in nearly every attempt lately, for the report about this process.

One pod that a plugin cannot cope with is that pod's trouble, and told in its events. A plugin that raises for every pod
keeps a scheduler from its work, although everything about the process looks well.

What counts is the last outcome of each pod of the last minutes, so that one pod that is tried again and again counts
once. As long as nothing fails nothing is noted, which costs a scheduler at work next to nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler_runtime.api import Pod
from scheduler_runtime.config import FailingKind, Failure
from scheduler_runtime.framework import BindError, PluginError

WINDOW_SECONDS = 120.0
"""How long an outcome counts."""
BACKOFFS_IN_WINDOW = 3
"""For how many of the longest backoffs an outcome counts at least: a pod that waits alone fails no more often."""
LEAST_ATTEMPTS = 3
"""Something that failed less often may have passed by itself."""
BEGINS_AT, ENDS_AT = 0.9, 0.5
"""The share of pods: what fails for so many is told, until it fails for no more than so many."""
MAX_PODS = 64
LOOK_SECONDS = 10.0
"""How often it is looked for outcomes that do not count any longer."""

_AFTER_FILTER = frozenset(
    {"pre_score", "score", "score_row", "normalize_score", "reserve", "permit", "pre_bind", "bind"}
)
"""Hooks that are not called for a pod that no node takes: such a pod does not show that they work."""


@dataclass(slots=True)
class _Tally:
    """The outcomes with one plugin or one extender."""

    failure: Failure
    is_after_filter: bool
    attempts: int = 0
    """How many have failed."""
    pods: dict[str, tuple[bool, float]] = field(default_factory=dict)
    """Of each pod, by uid, whether its last attempt failed here, and when; the latest last."""
    is_failing: bool = False

    def note(self, uid: str, has_failed: bool, now: float) -> None:
        self.pods.pop(uid, None)
        self.pods[uid] = has_failed, now
        if len(self.pods) > MAX_PODS:
            del self.pods[next(iter(self.pods))]

    def judge(self, since: float) -> None:
        """Decide whether this fails for nearly all pods, without outcomes from before ``since``."""
        self.pods = {uid: (has_failed, at) for uid, (has_failed, at) in self.pods.items() if at >= since}
        failed, every = sum(has_failed for has_failed, _ in self.pods.values()), len(self.pods)
        if not self.is_failing:
            self.is_failing = self.attempts >= LEAST_ATTEMPTS and 0 < failed >= BEGINS_AT * every
        else:
            self.is_failing = failed > ENDS_AT * every


class RecentFailures:
    """Counts, for each profile, which plugins and extenders fail for how many of its pods."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._window = WINDOW_SECONDS
        self._tallies: dict[str, dict[tuple[FailingKind, str], _Tally]] = {}
        """By profile. Whatever fails has one, until its failures do not count any longer."""
        self._changed = asyncio.Event()

    def start_anew(self, longest_backoff: float) -> None:
        """Forget everything: there is another document. ``longest_backoff`` is that of pods, in seconds."""
        self._window = max(WINDOW_SECONDS, BACKOFFS_IN_WINDOW * longest_backoff)
        self._tallies.clear()
        self._changed.set()

    def plugin_failed(self, pod: Pod, error: PluginError | BindError) -> None:
        """Note that an attempt to place ``pod`` ended because a plugin failed."""
        name = error.plugin or "bind"
        text = str(error).removeprefix(f"plugin {name} ")
        is_after_filter = isinstance(error, BindError) or error.hook in _AFTER_FILTER
        self._note_failure(pod, "plugin", name, text, is_after_filter=is_after_filter)

    def attempt_passed(self, pod: Pod, *, is_bound: bool) -> None:
        """Note that an attempt to place ``pod`` ended without a failure: it is bound, or no node takes it."""
        if not (tallies := self._tallies.get(pod.spec.scheduler_name)):
            return
        for (kind, _), tally in list(tallies.items()):
            if kind == "plugin" and (is_bound or not tally.is_after_filter):
                self._note(tally, pod, has_failed=False)

    def extender_failed(self, pod: Pod, name: str, error: Exception, *, is_ignored: bool) -> None:
        """Note that an extender failed to answer about ``pod``; ``is_ignored`` if the attempt goes on without it."""
        self._note_failure(pod, "ignored extender" if is_ignored else "extender", name, str(error))

    def extender_answered(self, pod: Pod, name: str, *, is_ignored: bool) -> None:
        """Note that an extender answered about ``pod``."""
        tallies = self._tallies.get(pod.spec.scheduler_name, {})
        if tally := tallies.get(("ignored extender" if is_ignored else "extender", name)):
            self._note(tally, pod, has_failed=False)

    def failures(self) -> tuple[Failure, ...]:
        """Return what fails in nearly every attempt."""
        tallies = (tally for of_profile in self._tallies.values() for tally in of_profile.values())
        return tuple(tally.failure for tally in tallies if tally.is_failing)

    async def run(self, report: Callable[[tuple[Failure, ...]], None]) -> None:
        """Call ``report`` with what fails, now and whenever something begins or ceases to, until cancelled."""
        reported: frozenset[object] | None = None
        while True:
            self.expire()
            failures = self.failures()
            # The texts are those of the beginning: each pod may have a text of its own, and each report is a request.
            identities = frozenset((failure.profile, failure.kind, failure.name) for failure in failures)
            if identities != reported:
                report(failures)
                reported = identities
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._changed.wait()

    def expire(self) -> None:
        """Forget outcomes that do not count any longer."""
        since = self._clock() - self._window
        for profile, tallies in list(self._tallies.items()):
            for key, tally in list(tallies.items()):
                tally.judge(since)
                if not any(has_failed for has_failed, _ in tally.pods.values()):
                    del tallies[key]
            if not tallies:
                del self._tallies[profile]

    def _note_failure(
        self, pod: Pod, kind: FailingKind, name: str, text: str, *, is_after_filter: bool = False
    ) -> None:
        profile = pod.spec.scheduler_name
        tallies = self._tallies.setdefault(profile, {})
        tally = tallies.get((kind, name))
        failure = Failure(profile, kind, name, text)
        if tally is None:
            tally = tallies[kind, name] = _Tally(failure, is_after_filter)
        elif not tally.is_failing:
            tally.failure, tally.is_after_filter = failure, is_after_filter
        tally.attempts += 1
        self._note(tally, pod, has_failed=True)

    def _note(self, tally: _Tally, pod: Pod, *, has_failed: bool) -> None:
        now, was_failing = self._clock(), tally.is_failing
        tally.note(pod.metadata.uid, has_failed, now)
        tally.judge(now - self._window)
        if tally.is_failing != was_failing:
            self._changed.set()
