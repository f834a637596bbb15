"""Which Kubernetes versions this release follows, and what to say of the others. Pure."""

from scheduler_runtime.catalog import NEWEST, OLDEST, Version, is_too_new

RANGE = f"{OLDEST} to {NEWEST}"


def remark(version: Version) -> str:
    """What to tell whoever asks for ``version``; empty when it is followed as it is."""
    if not is_too_new(version):
        return ""
    return f"Kubernetes {version.major}.{version.minor} is newer than this release knows, {NEWEST} is used"
