"""Exit of a process whose event loop is stuck, for example in a plugin that never returns.

A stuck loop handles neither signals nor the loss of the lease. So both are passed to the loop, and a thread ends the
process if the loop does not react. Nothing is given back then: the lease expires.
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

REPEAT_SECONDS = 1.0
"""The same signal again within this time counts as one: GNU timeout signals a process, and its group with it in it."""
REACTION_SECONDS = 15.0
"""How long a loop may take to react."""


def run_or_exit(loop: asyncio.AbstractEventLoop, act: Callable[[], None], because: str) -> None:
    """Call ``act`` in ``loop``, from any thread. If the loop does not react, the process ends with exit code 1."""
    has_reacted = threading.Event()

    def react() -> None:
        has_reacted.set()
        act()

    def watch() -> None:
        if not has_reacted.wait(REACTION_SECONDS) and not loop.is_closed():
            hook = find_running_hook(threading.main_thread().ident)
            _exit(f"{because}, and for {REACTION_SECONDS:.0f} s nothing has gone on: {hook} does not end")

    with contextlib.suppress(RuntimeError):  # the loop is closed: the process ends already
        loop.call_soon_threadsafe(react)
        threading.Thread(target=watch, name="forced-exit", daemon=True).start()


@contextlib.contextmanager
def handle_signals(signals: Iterable[signal.Signals], act: Callable[[], None]) -> Iterator[None]:
    """Call ``act`` in the running loop at the first of ``signals``; the second ends the process at once.

    Handlers of the loop (``add_signal_handler``) would not run while it is stuck. Those of the ``signal`` module run
    as soon as the main thread executes Python, in the middle of whatever it does and even of each other. So they only
    put the signal on a queue that needs no lock: taking a lock could wait for the very code that was interrupted.
    """
    arrived: SimpleQueue[tuple[str, float]] = SimpleQueue()
    loop = asyncio.get_running_loop()

    def on_signal(number: int, _: object) -> None:
        arrived.put((signal.Signals(number).name, time.monotonic()))

    def watch() -> None:
        first, at = arrived.get()
        if not first:
            return

        def log_and_act() -> None:
            logger.info("%s: ending", first)
            act()

        run_or_exit(loop, log_and_act, first)
        second, again_at = arrived.get()
        while second == first and again_at - at < REPEAT_SECONDS:
            second, again_at = arrived.get()
        if second:
            _exit(f"{second} after {first}")

    threading.Thread(target=watch, name="signals", daemon=True).start()
    before = {number: signal.signal(number, on_signal) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        arrived.put(("", 0.0))  # ends the thread


def _exit(because: str) -> None:
    logger.critical("ending with exit code 1: %s", because)
    os._exit(1)  # sys.exit would end this thread alone
