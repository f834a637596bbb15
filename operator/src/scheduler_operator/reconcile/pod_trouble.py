"""Why the pods of a scheduler do not run, in the words of whoever holds them up. Pure.

The Deployment says no more than how many are ready. What is in the way stands in the pods themselves: a kubelet
writes it into the state of the container, a scheduler into a condition.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

_OF_IMAGES = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError"}
    | {"RegistryUnavailable", "SignatureValidationFailed"}
)
_CRASHES = "CrashLoopBackOff"
_CRASHES_BEFORE_A_LOOP = 2
_STEADY_SECONDS = 600.0
"""After which a kubelet forgets that a container ended before."""


@dataclass(frozen=True, slots=True)
class PodTrouble:
    """What keeps a pod from running."""

    pod: str
    """Its namespace and name."""
    reason: str
    message: str
    is_lasting: bool
    """Whether somebody has to change something."""
    others: int = 0
    """How many more pods wait."""

    def __str__(self) -> str:
        more = f" ({self.others} more wait)" if self.others else ""
        return f"pod {self.pod} waits: {self.reason}: {self.message}{more}"


def hindrance(pods: Iterable[Mapping[str, Any]], images: Collection[str] = ()) -> PodTrouble | None:
    """What is most in the way of the newest of ``pods``; None when nothing is, or nobody says so.

    ``images`` are those that the newest run: what was created in the same second can be told apart by them.
    """
    current = [pod for pod in pods if not images or _images(pod) == set(images)]
    found = sorted(filter(None, map(_of_pod, _newest(current))), key=lambda each: (not each.is_lasting, each.pod))
    return replace(found[0], others=len(found) - 1) if found else None


def _newest(pods: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The pods of the newest template that are to stay: what is wrong with those before may be mended already."""
    staying = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    if not staying:
        return []
    newest = _template(max(staying, key=lambda pod: str(pod["metadata"].get("creationTimestamp"))))
    return [pod for pod in staying if _template(pod) == newest]


def _images(pod: Mapping[str, Any]) -> set[str]:
    return {str(container["image"]) for container in pod["spec"]["containers"]}


def _template(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"].get("labels", {}).get("pod-template-hash", ""))


def _of_pod(pod: Mapping[str, Any]) -> PodTrouble | None:
    name = f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"
    status = pod.get("status", {})
    for container in status.get("containerStatuses", ()):
        if not container.get("ready") and (found := _of_container(name, container)):
            return found
    for condition in status.get("conditions", ()):
        if (condition["type"], condition["status"]) == ("PodScheduled", "False") and condition.get("message"):
            return PodTrouble(name, condition.get("reason", "Pending"), condition["message"], is_lasting=False)
    return None


def _of_container(pod: str, container: Mapping[str, Any]) -> PodTrouble | None:
    waiting = container.get("state", {}).get("waiting", {})
    reason, message = waiting.get("reason", ""), waiting.get("message", "")
    if reason == _CRASHES or _is_crashing(container):
        said = f"{message}; {_end(container)}" if message else _end(container)
        return PodTrouble(pod, _CRASHES, said, is_lasting=True)
    return PodTrouble(pod, reason, message, is_lasting=reason in _OF_IMAGES) if reason and message else None


def _is_crashing(container: Mapping[str, Any]) -> bool:
    """Whether a container that runs just now, or has ended this moment, is between two crashes."""
    last = container.get("lastState", {}).get("terminated", {})
    if container.get("restartCount", 0) < _CRASHES_BEFORE_A_LOOP or not last.get("exitCode"):
        return False
    return _seconds(last) < _STEADY_SECONDS


def _seconds(ended: Mapping[str, Any]) -> float:
    """How long a container ran."""
    times = [ended.get(at) for at in ("startedAt", "finishedAt")]
    began, end = (datetime.fromisoformat(at) if at else None for at in times)
    return (end - began).total_seconds() if began and end else 0.0


def _end(container: Mapping[str, Any]) -> str:
    """How the container ended last, with what it said."""
    last = container.get("lastState", {}).get("terminated", {})
    said = " ".join(str(last.get("message") or last.get("reason") or "").split())
    return f"it ended with exit code {last.get('exitCode', 'unknown')}" + (f": {said}" if said else "")
