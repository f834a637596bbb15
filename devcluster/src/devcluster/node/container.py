"""The life of one container: started, probed, restarted as the policy says, stopped when the pod ends."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from devcluster.node.api import Object
from devcluster.node.clock import Backoff, now, seconds_since
from devcluster.node.events import Recorder
from devcluster.node.launch import Launch
from devcluster.node.objects import NotAvailable
from devcluster.node.pod.reported_status import ContainerReport, Running, State, Terminated, Waiting, terminated
from devcluster.node.probes import Target, act, watch_health
from devcluster.node.processes import NotStarted, Processes, RunningProgram

_STABLE_SECONDS = 600  # a container that ran this long is restarted as if it had never failed
_LOG_TAIL_BYTES = 2048
_ABANDONED_SECONDS = 1
_CANNOT_START = 128
_KILLED = 137


class ContainerContext(Protocol):
    """The pod as its containers see it: the source of launches and logs, and the receiver of changes."""

    def launch(self, container: Object) -> Launch: ...
    def log(self, container: Object, restarts: int) -> Path: ...
    def changed(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The parts and settings that the containers of a pod share."""

    processes: Processes
    recorder: Recorder
    surroundings: ContainerContext
    pod_name: str
    address: str
    grace_seconds: float
    backoff_seconds: float
    backoff_max_seconds: float


