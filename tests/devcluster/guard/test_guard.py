"""The guard: what it started ends with it, and it ends with who started it."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devcluster import DevclusterError
from devcluster.guard import Guard
from devcluster.system.processes import Process
from tests.support.eventually import eventually

SLEEP = ["/bin/sleep", "300"]
# Leaves a process behind that is nobody's child any more, and says its pid.
ORPHAN = ["/bin/sh", "-c", "(setsid /bin/sleep 300 & echo $!) & wait; exec /bin/sleep 300"]
# Starts a guard with two components and waits: the parent that the tests take away.
PARENT = """
import signal, sys, time
from pathlib import Path
from devcluster.guard import Guard
signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background of a shell ignores it
guard = Guard.begin(Path(sys.argv[1]))
guard.start("one", {sleep})
guard.start("two", {orphan})
{then}
print("ready", flush=True)
time.sleep(300)
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "cluster"
    path.mkdir()
    return path


@pytest.fixture
def guard(directory: Path) -> Iterator[Guard]:
    guard = Guard.begin(directory)
    yield guard
    guard.end()


def parent(directory: Path, then: str = "") -> subprocess.Popen[str]:
    """A process that has started a guard and two components."""
    program = PARENT.format(sleep=SLEEP, orphan=ORPHAN, then=then)
    process = subprocess.Popen([sys.executable, "-c", program, str(directory)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def inhabitants(directory: Path) -> list[Process]:
    """The guard, its components, and the orphan."""
    eventually(lambda: (directory / "two.log").exists() and (directory / "two.log").read_text(), 5, every=0.02)
    orphan = Process.of(int((directory / "two.log").read_text()))
    entry = json.loads((directory / "guard.json").read_text())
    components = Guard(directory).components()
    assert sorted(components) == ["one", "two"]
    assert orphan is not None
    return [Process(entry["pid"], entry["started"]), *components.values(), orphan]


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_all_ends_with_the_parent_whatever_ends_that(directory: Path, number: signal.Signals) -> None:
    process = parent(directory)
    all_of_it = inhabitants(directory)
    process.send_signal(number)
    process.communicate()
    assert all(process.ended(within_seconds=10) for process in all_of_it)
    eventually(lambda: not directory.exists(), 10, every=0.02)


def test_all_ends_with_the_parent_when_a_thread_started_it(directory: Path) -> None:
    """A death signal would fire when the thread ends; the guard watches the process."""
    program = PARENT.format(sleep=SLEEP, orphan=ORPHAN, then="")
    head, _, tail = program.partition("guard = ")
    threaded = f"{head}\ndef begin():\n    global guard\n    guard = {tail.partition(chr(10))[0]}\n"
    threaded += "import threading\nt = threading.Thread(target=begin); t.start(); t.join()\n" + tail.partition("\n")[2]
    process = subprocess.Popen([sys.executable, "-c", threaded, str(directory)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    all_of_it = inhabitants(directory)
    assert all(process.is_alive for process in all_of_it)
    end(process)
    assert all(process.ended(within_seconds=10) for process in all_of_it)


def test_components_die_with_a_guard_that_is_killed(directory: Path) -> None:
    process = parent(directory)
    guard, one, two, _ = inhabitants(directory)
    guard.send(signal.SIGKILL)
    assert one.ended(within_seconds=10)
    assert two.ended(within_seconds=10)
    assert not Guard(directory).is_alive
    end(process)
    Guard(directory).end()
    assert not directory.exists()


def test_detached_it_outlives_its_parent_until_it_is_ended(directory: Path) -> None:
    process = parent(directory, then="guard.detach()")
    all_of_it = inhabitants(directory)
    end(process)
    assert not all_of_it[0].ended(within_seconds=0.3)
    Guard(directory).end()
    assert not any(process.is_alive for process in all_of_it)
    assert not directory.exists()


def test_the_guard_is_nobodys_child_and_has_no_terminal(guard: Guard) -> None:
    pid = json.loads((guard.directory / "guard.json").read_text())["pid"]
    assert os.getsid(pid) == pid
    assert os.getsid(pid) != os.getsid(0)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def test_a_component_is_stopped_and_started_again_as_it_was(guard: Guard) -> None:
    program = ["/bin/sh", "-c", "echo $GREETING; exec sleep 300"]
    first = guard.start("greeter", program, {"GREETING": "hello", "PATH": "/bin"})
    log = guard.directory / "greeter.log"
    eventually(lambda: log.read_text() == "hello\n", 10, every=0.02)
    guard.stop("greeter")
    assert not first.is_alive
    assert (guard.components(), guard.stopped()) == ({}, ["greeter"])
    second = guard.start("greeter")
    assert guard.components() == {"greeter": second}
    eventually(lambda: log.read_text() == "hello\nhello\n", 10, every=0.02)


def test_a_component_that_ends_by_itself_is_listed_as_stopped_and_is_no_zombie(guard: Guard) -> None:
    process = guard.start("short", ["/bin/sleep", "0.1"])
    eventually(lambda: guard.stopped() == ["short"], 10, every=0.02)
    eventually(lambda: not Path(f"/proc/{process.pid}").exists(), 10, every=0.02)
    assert guard.start("short").is_alive


def test_who_connects_and_says_nothing_does_not_keep_the_cluster_alive(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = parent(directory)
    all_of_it = inhabitants(directory)
    monkeypatch.chdir(directory)  # the path of a socket may not be long
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect("guard.sock")
        end(process)
        assert all(process.ended(within_seconds=20) for process in all_of_it)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        pytest.param(lambda guard: guard.stop("etcd"), "etcd is not running", id="stop-what-does-not-run"),
        pytest.param(lambda guard: guard.start("etcd"), "etcd has never run here", id="start-what-never-ran"),
        pytest.param(lambda guard: guard.start("one", SLEEP), "one is already running", id="start-twice"),
    ],
)
def test_what_makes_no_sense_is_refused(guard: Guard, action: Callable[[Guard], object], expected: str) -> None:
    guard.start("one", SLEEP)
    with pytest.raises(DevclusterError, match=expected):
        action(guard)
    assert list(guard.components()) == ["one"]


def test_a_program_that_cannot_be_started_says_so_in_its_log(guard: Guard) -> None:
    process = guard.start("missing", ["/no/such/program"])
    assert process.ended(within_seconds=10)
    log = guard.directory / "missing.log"
    assert log.read_text().startswith("/no/such/program could not be started: ")


def test_last_commands_run_in_order_when_every_process_has_ended(guard: Guard, tmp_path: Path) -> None:
    process, out = guard.start("one", SLEEP), tmp_path / "out"
    guard.at_end(["/bin/sh", "-c", f"test -e /proc/{process.pid} && echo alive >> {out}; false"])
    guard.at_end(["/bin/sh", "-c", f"echo second >> {out}"])
    guard.end()
    assert out.read_text() == "second\n"


def test_last_commands_run_even_when_the_guard_was_killed(guard: Guard, tmp_path: Path) -> None:
    guard.at_end(["/bin/sh", "-c", f"echo done >> {tmp_path / 'out'}"])
    os.kill(json.loads((guard.directory / "guard.json").read_text())["pid"], signal.SIGKILL)
    guard.end()
    assert (tmp_path / "out").read_text() == "done\n"


def test_a_guard_that_has_ended_is_reported(directory: Path) -> None:
    with pytest.raises(DevclusterError, match=r"the guard of the cluster in .* does not answer"):
        Guard(directory).stop("etcd")


def test_a_directory_whose_path_is_too_long_for_a_socket_will_do(tmp_path: Path) -> None:
    deep = tmp_path / ("a" * 100) / ("b" * 100)
    deep.mkdir(parents=True)
    guard = Guard.begin(deep)
    guard.start("one", SLEEP)
    guard.end()
    assert not deep.exists()
