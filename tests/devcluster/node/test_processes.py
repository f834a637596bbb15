"""Processes end when they should, with everything they started."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devcluster.node.processes import NotStarted, Processes, Program, RunningProgram
from tests.support.eventually import eventually

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def program(*argv: str, forks: bool = True, **environment: str) -> Program:
    return Program(argv=argv, environment={**ENVIRONMENT, **environment}, directory=Path("/"), forks=forks)


def marked(mark: str) -> list[int]:
    """The processes whose command line has ``mark`` in it."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "cmdline").read_text():
                pids.append(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
    return pids


def command(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def parent(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("PPid:")[2].split()[0])


def sleepers(mark: str) -> list[int]:
    return [pid for pid in marked(mark) if command(pid)[0].endswith("sleep")]


@pytest.fixture
def mark(tmp_path: Path) -> str:
    """A number of seconds that nobody else sleeps."""
    return f"{os.getpid()}.{abs(hash(str(tmp_path))) % 10**9}"


@pytest.mark.skipif(os.getuid() != 0, reason="only root may have a host name of its own")
@pytest.mark.parametrize("forks", [True, False])
def test_a_program_has_the_host_name_of_its_pod(tmp_path: Path, forks: bool) -> None:
    name = "berth-" + "a" * 56 + "-bcdef"
    assert run_one(program("uname", "-n", forks=forks, HOSTNAME=name), tmp_path / "output") == 0
    assert (tmp_path / "output").read_text() == "berth-" + "a" * 56 + "\n"
    assert os.uname().nodename != name


def family(mark: str) -> str:
    """A shell that starts a child, a daemon in a session of its own, and waits."""
    return f"sleep {mark} & (setsid sleep {mark} &) ; echo ready; sleep {mark}; true"


def run_one(program: Program, output: Path, act: Callable[[RunningProgram], None] | None = None) -> int:
    """Start a program, perhaps ``act`` on it once it has said that it is ready, and wait for its end."""

    async def run() -> int:
        process = Processes(sole_parent=False).start(program, output)
        if act is not None:
            eventually(lambda: output.read_text(), timeout=10, every=0.02)
            act(process)
        return await process.ended

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -SEGV $$", -11), ("kill -KILL $$", -9)]
)
def test_a_program_ends_as_it_ended(script: str, code: int, tmp_path: Path) -> None:
    assert run_one(program("sh", "-c", script), tmp_path / "log") == code


def test_output_is_appended_to_the_log(tmp_path: Path) -> None:
    run_one(program("sh", "-c", "echo one; echo two >&2"), tmp_path / "log")
    run_one(program("sh", "-c", "echo $COUNT", COUNT="three"), tmp_path / "log")
    assert (tmp_path / "log").read_text() == "one\ntwo\nthree\n"


def test_what_a_program_leaves_behind_ends_with_it(mark: str, tmp_path: Path) -> None:
    assert run_one(program("sh", "-c", f"(setsid sleep {mark} &) ; sleep 0.1"), tmp_path / "log") == 0
    assert marked(mark) == []


def test_terminate_reaches_the_whole_process_group(mark: str, tmp_path: Path) -> None:
    assert (
        run_one(program("sh", "-c", f"echo ready; sleep {mark}; true"), tmp_path / "log", RunningProgram.terminate)
        == -signal.SIGTERM
    )
    assert marked(mark) == []


def test_a_program_that_ignores_sigterm_is_killed_when_its_time_is_over(mark: str, tmp_path: Path) -> None:
    def end(process: RunningProgram) -> None:
        process.end_within(60)
        process.terminate()
        process.end_within(0.2)
        process.end_within(60)  # the earliest moment stays

    script = f"trap '' TERM; {family(mark)}"
    assert run_one(program("sh", "-c", script), tmp_path / "log", end) == -signal.SIGKILL
    assert marked(mark) == []


def test_a_program_that_starts_nothing_runs_without_an_init(mark: str, tmp_path: Path) -> None:
    def check_and_end(process: RunningProgram) -> None:
        alive.extend(marked(mark))
        alive.remove(process.pid)
        process.terminate()

    alive: list[int] = []
    script = f"echo ready; exec sleep {mark}"
    assert run_one(program("sh", "-c", script, forks=False), tmp_path / "log", check_and_end) == -signal.SIGTERM
    assert alive == []


@pytest.mark.parametrize("name", ["no-such-program", "./no-such-program"])
def test_a_missing_program_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(NotStarted, match="no-such-program: no such executable in PATH=/usr/local/bin"):
        run_one(program(name), tmp_path / "log")


def test_a_program_does_not_inherit_pythons_ignored_signals(tmp_path: Path) -> None:
    run_one(program("grep", "SigIgn", "/proc/self/status"), tmp_path / "log")
    ignored = int((tmp_path / "log").read_text().split()[1], 16)
    assert [number for number in (signal.SIGPIPE, signal.SIGXFSZ) if ignored >> (number - 1) & 1] == []


AGENT = """
import asyncio, sys
from pathlib import Path
from devcluster.node.processes import Processes, Program

async def main(family, mark):
    processes = Processes(sole_parent=True)
    surroundings = {"environment": {"PATH": "/usr/bin:/bin"}, "directory": Path("/")}
    processes.start(Program(argv=["sh", "-c", family], **surroundings), Path("/dev/null"))
    processes.start(Program(argv=["sleep", mark], forks=False, **surroundings), Path("/dev/null"))
    await asyncio.sleep(600)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def agent(mark: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process of its own that runs a family, and a program without an init."""
    with subprocess.Popen([sys.executable, "-c", AGENT, family(mark), mark]) as agent:
        eventually(lambda: len(sleepers(mark)) == 4, timeout=10)
        yield agent
        agent.kill()


def test_everything_ends_when_the_agent_is_killed(agent: "subprocess.Popen[bytes]", mark: str) -> None:
    agent.kill()
    agent.wait()
    eventually(lambda: marked(mark) == [], timeout=20)


def test_a_killed_init_takes_everything_with_it(agent: "subprocess.Popen[bytes]", mark: str) -> None:
    [shell] = [pid for pid in marked(mark) if command(pid)[0].endswith("/sh")]
    os.kill(parent(shell), signal.SIGKILL)
    eventually(lambda: len(marked(mark)) == 2, timeout=20)
    assert len(sleepers(mark)) == 1, "the agent and the program without an init are left"
