"""The demo as a person at a terminal has it: live until Ctrl-C, honest when it fails, and gone afterwards."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import devcluster

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]


def demo(directory: Path, *options: str, output: int) -> subprocess.Popen[bytes]:
    """The demo, with everything it writes below ``directory``."""
    environment = {**os.environ, "TMPDIR": str(directory), "COLUMNS": "120", "LINES": "40"}
    command = [sys.executable, "-m", "examples.demo", *options]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


def screen_until(terminal: int, expected: str, seconds: float) -> str:
    """What the terminal has shown by the time that ``wanted`` stands on it."""
    text, end = "", time.monotonic() + seconds
    while expected not in text:
        assert time.monotonic() < end, f"{expected!r} was not shown within {seconds:g} s:\n{text}"
        if select.select([terminal], [], [], 0.5)[0]:
            text += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(terminal, 65536).decode(errors="replace"))
    return text


def processes_below(directory: Path) -> list[str]:
    """The command lines of this machine's processes that mention ``directory``."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # it has ended
    return [command for command in commands if str(directory) in command]


def test_ctrl_c_ends_the_live_demo_and_leaves_nothing_behind(tmp_path: Path) -> None:
    terminal, output = pty.openpty()
    running = demo(tmp_path, output=output)
    try:
        text = screen_until(terminal, "pods: ", 90)
        assert "Ctrl-C here ends everything" in text
        assert f". {tmp_path}" in text.replace("\r\n", "")
        screen_until(terminal, "process-0", 60)  # a pod on its node

        running.send_signal(signal.SIGINT)
        screen_until(terminal, "Nothing is left behind", 30)

        assert running.wait(30) == 0
        assert processes_below(tmp_path) == []
        assert list(tmp_path.iterdir()) == []
    finally:
        running.kill()
        running.wait()
        os.close(terminal)
        os.close(output)


def test_pods_that_are_not_placed_in_time_are_an_error_with_its_reason(tmp_path: Path) -> None:
    log = tmp_path / "output"
    with log.open("wb") as output:
        code = demo(tmp_path, "--once", "--timeout=0", output=output.fileno()).wait(120)
    assert code == 1
    assert "Not every pod was placed by bin-packing within 0 s." in log.read_text()
    assert list(tmp_path.iterdir()) == [log]


def test_a_cluster_that_does_not_answer_is_named_with_what_to_do(tmp_path: Path) -> None:
    kubectl = devcluster.binaries("kubectl")["kubectl"]
    unreachable = {"KUBECONFIG": str(tmp_path / "none"), "PATH": f"{kubectl.parent}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "examples.demo", "--cluster=current", "--once"]
    run = subprocess.run(command, cwd=ROOT, env={**os.environ, **unreachable}, capture_output=True, text=True)
    assert run.returncode == 1
    assert re.search(r"no cluster answers \(.+\): set KUBECONFIG to one that does", run.stdout + run.stderr)
