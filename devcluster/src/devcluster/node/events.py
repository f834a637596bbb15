"""Events about pods, as ``kubectl describe`` shows them."""

import asyncio
import logging
import time

from devcluster.node.api import MERGE, ApiError, NodeApi, Object
from devcluster.node.clock import now

logger = logging.getLogger(__name__)


class Recorder:
    """Writes events about one pod; a repeated event is counted instead of written again."""

    def __init__(self, api: NodeApi, node_name: str, pod: Object) -> None:
        self._api = api
        self._node_name = node_name
        self._pod = pod
        self._counts: dict[tuple[str, str], tuple[str, int]] = {}  # reason, message -> name of the event, count
        self._queue: asyncio.Queue[tuple[str, str, str]] = asyncio.Queue()

    def normal(self, reason: str, message: str) -> None:
        self._queue.put_nowait(("Normal", reason, message))

    def warning(self, reason: str, message: str) -> None:
        self._queue.put_nowait(("Warning", reason, message))

    async def write(self) -> None:
        """Write events for ever, in their order. One that the API server refuses is logged and not tried again."""
        path = f"/api/v1/namespaces/{self._pod['metadata']['namespace']}/events"
        while True:
            kind, reason, message = await self._queue.get()
            name, count = self._counts.get((reason, message), ("", 0))
            try:
                if name:
                    await self._api.patch(f"{path}/{name}", {"count": count + 1, "lastTimestamp": now()}, MERGE)
                else:
                    name = f"{self._pod['metadata']['name'][:200]}.{time.time_ns():x}"
                    event = event_object(self._pod, name, self._node_name, kind, reason, message)
                    await self._api.post(path, event)
            except ApiError as error:
                logger.warning("event not written: %s: %s (%s)", reason, message, error)
            else:
                self._counts[reason, message] = (name, count + 1)


def event_object(pod: Object, name: str, node_name: str, kind: str, reason: str, message: str) -> Object:
    """The first Event of this reason and message about ``pod``."""
    metadata = pod["metadata"]
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
        "source": {"component": "devcluster-node", "host": node_name},
        "reportingComponent": "devcluster-node",
        "reportingInstance": node_name,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
