"""What this installation of the operator brings along."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Where generated objects go, and what they run when their profile does not say."""

    namespace: str
    scheduler_image: str
    image_pull_policy: str = "IfNotPresent"
    allows_sources: bool = False
    """Whether schedulers may run code that is in ConfigMaps."""
