"""Ending a process whose event loop may be stuck, for example in a plugin that never returns.

A stuck loop hears neither signals nor that the lease is lost. What has to be heard is said to the loop, and a thread
beside it ends the process if the loop does not listen. Nothing is given back then: the lease runs out.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue

from scheduler_runtime.framework import find_running_hook

logger = logging.getLogger(__name__)

ONE_WISH_SECONDS = 1.0
"""The same signal twice within that time is one wish: GNU timeout signals a process, and its group with it in it."""
HEARD_SECONDS = 15.0
"""How long a loop may take to hear that it has to end."""


def run_or_exit(loop: asyncio.AbstractEventLoop, act: Callable[[], None], because: str) -> None:
    """Have ``loop`` act, from any thread. If it does not begin to, the process ends with exit code 1."""
    heard = threading.Event()

    def hear() -> None:
        heard.set()
        act()

    def watch() -> None:
        if not heard.wait(HEARD_SECONDS) and not loop.is_closed():
            _end(f"{because}, and for {HEARD_SECONDS:.0f} s nothing has gone on: {_suspect()} does not end")

    with contextlib.suppress(RuntimeError):  # It has been closed: the process ends already.
        loop.call_soon_threadsafe(hear)
        threading.Thread(target=watch, name="ending", daemon=True).start()


@contextlib.contextmanager
def handle_signals(signals: Iterable[signal.Signals], act: Callable[[], None]) -> Iterator[None]:
    """Have the running loop act on the first of ``signals``; the second ends the process at once.

    The same once more right after the first is the first.

    Handlers of the loop would run only when it turns. These run as soon as the main thread runs Python, in the middle
    of whatever it does and of each other, so they only pass on what came: what takes a lock could wait for itself.
    """
    came: SimpleQueue[tuple[str, float]] = SimpleQueue()

    def hear(number: int, _: object) -> None:
        came.put((signal.Signals(number).name, time.monotonic()))

    threading.Thread(target=_watch, args=(asyncio.get_running_loop(), came, act), name="signals", daemon=True).start()
    before = {each: signal.signal(each, hear) for each in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        came.put(("", 0.0))


def _watch(loop: asyncio.AbstractEventLoop, came: SimpleQueue[tuple[str, float]], act: Callable[[], None]) -> None:
    first, at = came.get()
    if not first:
        return
    run_or_exit(loop, _said(f"{first}: ending", act), first)
    second, again_at = came.get()
    while second == first and again_at - at < ONE_WISH_SECONDS:
        second, again_at = came.get()
    if second:
        _end(f"{second} after {first}")


def _said(line: str, act: Callable[[], None]) -> Callable[[], None]:
    def say_and_act() -> None:
        logger.info("%s", line)
        act()

    return say_and_act


def _suspect() -> str:
    return str(find_running_hook(threading.main_thread().ident))


def _end(because: str) -> None:
    logger.critical("ending with exit code 1: %s", because)
    os._exit(1)
