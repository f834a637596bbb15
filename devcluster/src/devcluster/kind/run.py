"""Running other programs: what they said when they fail, and their end when this process ends."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from devcluster.system.errors import DevclusterError

TOLD_LINES = 15


def run(
    argv: Sequence[str | Path],
    doing: str,
    *,
    env: Mapping[str, str] | None = None,
    text: str | None = None,
) -> str:
    """Run a program to its end and return what it printed; ``text`` is what it reads.

    ``doing`` says what for, in the words of the error that is raised when the program fails.
    """
    command = [*dying_with_us(), *argv]
    given = None if text is None else text.encode()
    try:
        answer = subprocess.run(command, env=env, input=given, capture_output=True, check=False)
    except OSError as error:
        raise DevclusterError(f"{doing} failed: {argv[0]} could not be started: {error}") from error
    if answer.returncode != 0:
        raise DevclusterError(f"{doing} failed: {_end_of(answer.stderr or answer.stdout)}")
    return answer.stdout.decode()


def dying_with_us() -> tuple[str, ...]:
    """A prefix that ends a command when the thread that started it ends: so wait for it in that thread."""
    return ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()


def contained(*argv: str | Path) -> list[str | Path]:
    """``argv`` with its own processes and mounts: when it ends, in whatever way, none of them is left."""
    return ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--", *argv]


def _end_of(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return "\n".join(lines[-TOLD_LINES:]) or "it gave no reason"
