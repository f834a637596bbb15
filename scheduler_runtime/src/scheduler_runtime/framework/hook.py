"""Calling a plugin: whatever goes wrong inside becomes a PluginError that names plugin and hook."""

from __future__ import annotations

from asyncio import CancelledError, current_task
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from scheduler_runtime.api import MAX_SCORE, Ints, Mask, NodePlugin, NodeTable, Pod, Reject, Scores
from scheduler_runtime.framework.outcomes import PluginError, failures


def caught_exceptions() -> tuple[type[BaseException], ...]:
    """What a hook may raise. That it was cancelled is our doing only where it is awaited, and then not always."""
    return (*failures(), CancelledError)


def is_our_cancellation(error: BaseException) -> bool:
    """Whether ``error`` of something awaited is that this task is to end.

    It is not when the plugin waited for something that it, or a library of its, had cancelled.
    """
    task = current_task()
    return isinstance(error, CancelledError) and task is not None and task.cancelling() > 0


class Count(Protocol):
    """Something that is counted."""

    number: float


class Uncounted:
    """A count that nobody looks at."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0.0


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook of one plugin, bound and ready."""

    plugin: str
    name: str
    run: Callable[..., Any]
    asked: Count = field(default_factory=Uncounted, compare=False)
    """How often it is run."""
    of: object = field(default=None, compare=False, repr=False)
    """The plugin itself, for what is told of a failure."""

    def __call__(self, *args: Any) -> Any:
        """Run it. Raises PluginError for whatever it raises."""
        self.asked.number += 1
        try:
            return self.run(*args)
        except PluginError:
            raise  # Of a hook that this one stands for.
        except caught_exceptions() as error:
            raise self.error(error) from error

    def error(self, problem: object) -> PluginError:
        """That it failed, and how."""
        what = format_exception(problem) if isinstance(problem, BaseException) else problem
        return PluginError(self.plugin, self.name, what, self.of)


