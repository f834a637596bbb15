"""A scheduler as a process of its own on a real API server, and what can be done to the two."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import yaml

from devcluster import Cluster
from devcluster.system.ports import free_port
from scheduler_runtime.kube import credentials
from scheduler_runtime.kube.client import Client
from tests.support.pages import get_page
from tests.support.world import overcommitted

T = TypeVar("T")
Object = dict[str, Any]
SCHEDULER = "berth"
OPEN = "--authorization-always-allow-paths=/*"
"""Lets a test see every page; who else may is tested for itself."""


def document(lease: str = SCHEDULER, **changes: Any) -> Object:
    """A document with no limit on requests, and a Lease that nobody loses because the machine is slow."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"qps": -1},
        "leaderElection": {
            "resourceNamespace": "default",
            "resourceName": lease,
            "leaseDuration": "60s",
            "renewDeadline": "40s",
            "retryPeriod": "2s",
        },
        "profiles": [{"schedulerName": SCHEDULER}],
        **changes,
    }


def quick(lease: str, **changes: Any) -> Object:
    """A document whose Lease runs out soon, for tests that wait for that."""
    made = document(lease, **changes)
    made["leaderElection"].update({"leaseDuration": "8s", "renewDeadline": "5s", "retryPeriod": "1s"})
    return made


def lease_of(directory: Path) -> str:
    """A Lease for the test whose directory this is, so that it need not wait for another test's to run out."""
    return directory.name.replace("_", "-")


