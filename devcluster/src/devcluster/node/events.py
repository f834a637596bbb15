"""Events: what the node has to say about a pod to whoever describes it."""

import asyncio
import logging
import time

from devcluster.node.api import MERGE, Api, ApiError, Object
from devcluster.node.clock import now

logger = logging.getLogger(__name__)


class Recorder:
    """Writes events about one pod; what was said before is counted instead of said again."""

    def __init__(self, api: Api, node_name: str, pod: Object) -> None:
        self._api = api
        self._node_name = node_name
        self._pod = pod
        self._written: dict[tuple[str, str], tuple[str, int]] = {}  # the name of the event, and how often it was said
        self._unsaid: asyncio.Queue[tuple[str, str, str]] = asyncio.Queue()

    def normal(self, reason: str, message: str) -> None:
        self._unsaid.put_nowait(("Normal", reason, message))

    def warning(self, reason: str, message: str) -> None:
        self._unsaid.put_nowait(("Warning", reason, message))

    async def write(self) -> None:
        """Write events for ever, in their order. One that the API server does not take is logged and left."""
        while True:
            kind, reason, message = await self._unsaid.get()
            try:
                await self._write_one(kind, reason, message)
            except ApiError as error:
                logger.warning("event not written: %s: %s (%s)", reason, message, error)

    async def _write_one(self, kind: str, reason: str, message: str) -> None:
        path = f"/api/v1/namespaces/{self._pod['metadata']['namespace']}/events"
        name, count = self._written.get((reason, message), ("", 0))
        if name:
            await self._api.patch(f"{path}/{name}", {"count": count + 1, "lastTimestamp": now()}, MERGE)
        else:
            name = f"{self._pod['metadata']['name'][:200]}.{time.time_ns():x}"
            await self._api.post(path, self._event(name, kind, reason, message))
        self._written[reason, message] = (name, count + 1)

    def _event(self, name: str, kind: str, reason: str, message: str) -> Object:
        metadata = self._pod["metadata"]
        moment = now()
        about = {key: metadata[key] for key in ("namespace", "name", "uid", "resourceVersion")}
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": metadata["namespace"], "name": name},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", **about},
            "type": kind,
            "reason": reason,
            "message": message[:1024],
            "source": {"component": "devcluster-node", "host": self._node_name},
            "reportingComponent": "devcluster-node",
            "reportingInstance": self._node_name,
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
        }
