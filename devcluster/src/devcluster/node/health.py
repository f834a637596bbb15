"""The probes of one run of a container: startup until it has passed, then liveness and readiness side by side."""

import asyncio
from typing import Protocol

from devcluster.node.actions import Target
from devcluster.node.probes import probe


class Patient(Protocol):
    """Whom the probes tell what they found."""

    def set_ready(self, ready: bool) -> None: ...
    def complain(self, probe_name: str, failure: str) -> None: ...
    async def give_up(self, probe_name: str) -> None: ...


async def watch_health(target: Target, patient: Patient) -> None:
    """Probe for as long as the container runs; the caller cancels it then."""
    since = asyncio.get_running_loop().time()
    if "startupProbe" in target.container and not await _passes_startup(target, patient, since):
        return
    patient.set_ready("readinessProbe" not in target.container)
    async with asyncio.TaskGroup() as group:
        if "livenessProbe" in target.container:
            group.create_task(_watch_liveness(target, patient, since))
        if "readinessProbe" in target.container:
            group.create_task(_watch_readiness(target, patient, since))


async def _passes_startup(target: Target, patient: Patient, since: float) -> bool:
    complaints = _Complaints("Startup", patient)
    async for attempt in probe(target.container["startupProbe"], target, since):
        complaints.note(attempt.failure)
        if attempt.verdict:
            return True
        if attempt.verdict is False:
            break
    await patient.give_up("startup")
    return False


async def _watch_liveness(target: Target, patient: Patient, since: float) -> None:
    complaints = _Complaints("Liveness", patient)
    async for attempt in probe(target.container["livenessProbe"], target, since):
        complaints.note(attempt.failure)
        if attempt.verdict is False:
            await patient.give_up("liveness")
            return


async def _watch_readiness(target: Target, patient: Patient, since: float) -> None:
    complaints = _Complaints("Readiness", patient)
    async for attempt in probe(target.container["readinessProbe"], target, since):
        complaints.note(attempt.failure)
        if attempt.verdict is not None:
            patient.set_ready(attempt.verdict)


class _Complaints:
    """Tells the patient of a failure once, until it has passed."""

    def __init__(self, probe_name: str, patient: Patient) -> None:
        self._probe_name = probe_name
        self._patient = patient
        self._failing = False

    def note(self, failure: str) -> None:
        if failure and not self._failing:
            self._patient.complain(self._probe_name, failure)
        self._failing = bool(failure)
