"""Reasons why the pods of a scheduler do not run, as a kubelet or another scheduler reports them. Pure.

A Deployment reports only how many pods are ready. The reason is in the pods: a kubelet writes it into the state of
the container, a scheduler into a condition.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

_IMAGE_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError"}
    | {"RegistryUnavailable", "SignatureValidationFailed"}
)
_CRASH_LOOP = "CrashLoopBackOff"
_RESTARTS_OF_A_LOOP = 2
_STEADY_SECONDS = 600.0
"""After a container has run so long, a kubelet forgets earlier crashes."""


@dataclass(frozen=True, slots=True)
class PodTrouble:
    """The reason why a pod does not run."""

    pod: str
    """Namespace and name of the pod."""
    reason: str
    message: str
    is_lasting: bool
    """True if the pod cannot run until somebody changes something."""
    others: int = 0
    """The number of other pods that do not run either."""

    @classmethod
    def of_pod(cls, pod: Mapping[str, Any]) -> Self | None:
        """Return the trouble that a pod reports; None when it reports none."""
        name = f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"
        status = pod.get("status", {})
        for container in status.get("containerStatuses", ()):
            if container.get("ready"):
                continue
            waiting = container.get("state", {}).get("waiting", {})
            reason, message = waiting.get("reason", ""), waiting.get("message", "")
            last = container.get("lastState", {}).get("terminated", {})
            start, finish = last.get("startedAt"), last.get("finishedAt")
            is_short = True
            if start and finish:
                lasted = datetime.fromisoformat(finish) - datetime.fromisoformat(start)
                is_short = lasted.total_seconds() < _STEADY_SECONDS
            # Between two crashes of a loop the container runs for a moment, or has just ended: no reason says so then.
            has_crashed = container.get("restartCount", 0) >= _RESTARTS_OF_A_LOOP and bool(last.get("exitCode"))
            if reason == _CRASH_LOOP or (has_crashed and is_short):
                end = f"it ended with exit code {last.get('exitCode', 'unknown')}"
                words = " ".join(str(last.get("message") or last.get("reason") or "").split())
                texts = (message, f"{end}: {words}" if words else end)
                return cls(name, _CRASH_LOOP, "; ".join(filter(None, texts)), is_lasting=True)
            if reason and message:
                return cls(name, reason, message, is_lasting=reason in _IMAGE_REASONS)
        for condition in status.get("conditions", ()):
            if (condition["type"], condition["status"]) == ("PodScheduled", "False") and condition.get("message"):
                return cls(name, condition.get("reason", "Pending"), condition["message"], is_lasting=False)
        return None

    def __str__(self) -> str:
        more = f" ({self.others} more wait)" if self.others else ""
        return f"pod {self.pod} waits: {self.reason}: {self.message}{more}"


def find_pod_trouble(pods: Iterable[Mapping[str, Any]], images: Collection[str] = ()) -> PodTrouble | None:
    """Return the most serious trouble of the newest of ``pods``; None when none is reported.

    ``images`` are those of the newest pod template: by them pods are told apart that were created in one second.
    """
    # Trouble of an older template may be fixed already: only pods of the newest one count.
    current = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    if images:
        current = [pod for pod in current if {c["image"] for c in pod["spec"]["containers"]} == set(images)]
    if not current:
        return None
    newest = _template(max(current, key=lambda pod: str(pod["metadata"].get("creationTimestamp"))))
    troubles = [trouble for pod in current if _template(pod) == newest and (trouble := PodTrouble.of_pod(pod))]
    troubles.sort(key=lambda trouble: (not trouble.is_lasting, trouble.pod))
    return replace(troubles[0], others=len(troubles) - 1) if troubles else None


def _template(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"].get("labels", {}).get("pod-template-hash", ""))