@dataclass
class SchedulerProcess:
    """One running ``berth-scheduler``."""

    process: subprocess.Popen[bytes]
    log_file: Path
    port: int

    @property
    def is_scheduling(self) -> bool:
        """Whether it leads and knows the cluster."""
        return bool(self.lines(" scheduling "))

    def get(self, path: str) -> str:
        """Return a page. Raises OSError while there is none."""
        page = get_page(self.port, path)
        if page.status >= 400:
            raise OSError(f"{path}: {page.status} {page.body}")
        return page.body

    def metric(self, name: str, **labels: str) -> float:
        """The sum of the samples of ``name`` that have ``labels``; 0 when there is none."""
        pairs = [f'{key}="{value}"' for key, value in labels.items()]
        lines = [line for line in self.get("/metrics").splitlines() if re.match(rf"{name}[ {{]", line)]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if all(label in line for label in pairs))

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def lines(self, word: str) -> list[str]:
        return [line for line in self.log.splitlines() if word in line]

    def end(self, number: int = signal.SIGTERM, seconds: float = 15) -> int:
        """Send the signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(seconds)


@contextlib.contextmanager
def scheduler(
    directory: Path, kubeconfig: Path, config: Mapping[str, Any] | None = None, *flags: str
) -> Iterator[SchedulerProcess]:
    """Run a scheduler until the end of the ``with``; it is killed if it is still there. What fails shows its log."""
    number = len(list(directory.glob("config-*.yaml")))
    file, log_file = directory / f"config-{number}.yaml", directory / f"scheduler-{number}.log"
    file.write_text(yaml.safe_dump(dict(config or document())))
    port = free_port()
    command = [sys.executable, "-m", "scheduler_runtime", "--config", str(file), "--kubeconfig", str(kubeconfig)]
    command += ["--bind-address", "127.0.0.1", "--secure-port", str(port), *flags]
    if not any(flag.startswith(OPEN.partition("=")[0]) for flag in flags):
        command.append(OPEN)
    with log_file.open("wb") as log:
        process = subprocess.Popen(command, stderr=log, stdout=log, env={**os.environ, "KUBECONFIG": ""})
    started = SchedulerProcess(process, log_file, port)
    try:
        yield started
    except BaseException:
        sys.stderr.write("\n".join([f"the end of {log_file}:", *started.log.splitlines()[-40:], ""]))
        raise
    finally:
        process.kill()
        process.wait()


@dataclass
class ApiView:
    """The API server as a test sees it, past any proxy."""

    client: Client
    cluster: Cluster

    async def create_pods(self, count: int, name: str = "pod", **spec: Any) -> list[str]:
        """Create pods for our scheduler, many at a time; return their names."""
        slots = asyncio.Semaphore(32)

        async def create(pod: Object) -> None:
            async with slots:
                await self.client.request("POST", "/api/v1/namespaces/default/pods", body=pod)

        pods = [pod(f"{name}-{number}", **spec) for number in range(count)]
        await asyncio.gather(*(create(pod) for pod in pods))
        return [pod["metadata"]["name"] for pod in pods]

    async def pods(self) -> list[Object]:
        return await self._items("/api/v1/namespaces/default/pods")

    async def nodes(self) -> list[Object]:
        return await self._items("/api/v1/nodes")

    async def bound(self) -> list[Object]:
        return [pod for pod in await self.pods() if pod["spec"].get("nodeName")]

    async def events(self, pod_name: str, reason: str) -> list[Object]:
        items = await self._items("/apis/events.k8s.io/v1/namespaces/default/events")
        return [item for item in items if item["regarding"].get("name") == pod_name and item["reason"] == reason]

    async def condition(self, pod_name: str) -> Object:
        """The pod's condition PodScheduled, ``{}`` when it has none."""
        path = f"/api/v1/namespaces/default/pods/{pod_name}"
        pod = json.loads(await self.client.request("GET", path))
        return next((one for one in pod["status"].get("conditions", ()) if one["type"] == "PodScheduled"), {})

    async def is_bound(self, pod_name: str) -> bool:
        path = f"/api/v1/namespaces/default/pods/{pod_name}"
        return bool(json.loads(await self.client.request("GET", path))["spec"].get("nodeName"))

    async def overcommitted(self) -> list[str]:
        """The nodes that were given more than they have, computed from the API alone."""
        return overcommitted(await self.nodes(), await self.pods())

    async def bind_others(self, count: int, seconds: float) -> None:
        """Create so many ordinary pods, one after the other, and wait until each has its node, in that time."""
        for number in range(count):
            (name,) = await self.create_pods(1, f"beside-{number}")
            await self.eventually(partial(self.is_bound, name), seconds)

    async def delete_pods(self) -> None:
        path = "/api/v1/namespaces/default/pods"
        await self.client.request("DELETE", path, body={"gracePeriodSeconds": 0})
        await self.eventually(self.no_pods, 30)

    async def no_pods(self) -> bool:
        return not await self.pods()

    async def all_bound(self, count: int, seconds: float = 60) -> None:
        async def check() -> bool:
            return len(await self.bound()) == count

        await self.eventually(check, seconds)

    async def until(self, condition: Callable[[], object], seconds: float) -> None:
        """Wait until something about a process is true."""

        async def check() -> object:
            return condition()

        await self.eventually(check, seconds)

    async def eventually(self, check: Callable[[], Awaitable[T]], seconds: float) -> T:
        """Wait until ``check`` is true, and return what it said."""
        try:
            async with asyncio.timeout(seconds):
                while not (answer := await check()):  # noqa: ASYNC110  what is waited for is in another process
                    await asyncio.sleep(0.1)
                return answer
        except TimeoutError:
            waiting = [pod["metadata"]["name"] for pod in await self.pods() if not pod["spec"].get("nodeName")]
            raise AssertionError(f"not within {seconds} s; without a node: {waiting[:20]}") from None

    async def _items(self, path: str) -> list[Object]:
        items: list[Object] = json.loads(await self.client.request("GET", path))["items"]
        return items


@contextlib.asynccontextmanager
async def api(cluster: Cluster, *, tidy: bool = True) -> AsyncIterator[ApiView]:
    """The cluster, as its administrator; without pods when it is left, if it is to be ``tidy``."""
    async with Client(credentials.load(str(cluster.kubeconfig)), "tests") as client:
        there = ApiView(client, cluster)
        try:
            yield there
        finally:
            if tidy:
                await there.delete_pods()


def pod(name: str, *, cpu: str = "1", memory: str = "1Gi", **spec: Any) -> Object:
    """A pod for our scheduler."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"schedulerName": SCHEDULER, "containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }
