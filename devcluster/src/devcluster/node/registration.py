"""The Node object and its Lease: registered, and renewed for as long as the agent lives."""

import asyncio
import logging
import platform
import socket
from pathlib import Path

from devcluster.node.api import MERGE, ApiError, NodeApi, Object
from devcluster.node.clock import Backoff, now, now_micro, seconds_since
from devcluster.node.config import Config

logger = logging.getLogger(__name__)

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_LEASE_SECONDS = 40
_STATUS_SECONDS = 300  # how old a status may become that has not changed
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


def node_object(config: Config) -> Object:
    """The Node to register."""
    labels = {
        "kubernetes.io/hostname": config.node_name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": _architecture(),
        "devcluster/node": "process",
        **config.labels,
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": config.node_name, "labels": labels}}


def node_status(config: Config, server_version: str, current: Object) -> Object:
    """The status of a healthy node, each condition with the moment of its last change."""
    moment = now()
    before = {condition["type"]: condition for condition in current.get("conditions", [])}
    conditions = []
    for kind, holds, reason, message in (
        ("MemoryPressure", "False", "NotMeasured", "the process node leaves the memory to the host"),
        ("DiskPressure", "False", "NotMeasured", "the process node leaves the disk to the host"),
        ("PIDPressure", "False", "NotMeasured", "the process node leaves process numbers to the host"),
        ("Ready", "True", "AgentRunning", "the agent runs pods as processes of this machine"),
    ):
        same = before.get(kind, {}).get("status") == holds
        condition = {"type": kind, "status": holds, "reason": reason, "message": message, "lastHeartbeatTime": moment}
        conditions.append(condition | {"lastTransitionTime": before[kind]["lastTransitionTime"] if same else moment})
    return {
        "capacity": dict(config.capacity),
        "allocatable": dict(config.capacity),
        "conditions": conditions,
        "addresses": [
            {"type": "InternalIP", "address": "127.0.0.1"},
            {"type": "Hostname", "address": config.node_name},
        ],
        "nodeInfo": {
            "architecture": _architecture(),
            "operatingSystem": "linux",
            "osImage": f"{socket.gethostname()}, processes without containers",
            "kernelVersion": platform.release(),
            "containerRuntimeVersion": "process://1",
            "kubeletVersion": f"{server_version}+process",
            "kubeProxyVersion": "",
            "machineID": "",
            "systemUUID": "",
            "bootID": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        },
    }


def is_current(status: Object, desired: Object) -> bool:
    """True if ``status`` contains all of ``desired``, and its heartbeat is not too old."""
    if any(status.get(key) != desired[key] for key in ("capacity", "allocatable", "addresses", "nodeInfo")):
        return False
    conditions = {condition["type"]: condition for condition in status.get("conditions", [])}
    for condition in desired["conditions"]:
        if conditions.get(condition["type"], {}).get("status") != condition["status"]:
            return False
    heartbeat = conditions["Ready"].get("lastHeartbeatTime")
    return heartbeat is not None and seconds_since(heartbeat) < _STATUS_SECONDS


class Registration:
    """Registers the node, and renews its status and Lease again and again."""

    def __init__(self, config: Config, api: NodeApi) -> None:
        self._config = config
        self._api = api
        self._server_version = ""
        self._node_path = f"/api/v1/nodes/{config.node_name}"

    async def keep(self) -> None:
        """Register, and renew for ever."""
        backoff = Backoff(0.2, self._config.heartbeat_seconds)
        while True:
            try:
                await self._renew()
            except ApiError as error:
                logger.warning("node not renewed, trying again: %s", error)
                await asyncio.sleep(max(backoff.next(), error.retry_after))
            else:
                backoff.reset()
                await asyncio.sleep(self._config.heartbeat_seconds)

    async def _renew(self) -> None:
        if not self._server_version:
            self._server_version = (await self._api.get("/version"))["gitVersion"]
        node = await self._register()
        status = node_status(self._config, self._server_version, node.get("status", {}))
        if not is_current(node.get("status", {}), status):
            await self._api.patch(f"{self._node_path}/status", {"status": status})
        name = self._config.node_name
        spec = {"holderIdentity": name, "leaseDurationSeconds": _LEASE_SECONDS, "renewTime": now_micro()}
        try:
            await self._api.patch(f"{_LEASES}/{name}", {"spec": spec}, MERGE)
        except ApiError as error:
            if error.status != 404:
                raise
            owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
            lease = {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": spec}
            await self._api.post(_LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **lease})

    async def _register(self) -> Object:
        """Make sure that the Node exists and has our labels, and return the Node."""
        desired = node_object(self._config)
        try:
            node = await self._api.get(self._node_path)
        except ApiError as error:
            if error.status != 404:
                raise
            logger.info("registering the node %s", self._config.node_name)
            return await self._api.post("/api/v1/nodes", desired)
        labels = desired["metadata"]["labels"]
        if labels.items() <= node["metadata"].get("labels", {}).items():
            return node
        return await self._api.patch(self._node_path, {"metadata": {"labels": labels}}, MERGE)


def _architecture() -> str:
    return _ARCHITECTURES.get(platform.machine(), platform.machine())