class Container:
    """One container of a pod; ``run`` is its whole life, ``report`` its state at the moment."""

    def __init__(self, specification: Object, restart_policy: str, setting: Setting, before: Object | None) -> None:
        self.name: str = specification["name"]
        self.may_start = asyncio.Event()  # an object or volume that the start waits for may exist now
        self._specification = specification
        self._restart_policy = restart_policy
        self._setting = setting
        self._state: State = Waiting("ContainerCreating")
        self._last: Terminated | None = None
        self._restarts = 0
        self._started = self._ready = False
        self._process: RunningProgram | None = None
        self._ending: RunningProgram | None = None
        self._stopping = asyncio.Event()
        self._target = Target(specification, setting.address, self._execute)
        self._launch: Launch | None = None
        self._backoff = Backoff(setting.backoff_seconds, setting.backoff_max_seconds)
        self._restart_at_once = True
        if before is not None:
            self._resume(before)

    def report(self) -> ContainerReport:
        """The state of the container, for the pod's status."""
        return ContainerReport(
            name=self.name,
            image=self._specification["image"],
            state=self._state,
            last=self._last,
            restarts=self._restarts,
            started=self._started,
            ready=self._ready,
            container_id=_container_id(self._process) if self._process else "",
        )

    async def run(self) -> bool:
        """Run until the restart policy asks for no further run. True when the last run succeeded."""
        end = self._last
        while True:
            if end is not None:
                again = self._restart_policy == "Always" or (self._restart_policy != "Never" and end.exit_code != 0)
                if self._stopping.is_set() or not again:
                    return end.exit_code == 0
                await self._back_off(end)
            launch = await self._next_launch()
            if launch is None:
                return False
            self._restarts += end is not None  # a first start is no restart
            end = await self._run_once(launch)

    async def stop(self, grace_seconds: float) -> None:
        """End the container within ``grace_seconds``, for good. May be repeated with less time."""
        self._stopping.set()
        self.may_start.set()
        await self._end(grace_seconds)

    def abandon(self) -> None:
        """Have the process end soon, without waiting for its end."""
        if self._process is not None and not self._process.ended.done():
            self._process.terminate()
            self._process.end_within(_ABANDONED_SECONDS)

    def deny(self, reason: str, message: str) -> None:
        """Show the reason for which the container is not started."""
        self._show(Waiting(reason, message))

    # what the probes report: see ``probes.Patient``

    def set_ready(self, ready: bool) -> None:
        if (self._started, self._ready) != (True, ready):
            self._started, self._ready = True, ready
            self._setting.surroundings.changed()

    def complain(self, probe_name: str, failure: str) -> None:
        self._setting.recorder.warning("Unhealthy", f"{probe_name} probe failed: {failure}")

    async def give_up(self, probe_name: str) -> None:
        self._setting.recorder.normal("Killing", f"Container {self.name} failed its {probe_name} probe")
        specification = self._specification[f"{probe_name}Probe"]
        await self._end(specification.get("terminationGracePeriodSeconds", self._setting.grace_seconds))

    def _resume(self, before: Object) -> None:
        """Take up the state that an earlier agent reported; a process that ran then has ended with that agent."""
        self._restarts = before.get("restartCount", 0)
        state = before.get("state", {})
        past = state if "terminated" in state else before.get("lastState", {})
        if "running" in state:
            started_at = state["running"]["startedAt"]
            self._last = Terminated(_KILLED, "Error", started_at, now(), "it ended with the agent of its node")
        elif "terminated" in past:
            self._last = terminated(past["terminated"])
        if self._last is not None:
            self._state = self._last

    async def _back_off(self, end: Terminated) -> None:
        """Wait before a restart: not before the first, then longer each time."""
        if seconds_since(end.started_at) > _STABLE_SECONDS:
            self._backoff.reset()
            self._restart_at_once = True
        if self._restart_at_once:
            self._restart_at_once = False
            return
        seconds = self._backoff.next()
        who = f"container={self.name} pod={self._setting.pod_name}"
        self._setting.recorder.warning("BackOff", f"Back-off restarting failed container {self.name}")
        self._show(Waiting("CrashLoopBackOff", f"back-off {seconds:g}s restarting failed {who}"))
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return

    async def _next_launch(self) -> Launch | None:
        """Wait until the next start is possible, and return what to start. None when the pod is being stopped."""
        while not self._stopping.is_set():
            self.may_start.clear()
            try:
                return self._setting.surroundings.launch(self._specification)
            except (NotAvailable, ValueError) as error:
                waiting = Waiting("CreateContainerConfigError", str(error))
                if self._state != waiting:
                    self._setting.recorder.warning("Failed", f"Container {self.name}: {error}")
                self._show(waiting)
                await self.may_start.wait()
        return None

    async def _run_once(self, launch: Launch) -> Terminated:
        started_at = now()
        log = self._setting.surroundings.log(self._specification, self._restarts)
        try:
            process = self._setting.processes.start(launch.program, log)
        except (NotStarted, OSError) as error:
            self._setting.recorder.warning("Failed", f"Container {self.name}: {error}")
            end = Terminated(_CANNOT_START, "StartError", started_at, now(), str(error))
        else:
            self._launch, self._process = launch, process
            self._setting.recorder.normal("Started", f"Started container {self.name}; its output is in {log}")
            self._started = "startupProbe" not in self._specification
            self._ready = self._started and "readinessProbe" not in self._specification
            self._show(Running(started_at))
            async with asyncio.TaskGroup() as group:
                health = group.create_task(watch_health(self._target, self))
                code = await asyncio.shield(process.ended)
                health.cancel()
            message = ""
            if code and self._specification.get("terminationMessagePolicy") == "FallbackToLogsOnError":
                with log.open("rb") as file:
                    file.seek(max(log.stat().st_size - _LOG_TAIL_BYTES, 0))
                    message = file.read().decode(errors="replace")
            end = Terminated(
                exit_code=code if code >= 0 else 128 - code,
                reason="Completed" if code == 0 else "Error",
                started_at=started_at,
                finished_at=now(),
                message=message,
                signal=max(-code, 0),
                container_id=_container_id(process),
            )
        self._last, self._started, self._ready = end, False, False
        self._show(end)
        return end

    async def _end(self, grace_seconds: float) -> None:
        """End the current process: its preStop hook, SIGTERM, and SIGKILL when the time is over."""
        process = self._process
        if process is None or process.ended.done():
            return
        process.end_within(grace_seconds)
        if self._ending is process:  # its end has begun already; only the time may be shorter now
            return
        self._ending = process
        self._setting.recorder.normal("Killing", f"Stopping container {self.name}")
        hook = self._specification.get("lifecycle", {}).get("preStop")
        if hook is not None:
            action = asyncio.create_task(act(hook, self._target))
            either: set[asyncio.Future[Any]] = {action, process.ended}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not action.done():
                action.cancel()
            elif failure := action.result():
                self._setting.recorder.warning("FailedPreStopHook", f"Container {self.name}: {failure}")
        process.terminate()

    async def _execute(self, command: list[str]) -> int:
        """Run ``command`` in the container's surroundings; cancelled, it is killed."""
        if self._launch is None:
            raise RuntimeError(f"container {self.name} has not been started")
        process = self._setting.processes.start(self._launch.execute(command), Path("/dev/null"))
        try:
            return await asyncio.shield(process.ended)
        finally:
            if not process.ended.done():
                process.end_within(0)

    def _show(self, state: State) -> None:
        self._state = state
        self._setting.surroundings.changed()


def _container_id(process: RunningProgram) -> str:
    return f"process://{process.pid}"
