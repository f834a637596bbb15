"""Writing files that others may read at any moment."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a file so that a reader sees the old text or the new one, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
        file.write(text)
    temporary.replace(path)
