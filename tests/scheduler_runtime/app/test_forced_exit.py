"""A process whose event loop is stuck in a plugin ends all the same, and says who does not return."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from scheduler_runtime.app import forced_exit

NO_REACTION = "and for 0 s nothing has gone on: filter of plugin Stuck for default/p does not end\n"


@contextlib.contextmanager
def stuck(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is stuck in a plugin by now."""
    command = [sys.executable, "-m", "tests.support.stuck", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "stuck\n"
            yield process
        finally:
            process.kill()


def interrupt(process: subprocess.Popen[str]) -> str:
    """Interrupt a process, as somebody at a terminal does it, until it ends; return its log.

    A signal that comes while another is on its way may go to a thread that does not wake the one that sleeps.
    """
    for _ in range(40):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=0.5)[1]
    pytest.fail("it goes on")


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_signal_without_a_reaction_ends_the_process(loop: str) -> None:
    with stuck("0.1", loop) as process:
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=20)
    assert (process.returncode, log) == (1, f"ending with exit code 1: SIGTERM, {NO_REACTION}")


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_second_signal_ends_the_process_at_once(loop: str) -> None:
    with stuck("600", loop) as process:
        process.send_signal(signal.SIGTERM)
        log = interrupt(process)
    assert process.returncode == 1
    assert log.startswith("ending with exit code 1: SIG")
    assert " after SIG" in log


def test_the_same_signal_twice_within_a_second_is_one_signal() -> None:
    ends: list[str] = []
    with stuck("600", "asyncio") as process:
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGTERM):
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                ends.append(process.communicate(timeout=0.2)[1])
        assert not ends
        log = interrupt(process)
    assert log == "ending with exit code 1: SIGINT after SIGTERM\n"


async def test_the_same_signal_a_second_later_is_another_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    exited, acted = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(forced_exit, "REPEAT_SECONDS", 0.0)
    monkeypatch.setattr(forced_exit, "_exit", lambda _: loop.call_soon_threadsafe(exited.set))
    with forced_exit.handle_signals((signal.SIGUSR1,), acted.set):
        signal.raise_signal(signal.SIGUSR1)
        await asyncio.wait_for(acted.wait(), 5)
        assert not exited.is_set()
        signal.raise_signal(signal.SIGUSR1)
        await asyncio.wait_for(exited.wait(), 5)


def test_a_lost_lease_without_a_reaction_ends_the_process() -> None:
    with stuck("0.1", "asyncio", "lost") as process:
        _, log = process.communicate(timeout=20)
    assert (process.returncode, log) == (
        1,
        f"ending with exit code 1: lease a/b is not held any more, {NO_REACTION}",
    )