def format_exception(error: BaseException) -> str:
    """An exception with its type: the text of a KeyError is a key alone. A PluginError says all there is to say."""
    text = str(error)
    if isinstance(error, PluginError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def rejections(hook: Hook, *args: Any) -> list[Reject]:
    """What a filter yields, all of it. Raises PluginError."""
    hook.asked.number += 1
    answer: Any = ()
    try:
        answer = hook.run(*args)
        found = list(answer)
    except PluginError:
        raise
    except caught_exceptions() as error:
        raise not_iterable_error(hook, answer) or hook.error(error) from raised_in(answer, error)
    for reject in found:
        if not isinstance(reject, Reject):
            raise hook.error(f"it yielded {reject!r}, not a Reject")
        if not reject.reason or not isinstance(reject.reason, str):
            raise hook.error(_unexplained(hook, reject.reason))
    return found


def exhausting(run: Callable[..., Any]) -> Callable[..., Any]:
    """What a filter yields, all of it: until then it has not run."""

    def whole(*args: Any) -> Any:
        answer = run(*args)
        try:
            return list(answer)
        except TypeError:
            if isinstance(answer, Iterable):
                raise
            return answer  # who asked says what is wrong with it

    return whole


def not_iterable_error(hook: Hook, answer: object) -> PluginError | None:
    """That a filter answered at once; None if it did not."""
    if isinstance(answer, Iterable):
        return None
    said = type(answer).__name__ if isinstance(answer, Reject) else repr(answer)
    return hook.error(f"{hook.name} answered {said}; yield Rejects, and none where the pod fits")


def raised_in(answer: object, error: BaseException) -> BaseException | None:
    """``error`` if a filter raised it that yields as it should."""
    return error if isinstance(answer, Iterable) else None


def _unexplained(hook: Hook, reason: object) -> str:
    """What is wrong with a reason that is none, in the words of the method that gave it."""
    by_node = isinstance(hook.of, NodePlugin) and type(hook.of).filter_node is not NodePlugin.filter_node
    if not isinstance(reason, str):
        said = f"filter_node answered {reason!r}; wanted is text or None"
        return said if by_node else f"the reason of a Reject is {reason!r}, not text"
    fits = "; where the pod fits, filter_node returns None" if by_node else ""
    return f"the reason of a Reject is empty; say why, for users read it in the pod's events{fits}"


def checked_rejection(hook: Hook, answer: object) -> Reject:
    """``answer`` if it rejects a pod, and says why. Raises PluginError otherwise."""
    if not isinstance(answer, Reject):
        raise unknown(hook, answer)
    if not isinstance(answer.reason, str):
        raise hook.error(f"it gave {answer.reason!r} as a reason; wanted is text")
    return answer


def unknown(hook: Hook, answer: object) -> PluginError:
    """That a hook answered what the contract does not know."""
    return hook.error(f"it answered {answer!r}, which is not one of its answers")


def row_of_filter(hook: Hook) -> Hook:
    """A ``filter_row`` for a plugin that has none: its ``filter``, looked at in one row."""

    def filter_row(pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
        for reject in rejections(hook, pod, nodes, state):
            if checked_rows(hook, reject.rows, len(nodes))[row]:
                where = reject.resolvable
                resolvable = where if isinstance(where, bool) else bool(where[row])
                yield Reject(True, reject.reason, resolvable, reject.pending)

    return Hook(hook.plugin, "filter", filter_row, of=hook.of)


def checked_rows(hook: Hook, rows: object, size: int) -> Mask:
    """``rows`` as a mask of ``size`` rows. Raises PluginError when it is none."""
    if isinstance(rows, np.ndarray) and rows.dtype == np.bool_ and rows.shape == (size,):
        return rows
    if rows is True:
        return np.ones(size, np.bool_)
    raise hook.error(
        f"it rejected {_shape_of(rows)}; wanted is True, or {_an_array(rows, 'bool')} for each of {size} nodes"
    )


def checked_resolvable(hook: Hook, resolvable: object, size: int) -> None:
    """Refuse what does not say where evicting pods could help. Raises PluginError."""
    is_mask = isinstance(resolvable, np.ndarray) and resolvable.dtype == np.bool_ and resolvable.shape == (size,)
    if not (is_mask or isinstance(resolvable, bool)):
        raise hook.error(
            f"it said where it is resolvable by {_shape_of(resolvable)}; wanted is True or False, "
            f"or {_an_array(resolvable, 'bool')} for each of {size} nodes"
        )


def checked_scores(hook: Hook, scores: object, feasible: Mask) -> Scores:
    """``scores`` if it has a finite number for every feasible row, wide enough to be added up and weighted.

    Raises PluginError otherwise.
    """
    if not isinstance(scores, np.ndarray) or scores.shape != feasible.shape or scores.dtype.kind not in "iuf":
        wanted = f"{_an_array(scores, 'number')} for each of {len(feasible)} nodes"
        raise hook.error(f"it scored {_shape_of(scores)}; wanted is {wanted}")
    if scores.dtype.kind == "f" and not np.isfinite(scores[feasible]).all():
        raise hook.error("its score of a feasible node is not a finite number")
    wide = np.float64 if scores.dtype.kind == "f" else np.int64
    return scores if scores.dtype == wide else scores.astype(wide)


def checked_normalised(hook: Hook, scores: Scores, feasible: Mask) -> Ints:
    """``scores`` if every feasible row has a whole number from 0 to 100. Raises PluginError otherwise."""
    if scores.dtype.kind == "f":
        raise hook.error(f"its scores are {scores.dtype}; {_remedy(hook)}")
    # Seen as unsigned, a negative score is a huge one: one look finds both kinds.
    if scores.dtype == np.int64 and scores.view(np.uint64).max() <= MAX_SCORE:
        return scores
    inside = scores[feasible]
    worst = inside.min() if inside.min() < 0 else inside.max()
    if not 0 <= worst <= MAX_SCORE:
        raise hook.error(f"it scored {worst}; {_remedy(hook)}")
    return scores


def _remedy(hook: Hook) -> str:
    """What to do about scores that cannot be added to those of others."""
    remedy = f"return whole numbers from 0 to {MAX_SCORE}"
    return remedy if hook.name == "normalize_score" else f"{remedy}, or add normalize_score = highest_is_best"


def _shape_of(value: object) -> str:
    return f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


def _an_array(value: object, of: str) -> str:
    """What is wanted in the place of ``value``: whoever gave an array knows that it is one."""
    return f"a {of}" if isinstance(value, np.ndarray) else f"a numpy array (np.array) with a {of}"
