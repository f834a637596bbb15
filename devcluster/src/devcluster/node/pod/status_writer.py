"""Keeps the status of one pod's object equal to the state of its containers."""

import asyncio
import logging
from collections.abc import Callable

from devcluster.node.api import ApiError, NodeApi, Object
from devcluster.node.clock import Backoff, now
from devcluster.node.pod.reported_status import PodReport, desired_status, status_patch

logger = logging.getLogger(__name__)


def pod_path(pod: Object) -> str:
    """The API path of ``pod``."""
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


class StatusWriter:
    """Writes the status when the report differs from it, whichever of the two changed."""

    def __init__(self, api: NodeApi, pod: Object, report: Callable[[], PodReport]) -> None:
        self.pod = pod  # its newest state
        self._api = api
        self._report = report
        self._changed = asyncio.Event()

    def update(self, pod: Object) -> None:
        """Take ``pod`` as the newest state, unless it is an older one."""
        if int(pod["metadata"]["resourceVersion"]) > int(self.pod["metadata"]["resourceVersion"]):
            self.pod = pod
            self._changed.set()

    def changed(self) -> None:
        """The report may differ from the last one."""
        self._changed.set()

    async def write_changes(self) -> None:
        """Write after each change, for ever; changes that come quickly are written together."""
        while True:
            await self._changed.wait()
            await self.write()

    async def write(self) -> None:
        """Write once, trying again until the API server has stored the status or has no such pod."""
        backoff = Backoff(0.2, 10)
        while True:
            self._changed.clear()
            patch = status_patch(self.pod, desired_status(self.pod, self._report(), now()))
            if patch is None:
                return
            try:
                self.update(await self._api.patch(f"{pod_path(self.pod)}/status", patch))
            except ApiError as error:
                if error.status == 404:
                    return
                logger.warning("status not written: %s", error)
                if error.is_final:
                    return
                await asyncio.sleep(max(backoff.next(), error.retry_after))
            else:
                return
