"""A count of the pods of a namespace that have got a node, and pods per second as scheduler_perf counts them.

The count comes from a watch on pods that have a node, without decoding a pod: a pod that gets one is *added* to the
watch, once, and nothing else of the pod is needed. The watch is in protobuf: the first bytes distinguish its frames,
and making them costs the API server less than JSON does.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from bench.cluster.client import Connection, Server, WatchError

ACCEPT = "application/vnd.kubernetes.protobuf;stream=watch"
ADDED = b"\x0a\x05ADDED"
ERROR = b"\x0a\x05ERROR"
SIZE = 4


class Bound:
    """The pods of one namespace that have got a node so far."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.count = 0
        self._grown = asyncio.Event()

    async def follow(self, server: Server) -> None:
        """Count for as long as this task lives. Raises WatchError.

        A young API server buffers ten events per watch and ends the watch of a slower client, in good order or not;
        that happens to every client of it. A new watch begins with all pods that have a node, and so with a
        new count.
        """
        while True:
            connection = await Connection.open(server)
            try:
                with contextlib.suppress(EOFError):
                    await self._count_anew(connection)
            finally:
                await connection.close()

    async def reach(self, count: int, seconds: float) -> None:
        """Return when ``count`` pods have got a node. Raises TimeoutError, with the number of those that have."""
        try:
            async with asyncio.timeout(seconds):
                while self.count < count:
                    self._grown.clear()
                    await self._grown.wait()
        except TimeoutError as error:
            raise TimeoutError(
                f"{self.count} of {count} pods of {self.namespace} have a node after {seconds:.0f} s"
            ) from error

    async def _count_anew(self, connection: Connection) -> None:
        """Count until the server ends the watch."""
        counted, frames = 0, Frames()
        path = f"/api/v1/namespaces/{self.namespace}/pods?watch=true&fieldSelector=spec.nodeName%21%3D"
        async for chunk in connection.stream(path, ACCEPT):
            for frame in frames.fed(chunk):
                if frame.startswith(ERROR):
                    raise WatchError(f"the watch on the pods of {self.namespace} reports {frame!r}")
                counted += frame.startswith(ADDED)
            # A new watch counts from zero again; the total must not fall meanwhile.
            self.count = max(self.count, counted)
            self._grown.set()


class Frames:
    """Frames of a stream, each after its length in four bytes."""

    def __init__(self) -> None:
        self._rest = b""

    def fed(self, chunk: bytes) -> Iterator[bytes]:
        """The frames that are complete with ``chunk``."""
        data = self._rest + chunk
        start = 0
        while len(data) - start >= SIZE:
            end = start + SIZE + int.from_bytes(data[start : start + SIZE], "big")
            if end > len(data):
                break
            yield data[start + SIZE : end]
            start = end
        self._rest = data[start:]


Sample = tuple[float, int]
"""A moment, and the number of pods that had a node then."""

INTERVAL_SECONDS = 1.0


def rates(samples: Sequence[Sample]) -> list[float]:
    """Pods per second between the samples.

    Counting begins after the first sample that shows a pod. Intervals without a pod are not zeros: the next rate is
    over all of them together, and stands once for each.
    """
    result: list[float] = []
    last: Sample | None = None
    intervals = 0
    for when, count in samples:
        if last is None:
            last = (when, count) if count else None
            continue
        intervals += 1
        if count > last[1]:
            result += [(count - last[1]) / (when - last[0])] * intervals
            last, intervals = (when, count), 0
    return result


async def sample(count: Callable[[], int], into: list[Sample]) -> None:
    """Take samples until cancelled."""
    due = time.monotonic()
    while True:
        due += INTERVAL_SECONDS
        await asyncio.sleep(due - time.monotonic())
        into.append((time.monotonic(), count()))
