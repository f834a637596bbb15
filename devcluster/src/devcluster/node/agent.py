"""The node: one watch over the pods bound to it, and a life for each of them."""

import asyncio
import hashlib
import logging
import shutil
from collections.abc import Container

from devcluster.node.api import NodeApi, Object
from devcluster.node.config import Config
from devcluster.node.objects import Objects
from devcluster.node.pod.life import Host, PodLife
from devcluster.node.processes import Processes
from devcluster.node.registration import Registration
from devcluster.node.watch import Changed, Deleted, Listed, watch

logger = logging.getLogger(__name__)

_CRASHED_SECONDS = 5
_ENDING_SECONDS = 1


async def run_node(config: Config) -> None:
    """Be the node until cancelled; then end every process within about a second."""
    processes = Processes(sole_parent=True)
    async with NodeApi(config.server, config.ca_file, config.token_file) as api:
        host = Host(config=config, api=api, objects=Objects(api), processes=processes)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(Registration(config, api).keep())
                group.create_task(PodLives(host, group).follow())
        finally:
            await processes.end_all(_ENDING_SECONDS)


class PodLives:
    """The pods bound to this node, by uid: a second pod of the same name is another pod."""

    def __init__(self, host: Host, group: asyncio.TaskGroup) -> None:
        self._host = host
        self._group = group
        self._lives: dict[str, PodLife] = {}

    async def follow(self) -> None:
        selector = f"spec.nodeName={self._host.config.node_name}"
        async for event in watch(self._host.api, "/api/v1/pods", fieldSelector=selector):
            match event:
                case Listed(items):
                    self._replace({item["metadata"]["uid"]: item for item in items})
                case Changed(item):
                    self._update(item)
                case Deleted(item):
                    self._remove(item["metadata"]["uid"])

    def _replace(self, items: dict[str, Object]) -> None:
        """Follow a complete list, and remove the directories of pods that ended while no agent ran."""
        for uid in self._lives.keys() - items.keys():
            self._remove(uid)
        pods = self._host.config.directory / "pods"
        for directory in pods.iterdir() if pods.is_dir() else ():
            # A pod that is not listed may still be ending here: its life removes the directory afterwards.
            if directory.name not in items and directory.name not in self._lives:
                shutil.rmtree(directory)
        for item in items.values():
            self._update(item)

    def _update(self, pod: Object) -> None:
        """Take in a new state of a pod. A state that cannot be taken in is left out, and no other pod notices."""
        uid = pod["metadata"]["uid"]
        try:
            if uid in self._lives:
                self._lives[uid].update(pod)
                return
            self._lives[uid] = self._new_life(pod)
        except Exception:
            logger.exception("the pod %s is set aside until its object changes", pod["metadata"].get("name"))
        else:
            self._group.create_task(self._see_through(uid))

    def _remove(self, uid: str) -> None:
        if uid in self._lives:
            self._lives[uid].vanished()

    def _new_life(self, pod: Object) -> PodLife:
        addresses = {life.address for life in self._lives.values()}
        return PodLife(pod, pod_address(pod["metadata"]["uid"], addresses), self._host)

    async def _see_through(self, uid: str) -> None:
        """Run a pod to its end. A fault of ours costs this pod a restart, and no other pod anything."""
        life = self._lives[uid]
        try:
            await life.run()
        except Exception:
            logger.exception("the pod %s is started anew after a fault of the node", life.name)
            await asyncio.sleep(_CRASHED_SECONDS)
            del self._lives[uid]
            if not life.has_vanished:
                self._update(life.pod)
        else:
            del self._lives[uid]


def pod_address(uid: str, in_use: Container[str]) -> str:
    """An address for a pod: one in 127.1.0.0 to 127.254.255.255 that is not in ``in_use``.

    Linux answers on all of these 16 million addresses without configuration. Pods share the host's network, so two
    replicas that listen on the same port of every address clash. A program that listens on its pod's own address
    (``status.podIP`` by fieldRef) does not. The address follows from the pod's uid, so that it survives a restart of
    the agent and pods of other clusters on this machine have others.
    """
    attempt = 0
    while True:
        digest = hashlib.sha256(f"{uid}/{attempt}".encode()).digest()
        address = f"127.{digest[0] % 254 + 1}.{digest[1]}.{digest[2] % 254 + 1}"
        if address not in in_use:
            return address
        attempt += 1
