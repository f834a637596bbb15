"""Memory and CPU of the programs in the scene, of the attackers and of the bench, as the kernel counts them."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.cluster.process_stats import cpu_seconds, process_state
from devcluster import Cluster

BERTH = ("scheduler", "operator")
"""Names of Berth's containers."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What programs took in a phase."""

    megabytes: Mapping[str, float]
    """The most at any time: all processes of a container together, of the largest container of the program."""
    cores: Mapping[str, float]
    """CPU seconds a second, of all processes of the program."""

    def describe(self) -> str:
        """Both as text for people."""
        memory = ", ".join(f"{name} {peak:.0f} MB" for name, peak in sorted(self.megabytes.items()))
        cores = sorted(self.cores.items(), key=lambda item: -item[1])
        return f"{memory}; CPU: " + ", ".join(f"{name} {share:.2f}" for name, share in cores if share >= 0.01)


@dataclass(slots=True)
class UsageMeter:
    """The programs of a cluster, sampled now and then. One for each phase."""

    cluster: Cluster
    _began: float = field(default_factory=time.monotonic)
    _megabytes: dict[str, float] = field(default_factory=dict)
    _before: dict[int, float] | None = None
    """CPU seconds by process when the phase began; one that is not here began later."""
    _after: dict[int, tuple[str, float]] = field(default_factory=dict)

    def sample(self) -> None:
        """Take note of what each process has now."""
        megabytes, now = defaultdict[tuple[str, str], float](float), dict[int, tuple[str, float]]()
        for pid, program, container in self._processes():
            try:
                now[pid] = program, cpu_seconds(pid)
                megabytes[program, container] += process_state(pid).resident_bytes / 2**20
            except OSError:
                continue  # it has ended meanwhile
        self._after |= now
        if self._before is None:
            self._before = {pid: seconds for pid, (_, seconds) in now.items()}
        for (program, _), total in megabytes.items():
            self._megabytes[program] = max(self._megabytes.get(program, 0.0), total)

    def usage(self) -> Usage:
        """What was seen so far."""
        seconds, before = defaultdict[str, float](float), self._before or {}
        for pid, (program, total) in self._after.items():
            seconds[program] += total - before.get(pid, 0.0)
        elapsed = time.monotonic() - self._began
        watched = (*BERTH, "kube-scheduler")
        return Usage(
            {name: peak for name, peak in self._megabytes.items() if name in watched},
            {name: used / elapsed for name, used in seconds.items()},
        )

    def _processes(self) -> Iterator[tuple[int, str, str]]:
        """Each process, its program, and what all processes of its container have in common."""
        for program, pid in self.cluster.pids().items():
            yield pid, program, ""
        yield os.getpid(), "bench", ""
        for child in multiprocessing.active_children():
            yield child.pid or 0, "attackers", ""
        inside = b"HOME=%b/" % bytes(self.cluster.directory)
        for directory in Path("/proc").iterdir():
            if directory.name.isdigit():
                try:
                    command = (directory / "cmdline").read_bytes()
                    environment = (directory / "environ").read_bytes().split(b"\0")
                except OSError:
                    continue  # it has ended meanwhile
                # A container's home is in the cluster's directory, and its init is only its guardian.
                home = next((line.decode() for line in environment if line.startswith(inside)), "")
                program = home.rpartition("/containers/")[2]
                if program in BERTH and b"/init.py\0" not in command:
                    yield int(directory.name), program, home
