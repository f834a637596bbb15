"""A Kubernetes version: parsed, compared by minor, printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_PATTERN = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+].*)?")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A Kubernetes version. Only ``major.minor`` decides about behaviour; the patch is for messages."""

    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read ``v1.36.4``, ``1.36`` or ``v1.37.0-rc.1``.

        Pre-releases count as the release they lead to. Raises ValueError when the text is no version.
        """
        match = _PATTERN.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a Kubernetes version; write it like v1.36.4")
        major, minor, patch = match.groups(default="0")
        return cls(int(major), int(minor), int(patch))

    def at_least(self, minor: str) -> bool:
        """Return True if this version is ``minor``, such as ``1.36``, or newer."""
        return (self.major, self.minor) >= _major_and_minor(minor)

    def __str__(self) -> str:
        return f"v{self.major}.{self.minor}.{self.patch}"


@cache
def _major_and_minor(text: str) -> tuple[int, int]:
    """Parse a minor version. Cached, because rules of a version are looked up for every pod and every gate."""
    version = Version.parse(text)
    return version.major, version.minor
