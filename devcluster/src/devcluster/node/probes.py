"""Probes and lifecycle hooks: their actions, the thresholds of a probe, and all probes of one run of a container."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp

from devcluster.node.api import Object
from devcluster.node.processes import NotStarted

ACTIONS = frozenset({"httpGet", "tcpSocket", "exec", "sleep"})


@dataclass(frozen=True, slots=True)
class Target:
    """The container that actions are about."""

    container: Object
    address: str
    execute: Callable[[list[str]], Awaitable[int]]  # runs a command in the container's environment

    def port(self, value: int | str) -> int:
        """The number of a port, which may also be the name of one. Raises ValueError for an unknown name."""
        ports = {port.get("name"): int(port["containerPort"]) for port in self.container.get("ports", [])}
        number = ports.get(value, value)
        if isinstance(number, str) and not number.isdecimal():
            raise ValueError(f"the container has no port called {number}")
        return int(number)


class Patient(Protocol):
    """The container as its probes see it: the receiver of their results."""

    def set_ready(self, ready: bool) -> None: ...
    def complain(self, probe_name: str, failure: str) -> None: ...
    async def give_up(self, probe_name: str) -> None: ...


async def watch_health(target: Target, patient: Patient) -> None:
    """Probe a running container: startup until it has passed, then liveness and readiness side by side.

    The caller cancels this when the container ends.
    """
    since = asyncio.get_running_loop().time()
    if "startupProbe" in target.container:
        async for passed in _verdicts("startup", target, patient, since):
            if passed:
                break
            await patient.give_up("startup")
            return
    patient.set_ready("readinessProbe" not in target.container)
    async with asyncio.TaskGroup() as group:
        if "livenessProbe" in target.container:
            group.create_task(_act_on_verdicts("liveness", target, patient, since))
        if "readinessProbe" in target.container:
            group.create_task(_act_on_verdicts("readiness", target, patient, since))


async def _act_on_verdicts(name: str, target: Target, patient: Patient, since: float) -> None:
    async for passed in _verdicts(name, target, patient, since):
        if name == "readiness":
            patient.set_ready(passed)
        elif not passed:
            await patient.give_up(name)
            return


async def _verdicts(name: str, target: Target, patient: Patient, since: float) -> AsyncIterator[bool]:
    """Yield each verdict of one probe; the patient hears of a failure once, until an attempt succeeds again."""
    failing = False
    async for attempt in probe(target.container[f"{name}Probe"], target, since):
        if attempt.failure and not failing:
            patient.complain(name.capitalize(), attempt.failure)
        failing = bool(attempt.failure)
        if attempt.verdict is not None:
            yield attempt.verdict


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a probe. ``verdict`` is None until there were enough in a row."""

    failure: str
    verdict: bool | None


async def probe(specification: Object, target: Target, since: float) -> AsyncIterator[Attempt]:
    """Run a probe for ever, at its own pace, of a container that runs ``since`` that instant of the loop's clock."""
    action = {kind: specification[kind] for kind in ACTIONS & specification.keys()}
    seconds = specification.get("timeoutSeconds", 1)
    streak = Streak(specification.get("successThreshold", 1), specification.get("failureThreshold", 3))
    begins = since + specification.get("initialDelaySeconds", 0)
    await asyncio.sleep(begins - asyncio.get_running_loop().time())
    while True:
        try:
            async with asyncio.timeout(seconds):
                failure = await act(action, target)
        except TimeoutError:
            failure = f"no answer within {seconds} s"
        yield Attempt(failure, streak.verdict(succeeded=not failure))
        await asyncio.sleep(specification.get("periodSeconds", 10))


@dataclass(slots=True)
class Streak:
    """Equal results in a row, against a probe's two thresholds."""

    success_threshold: int
    failure_threshold: int
    _last: bool | None = None
    _length: int = 0

    def verdict(self, *, succeeded: bool) -> bool | None:
        """Count one more result: True or False once there were enough of it in a row, else None."""
        self._length = self._length + 1 if succeeded is self._last else 1
        self._last = succeeded
        enough = self.success_threshold if succeeded else self.failure_threshold
        return succeeded if self._length >= enough else None


async def act(action: Object, target: Target) -> str:
    """Do ``action`` and return what was wrong, or nothing. Its time-out is the caller's business."""
    try:
        match action:
            case {"httpGet": request}:
                return await _http_get(request, target)
            case {"tcpSocket": socket}:
                host = socket.get("host") or target.address
                _, writer = await asyncio.open_connection(host, target.port(socket["port"]))
                writer.close()
                return ""
            case {"exec": {"command": command}}:
                code = await target.execute(command)
                return "" if code == 0 else f"{command[0]} ended with exit code {code}"
            case {"sleep": {"seconds": seconds}}:
                await asyncio.sleep(seconds)
                return ""
        raise ValueError(f"the process node knows none of the actions {', '.join(action)}")
    except (aiohttp.ClientError, NotStarted, OSError, ValueError) as error:
        return str(error) or type(error).__name__


async def _http_get(request: dict[str, Any], target: Target) -> str:
    host = request.get("host") or target.address
    scheme = request.get("scheme", "HTTP").lower()
    url = f"{scheme}://{host}:{target.port(request['port'])}{request.get('path', '/')}"
    headers = {header["name"]: header["value"] for header in request.get("httpHeaders", [])}
    connector = aiohttp.TCPConnector(ssl=False, force_close=True)  # as with a kubelet, any certificate will do
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(url, headers={"User-Agent": "kube-probe", **headers}, allow_redirects=False) as response,
    ):
        return "" if 200 <= response.status < 400 else f"GET {url} answered {response.status}"
