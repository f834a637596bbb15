"""The life of one container: started, probed, restarted as the policy says, stopped when the pod ends."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from devcluster.node.actions import Target, act
from devcluster.node.api import Object
from devcluster.node.clock import now, seconds_since
from devcluster.node.events import Recorder
from devcluster.node.health import watch_health
from devcluster.node.launch import Launch
from devcluster.node.objects import NotAvailable
from devcluster.node.pod.reported_status import ContainerReport, Running, State, Terminated, Waiting, terminated
from devcluster.node.processes import NotStarted, Process, Processes
from devcluster.node.retry import Backoff

_STABLE_SECONDS = 600  # a container that ran this long is restarted as if it had never failed
_LOG_TAIL_BYTES = 2048
_ABANDONED_SECONDS = 1
_CANNOT_START = 128
_KILLED = 137


class Surroundings(Protocol):
    """What a container needs of its pod."""

    def launch(self, container: Object) -> Launch: ...
    def log(self, container: Object, restarts: int) -> Path: ...
    def changed(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the containers of a pod have in common."""

    processes: Processes
    recorder: Recorder
    surroundings: Surroundings
    pod_name: str
    address: str
    grace_seconds: float
    backoff_seconds: float
    backoff_max_seconds: float


class Container:
    """One container of a pod; ``run`` is its whole life, ``report`` what it is doing at the moment."""

    def __init__(self, specification: Object, restart_policy: str, setting: Setting, before: Object | None) -> None:
        self.name: str = specification["name"]
        self.needed_again = asyncio.Event()  # something it waits for may be there now
        self._specification = specification
        self._restart_policy = restart_policy
        self._setting = setting
        self._state: State = Waiting("ContainerCreating")
        self._last: Terminated | None = None
        self._restarts = 0
        self._started = self._ready = False
        self._process: Process | None = None
        self._ending: Process | None = None
        self._stopping = asyncio.Event()
        self._target = Target(specification, setting.address, self._execute)
        self._launch: Launch | None = None
        self._backoff = Backoff(setting.backoff_seconds, setting.backoff_max_seconds)
        self._restart_at_once = True
        if before is not None:
            self._resume(before)

    def report(self) -> ContainerReport:
        """What a status says about it."""
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
        """Run until the restart policy wants no more. True when the last run succeeded."""
        end = self._last
        while True:
            if end is not None:
                if not self._wants_restart(end):
                    return end.exit_code == 0
                await self._back_off(end)
            launch = await self._ready_to_start()
            if launch is None:
                return False
            self._restarts += end is not None
            end = await self._run_once(launch)

    async def stop(self, grace_seconds: float) -> None:
        """Have it end within ``grace_seconds`` and not start again. May be repeated with less time."""
        self._stopping.set()
        self.needed_again.set()
        await self._end(grace_seconds)

    def abandon(self) -> None:
        """Have its process end soon, with nobody waiting for it."""
        if self._process is not None and not self._process.ended.done():
            self._process.terminate()
            self._process.end_within(_ABANDONED_SECONDS)

    def deny(self, reason: str, message: str) -> None:
        """Say why it is not started."""
        self._show(Waiting(reason, message))

    # what the probes tell

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
        """Take up what an earlier agent reported; what ran then has died with it."""
        self._restarts = before.get("restartCount", 0)
        state = before.get("state", {})
        past = state if "terminated" in state else before.get("lastState", {})
        if "running" in state:
            began = state["running"]["startedAt"]
            self._last = Terminated(_KILLED, "Error", began, now(), "it ended with the agent of its node")
        elif "terminated" in past:
            self._last = terminated(past["terminated"])
        if self._last is not None:
            self._state = self._last

    def _wants_restart(self, end: Terminated) -> bool:
        if self._stopping.is_set() or self._restart_policy == "Never":
            return False
        return self._restart_policy == "Always" or end.exit_code != 0

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

    async def _ready_to_start(self) -> Launch | None:
        """Everything for the next start, waiting for it where needed. None when the pod is being stopped."""
        while not self._stopping.is_set():
            self.needed_again.clear()
            try:
                return self._setting.surroundings.launch(self._specification)
            except (NotAvailable, ValueError) as error:
                waiting = Waiting("CreateContainerConfigError", str(error))
                if self._state != waiting:
                    self._setting.recorder.warning("Failed", f"Container {self.name}: {error}")
                self._show(waiting)
                await self.needed_again.wait()
        return None

    async def _run_once(self, launch: Launch) -> Terminated:
        began = now()
        log = self._setting.surroundings.log(self._specification, self._restarts)
        try:
            process = self._setting.processes.start(launch.program, log)
        except (NotStarted, OSError) as error:
            self._setting.recorder.warning("Failed", f"Container {self.name}: {error}")
            end = Terminated(_CANNOT_START, "StartError", began, now(), str(error))
        else:
            self._launch, self._process = launch, process
            self._setting.recorder.normal("Started", f"Started container {self.name}; its output is in {log}")
            self._started = "startupProbe" not in self._specification
            self._ready = self._started and "readinessProbe" not in self._specification
            self._show(Running(began))
            end = self._how_it_ended(await self._probed_to_its_end(process), began, process, log)
        self._last, self._started, self._ready = end, False, False
        self._show(end)
        return end

    async def _probed_to_its_end(self, process: Process) -> int:
        async with asyncio.TaskGroup() as group:
            health = group.create_task(watch_health(self._target, self))
            code = await asyncio.shield(process.ended)
            health.cancel()
        return code

    def _how_it_ended(self, code: int, began: str, process: Process, log: Path) -> Terminated:
        fall_back = self._specification.get("terminationMessagePolicy") == "FallbackToLogsOnError"
        return Terminated(
            exit_code=code if code >= 0 else 128 - code,
            reason="Completed" if code == 0 else "Error",
            started_at=began,
            finished_at=now(),
            message=_tail(log) if code and fall_back else "",
            signal=max(-code, 0),
            container_id=_container_id(process),
        )

    async def _end(self, grace_seconds: float) -> None:
        """End the current process: its preStop hook, SIGTERM, and SIGKILL when the time is over."""
        process = self._process
        if process is None or process.ended.done():
            return
        process.end_within(grace_seconds)
        if self._ending is process:  # asked before; only the time may be shorter now
            return
        self._ending = process
        self._setting.recorder.normal("Killing", f"Stopping container {self.name}")
        hook = self._specification.get("lifecycle", {}).get("preStop")
        if hook is not None:
            await self._run_hook(hook, process)
        process.terminate()

    async def _run_hook(self, hook: Object, process: Process) -> None:
        doing = asyncio.create_task(act(hook, self._target))
        either: set[asyncio.Future[Any]] = {doing, process.ended}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            doing.cancel()
        elif failure := doing.result():
            self._setting.recorder.warning("FailedPreStopHook", f"Container {self.name}: {failure}")

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


def _container_id(process: Process) -> str:
    return f"process://{process.pid}"


def _tail(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - _LOG_TAIL_BYTES, 0))
        return file.read().decode(errors="replace")
