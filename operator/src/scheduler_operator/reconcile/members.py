"""The running processes of a profile, and which document each of them goes by. Pure.

Each says so in a condition of its own pod; one that says nothing, such as a kube-scheduler, is not judged by it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_runtime.config import LoadReport, Verdict, loaded

MOST = 64


@dataclass(frozen=True, slots=True)
class Member:
    """One process."""

    name: str
    """Its pod."""
    is_leader: bool
    loaded: LoadReport | None
    """What it goes by; None when it has not said."""

    def goes_by(self, document: str) -> bool:
        """Whether it goes by the document with that hash, as far as is known."""
        return self.loaded is None or self.loaded.hash == document

    def why(self, verdict: Verdict, document: str) -> str:
        """Why that became of the document with that hash; empty when something else did."""
        said = self.loaded
        return said.error if said and (said.verdict, said.newest) == (verdict, document) else ""

    def shown(self) -> dict[str, Any]:
        """What the status shows of it."""
        shown: dict[str, Any] = {"name": self.name, "leader": self.is_leader}
        if self.loaded is not None:
            error = {"error": self.loaded.error} if self.loaded.error else {}
            shown |= {"configHash": self.loaded.hash, "loadedAt": self.loaded.at, **error}
        return shown


def members(pods: Iterable[Mapping[str, Any]], leader: str) -> tuple[Member, ...]:
    """The processes in ``pods``; ``leader`` is the pod that holds the Lease. As many as a status holds."""
    found = [
        Member(name, name == leader, loaded(pod.get("status", {}).get("conditions", [])))
        for pod in pods
        if _runs(pod) and (name := pod["metadata"]["name"])
    ]
    return tuple(sorted(found, key=lambda each: each.name)[:MOST])


def _runs(pod: Mapping[str, Any]) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and pod.get("status", {}).get("phase") == "Running"
