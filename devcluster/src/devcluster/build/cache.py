"""The cache of built binaries, with a check that each is whole.

A directory per product, version and recipe. Beside the binaries stands ``manifest.json`` with the
checksum of each; a binary it does not name does not count. Size and time of a file are compared on
every use, the checksum only when they differ.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from devcluster.build.progress import Progress
from devcluster.system.errors import DevclusterError
from devcluster.system.files import write_atomically


class Entry(TypedDict):
    sha256: str
    size: int
    mtime_ns: int


def root() -> Path:
    """``$DEVCLUSTER_CACHE``, or ``devcluster`` in the user's cache directory."""
    if own := os.environ.get("DEVCLUSTER_CACHE"):
        return Path(own).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "devcluster"


@contextlib.contextmanager
def exclusive(lock: Path, waiting: str, progress: Progress) -> Iterator[int]:
    """Hold the lock ``lock`` and yield its descriptor; ``waiting`` is shown while another program holds it."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(waiting, None)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


@dataclass(frozen=True, slots=True)
class Shelf:
    """The binaries of one product, built in one way."""

    directory: Path

    def find(self, binary: str) -> Path | None:
        """The path of the binary, if it is here and unchanged."""
        entry = self._manifest().get(binary)
        path = self.directory / binary
        if entry is None or not path.is_file():
            return None
        stat = path.stat()
        if stat.st_size != entry["size"]:
            return None
        if stat.st_mtime_ns != entry["mtime_ns"]:
            if checksum(path) != entry["sha256"]:
                return None
            self._record(binary, path, entry["sha256"])
        return path

    def is_damaged(self, binary: str) -> bool:
        """True if the binary was put here once and has changed since."""
        return binary in self._manifest() and self.find(binary) is None

    def put(self, binary: str, built: Path) -> Path:
        """Move a finished binary in. A reader sees the whole file or none at any moment."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / binary
        digest = checksum(built)
        built.replace(path)
        self._record(binary, path, digest)
        return path

    def _record(self, binary: str, path: Path, digest: str) -> None:
        stat = path.stat()
        entry = Entry(sha256=digest, size=stat.st_size, mtime_ns=stat.st_mtime_ns)
        write_atomically(
            self.directory / "manifest.json", json.dumps(self._manifest() | {binary: entry}, indent=1, sort_keys=True)
        )

    def _manifest(self) -> dict[str, Entry]:
        try:
            manifest: dict[str, Entry] = json.loads((self.directory / "manifest.json").read_text())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise DevclusterError(
                f"{self.directory} is damaged ({error}): remove this directory and try again"
            ) from error
        return manifest


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
