"""What is still to be sent, and how much of it the other side lets us send."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_runtime.kube.http2 import frames


class FlowControl:
    """Bodies that did not go at once, because the other side has yet to read what was sent before."""

    def __init__(self) -> None:
        self.largest = frames.LARGEST
        self._window = frames.WINDOW
        self._initial = frames.WINDOW
        self._left: dict[int, bytes] = {}
        self._windows: dict[int, int] = {}
        """Of the streams in ``_left``; all others have sent everything."""

    def body(self, stream: int, body: bytes) -> bytes:
        """The frames of the body of a new stream that can go now; the rest goes when the other side allows it."""
        size = len(body)
        if size <= self.largest and size <= self._window and size <= self._initial:
            self._window -= size
            return frames.frame(frames.DATA, frames.END_STREAM, stream, body)
        self._left[stream] = body
        self._windows[stream] = self._initial
        return self._some(stream)

    def allowed(self, stream: int, by: int) -> bytes:
        """The frames that can go after the other side allowed ``by`` more bytes. Raises BreachError."""
        if stream == 0:
            self._window = _within(self._window + by)
        elif stream in self._windows:
            self._windows[stream] = _within(self._windows[stream] + by)
        return self._all()

    def resized(self, initial: int) -> bytes:
        """The same when it has changed what it allows each stream. Raises BreachError."""
        by, self._initial = _within(initial) - self._initial, initial
        for stream in self._windows:
            self._windows[stream] = _within(self._windows[stream] + by)
        return self._all()

    def holds(self, stream: int) -> bool:
        """Whether some of a stream's body has still to go."""
        return stream in self._left

    def forget(self, stream: int) -> bool:
        """Send no more of a stream that has ended. Return whether there was more to send."""
        self._windows.pop(stream, None)
        return self._left.pop(stream, None) is not None

    def _all(self) -> bytes:
        return b"".join(map(self._some, list(self._left))) if self._left else b""

    def _some(self, stream: int) -> bytes:
        return b"".join(self._pieces(stream))

    def _pieces(self, stream: int) -> Iterator[bytes]:
        while body := self._left.get(stream):
            size = min(len(body), self.largest, self._window, self._windows[stream])
            if size <= 0:
                return
            self._window -= size
            self._windows[stream] -= size
            self._left[stream] = body[size:]
            yield frames.frame(frames.DATA, 0 if size < len(body) else frames.END_STREAM, stream, body[:size])
        self.forget(stream)


def _within(window: int) -> int:
    if window > frames.LONGEST_WINDOW:
        raise frames.ProtocolError("a window larger than any may be", frames.FLOW_CONTROL_ERROR)
    return window
