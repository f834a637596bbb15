"""Running scheduler processes of a profile, and the document that each has loaded. Pure.

Each reports its document in a condition of its own pod; one without a report, such as a kube-scheduler, is assumed
to be up to date.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_runtime.config import LoadReport, Verdict, read_load_report

MAX_MEMBERS = 64


@dataclass(frozen=True, slots=True)
class SchedulerMember:
    """One scheduler process."""

    name: str
    """Its pod."""
    is_leader: bool
    report: LoadReport | None
    """What the process reports of its document; None when it reports nothing."""

    def has_loaded(self, document: str) -> bool:
        """Return whether the process runs by the document with that hash, as far as is known."""
        return self.report is None or self.report.hash == document

    def error_for(self, verdict: Verdict, document: str) -> str:
        """Return why the document with that hash met with ``verdict``; empty when it did not."""
        report = self.report
        return report.error if report and (report.verdict, report.newest_hash) == (verdict, document) else ""

    def to_status(self) -> dict[str, Any]:
        """Return the member as ``status.members`` shows it."""
        member: dict[str, Any] = {"name": self.name, "leader": self.is_leader}
        if self.report is not None:
            error = {"error": self.report.error} if self.report.error else {}
            member |= {"configHash": self.report.hash, "loadedAt": self.report.loaded_at, **error}
        return member


def running_members(pods: Iterable[Mapping[str, Any]], leader: str) -> tuple[SchedulerMember, ...]:
    """Return the processes that run in ``pods``, at most as many as a status holds, by name.

    ``leader`` is the pod that holds the Lease.
    """
    members = []
    for pod in pods:
        name, status = pod["metadata"]["name"], pod.get("status", {})
        if "deletionTimestamp" not in pod["metadata"] and status.get("phase") == "Running":
            members.append(SchedulerMember(name, name == leader, read_load_report(status.get("conditions", []))))
    return tuple(sorted(members, key=lambda member: member.name)[:MAX_MEMBERS])
