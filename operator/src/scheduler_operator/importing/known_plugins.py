"""Which plugins come with kube-scheduler, in any version that this build knows."""

from __future__ import annotations

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Target, Version

TARGETS = tuple(
    Target(Version(1, minor))
    for minor in range(Version.parse(catalog.OLDEST).minor, Version.parse(catalog.NEWEST).minor + 1)
)
"""Every minor version that is known."""


def is_in_tree(name: str) -> bool:
    """Whether there is a kube-scheduler that has this plugin."""
    return any(catalog.known(name, target.version) for target in TARGETS)
