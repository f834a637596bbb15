"""Processes by identity: a pid alone may belong to another process by now."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """One process; the time of its start distinguishes it from a later one with the same pid."""

    pid: int
    started: int  # clock ticks since boot

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """The process that has this pid now, unless it has ended and only waits to be reaped."""
        try:
            state, process = cls._look(pid)
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if state in "ZX" else process

    @classmethod
    def own(cls, pid: int) -> Process:
        """The process with a pid that cannot be another's: this process, or a child that was not reaped yet."""
        return cls._look(pid)[1]

    @classmethod
    def _look(cls, pid: int) -> tuple[str, Process]:
        fields = stat_fields(pid)
        return fields[0], cls(pid, int(fields[19]))

    @property
    def is_alive(self) -> bool:
        return Process.of(self.pid) == self

    def send(self, number: signal.Signals) -> None:
        """Send a signal to this process and no other; do nothing if it has ended."""
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(self.pid)  # from here on the pid cannot be given to another
            try:
                if self.is_alive:
                    signal.pidfd_send_signal(descriptor, number)
            finally:
                os.close(descriptor)

    def ended(self, within_seconds: float) -> bool:
        """Wait until the process has ended; False if it has not in that time."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        try:
            return not self.is_alive or bool(select.select([descriptor], [], [], within_seconds)[0])
        finally:
            os.close(descriptor)


def parent_of(pid: int) -> int | None:
    """The pid of a process's parent, or None when there is no such process."""
    try:
        return int(stat_fields(pid)[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


def stat_fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on: the name before it may hold anything."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
