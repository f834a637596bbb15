"""Running other programs."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devcluster import DevclusterError
from devcluster.kind.commands import run
from devcluster.system.processes import Process
from tests.support.eventually import eventually


def test_output_is_returned_and_input_is_passed() -> None:
    assert run(["cat"], "echoing", text="hello") == "hello"


def test_a_failure_names_the_attempt_and_has_the_programs_output() -> None:
    with pytest.raises(DevclusterError, match="making tea failed: no water"):
        run(["sh", "-c", "echo no water >&2; exit 3"], "making tea")


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(DevclusterError, match=r"making tea failed: .*devcluster-kettle"):
        run(["devcluster-kettle"], "making tea")


def test_what_runs_ends_with_who_ran_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = f"from devcluster.kind.commands import run; run(['sh', '-c', 'echo $$ > {pid_file}; exec sleep 60'], 'x')"
    with subprocess.Popen([sys.executable, "-c", script]) as parent:
        pid = int(eventually(lambda: pid_file.read_text() if pid_file.exists() else "", 10))
        os.kill(parent.pid, signal.SIGKILL)
    eventually(lambda: Process.of(pid) is None, 5)
