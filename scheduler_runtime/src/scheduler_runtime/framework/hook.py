"""Hooks of plugins: calling them, and reading their answers in the form that the framework computes with.

Whatever goes wrong inside a hook becomes a PluginError that names plugin and hook. So does an answer that the contract
does not have; the text of that error tells the author of the plugin what to write.
"""

from __future__ import annotations

import sys
from asyncio import CancelledError, current_task
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

import numpy as np

from scheduler_runtime.api import MAX_SCORE, Ints, Mask, NodePlugin, NodeTable, Pod, Reject, Scores
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

    def stop(self) -> None:
        """Measure no hook until the next ``start``."""
        self.is_on = False


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
    """Return the hook at work in ``thread``, read from the local variables ``hook``, ``self``, ``pod`` and ``placed``.

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


# Filters. They are generators as a rule: until what they yield is taken, nothing of them has run.


def collect_rejections(hook: Hook, *args: Any) -> list[Reject]:
    """Run a ``filter`` or ``filter_row`` and return all that it yields. Raises PluginError."""
    hook.calls.number += 1
    run = hook.timer.add_clock(hook) if hook.timer.is_on else hook.run
    answer: Any = ()  # Iterable, so that an error of the call itself is not reported as a wrong answer.
    try:
        answer = run(*args)
        rejects = list(answer)
    except PluginError:
        raise
    except caught_exceptions() as error:
        if not isinstance(answer, Iterable):
            raise _not_iterable_error(hook, answer) from None
        raise hook.error(error) from error
    for reject in rejects:
        if not isinstance(reject, Reject):
            raise hook.error(f"it yielded {reject!r}, not a Reject")
        if not reject.reason or not isinstance(reject.reason, str):
            raise _reason_error(hook, reject.reason)
    return rejects


def rejects_row(hook: Hook, pod: Pod, nodes: NodeTable, state: Any, row: int) -> bool:
    """Return whether a ``filter_row`` yields anything for ``row``. Raises PluginError.

    Neither counted nor timed: this brings cached answers up to date, which is no evaluation of the plugin.
    """
    answer: Any = ()
    try:
        answer = hook.run(pod, nodes, state, row)
        for _ in answer:
            return True
    except caught_exceptions() as error:
        if not isinstance(answer, Iterable):
            raise _not_iterable_error(hook, answer) from None
        raise hook.error(error) from error
    return False


def exhausting(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that yields everything before it returns, so that a clock around the call measures all of it."""

    def run_to_the_end(*args: Any) -> Any:
        answer = run(*args)
        try:
            return list(answer)
        except TypeError:
            if isinstance(answer, Iterable):
                raise
            return answer  # The caller reports it, in words that name the hook.

    return run_to_the_end


