"""Who is at work in a thread that is stuck, for whoever looks from another: found on its stack, so that it costs no
decision anything."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ..api import Pod
from .calls import Hook


def suspect(thread: int | None) -> str:
    """The hook that runs in ``thread`` and the pod it runs for, as far as they show."""
    hook, pod = None, None
    for values in _locals_in(thread):
        hook = hook or next((each for each in (values.get("hook"), values.get("self")) if isinstance(each, Hook)), None)
        if isinstance(values.get("pod"), Pod):
            pod = values["pod"]  # The outermost: that of the decision, not one that is tried for its sake.
    about = f" for {pod.key}" if pod else ""
    if hook:
        return f"{hook.name} of plugin {hook.plugin}{about}"
    return f"what is done{about}" if about else "a decision or a plugin"


def _locals_in(thread: int | None) -> Iterator[dict[str, Any]]:
    frame: FrameType | None = sys._current_frames().get(thread or 0)
    while frame:
        yield frame.f_locals
        frame = frame.f_back
