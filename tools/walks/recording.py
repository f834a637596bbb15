"""A recording as stacks of calls, and the part of the stacks that belongs to a walk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any


class WalkError(Exception):
    """Something that a walk needs did not happen, or is not in the recording."""


@dataclass(frozen=True, slots=True)
class Points:
    """Where walks begin and end: regular expressions for ``path:function``. Everything else is seen from arguments."""

    transport: str = r"^scheduler_runtime/kube/(http|http2|client)"
    """Functions that only carry bytes: a walk begins where the first object is made of them."""
    handlers: str = r"^scheduler_operator/kopf_seam/handlers\.py:"
    filter: str = r"/noderesources/fit\.py:NodeResourcesFit\.filter$"
    assume: str = r"/cache\.py:Cache\.assume$"
    """The first thing that is done with the chosen node."""
    swap: str = r":.*\.(_swap|commit)$"


@dataclass(frozen=True, slots=True)
class Call:
    """A function that is called, or a coroutine or generator that goes on."""

    path: str
    function: str
    depth: int
    """How many of our functions are below on the stack."""
    mention: str
    """``name``, ``status`` or the name of an event, if an argument is about the object of the walk."""

    @property
    def point(self) -> str:
        return f"{self.path}:{self.function}"

    @property
    def is_event(self) -> bool:
        """Whether an argument is the name of a Kubernetes event about the object of the walk."""
        return self.mention not in ("", "name", "status")

    @property
    def unit(self) -> str:
        """The package or module directly below the distribution's package."""
        return "/".join(self.path.split("/")[:2]).removesuffix(".py")


Stack = tuple[Call, ...]
"""The calls of one callback or one step of a task, in order."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What somebody meets who reads along."""

    calls: int
    functions: int
    files: int
    units: int
    file_switches: int
    unit_switches: int


def stacks_of(recording: dict[str, Any]) -> list[Stack]:
    """Cut a recording where the event loop begins another callback or step."""
    stacks: list[list[Call]] = []
    for number, depth, mention in recording["calls"]:
        if depth == 0 or not stacks:
            stacks.append([])
        path, function = recording["functions"][number]
        stacks[-1].append(Call(path, function, depth, mention))
    return [tuple(stack) for stack in stacks]


def count(calls: Sequence[Call]) -> Counts:
    """Count what a walk leads through; a switch is a call in another file or unit than the call before."""
    return Counts(
        calls=len(calls),
        functions=len({call.point for call in calls}),
        files=len({call.path for call in calls}),
        units=len({call.unit for call in calls}),
        file_switches=sum(one.path != other.path for one, other in pairwise(calls)),
        unit_switches=sum(one.unit != other.unit for one, other in pairwise(calls)),
    )


class Walks:
    """The walks in the recordings of one tree."""

    def __init__(self, recordings: dict[str, Any], points: Points) -> None:
        self._points = points
        self._stacks = {name: stacks_of(recording) for name, recording in recordings.items()}
        self._background = {
            stack[0].point
            for name in ("idle", "idle operator")
            for stack in self._stacks[name]
            if not self._is_transport(stack) and not stack[0].path.startswith("scheduler_operator/")
        }

    def all(self) -> dict[str, list[Call]]:
        """Return the calls of every walk by its title."""
        bound = self._one_line("bound")
        decision = next(number for number, stack in enumerate(bound) if number and not self._is_transport(stack))
        document = _joined(self._from_line("document"))
        swap = self._swap(document)
        preemption = self._from_line("preempts")
        # the first event says that the pod fits nowhere yet, the last one that the pod is bound
        binding_event = [call.mention for stack in preemption for call in stack if call.is_event][-1]
        first = _joined(self._one_line("first of its class"))
        chosen = next(number for number, call in enumerate(first) if re.search(self._points.assume, call.point))
        filtered = max(
            number for number, call in enumerate(first[:chosen]) if re.search(self._points.filter, call.point)
        )
        return {
            "(a) pod line → bound → event handed to the outbox": _joined(bound),
            "  · line → queue": list(bound[0]),
            "  · decision": _joined(bound[1 : decision + 1]),
            "  · binding and event": _joined(bound[decision + 1 :]),
            "(b) pod line → FailedScheduling": _joined(self._one_line("fails")),
            "(b′) node change → the pod is active again": list(self._from_line("wakes")[0]),
            "(c) ConfigMap line → swap": document[: swap.stop],
            "(c′) the swap itself": document[swap],
            "(d) kopf handler → status reported": _joined(self._profile()),
            "(e) preemption: line → deleted → bound → event": _joined(
                _until(preemption, lambda call: call.mention == binding_event)
            ),
            "(f) array of NodeResourcesFit.filter → chosen row": first[filtered:chosen],
        }

    def _from_line(self, name: str) -> list[Stack]:
        """Return the stacks from the one that makes an object of the line, without background."""
        stacks = self._stacks[name]
        begin = next(
            number for number, stack in enumerate(stacks) if _mentions(stack) and not self._is_transport(stack)
        )
        return [stack for stack in stacks[begin:] if _mentions(stack) or stack[0].point not in self._background]

    def _one_line(self, name: str) -> list[Stack]:
        """Return the stacks until the event about the pod is handed over, without further lines of watches.

        The line about our own binding comes before or after the answer to the binding, as the API server likes.
        """
        stacks = self._stacks[name]
        arrival = next(stack[0].point for stack in stacks if _mentions(stack))
        first, *others = self._from_line(name)
        others = [
            stack
            for stack in others
            if stack[0].point != first[0].point and not (stack[0].point == arrival and _mentions(stack))
        ]
        return _until([first, *others], lambda call: call.is_event)

    def _swap(self, calls: Sequence[Call]) -> slice:
        """Return the range from the first call of the swap to the end of the last."""
        begin, *others = (number for number, call in enumerate(calls) if re.search(self._points.swap, call.point))
        last = max((begin, *others))
        end = last + 1
        while end < len(calls) and calls[end].depth > calls[last].depth:
            end += 1
        return slice(begin, end)

    def _profile(self) -> list[Stack]:
        stacks = self._stacks["profile"]
        begin = next(
            number
            for number, stack in enumerate(stacks)
            if _mentions(stack) and re.search(self._points.handlers, stack[0].point)
        )
        return _until(stacks[begin:], lambda call: call.mention == "status")

    def _is_transport(self, stack: Iterable[Call]) -> bool:
        return all(re.search(self._points.transport, call.point) for call in stack)


def _mentions(stack: Stack) -> bool:
    return any(call.mention for call in stack)


def _until(stacks: Sequence[Stack], is_end: Callable[[Call], bool]) -> list[Stack]:
    """Return the stacks up to the first call that is the end; raise WalkError if there is none."""
    for number, stack in enumerate(stacks):
        for position, call in enumerate(stack, 1):
            if is_end(call):
                return [*stacks[:number], stack[:position]]
    raise WalkError(f"the recording has no end of the walk: {len(stacks)} stacks from {stacks[0][0].point}")


def _joined(stacks: Iterable[Stack]) -> list[Call]:
    return [call for stack in stacks for call in stack]