def filter_row_from_filter(hook: Hook, timer: HookTimer = UNTIMED) -> Hook:
    """Return a ``filter_row`` for a plugin that has none: its ``filter``, of which one row is looked at."""

    def filter_row(pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
        for reject in collect_rejections(hook, pod, nodes, state):
            if check_rows(hook, reject.rows, len(nodes))[row]:
                resolvable = reject.resolvable if isinstance(reject.resolvable, bool) else bool(reject.resolvable[row])
                yield Reject(True, reject.reason, resolvable, reject.pending)

    return Hook(hook.plugin, hook.name, filter_row, hook.instance, timer=timer)


def _not_iterable_error(hook: Hook, answer: object) -> PluginError:
    what = type(answer).__name__ if isinstance(answer, Reject) else repr(answer)
    return hook.error(f"{hook.name} answered {what}; yield Rejects, or nothing if the pod fits")


def _reason_error(hook: Hook, reason: object) -> PluginError:
    """Return what is wrong with a reason that is no text or empty, in the words of the method that gave it."""
    by_node = isinstance(hook.instance, NodePlugin) and type(hook.instance).filter_node is not NodePlugin.filter_node
    if isinstance(reason, str):
        fits = "; where the pod fits, filter_node returns None" if by_node else ""
        return hook.error(f"the reason of a Reject is empty; say why, for users read it in the pod's events{fits}")
    if by_node:
        return hook.error(f"filter_node answered {reason!r}; expected text or None")
    return hook.error(f"the reason of a Reject is {reason!r}, not text")


def check_rows(hook: Hook, rows: object, size: int) -> Mask:
    """Return ``rows`` of a Reject as a mask of ``size`` rows. Raises PluginError when it is none."""
    if isinstance(rows, np.ndarray) and rows.dtype == np.bool_ and rows.shape == (size,):
        return rows
    if rows is True:
        return np.ones(size, np.bool_)
    raise hook.error(
        f"it rejected {_shape_of(rows)}; expected True, or {_array_of('bool', rows)} for each of {size} nodes"
    )


def check_resolvable(hook: Hook, resolvable: object, size: int) -> None:
    """Refuse what does not tell where evicting pods could help. Raises PluginError."""
    is_mask = isinstance(resolvable, np.ndarray) and resolvable.dtype == np.bool_ and resolvable.shape == (size,)
    if not (is_mask or isinstance(resolvable, bool)):
        raise hook.error(
            f"its resolvable is {_shape_of(resolvable)}; expected True or False, "
            f"or {_array_of('bool', resolvable)} for each of {size} nodes"
        )


# Hooks that accept or reject the pod as a whole.


def check_rejection(hook: Hook, answer: object) -> Reject:
    """Return ``answer`` if it rejects a pod and has a reason in words. Raises PluginError otherwise."""
    if not isinstance(answer, Reject):
        raise unknown_answer_error(hook, answer)
    if not isinstance(answer.reason, str):
        raise hook.error(f"it gave {answer.reason!r} as a reason; expected text")
    return answer


def unknown_answer_error(hook: Hook, answer: object) -> PluginError:
    """Return the error for an answer that the contract does not have."""
    return hook.error(f"it answered {answer!r}, which is not one of its answers")


# Scores.


def check_scores(hook: Hook, scores: object, feasible: Mask) -> Scores:
    """Return ``scores`` if every feasible row has a finite number, wide enough to be added up and weighted.

    Raises PluginError otherwise.
    """
    if not isinstance(scores, np.ndarray) or scores.shape != feasible.shape or scores.dtype.kind not in "iuf":
        expected = f"{_array_of('number', scores)} for each of {len(feasible)} nodes"
        raise hook.error(f"it scored {_shape_of(scores)}; expected {expected}")
    if scores.dtype.kind == "f" and not np.isfinite(scores[feasible]).all():
        raise hook.error("its score of a feasible node is not a finite number")
    # A plugin's int8 would overflow where it is weighted and added up.
    wide = np.float64 if scores.dtype.kind == "f" else np.int64
    return scores if scores.dtype == wide else scores.astype(wide)


def check_normalized_scores(hook: Hook, scores: Scores, feasible: Mask) -> Ints:
    """Return ``scores`` if every feasible row has a whole number from 0 to 100. Raises PluginError otherwise."""
    remedy = f"return whole numbers from 0 to {MAX_SCORE}"
    if hook.name != "normalize_score":
        remedy += ", or add normalize_score = highest_is_best"
    if scores.dtype.kind == "f":
        raise hook.error(f"its scores are {scores.dtype}; {remedy}")
    if is_normalized(scores):
        return scores
    # Rows that are not feasible may hold anything.
    inside = scores[feasible]
    worst = inside.min() if inside.min() < 0 else inside.max()
    if not 0 <= worst <= MAX_SCORE:
        raise hook.error(f"it scored {worst}; {remedy}")
    return scores


def is_normalized(scores: Scores) -> bool:
    """Return whether all scores, infeasible rows included, are whole numbers from 0 to 100."""
    if scores.dtype == np.int64:
        # Read as unsigned, a negative score is a huge one: one pass over the array finds both kinds.
        return bool(scores.view(np.uint64).max() <= MAX_SCORE)
    return scores.dtype.kind in "iu" and bool(scores.min() >= 0 and scores.max() <= MAX_SCORE)


def _shape_of(value: object) -> str:
    return f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


def _array_of(item: str, value: object) -> str:
    """Name what belongs in the place of ``value``: an author who gave an array knows that it is one."""
    return f"a {item}" if isinstance(value, np.ndarray) else f"a numpy array (np.array) with a {item}"
