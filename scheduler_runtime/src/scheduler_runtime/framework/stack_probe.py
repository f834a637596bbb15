"""Who is at work in a thread that is stuck, for whoever looks from another: found on its stack, so that it costs no
decision anything."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from scheduler_runtime.api import Pod
from scheduler_runtime.framework.hook import Hook
from scheduler_runtime.framework.outcomes import Placed


@dataclass(frozen=True, slots=True)
class RunningHook:
    """The hook that runs and the pod it runs for, as far as they show."""

    plugin: str = ""
    hook: str = ""
    pod: str = ""

    def __str__(self) -> str:
        about = f" for {self.pod}" if self.pod else ""
        if self.plugin:
            return f"{self.hook} of plugin {self.plugin}{about}"
        return f"what is done{about}" if about else "a decision or a plugin"


def find_running_hook(thread: int | None) -> RunningHook:
    """Who is at work in ``thread``."""
    hook, pod = None, None
    for values in _locals_in(thread):
        hook = hook or next((each for each in (values.get("hook"), values.get("self")) if isinstance(each, Hook)), None)
        placed = values.get("placed")
        about = placed.pod if isinstance(placed, Placed) else values.get("pod")
        if isinstance(about, Pod):
            pod = about  # The outermost: that of the decision, not one that is tried for its sake.
    return RunningHook(hook.plugin if hook else "", hook.name if hook else "", pod.key if pod else "")


def _locals_in(thread: int | None) -> Iterator[dict[str, Any]]:
    frame: FrameType | None = sys._current_frames().get(thread or 0)
    while frame:
        yield frame.f_locals
        frame = frame.f_back
