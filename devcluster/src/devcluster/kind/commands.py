"""Running other programs: errors with their last lines, and their end when this process ends."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from devcluster.system.errors import DevclusterError

TAIL_LINES = 15


def run(
    argv: Sequence[str | Path],
    doing: str,
    *,
    env: Mapping[str, str] | None = None,
    text: str | None = None,
) -> str:
    """Run a program to its end and return what it printed; ``text`` is what it reads.

    ``doing`` describes the purpose, for the message of the DevclusterError that is raised when the program fails.
    """
    command = [*dying_with_us(), *argv]
    stdin = None if text is None else text.encode()
    try:
        answer = subprocess.run(command, env=env, input=stdin, capture_output=True, check=False)
    except OSError as error:
        raise DevclusterError(f"{doing} failed: {argv[0]} could not be started: {error}") from error
    if answer.returncode != 0:
        lines = (answer.stderr or answer.stdout).decode(errors="replace").strip().splitlines()
        tail = "\n".join(lines[-TAIL_LINES:]) or "it gave no reason"
        raise DevclusterError(f"{doing} failed: {tail}")
    return answer.stdout.decode()


def dying_with_us() -> tuple[str, ...]:
    """A prefix that ends a command when the thread that started it ends: so wait for it in that thread."""
    return ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()


def contained(*argv: str | Path) -> list[str | Path]:
    """``argv`` with its own processes and mounts: when it ends, in whatever way, none of them is left."""
    return ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--", *argv]
