"""The life of one pod on this node, from the moment it is bound until the API server has forgotten it."""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from devcluster.node.api import ApiError, NodeApi, Object
from devcluster.node.clock import Backoff, seconds_since
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
from devcluster.node.tokens import Tokens

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 5
_OVER = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The parts that the pods of the node share."""

    config: Config
    api: NodeApi
    objects: Objects
    processes: Processes


class PodLife:
    """Runs one pod. ``update`` receives each new state of its object, ``vanished`` the news of its deletion.

    A pod passes through: refused until the node can run it, mounted, its containers run, deleted, vanished.
    """

    def __init__(self, pod: Object, address: str, host: Host) -> None:
        self.name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        self.address = address
        self._host = host
        self._directory = pod_directory(host.config, pod)
        self._status = StatusWriter(host.api, pod, self._report)
        self._recorder = Recorder(host.api, host.config.node_name, pod)
        self._tokens = Tokens(host.api, pod, host.config.token_refresh_at)
        self._woken = asyncio.Event()  # an object that the pod waits for may have changed
        self._stopping = asyncio.Event()  # no container may start any more
        self._stops: asyncio.Queue[float] = asyncio.Queue()  # grace periods in seconds
        self._deleted = asyncio.Event()  # its object has a deletion timestamp, or no longer exists
        self._vanished = asyncio.Event()  # its object no longer exists
        self._mounted = self._ended = False
        self._failure: tuple[str, str] | None = None
        self._make_containers()
        # Last, because it follows objects until ``close``: whatever raises before leaves nothing behind.
        self._volumes = PodVolumes(host.config, host.objects, pod, self._directory, self._wake)
        self.update(pod)

    async def run(self) -> None:
        """The whole life. Whatever ends this call, also cancellation, no process of the pod survives."""
        try:
            async with asyncio.TaskGroup() as group:
                background = [group.create_task(self._recorder.write()), group.create_task(self._obey_stops())]
                if self._status.pod["status"].get("phase") not in _OVER:
                    background.append(group.create_task(self._status.write_changes()))
                    tokens = group.create_task(self._tokens.keep_fresh(self._wake, self._no_mount))
                    await self._live()
                    tokens.cancel()
                # A finished pod stays until somebody deletes its object.
                await self._deleted.wait()
                await self._say_farewell()
                for task in background:
                    task.cancel()
        finally:
            self._mounted = False
            self._volumes.close()
            for container in self._all_containers():
                container.abandon()

    def update(self, pod: Object) -> None:
        """Take note of a new state of the pod's object."""
        self._status.update(pod)
        self._wake()
        if "deletionTimestamp" in pod["metadata"]:
            self._deleted.set()
            self._stop(pod["metadata"].get("deletionGracePeriodSeconds", 0))

    def vanished(self) -> None:
        """The object was deleted without waiting for the node: kill everything at once."""
        self._vanished.set()
        self._deleted.set()
        self._stop(0)

    @property
    def pod(self) -> Object:
        """The newest state of the pod's object."""
        return self._status.pod

    @property
    def has_vanished(self) -> bool:
        """True once the pod's object was reported as deleted."""
        return self._vanished.is_set()

    # for the containers: see ``container.ContainerContext``

    def launch(self, container: Object) -> Launch:
        return launch(container, self._own_view(), self._host.config, self._directory, self._volumes.find)

    def log(self, container: Object, restarts: int) -> Path:
        return self._directory.log(container["name"], restarts)

    def changed(self) -> None:
        self._status.changed()

    # the stages of the life

    async def _live(self) -> None:
        pod = self._status.pod
        deadline = None
        if (seconds := pod["spec"].get("activeDeadlineSeconds")) is not None:
            passed = seconds_since(pod["status"]["startTime"]) if "startTime" in pod["status"] else 0

            def expire() -> None:
                reason = "Pod was active on the node longer than the specified deadline"
                self._failure = ("DeadlineExceeded", reason)
                self._stop(self._grace_seconds())

            deadline = asyncio.get_running_loop().call_later(max(seconds - passed, 0), expire)
        await self._wait_until_possible()
        await self._wait_until_mounted()
        await self._run_containers()
        if deadline is not None:
            deadline.cancel()
        self._ended = True
        self.changed()

    async def _wait_until_possible(self) -> None:
        """Wait while the pod asks for a feature that this node does not have."""
        reported: list[Refusal] | None = None
        while not self._stopping.is_set():
            self._woken.clear()
            current = refusals(self._status.pod, self._host.config.images)
            if current != reported:
                reported = current
                self._make_containers()  # from the specification as it is now
                if not current:
                    return
                reason, message = current[0].reason, "; ".join(refusal.message for refusal in current)
                self._recorder.warning(reason, message)
                for container in self._all_containers():
                    container.deny(reason, message)
            await self._woken.wait()

    async def _wait_until_mounted(self) -> None:
        while not self._stopping.is_set():
            self._woken.clear()
            try:
                self._volumes.write(self._own_view(), self._tokens)
            except NotReadYet:
                pass  # _wake follows when the object has been read
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
        """Write the last status, delete the object for good, and wait until the watch reports the deletion."""
        if self._ended and not self.has_vanished:
            await self._status.write()
        # A deletion with grace leaves the object to the node, which confirms it as a kubelet does: with grace 0.
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": self._status.pod["metadata"]["uid"]}}
        backoff = Backoff(0.2, 10)
        while not self.has_vanished:
            try:
                await self._host.api.delete(pod_path(self._status.pod), options)
                break
            except ApiError as error:
                if error.is_final:
                    break
                logger.warning("pod not deleted: %s", error)
                await asyncio.sleep(max(backoff.next(), error.retry_after))
        await self._vanished.wait()
        self._directory.remove()

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

    def _wake(self) -> None:
        """Try again: an object that the pod is made from may have changed."""
        self._woken.set()
        for container in self._all_containers():
            container.may_start.set()
        if self._mounted and not (self._ended or self._stopping.is_set()):
            try:
                self._volumes.write(self._own_view(), self._tokens)
            except (NotAvailable, ValueError, OSError) as error:
                self._no_mount(str(error))

    def _no_mount(self, reason: str) -> None:
        self._recorder.warning("FailedMount", reason)

    def _own_view(self) -> Object:
        """The pod's object with its addresses, which the API server may not have stored yet."""
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

        def containers(key: str, statuses: str, policy: str) -> list[Container]:
            before = {status["name"]: status for status in pod.get("status", {}).get(statuses, [])}
            specifications = pod["spec"].get(key, [])
            return [Container(spec, policy, setting, before.get(spec["name"])) for spec in specifications]

        self._init_containers = containers("initContainers", "initContainerStatuses", init_policy)
        self._containers = containers("containers", "containerStatuses", policy)
