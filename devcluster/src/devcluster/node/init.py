"""The first process of a container: it runs the program and ends with everything the program started.

``init.py PARENT ARGV...`` is run by path in an isolated interpreter, so it imports little and nothing of Berth.
It adopts what the program leaves behind (child subreaper), so that a program which forks, daemonises or is killed
leaves no process. Three signals reach it:

* ``SIGTERM`` is passed on to the program's process group;
* ``END_NOW`` kills everything; the kernel sends the same signal when PARENT, the agent, dies in whatever way;
* ``SIGCHLD`` means that a child ended. When it was the program, the rest is killed and this process ends in the
  same way: with the same exit code, or by the same signal.

The program has the host name in ``HOSTNAME``, if this process may have one of its own.

``init.py PARENT --exec ARGV...`` becomes the program itself, for a program known to start nothing.
"""

import ctypes
import os
import resource
import signal
import sys

END_NOW = signal.SIGUSR1
CANNOT_RUN = 126

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLONE_NEWUTS = 0x04000000
_LONGEST_HOST_NAME = 63
_WATCHED = (signal.SIGTERM, signal.SIGCHLD, END_NOW)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}, {value}): {os.strerror(number)}")


def die_with_parent(number: int, parent: int) -> None:
    """Have the kernel send signal ``number`` to this process when ``parent``'s forking thread ends."""
    _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:  # it ended before the prctl took effect
        os.kill(os.getpid(), number)


def take_host_name(name: str) -> None:
    """Have a host name of our own, as in a pod, where the kernel allows it: kube-scheduler calls itself by that."""
    libc = ctypes.CDLL(None, use_errno=True)
    host = name[:_LONGEST_HOST_NAME].rstrip("-.").encode()  # as a kubelet cuts it
    if host and libc.unshare(_CLONE_NEWUTS) == 0:
        libc.sethostname(host, len(host))


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def children() -> set[int]:
    """The process ids of this process's children, adopted ones included."""
    pids: set[int] = set()
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
                pids.update(map(int, file.read().split()))
        except FileNotFoundError:  # the thread has ended, and another has its children
            continue
    return pids


def _kill_descendants() -> dict[int, int]:
    """Kill every descendant; return how each ended. A killed one's children become ours and follow."""
    ended: dict[int, int] = {}
    while True:
        for pid in children():
            os.kill(pid, signal.SIGKILL)  # ours and not yet waited for: the number cannot be reused
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return ended
        ended[pid] = status


def _become(argv: list[str]) -> None:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program would inherit that
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    os._exit(CANNOT_RUN)


def run(argv: list[str]) -> int:
    """Run the program to its end and return its wait status, once none of its descendants is left."""
    own = os.getpid()
    program = os.fork()
    if program == 0:
        os.setsid()
        die_with_parent(signal.SIGKILL, own)
        _become(argv)
    while True:
        number = signal.sigwait(_WATCHED)
        if number == END_NOW:
            return _kill_descendants()[program]
        if number == signal.SIGTERM:
            try:
                os.killpg(program, signal.SIGTERM)
            except ProcessLookupError:  # it has not made its own group yet
                os.kill(program, signal.SIGTERM)
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == program:
                _kill_descendants()
                return ended[1]


def end_like(status: int) -> None:
    """End this process as the program ended: with its exit code, or by its signal."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left its core, if any
        signal.signal(number, signal.SIG_DFL) if number not in (signal.SIGKILL, signal.SIGSTOP) else None
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (number,))
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def main(arguments: list[str]) -> None:
    """Run ``arguments``: the parent's process id, then the program and its arguments."""
    parent, *argv = arguments
    take_host_name(os.environ.get("HOSTNAME", ""))
    if argv[0] == "--exec":
        die_with_parent(signal.SIGKILL, int(parent))
        _become(argv[1:])
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    die_with_parent(END_NOW, int(parent))
    adopt_orphans()
    end_like(run(argv))


if __name__ == "__main__":
    main(sys.argv[1:])
