"""The processes of this node: started under an init of their own, ended without a trace.

Everything here runs in the agent's main thread. That is not only asyncio's habit: the kernel sends the death signal
(PR_SET_PDEATHSIG) when the *thread* that forked a process ends.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devcluster.node import init

_INIT = (sys.executable, "-I", "-S", init.__file__)


class NotStarted(Exception):  # noqa: N818 - it reads as what it says
    """A program could not be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A command with its environment and working directory."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    forks: bool = True  # False: it starts nothing, so it needs no init


class RunningProgram:
    """A running program. ``ended`` gives its return code: negative for the signal that killed it."""

    def __init__(self, popen: "subprocess.Popen[bytes]", end_signal: int) -> None:
        self._popen = popen
        self._end_signal = end_signal
        self._loop = asyncio.get_running_loop()
        self._terminating = False
        self._timer: asyncio.TimerHandle | None = None
        self._descriptor = os.pidfd_open(popen.pid)
        self.ended: asyncio.Future[int] = self._loop.create_future()
        self._loop.add_reader(self._descriptor, self._reap)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def terminate(self) -> None:
        """Send SIGTERM, once: further calls do nothing."""
        if not self._terminating:
            self._terminating = True
            self._popen.send_signal(signal.SIGTERM)

    def end_within(self, seconds: float) -> None:
        """Kill the program and all it started unless it ends in time; the earliest such moment counts."""
        moment = self._loop.time() + seconds
        if self._timer is not None:
            if self._timer.when() <= moment:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(moment, self._popen.send_signal, self._end_signal)

    def _reap(self) -> None:
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        if self._timer is not None:
            self._timer.cancel()
        self.ended.set_result(self._popen.wait())


class Processes:
    """Every process the agent has started and that has not ended.

    With ``sole_parent`` it also ends what remains when somebody kills an init: any child of this process that is not
    one of these. So this process must have no other children then.
    """

    def __init__(self, *, sole_parent: bool) -> None:
        self._sole_parent = sole_parent
        if sole_parent:
            init.adopt_orphans()
        self._running: dict[int, RunningProgram] = {}

    def start(self, program: Program, output: Path) -> RunningProgram:
        """Start ``program`` with its output going to the end of the file ``output``. Raises NotStarted."""
        name, path = program.argv[0], program.environment.get("PATH", "")
        executable = shutil.which(str(program.directory / name) if "/" in name else name, path=path)
        if executable is None:
            raise NotStarted(f"{name}: no such executable in PATH={path}")
        argv = [executable, *program.argv[1:]]
        mode = [] if program.forks else ["--exec"]
        with output.open("ab") as sink:
            popen = subprocess.Popen(
                [*_INIT, str(os.getpid()), *mode, *argv],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env=dict(program.environment),
                cwd=program.directory,
                start_new_session=True,  # a Ctrl-C meant for the agent is not meant for the pods
            )
        process = RunningProgram(popen, init.END_NOW if program.forks else signal.SIGKILL)
        self._running[process.pid] = process
        process.ended.add_done_callback(lambda _: self._forget(process))
        return process

    async def end_all(self, grace_seconds: float) -> None:
        """End every process, and return when they have ended."""
        running = list(self._running.values())
        for process in running:
            process.terminate()
            process.end_within(grace_seconds)
        await asyncio.gather(*(process.ended for process in running))

    def _forget(self, process: RunningProgram) -> None:
        del self._running[process.pid]
        while self._sole_parent and (orphans := init.children() - self._running.keys()):
            for orphan in orphans:  # its own children become ours with its end
                os.kill(orphan, signal.SIGKILL)
                os.waitpid(orphan, 0)
