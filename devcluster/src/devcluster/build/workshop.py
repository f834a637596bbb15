"""Running Go: fetch the modules of a product, compile, and turn Go's errors into advice."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from devcluster.build import toolchain
from devcluster.build.products import Product
from devcluster.build.progress import Progress
from devcluster.system.errors import DevclusterError, MissingBinariesError
from devcluster.system.processes import stat_fields

UNCERTAIN = 0.05  # the part of an estimate that is always still to come, as long as it is not done
LINK_GIGABYTES = 2  # what linking one of the large binaries takes


@dataclass(frozen=True, slots=True)
class Workshop:
    """A Go and the directory it works in.

    ``lock`` is a descriptor that every Go inherits: if this process is killed, the lock is held
    until the Go it started has ended too.
    """

    go: Path
    directory: Path
    lock: int

    def build(self, product: Product, binaries: Sequence[str], out: Path, progress: Progress) -> None:
        """Make ``binaries`` in the directory ``out``."""
        (self.directory / "tmp").mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self.directory).free / 1e9
        if free < product.gigabytes:
            raise _disk_full(self.directory, product.gigabytes, f"{free:.1f} GB are free")
        packages = [product.package(binary) for binary in binaries]
        estimate = product.cpu_seconds(binaries)
        what, seconds = f"Fetching the Go modules of {product.title}", estimate / parallel()
        listing = [
            "list",
            *product.build_flags,
            "-deps",
            "-f",
            "{{print}}",
            *packages,
        ]  # reads every source file and prints nothing
        code, output = self._run(listing, product, lambda _: progress(what, seconds))
        if code != 0:
            raise _not_fetched(product, output, self.directory, self._environment()["GOPROXY"])

        out.mkdir(parents=True)
        target = f"{out}/" if len(binaries) > 1 else f"{out}/{binaries[0]}"  # a directory needs its slash
        flags = [*toolchain.BUILD_FLAGS, *product.build_flags, "-p", str(parallel()), "-ldflags", product.link_flags()]
        building, remaining = f"Building {', '.join(binaries)} of {product.title}", _RemainingTime(estimate)
        code, output = self._run(
            ["build", *flags, "-o", target, *packages], product, lambda pid: progress(building, remaining(pid))
        )
        if code != 0:
            raise _not_built(product, output, code, self.directory)

    def _environment(self) -> dict[str, str]:
        return toolchain.environment(self.go, self.directory)

    def _run(self, arguments: list[str], product: Product, tick: Callable[[int], None]) -> tuple[int, str]:
        """Run Go in the product's directory, calling ``tick`` with its pid every second; its exit code and output."""
        file_name = self.directory / "tmp" / "output"
        with file_name.open("wb") as file:
            process = subprocess.Popen(
                [self.go, *arguments],
                cwd=product.directory,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                pass_fds=(self.lock,),
            )
            try:
                tick(process.pid)
                while True:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        code = process.wait(1.0)
                        break
                    tick(process.pid)
            except BaseException:
                process.kill()
                process.wait()
                raise
        return code, file_name.read_text(errors="replace")


def tidy(directory: Path) -> None:
    """Remove what only running builds need. The downloads stay: with them the next build works offline."""
    for used_up in ("objects", "out", "tmp"):
        shutil.rmtree(directory / used_up, ignore_errors=True)
    for unpacked in (directory / "modules").glob("*"):
        if unpacked.name != "cache":
            shutil.rmtree(unpacked, ignore_errors=True)


class _RemainingTime:
    """The seconds until a build ends: from its CPU time so far and the estimate for all of it."""

    def __init__(self, cpu_seconds: float) -> None:
        self._budget = cpu_seconds
        self._start = time.monotonic()

    def __call__(self, pid: int) -> float:
        # user and system time, of the process and of its finished children
        spent = sum(int(field) for field in stat_fields(pid)[11:15]) / os.sysconf("SC_CLK_TCK")
        elapsed = time.monotonic() - self._start
        rate = spent / elapsed if spent > 20 else float(parallel())
        return max(self._budget - spent, UNCERTAIN * self._budget) / rate


def parallel() -> int:
    """The number of compilers and linkers that may run at once on this machine."""
    gigabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    return max(1, min(len(os.sched_getaffinity(0)), int(gigabytes // LINK_GIGABYTES)))


def _not_fetched(product: Product, output: str, directory: Path, proxies: str) -> DevclusterError:
    line = _error_line(output)
    if "no space left on device" in output:
        return _disk_full(directory, product.gigabytes, line)
    if "checksum mismatch" in output or "SECURITY ERROR" in output:
        return DevclusterError(
            f"a Go module of {product.title} is not the one that is pinned ({line}): "
            f"what GOPROXY={_without_password(proxies)} serves was changed; use another GOPROXY"
        )
    return MissingBinariesError(
        f"the Go modules of {product.title} could not be fetched ({line}): check the network and "
        f"GOPROXY={_without_password(proxies)}, or set DEVCLUSTER_BIN to a directory that has the binaries"
    )


def _not_built(product: Product, output: str, code: int, directory: Path) -> DevclusterError:
    line = _error_line(output)
    if "no space left on device" in output:
        shutil.rmtree(directory / "objects", ignore_errors=True)
        return _disk_full(directory, product.gigabytes, line)
    if "signal: killed" in output or code < 0:
        return DevclusterError(
            f"Go was killed while it built {product.title} ({line}), probably for want of memory: "
            f"have {LINK_GIGABYTES} GB free for each of {parallel()} cores and try again; what was compiled is kept"
        )
    return DevclusterError(
        f"Go could not build {product.title}: {line}; the whole output is in {directory / 'tmp' / 'output'}"
    )


def _disk_full(directory: Path, gigabytes: float, reason: str) -> DevclusterError:
    return DevclusterError(
        f"the disk is too full to build in {directory} ({reason}): free {gigabytes:g} GB there, "
        "or set DEVCLUSTER_CACHE to a directory on another disk"
    )


def _error_line(output: str) -> str:
    """The last line that names an error, else the last line; without passwords."""
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["Go said nothing"]
    errors = [
        line
        for line in lines
        if re.search(r"error|mismatch|refused|no such host|no space|killed|timeout|: 40\d|: 5\d\d", line)
    ]
    return _without_password((errors or lines)[-1])[:400]


def _without_password(text: str) -> str:
    return re.sub(r"//[^/@\s]+@", "//…@", text)
