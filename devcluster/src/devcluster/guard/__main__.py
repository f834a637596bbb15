"""The guard of one cluster: the process that owns the components and ends them.

``python -m devcluster.guard --directory D --parent PID STARTED`` detaches itself, answers on the
socket ``D/guard.sock`` and starts components on request. It ends everything, and removes ``D``, when it
gets SIGTERM or when its parent ends, in whatever way: it watches the parent's process, not a thread or a
pipe. It has one thread, because the death signal of the components depends on the thread that forked them,
and it adopts orphans: so the components die with the guard, and their orphans die with the cluster.

Requests are one JSON object per connection, answered by one JSON object:

* ``{"do": "start", "name": …, "argv": […], "env": {…}}``: start a component; its log is ``D/NAME.log``.
  Without ``argv``: start it again as it was last time.
* ``{"do": "stop", "name": …}``: end a component as a crash would, and wait until it is gone.
* ``{"do": "at_end", "argv": […]}``: run this when every process has ended, before ``D`` is removed.
* ``{"do": "detach"}``: stop watching the parent.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from devcluster.guard import LAST_COMMANDS, LOCK, PROCESSES, run_last_commands
from devcluster.system.files import write_atomically
from devcluster.system.processes import Process, parent_of

SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
SET_CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
REQUEST_SECONDS = 5.0

libc = ctypes.CDLL(None, use_errno=True)


class RefusedRequestError(Exception):
    """A request that cannot be met; the message is the answer."""


class Components:
    """The components by name, with the command and the newest process of each."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._commands: dict[str, tuple[list[str], dict[str, str]]] = {}
        self._processes: dict[str, Process] = {}  # the newest of each, alive or not
        self._last_commands: list[list[str]] = []

    def start(self, name: str, argv: Sequence[str] | None, env: Mapping[str, str] | None) -> Process:
        if self._runs(name):
            raise RefusedRequestError(f"{name} is already running")
        if argv is not None:
            self._commands[name] = (list(argv), dict(env or {}))
        if name not in self._commands:
            raise RefusedRequestError(f"{name} has never run here")
        command, environment = self._commands[name]
        pid = spawn(command, environment, self._directory, self._directory / f"{name}.log")
        self._processes[name] = Process.own(pid)
        self._write(PROCESSES, {name: {"pid": p.pid, "started": p.started} for name, p in self._processes.items()})
        return self._processes[name]

    def stop(self, name: str) -> None:
        if not self._runs(name):
            raise RefusedRequestError(f"{name} is not running")
        process = self._processes[name]
        process.send(signal.SIGKILL)
        os.waitpid(process.pid, 0)

    def at_end(self, argv: Sequence[str]) -> None:
        self._last_commands.append(list(argv))
        self._write(LAST_COMMANDS, {"commands": self._last_commands})

    def _runs(self, name: str) -> bool:
        return name in self._processes and self._processes[name].is_alive

    def _write(self, name: str, content: object) -> None:
        write_atomically(self._directory / name, json.dumps(content), mode=0o600)


def serve(listener: socket.socket, signals: socket.socket, components: Components, parent: Process) -> None:
    """Answer requests until SIGTERM arrives or the parent has ended."""
    watched: list[int] = []
    if parent.is_alive:
        watched = [os.pidfd_open(parent.pid)]
    if not parent.is_alive:  # also when its pid was given to another before we could watch it
        return
    while True:
        ready = set(select.select([listener.fileno(), signals.fileno(), *watched], [], [])[0])
        if ready & set(watched):
            return
        if signals.fileno() in ready:
            if signal.SIGTERM in signals.recv(64):
                return
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0] != 0:
                    pass
        if listener.fileno() in ready and answer(listener, components) == "detach":
            watched = []


def answer(listener: socket.socket, components: Components) -> str:
    """Answer one request, and return the verb of the request."""
    connection, _ = listener.accept()
    connection.settimeout(REQUEST_SECONDS)  # a silent client must not keep us from watching the parent
    with connection, connection.makefile("rw") as stream:
        try:
            request = json.loads(stream.readline())
            reply = obey(request, components)
        except (RefusedRequestError, ValueError, KeyError, OSError) as error:
            request, reply = {"do": "nothing"}, {"error": str(error)}
        with contextlib.suppress(BrokenPipeError):
            stream.write(json.dumps(reply) + "\n")
            stream.flush()
    return str(request["do"])


def obey(request: dict[str, Any], components: Components) -> dict[str, Any]:
    """Do what ``request`` asks for, and return the reply. Raises RefusedRequestError, and KeyError or OSError."""
    match request["do"]:
        case "start":
            process = components.start(request["name"], request.get("argv"), request.get("env"))
            return {"pid": process.pid, "started": process.started}
        case "stop":
            components.stop(request["name"])
        case "at_end":
            components.at_end(request["argv"])
        case "detach":
            pass
        case unknown:
            raise RefusedRequestError(f"the guard cannot do {unknown!r}")
    return {}


def spawn(argv: Sequence[str], env: Mapping[str, str], directory: Path, log: Path) -> int:
    """Start a program that dies when this thread does. By fork and exec: nothing else runs here."""
    guard = os.getpid()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    pid = os.fork()
    if pid:
        os.close(output)
        return pid
    try:
        libc.prctl(SET_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(1)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.chdir(directory)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.execve(argv[0], list(argv), dict(env))  # noqa: S606 - without a shell
    except OSError as error:
        os.write(2, f"{argv[0]} could not be started: {error}\n".encode())
    finally:
        os._exit(127)


def signal_socket() -> socket.socket:
    """A socket that gets a byte for each SIGTERM and SIGCHLD."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    signal.set_wakeup_fd(theirs.detach())
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return ours


def end_children() -> None:
    """Kill all children, and the orphans that become our children by that, until there are none."""
    own = os.getpid()
    with contextlib.suppress(ChildProcessError):
        while True:
            for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
                if parent_of(pid) == own:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)


def detach(log: Path) -> int:
    """Become a process of our own: no terminal, no parent that would have to reap us.

    The process that started us ends, with exit code 0, when a byte is written to the returned descriptor.
    """
    ready, started = os.pipe()
    if os.fork():
        os.close(started)
        os._exit(0 if os.read(ready, 1) else 1)
    os.close(ready)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    return started


def main() -> None:
    parser = argparse.ArgumentParser(prog="devcluster.guard")
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--parent", type=int, nargs=2, metavar=("PID", "STARTED"), required=True)
    arguments = parser.parse_args()
    directory: Path = arguments.directory
    os.chdir(directory)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("guard.sock")  # relative: the path of a socket may not be long
    listener.listen()
    started = detach(directory / "guard.log")
    if libc.prctl(SET_CHILD_SUBREAPER, 1) != 0:
        sys.exit("this system cannot adopt orphaned processes")
    signals = signal_socket()
    alive = (directory / LOCK).open("w")  # locked for as long as we live: see Guard.is_alive
    fcntl.flock(alive, fcntl.LOCK_EX)
    own = Process.own(os.getpid())
    write_atomically(directory / "guard.json", json.dumps({"pid": own.pid, "started": own.started}), mode=0o600)
    os.write(started, b"+")
    os.close(started)
    try:
        serve(listener, signals, Components(directory), Process(*arguments.parent))
    finally:
        end_children()
        run_last_commands(directory)
        os.chdir("/")
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
