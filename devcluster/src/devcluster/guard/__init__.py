"""Requests to a cluster's guard, the process that owns the components (``devcluster.guard.__main__``)."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devcluster.system.errors import DevclusterError
from devcluster.system.processes import Process

END_SECONDS = 15.0
LOCK = "guard.lock"
PROCESSES = "processes.json"
LAST_COMMANDS = "at_end.json"
LAST_COMMAND_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Guard:
    """The guard of the cluster in ``directory``. It ends with this process until it is detached."""

    directory: Path

    @classmethod
    def begin(cls, directory: Path) -> Guard:
        """Start a guard for an empty directory."""
        own = Process.of(os.getpid())
        if own is None:
            raise DevclusterError("/proc does not show this process: devcluster needs Linux with /proc mounted")
        parent = [str(own.pid), str(own.started)]
        command = [sys.executable, "-P", "-m", "devcluster.guard", "--directory", str(directory), "--parent", *parent]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            log = directory / "guard.log"
            tail = log.read_text(errors="replace")[-500:] if log.exists() else "no reason given"
            raise DevclusterError(f"the cluster's guard did not start: {answer.stderr.strip() or tail}")
        return cls(directory)

    def start(self, name: str, argv: Sequence[str] | None = None, env: Mapping[str, str] | None = None) -> Process:
        """Start a component; without ``argv`` as it was started last time. Raises DevclusterError."""
        request: dict[str, Any] = {"do": "start", "name": name}
        if argv is not None:
            request |= {"argv": list(argv), "env": dict(env or {})}
        answer = self._ask(request)
        return Process(answer["pid"], answer["started"])

    def stop(self, name: str) -> None:
        """End a component at once, as a crash would; it has ended when this returns. Raises DevclusterError."""
        self._ask({"do": "stop", "name": name})

    def detach(self) -> None:
        """Let the cluster outlive this process."""
        self._ask({"do": "detach"})

    def at_end(self, argv: Sequence[str]) -> None:
        """Have a command run after every process of the cluster has ended, for cleaning up after them."""
        self._ask({"do": "at_end", "argv": list(argv)})

    def components(self) -> dict[str, Process]:
        """The components that run now."""
        return {name: process for name, process in self._started().items() if process.is_alive}

    def stopped(self) -> list[str]:
        """The components that were started and do not run now."""
        return [name for name, process in self._started().items() if not process.is_alive]

    @property
    def is_alive(self) -> bool:
        """True while the guard runs: by its lock, which is visible from other process namespaces too."""
        try:
            with (self.directory / LOCK).open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def end(self) -> None:
        """End every process of the cluster and remove its directory."""
        entry, components = _read(self.directory / "guard.json"), self.components()
        if entry:
            guard = Process(entry["pid"], entry["started"])
            guard.send(signal.SIGTERM)
            commands = _read(self.directory / LAST_COMMANDS).get("commands", [])
            if not guard.ended(END_SECONDS + len(commands) * LAST_COMMAND_SECONDS):
                guard.send(signal.SIGKILL)  # its components die with it
        for process in components.values():
            process.send(signal.SIGKILL)
            process.ended(END_SECONDS)
        if self.directory.exists():
            run_last_commands(self.directory)
        shutil.rmtree(self.directory, ignore_errors=True)
        if self.directory.exists():
            raise DevclusterError(f"{self.directory} could not be removed: remove it by hand")

    def _started(self) -> dict[str, Process]:
        recorded = _read(self.directory / PROCESSES)
        return {name: Process(entry["pid"], entry["started"]) for name, entry in recorded.items()}

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        directory = os.open(self.directory, os.O_RDONLY)
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(f"/proc/self/fd/{directory}/guard.sock")  # the path of a socket may not be long
                with connection.makefile("rw") as stream:
                    stream.write(json.dumps(request) + "\n")
                    stream.flush()
                    answer: dict[str, Any] = json.loads(stream.readline() or '{"error": "it ended"}')
        except OSError as error:
            raise DevclusterError(
                f"the guard of the cluster in {self.directory} does not answer ({error}): make a new cluster"
            ) from error
        finally:
            os.close(directory)
        if reason := answer.get("error"):
            raise DevclusterError(f"the cluster's guard refused to {request['do']}: {reason}")
        return answer


def run_last_commands(directory: Path) -> None:
    """Run the commands of ``at_end`` in their order, each once; a command that fails does not stop the next."""
    commands: list[list[str]] = _read(directory / LAST_COMMANDS).get("commands", [])
    (directory / LAST_COMMANDS).unlink(missing_ok=True)
    for command in commands:
        try:
            answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LAST_COMMAND_SECONDS)
            failure = answer.stderr.strip() if answer.returncode else ""
        except (OSError, subprocess.SubprocessError) as error:
            failure = str(error)
        if failure:
            sys.stderr.write(f"{' '.join(command)}: {failure}\n")


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return content
