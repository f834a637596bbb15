"""Container images from files, without a container engine: the archive that ``docker save`` would write."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def layer(program: Path, inside: str, to: Path) -> Path:
    """A layer with one executable file in it, called ``inside``."""
    with tarfile.open(to, "w") as tar:
        entry = tarfile.TarInfo(inside.removeprefix("/"))
        entry.mode = 0o755
        entry.size = program.stat().st_size
        with program.open("rb") as file:
            tar.addfile(entry, file)
    return to


def write(to: Path, reference: str, layers: Sequence[Path], config: Mapping[str, Any]) -> None:
    """Write the image ``reference``: of ``layers``, tar files, lowest first. ``config`` is the image's own."""
    digests = [_sha256(path) for path in layers]
    machine = platform.machine()
    description = {
        "architecture": ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
    }
    text = json.dumps(description, sort_keys=True).encode()
    name = f"{hashlib.sha256(text).hexdigest()}.json"
    manifest = [{"Config": name, "RepoTags": [reference], "Layers": [f"{digest}.tar" for digest in digests]}]
    with tarfile.open(to, "w") as tar:
        for path, digest in zip(layers, digests, strict=True):
            tar.add(path, f"{digest}.tar")
        _add(tar, name, text)
        _add(tar, "manifest.json", json.dumps(manifest).encode())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))
