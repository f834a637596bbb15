"""The Kubernetes versions that this release supports, and the remark for newer ones."""

from scheduler_runtime.catalog import NEWEST_MINOR, OLDEST_MINOR, Version, is_too_new

RANGE = f"{OLDEST_MINOR} to {NEWEST_MINOR}"


def remark(version: Version) -> str:
    """Return the remark for a user of ``version``; empty when this release supports it."""
    if not is_too_new(version):
        return ""
    return f"Kubernetes {version.major}.{version.minor} is newer than this release knows, {NEWEST_MINOR} is used"
