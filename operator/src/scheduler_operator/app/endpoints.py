"""Health checks and metrics of the operator, by the same server as a scheduler's; also without leadership."""

from collections.abc import Callable
from dataclasses import dataclass, field

from scheduler_runtime.component.health_metrics import HealthMetrics
from scheduler_runtime.component.https import PROMETHEUS, Check, Endpoints, Page


@dataclass(slots=True)
class Readiness:
    """Written by the event loop, and read by the threads that answer probes."""

    not_ready: str = "starting"
    """Why the process is not ready; empty once it is."""
    remarks: dict[str, str] = field(default_factory=dict)
    """What is wrong although the process works, by what it is about."""

    @property
    def remark(self) -> str:
        """All remarks in one sentence."""
        return "; ".join(filter(None, list(self.remarks.values())))

    def become_ready(self) -> None:
        """From now on, and to the end, say that the process is ready."""
        self.not_ready = ""

    def wait_for(self, reason: str) -> None:
        """Say what the process waits for, if it is not ready yet."""
        if self.not_ready:
            self.not_ready = reason

    def check(self) -> str | None:
        """Return why the process is not ready; None once it is."""
        return self.not_ready or None


def operator_endpoints(
    readiness: Readiness, check_loop: Check, check_election: Check, metrics: Callable[[], str]
) -> Endpoints:
    """Return the endpoints of a process with these checks and ``metrics``."""
    health = HealthMetrics()
    lasting: dict[str, Check] = {"loop": check_loop, "leaderElection": check_election}
    pages = {
        "/metrics": Page(PROMETHEUS, lambda _: metrics()),
        "/metrics/slis": Page(PROMETHEUS, lambda _: health.text()),
    }
    return Endpoints(
        live={"ping": lambda: None, **lasting},
        ready={**lasting, "startup": readiness.check},
        pages=pages,
        observe=health.observe,
        remark=lambda: readiness.remark,
    )
