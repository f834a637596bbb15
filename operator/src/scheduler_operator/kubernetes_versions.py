"""Which Kubernetes versions this release follows, and what to say of the others. Pure."""

from scheduler_runtime.catalog import NEWEST, OLDEST, Version

RANGE = f"{OLDEST} to {NEWEST}"


def is_too_old(version: Version) -> bool:
    """Whether nothing here says how ``version`` schedules."""
    return not version.at_least(OLDEST)


def remark(version: Version) -> str:
    """What to tell whoever asks for ``version``; empty when it is followed as it is."""
    newest = Version.parse(NEWEST)
    if (version.major, version.minor) <= (newest.major, newest.minor):
        return ""
    return f"Kubernetes {version.major}.{version.minor} is newer than this release knows, {NEWEST} is used"
