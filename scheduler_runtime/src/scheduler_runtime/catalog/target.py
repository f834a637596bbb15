"""The kube-scheduler that is meant: which version, and with which of its feature gates turned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .kubernetes_version import Version

_NONE: Mapping[str, bool] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Target:
    """A version and what its ``--feature-gates`` were set to. Gates that are not named have their default."""

    version: Version
    feature_gates: Mapping[str, bool] = field(default_factory=lambda: _NONE)

    @classmethod
    def parse(cls, version: str, feature_gates: Mapping[str, bool] = _NONE) -> Target:
        """The target of a version written as text. Raises ValueError when the text is no version."""
        return cls(Version.parse(version), feature_gates)

    def __str__(self) -> str:
        return f"Kubernetes {self.version.major}.{self.version.minor}"
