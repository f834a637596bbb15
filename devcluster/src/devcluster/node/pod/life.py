"""The life of one pod on this node, from the moment it is bound until the API server has forgotten it."""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from devcluster.node.api import Api, ApiError, Object
from devcluster.node.clock import seconds_since
from devcluster.node.config import Config
from devcluster.node.container import Container, Setting
from devcluster.node.events import Recorder
from devcluster.node.launch import Launch, launch, pod_directory
from devcluster.node.objects import NotAvailable, NotReadYet, Objects
from devcluster.node.pod.reported_status import PodReport
from devcluster.node.pod.status_writer import StatusWriter, pod_path
from devcluster.node.pod.volumes import PodVolumes
from devcluster.node.processes import Processes
from devcluster.node.refusals import Refusal, refusals
from devcluster.node.retry import Backoff
from devcluster.node.tokens import Tokens

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 5
_OVER = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What the pods of the node share."""

    config: Config
    api: Api
    objects: Objects
    processes: Processes


class PodLife:
    """Runs one pod. ``seen`` tells it each new state of its object, ``vanished`` that the object is gone."""

    def __init__(self, pod: Object, address: str, host: Host) -> None:
        self.name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        self.address = address
        self._host = host
        self._directory = pod_directory(host.config, pod)
        self._status = StatusWriter(host.api, pod, self._report)
        self._recorder = Recorder(host.api, host.config.node_name, pod)
        self._tokens = Tokens(host.api, pod, host.config.token_refresh_at)
        self._volumes = PodVolumes(host.config, host.objects, pod, self._directory, self._wake)
        self._woken = asyncio.Event()  # what it waits for may be there now
        self._stopping = asyncio.Event()  # nothing is to be started any more
        self._stops: asyncio.Queue[float] = asyncio.Queue()  # each with its grace in seconds
        self._deleted = asyncio.Event()  # its object is to go, or is gone
        self._vanished = asyncio.Event()  # its object is gone
        self._mounted = self._ended = False
        self._failure: tuple[str, str] | None = None
        self._make_containers()
        self.seen(pod)

    async def run(self) -> None:
        """The whole life. Whatever ends it, also cancellation, no process of the pod is left."""
        try:
            async with asyncio.TaskGroup() as group:
                helpers = [group.create_task(self._recorder.write()), group.create_task(self._obey_stops())]
                if self._status.pod["status"].get("phase") not in _OVER:
                    helpers.append(group.create_task(self._status.keep_written()))
                    tokens = group.create_task(self._tokens.keep_fresh(self._wake, self._no_mount))
                    await self._live()
                    tokens.cancel()
                await self._deleted.wait()
                await self._say_farewell()
                for helper in helpers:
                    helper.cancel()
        finally:
            self._mounted = False
            self._volumes.close()
            for container in self._all_containers():
                container.abandon()

    def seen(self, pod: Object) -> None:
        """Take note of a new state of the pod's object."""
        self._status.seen(pod)
        self._wake()
        if "deletionTimestamp" in pod["metadata"]:
            self._deleted.set()
            self._stop(pod["metadata"].get("deletionGracePeriodSeconds", 0))

    def vanished(self) -> None:
        """The object is gone without having waited for the node: kill everything at once."""
        self._vanished.set()
        self._deleted.set()
        self._stop(0)

    @property
    def pod(self) -> Object:
        """The newest known state of the pod's object."""
        return self._status.pod

    @property
    def has_vanished(self) -> bool:
        """Whether the pod's object is known to be gone."""
        return self._vanished.is_set()

    # what the containers need

    def launch(self, container: Object) -> Launch:
        return launch(container, self._own_view(), self._host.config, self._directory, self._volumes.find)

    def log(self, container: Object, restarts: int) -> Path:
        return self._directory.log(container["name"], restarts)

    def changed(self) -> None:
        self._status.changed()

    # the stages of the life

    async def _live(self) -> None:
        deadline = self._start_deadline()
        await self._until_possible()
        await self._until_mounted()
        await self._run_containers()
        if deadline is not None:
            deadline.cancel()
        self._ended = True
        self.changed()

    async def _until_possible(self) -> None:
        """Wait for as long as the pod asks for something that this node cannot do."""
        said: list[Refusal] | None = None
        while not self._stopping.is_set():
            self._woken.clear()
            found = refusals(self._status.pod, self._host.config.images)
            if found != said:
                said = found
                self._make_containers()  # from the specification as it is now
                if not found:
                    return
                self._deny(found)
            await self._woken.wait()

    def _deny(self, found: list[Refusal]) -> None:
        message = "; ".join(refusal.message for refusal in found)
        self._recorder.warning(found[0].reason, message)
        for container in self._all_containers():
            container.deny(found[0].reason, message)

    async def _until_mounted(self) -> None:
        while not self._stopping.is_set():
            self._woken.clear()
            try:
                self._volumes.write(self._own_view(), self._tokens)
            except NotReadYet:
                pass  # it wakes us when it has been read
            except (NotAvailable, ValueError, OSError) as error:
                self._no_mount(str(error))
            else:
                self._mounted = True
                self.changed()
                return
            try:
                async with asyncio.timeout(_RETRY_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                continue

    async def _run_containers(self) -> None:
        if self._stopping.is_set():
            return
        for container in self._init_containers:
            if not await container.run():
                return
        async with asyncio.TaskGroup() as group:
            for container in self._containers:
                group.create_task(container.run())

    async def _say_farewell(self) -> None:
        """Write the last status, let the object go, and wait until it is gone."""
        if self._ended and not self.has_vanished:
            await self._status.write()
        await self._delete()
        await self._vanished.wait()
        self._directory.remove()

    async def _delete(self) -> None:
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": self._status.pod["metadata"]["uid"]}}
        backoff = Backoff(0.2, 10)
        while not self.has_vanished:
            try:
                await self._host.api.delete(pod_path(self._status.pod), options)
            except ApiError as error:
                if error.gone:
                    return
                logger.warning("pod not deleted: %s", error)
                await asyncio.sleep(max(backoff.next(), error.retry_after))
            else:
                return

    # the rest

    async def _obey_stops(self) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                grace = await self._stops.get()
                for container in self._all_containers():
                    group.create_task(container.stop(grace))

    def _stop(self, grace_seconds: float) -> None:
        self._stopping.set()
        self._stops.put_nowait(grace_seconds)
        self._woken.set()

    def _start_deadline(self) -> asyncio.TimerHandle | None:
        pod = self._status.pod
        seconds = pod["spec"].get("activeDeadlineSeconds")
        if seconds is None:
            return None
        passed = seconds_since(pod["status"]["startTime"]) if "startTime" in pod["status"] else 0
        return asyncio.get_running_loop().call_later(max(seconds - passed, 0), self._expire)

    def _expire(self) -> None:
        self._failure = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
        self._stop(self._grace_seconds())

    def _wake(self) -> None:
        """Something the pod is made from may have changed."""
        self._woken.set()
        for container in self._all_containers():
            container.needed_again.set()
        if self._mounted and not (self._ended or self._stopping.is_set()):
            try:
                self._volumes.write(self._own_view(), self._tokens)
            except (NotAvailable, ValueError, OSError) as error:
                self._no_mount(str(error))

    def _no_mount(self, why: str) -> None:
        self._recorder.warning("FailedMount", why)

    def _own_view(self) -> Object:
        """The pod's object with its addresses, whether or not the API server has taken them yet."""
        addresses = {
            "podIP": self.address,
            "podIPs": [{"ip": self.address}],
            "hostIP": "127.0.0.1",
            "hostIPs": [{"ip": "127.0.0.1"}],
        }
        return {**self._status.pod, "status": {**self._status.pod.get("status", {}), **addresses}}

    def _report(self) -> PodReport:
        return PodReport(
            address=self.address,
            containers=[container.report() for container in self._containers],
            init_containers=[container.report() for container in self._init_containers],
            mounted=self._mounted,
            ended=self._ended,
            failure=self._failure,
        )

    def _all_containers(self) -> list[Container]:
        return [*self._init_containers, *self._containers]

    def _grace_seconds(self) -> float:
        return float(self._status.pod["spec"].get("terminationGracePeriodSeconds", 30))

    def _make_containers(self) -> None:
        """Containers in the state in which the object shows them."""
        pod, config = self._status.pod, self._host.config
        setting = Setting(
            processes=self._host.processes,
            recorder=self._recorder,
            surroundings=self,
            pod_name=self.name,
            address=self.address,
            grace_seconds=self._grace_seconds(),
            backoff_seconds=config.restart_backoff_seconds,
            backoff_max_seconds=config.restart_backoff_max_seconds,
        )
        policy = pod["spec"].get("restartPolicy", "Always")
        init_policy = "Never" if policy == "Never" else "OnFailure"

        def made(key: str, statuses: str, policy: str) -> list[Container]:
            before = {each["name"]: each for each in pod.get("status", {}).get(statuses, [])}
            return [Container(each, policy, setting, before.get(each["name"])) for each in pod["spec"].get(key, [])]

        self._init_containers = made("initContainers", "initContainerStatuses", init_policy)
        self._containers = made("containers", "containerStatuses", policy)
