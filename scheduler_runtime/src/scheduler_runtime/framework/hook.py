"""Hooks of plugins, and calling them: whatever goes wrong inside becomes a PluginError that names plugin and hook."""

from __future__ import annotations

import sys
from asyncio import CancelledError, current_task
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

from scheduler_runtime.api import Pod
from scheduler_runtime.framework.outcomes import Placed, PluginError, plugin_exceptions


def caught_exceptions() -> tuple[type[BaseException], ...]:
    """Return the exceptions of a hook that become an error of its plugin.

    A CancelledError is among them: in a hook that is not awaited nobody but the plugin can have raised it, and for one
    that is awaited :func:`is_our_cancellation` tells the two cases apart.
    """
    return (*plugin_exceptions(), CancelledError)


def is_our_cancellation(error: BaseException) -> bool:
    """Return whether ``error``, raised by an awaited hook, asks this task to end.

    It does not when the plugin waited for something that it, or a library of its, had cancelled.
    """
    task = current_task()
    return isinstance(error, CancelledError) and task is not None and task.cancelling() > 0


def format_exception(error: BaseException) -> str:
    """Return the text of an exception with its type, because the text of a KeyError is a key alone.

    A PluginError names plugin, hook and problem already.
    """
    text = str(error)
    if isinstance(error, PluginError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


SAMPLED_EVERY = 10
"""Upstream's pluginMetricsSamplePercent: reading the clock around each plugin costs too much for every decision."""


class CallCount(Protocol):
    """A counter of calls."""

    number: float


class Uncounted:
    """A counter that nobody reads."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0.0


UNCOUNTED = Uncounted()
"""The counter of all hooks that nobody counts."""


class HookTimer:
    """The clock beside single hooks, which is on in one decision of ten.

    One class with slots for all hooks, measured or not: the interpreter's inline cache for ``is_on``, which every call
    of a hook reads, holds a single type.
    """

    __slots__ = ("_decisions", "add_clock", "is_on")

    def __init__(self, add_clock: Callable[[Hook], Callable[..., Any]]) -> None:
        """``add_clock`` returns ``hook.run`` with a clock beside it."""
        self.add_clock = add_clock
        self.is_on = False
        self._decisions = 0

    def start(self, *, is_new: bool) -> None:
        """Begin to measure if this is a tenth decision; one that is not new is made again, with more answers."""
        self._decisions += is_new
        self.is_on = self._decisions % SAMPLED_EVERY == 0


UNTIMED = HookTimer(lambda hook: hook.run)
"""The timer of hooks that are never measured: nobody starts it."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook of one plugin, bound and ready to be called."""

    plugin: str
    name: str
    run: Callable[..., Any]
    instance: object = field(default=None, compare=False, repr=False)
    """The plugin itself, for the report of a failure."""
    calls: CallCount = field(default=UNCOUNTED, compare=False)
    timer: HookTimer = field(default=UNTIMED, compare=False)

    def __call__(self, *args: Any) -> Any:
        """Run the hook. Raises PluginError for whatever it raises."""
        self.calls.number += 1
        # A check for each call, instead of a second set of hooks that are measured.
        run = self.timer.add_clock(self) if self.timer.is_on else self.run
        try:
            return run(*args)
        except PluginError:
            raise  # A hook that stands for another (a filter for its filter_row) passes on the other's error.
        except caught_exceptions() as error:
            raise self.error(error) from error

    def error(self, problem: object) -> PluginError:
        """Return the error that this hook failed, because of an exception or of a problem in words."""
        what = format_exception(problem) if isinstance(problem, BaseException) else problem
        return PluginError(self.plugin, self.name, what, self.instance)


@dataclass(frozen=True, slots=True)
class RunningHook:
    """The hook that runs and the pod it runs for, as far as the stack shows them."""

    plugin: str = ""
    hook: str = ""
    pod: str = ""

    def __str__(self) -> str:
        pod = f" for {self.pod}" if self.pod else ""
        if self.plugin:
            return f"{self.hook} of plugin {self.plugin}{pod}"
        return f"what is done{pod}" if pod else "a decision or a plugin"


def find_running_hook(thread: int | None) -> RunningHook:
    """Return the hook at work in ``thread``, going by the local variables ``hook``, ``self``, ``pod`` and ``placed``.

    Functions that call hooks have to name them so.
    """
    hook, pod = None, None
    frame: FrameType | None = sys._current_frames().get(thread or 0)
    # The thread goes on meanwhile: the frames may be of different moments. That is good enough for a log line.
    while frame:
        variables = frame.f_locals
        if hook is None:  # the innermost: a hook may have asked for others
            hook = next((value for name in ("hook", "self") if isinstance(value := variables.get(name), Hook)), None)
        placed = variables.get("placed")
        subject = placed.pod if isinstance(placed, Placed) else variables.get("pod")
        if isinstance(subject, Pod):
            pod = subject  # the outermost: the pod of the decision, not one that is tried for its sake
        frame = frame.f_back
    return RunningHook(hook.plugin if hook else "", hook.name if hook else "", pod.key if pod else "")
