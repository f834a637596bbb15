"""Settings of the operator's installation that generated objects depend on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The namespace of generated objects, and the image of schedulers whose profile names none."""

    namespace: str
    scheduler_image: str
    image_pull_policy: str = "IfNotPresent"
    allows_sources: bool = False
    """Whether schedulers may run plugin code from ConfigMaps."""
