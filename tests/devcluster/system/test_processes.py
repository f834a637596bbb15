"""A process is told from a later one that has its pid."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from devcluster.system.processes import Process


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_a_running_process_is_alive(child: subprocess.Popen[bytes]) -> None:
    process = Process.of(child.pid)
    assert process is not None
    assert process.is_alive
    assert not process.ended(within_seconds=0.01)


def test_a_process_that_waits_to_be_reaped_has_ended(child: subprocess.Popen[bytes]) -> None:
    process = Process.of(child.pid)
    assert process is not None
    process.send(signal.SIGKILL)
    assert process.ended(within_seconds=5)
    assert not process.is_alive
    assert Process.of(child.pid) is None


def test_another_process_with_the_same_pid_gets_no_signal(child: subprocess.Popen[bytes]) -> None:
    process = Process.of(child.pid)
    assert process is not None
    earlier = Process(process.pid, process.started - 1)
    earlier.send(signal.SIGKILL)
    assert process.is_alive
    assert not earlier.is_alive
    assert earlier.ended(within_seconds=0)


def test_a_pid_that_nobody_has_is_no_process() -> None:
    finished = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    assert Process.of(int(finished.stdout)) is None
    Process(int(finished.stdout), 1).send(signal.SIGKILL)


def test_a_name_with_brackets_and_spaces_does_not_confuse() -> None:
    program = "import ctypes, sys; ctypes.CDLL(None).prctl(15, b'a) (b c'); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        identity = Process.of(process.pid)
        assert identity is not None
        assert 0 < identity.started < os.times().elapsed * os.sysconf("SC_CLK_TCK")
        process.kill()
