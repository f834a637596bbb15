"""What a scheduler has sent to the API server, as the audit log has it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

BINDING = "pods/binding"


class Answered(NamedTuple):
    """A kind of requests that change something, other than those for leases."""

    sender: str
    method: str
    resource: str
    code: int


@dataclass(frozen=True, slots=True)
class Sent:
    """What one sender has sent since some moment."""

    answered: Counter[Answered] = field(default_factory=Counter)

    def since(self, before: Sent) -> Sent:
        return Sent(self.answered - before.answered)

    @property
    def by_method(self) -> Counter[tuple[str, str]]:
        """How many requests were answered, by their method and the status."""
        found: Counter[tuple[str, str]] = Counter()
        for kind, many in self.answered.items():
            found[kind.method, str(kind.code)] += many
        return found

    @property
    def bound(self) -> int:
        """How many pods were bound."""
        return self._count(BINDING, range(300))

    @property
    def refused(self) -> int:
        """How many bindings were answered otherwise."""
        return self._count(BINDING, range(300, 600))

    @property
    def unknown(self) -> int:
        """Those of them that may have been carried out nevertheless."""
        return self._count(BINDING, range(500, 600))

    @property
    def evicted(self) -> int:
        """How many pods were deleted."""
        return self._count("pods", range(300))

    def _count(self, resource: str, codes: range) -> int:
        return sum(many for kind, many in self.answered.items() if kind.resource == resource and kind.code in codes)
