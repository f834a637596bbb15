"""Limits that the server sets on sending: windows for bodies, and the number of concurrent requests.

RFC 9113, section 5.2 (flow control) and section 5.1.2 (stream concurrency).
"""

from __future__ import annotations

import asyncio
from collections import deque

from scheduler_runtime.kube.http2 import frames


class FlowControl:
    """Windows of a connection and its streams, and the bodies that wait for a larger one.

    Methods return the frames that may be sent now.
    """

    def __init__(self) -> None:
        self.max_frame_size = frames.DEFAULT_FRAME_SIZE
        self._window = frames.DEFAULT_WINDOW
        self._initial_window = frames.DEFAULT_WINDOW
        self._pending: dict[int, bytes] = {}
        """The unsent part of bodies."""
        self._windows: dict[int, int] = {}
        """Of the streams in ``_pending``; all others have sent everything and need none."""

    def send(self, stream_id: int, body: bytes) -> bytes:
        """Send the body of a new stream, as far as the windows allow; the rest follows when they grow."""
        size = len(body)
        if size <= self.max_frame_size and size <= self._window and size <= self._initial_window:
            self._window -= size
            return frames.frame(frames.DATA, frames.END_STREAM, stream_id, body)
        self._pending[stream_id] = body
        self._windows[stream_id] = self._initial_window
        return self._send_pending(stream_id)

    def window_update(self, stream_id: int, increment: int) -> bytes:
        """The server allows ``increment`` more bytes, on stream 0 for the connection. Raises ProtocolError."""
        if stream_id == 0:
            self._window = _checked(self._window + increment, stream_id)
        elif stream_id in self._windows:
            self._windows[stream_id] = _checked(self._windows[stream_id] + increment, stream_id)
        return self._send_all_pending()

    def set_initial_window(self, size: int) -> bytes:
        """The server changes the window that streams start with. Raises ProtocolError.

        The windows of open streams change by the same difference, and may become negative (section 6.9.2).
        """
        if size > frames.LARGEST_WINDOW:
            raise frames.ProtocolError(
                f"SETTINGS_INITIAL_WINDOW_SIZE is {size}, above 2^31-1", frames.FLOW_CONTROL_ERROR
            )
        difference, self._initial_window = size - self._initial_window, size
        for stream_id in self._windows:
            self._windows[stream_id] = _checked(self._windows[stream_id] + difference, stream_id)
        return self._send_all_pending()

    def has_pending(self, stream_id: int) -> bool:
        """True if a part of the stream's body is still to be sent."""
        return stream_id in self._pending

    def drop(self, stream_id: int) -> bool:
        """Send no more of a stream that has ended. Return whether there was more to send."""
        self._windows.pop(stream_id, None)
        return self._pending.pop(stream_id, None) is not None

    def _send_all_pending(self) -> bytes:
        return b"".join(map(self._send_pending, list(self._pending))) if self._pending else b""

    def _send_pending(self, stream_id: int) -> bytes:
        parts = list[bytes]()
        while body := self._pending.get(stream_id):
            size = min(len(body), self.max_frame_size, self._window, self._windows[stream_id])
            if size <= 0:
                return b"".join(parts)
            self._window -= size
            self._windows[stream_id] -= size
            self._pending[stream_id] = body[size:]
            flags = 0 if size < len(body) else frames.END_STREAM
            parts.append(frames.frame(frames.DATA, flags, stream_id, body[:size]))
        self.drop(stream_id)
        return b"".join(parts)


def _checked(window: int, stream_id: int) -> int:
    if window > frames.LARGEST_WINDOW:
        why = f"the flow-control window of stream {stream_id} exceeds 2^31-1"
        raise frames.ProtocolError(why, frames.FLOW_CONTROL_ERROR)
    return window


class StreamSlots:
    """Slots for concurrent requests, given in the order of asking: no later request overtakes one that waits."""

    def __init__(self, count: int) -> None:
        self._count = self._free = count
        """``_free`` is negative while more slots are in use than a resize has left."""
        self._is_closed = False
        self._waiters: deque[asyncio.Future[None]] = deque()

    def acquire_nowait(self) -> bool:
        """Take a slot if one is free, and return whether that is so; ``release`` it."""
        is_free = self._free > 0
        self._free -= is_free
        return is_free

    async def acquire(self) -> None:
        """Return with a slot, to be released, or when the slots are closed, after which nobody counts them."""
        if self.acquire_nowait() or self._is_closed:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # cancelled after the slot was handed over
                self.release()
            raise

    def release(self) -> None:
        """Give a slot back, to the next who waits."""
        self._free += 1
        if self._waiters:
            self._hand_over()

    def resize(self, count: int) -> None:
        """Change the number of slots. If more are in use, none is given until fewer are."""
        self._free += count - self._count
        self._count = count
        self._hand_over()

    def close(self) -> None:
        """Wake all who wait; they find the connection closed."""
        self._is_closed = True
        self._hand_over()

    def _hand_over(self) -> None:
        """Give free slots to those who wait, so that a slot is free only when nobody waits."""
        while self._waiters and (self._free > 0 or self._is_closed):
            waiter = self._waiters.popleft()
            if not waiter.done():
                self._free -= 1
                waiter.set_result(None)
