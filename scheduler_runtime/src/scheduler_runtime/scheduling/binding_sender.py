"""Send a binding so that it happens once, on the pod that was meant, and only while we lead.

The pod's uid is always sent: the API server then refuses to bind another pod of the same name, or one that has a node.
What cannot be undone there is a node filled twice by two leaders; therefore nothing is sent when safe time is over, and
no request outlives the lease (see ``kube.leader_election``).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.kube.watch.unreadable import without_managed_fields
from scheduler_runtime.state.objects import Pod, decode_pod

logger = logging.getLogger(__name__)

TRIES = 3
LOG_AFTER_SECONDS = 5.0
"""How long the API server may ask a binding to come later before that is logged."""


class FencedError(Exception):
    """We do not lead, or cannot be sure that we still do: nothing was sent."""


class PodGoneError(Exception):
    """The pod does not exist any more, or another has its name now."""


class AlreadyBoundError(Exception):
    """The pod has a node already, and it is another one."""


class BindingSender:
    """Binds pods through the API server while ``leads_until`` lies ahead."""

    def __init__(
        self,
        client: Client,
        leads_until: Callable[[], float],
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``seconds`` is the longest one request may take: less than leaseDuration − renewDeadline.

        A request that was sent in time then ends before another process can lead.
        """
        self._client = client
        self._leads_until = leads_until
        self._seconds = seconds
        self._clock = clock
        self._trouble = LogOnce(logger, clock)
        self._busy = LogOnce(logger)

    def check_fence(self) -> None:
        """Raise FencedError when this process does not surely lead any more."""
        if self._clock() >= self._leads_until():
            raise FencedError("this scheduler does not lead any more")

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        """Bind the pod of this name and uid to ``node``.

        Raises FencedError, PodGoneError, AlreadyBoundError, ApiError or NoResponseError. After any of these the
        pod is not bound to ``node`` as far as the API server can tell.
        """
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": namespace, "name": name, "uid": uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        backoff: Backoff | None = None
        for tries_left in reversed(range(TRIES)):
            began = self._clock()
            try:
                await self._post(f"{path}/binding", body)
            except (ApiError, NoResponseError) as error:
                if await self._was_carried_out(path, uid, node, error):
                    return
                if not tries_left:
                    raise
                problem = error.cause if isinstance(error, NoResponseError) else f"{error.status} {error.reason}"
                self._trouble.failing("bindings fail and are sent again", problem, began)
            else:
                if self._trouble.sentence:
                    self._trouble.recovered(began)
                return
            backoff = backoff or Backoff(0.1, 2.0)
            await asyncio.sleep(backoff.next_delay())

    async def is_bound(self, pod: Pod, node: str) -> bool:
        """Return whether ``pod``, which an extender was to bind to ``node``, is there.

        Raises FencedError, PodGoneError when the pod is deleted, or AlreadyBoundError when it is elsewhere.
        """
        unknown = NoResponseError("what became of the binding is not known", sent=True)
        path = f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}"
        return await self._was_carried_out(path, pod.metadata.uid, node, unknown)

    async def _post(self, path: str, body: object) -> None:
        """Send once, and again as long as the API server asks to come back later.

        429 is no failure: the request was not looked at. Pods would only come back to wait in the queue instead.
        """
        waited = 0.0
        while True:
            try:
                # The fence is checked when the request leaves: it may have waited for its turn until then.
                await self._client.request("POST", path, body=body, seconds=self._seconds, before_send=self.check_fence)
            except ApiError as error:
                if error.status != 429:
                    raise
                pause = error.retry_after or 1.0
                waited += pause
                if waited > LOG_AFTER_SECONDS:
                    self._busy.failing("the API server is too busy for bindings and asks to send them later (429)")
                await asyncio.sleep(pause)
            else:
                if waited > LOG_AFTER_SECONDS:
                    self._busy.recovered()
                return

    async def _was_carried_out(self, path: str, uid: str, node: str, error: ApiError | NoResponseError) -> bool:
        """Return whether a request that failed with ``error`` has bound the pod all the same.

        Raises ``error`` when the request surely did nothing and never will; PodGoneError, AlreadyBoundError.
        """
        match error:
            case NoResponseError(sent=False):
                raise error
            case ApiError(status=404):
                raise PodGoneError(str(error)) from error
            case ApiError(status=status) if status < 500 and status != 409:
                raise error
        # A lost answer, an error of the server, or a conflict, perhaps with a binding of ours whose answer was lost.
        pod = await self._read(path)
        if pod is None or pod.metadata.uid != uid:
            raise PodGoneError("the pod was deleted") from error
        if pod.spec.node_name and pod.spec.node_name != node:
            raise AlreadyBoundError(f"the pod is on node {pod.spec.node_name} already") from error
        if not pod.spec.node_name and isinstance(error, ApiError) and error.status == 409:
            raise error  # the pod is being deleted, or gated again
        return bool(pod.spec.node_name)

    async def _read(self, path: str) -> Pod | None:
        """Read the pod, however long that takes while we lead: nothing may be decided without the answer.

        To send the binding again, or to give the room to another pod, would be wrong if the first one succeeded.
        """
        backoff = Backoff(0.2, 5.0)
        while True:
            self.check_fence()
            try:
                # Not as deep as a decoder can go, whatever managedFields hold: the answer must not be lost.
                return decode_pod(
                    without_managed_fields(await self._client.request("GET", path, seconds=self._seconds))
                )
            except NoResponseError:
                await asyncio.sleep(backoff.next_delay())
            except ApiError as error:
                if error.status == 404:
                    return None
                if error.status in (401, 403):  # our rights come back, or we stop leading
                    self._trouble.failing("the outcome of a binding cannot be read", str(error))
                await asyncio.sleep(backoff.next_delay(error.retry_after))
