"""A program whose event loop is stuck in a plugin: ``python -m tests.support.stuck REACTION_SECONDS LOOP [lost]``."""

from __future__ import annotations

import asyncio
import importlib
import logging
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

from scheduler_runtime import testing
from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject
from scheduler_runtime.app import forced_exit


class Stuck(Plugin):
    """Prints a line when it begins, and never returns."""

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        sys.stdout.write("stuck\n")
        sys.stdout.flush()
        while True:
            # A signal that comes between two instructions, right before a sleep, is handled when that sleep is over.
            time.sleep(1)
        yield Reject(nodes.unschedulable, "cordoned")


async def decide(*, is_lost: bool) -> None:
    """Begin a decision that does not end; with ``is_lost`` the loop is to react to the loss of the lease."""
    decides = testing.framework({"plugins": {"multiPoint": {"enabled": [{"name": "Stuck"}]}}}, Stuck)
    with forced_exit.handle_signals((signal.SIGTERM, signal.SIGINT), lambda: None):
        if is_lost:
            forced_exit.run_or_exit(asyncio.get_running_loop(), lambda: None, "lease a/b is not held any more")
        decides.schedule(testing.pod("p"), testing.Cluster(testing.node("a"), testing.node("b")))


def main() -> None:
    """Run as the command line says."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    forced_exit.REACTION_SECONDS = float(sys.argv[1])
    importlib.import_module(sys.argv[2]).run(decide(is_lost="lost" in sys.argv))


if __name__ == "__main__":
    main()
