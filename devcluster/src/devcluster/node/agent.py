"""The node: one watch over the pods bound to it, and a life for each of them."""

import asyncio
import logging
import shutil

from devcluster.node.addresses import pod_address
from devcluster.node.api import Api, Object
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
    async with Api(config.server, config.ca_file, config.token_file) as api:
        host = Host(config=config, api=api, objects=Objects(api), processes=processes)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(Registration(config, api).keep())
                group.create_task(_Pods(host, group).follow())
        finally:
            await processes.end_all(_ENDING_SECONDS)


class _Pods:
    """The pods bound to this node, by uid: a second pod of the same name is another pod."""

    def __init__(self, host: Host, group: asyncio.TaskGroup) -> None:
        self._host = host
        self._group = group
        self._lives: dict[str, PodLife] = {}

    async def follow(self) -> None:
        selector = f"spec.nodeName={self._host.config.node_name}"
        async for seen in watch(self._host.api, "/api/v1/pods", fieldSelector=selector):
            match seen:
                case Listed(items):
                    self._compare({item["metadata"]["uid"]: item for item in items})
                case Changed(item):
                    self._seen(item)
                case Deleted(item):
                    self._vanished(item["metadata"]["uid"])

    def _compare(self, items: dict[str, Object]) -> None:
        for uid in self._lives.keys() - items.keys():
            self._vanished(uid)
        self._remove_leftovers(items)
        for item in items.values():
            self._seen(item)

    def _remove_leftovers(self, items: dict[str, Object]) -> None:
        """Remove the directories of pods that went while no agent was there to see it."""
        pods = self._host.config.directory / "pods"
        for left in pods.iterdir() if pods.is_dir() else ():
            if left.name not in items and left.name not in self._lives:
                shutil.rmtree(left)

    def _seen(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if uid in self._lives:
            self._lives[uid].seen(pod)
        else:
            self._lives[uid] = self._new_life(pod)
            self._group.create_task(self._see_through(uid))

    def _vanished(self, uid: str) -> None:
        if uid in self._lives:
            self._lives[uid].vanished()

    def _new_life(self, pod: Object) -> PodLife:
        taken = {life.address for life in self._lives.values()}
        return PodLife(pod, pod_address(pod["metadata"]["uid"], taken), self._host)

    async def _see_through(self, uid: str) -> None:
        """Run a pod to its end. A fault of ours costs this pod a restart, and no other pod anything."""
        while True:
            life = self._lives[uid]
            try:
                await life.run()
            except Exception:
                logger.exception("the pod %s is started anew after a fault of the node", life.name)
                await asyncio.sleep(_CRASHED_SECONDS)
            else:
                del self._lives[uid]
                return
            del self._lives[uid]
            if life.has_vanished:
                return
            self._lives[uid] = self._new_life(life.pod)
