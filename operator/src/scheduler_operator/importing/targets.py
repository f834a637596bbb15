"""The kube-schedulers whose behaviour is known."""

from __future__ import annotations

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Target, Version

TARGETS = tuple(
    Target(Version(1, minor))
    for minor in range(Version.parse(catalog.OLDEST).minor, Version.parse(catalog.NEWEST).minor + 1)
)
"""Every minor version that is known."""
