"""Pods that are being decided about, and what has happened since each of them was taken."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any


class InFlight:
    """What happens is kept until no pod is in flight that was taken before: its plugins may have looked too early."""

    def __init__(self) -> None:
        self._since: dict[str, int] = {}
        self._kept: deque[tuple[int, str, Any]] = deque()
        self._kept_from = 0

    def __len__(self) -> int:
        return len(self._since)

    def begin(self, uid: str) -> None:
        """Note that the pod with this uid was taken."""
        self._since[uid] = self._next

    def end(self, uid: str) -> None:
        """Note that the pod is not in flight any more, and drop what was kept for it alone."""
        if self._since.pop(uid, None) is not None:
            self._drop()

    def keep(self, events: Iterable[Any], *, uid: str = "") -> None:
        """Keep ``events`` for the pod with this uid, or for all that are in flight now."""
        for event in events:
            self._kept.append((self._next, uid, event))

    def missed(self, uid: str) -> list[Any]:
        """Return what happened since the pod was taken; nothing for one that is not in flight."""
        since = self._since.get(uid)
        if since is None:
            return []
        return [event for number, whose, event in self._kept if number >= since and whose in ("", uid)]

    def events(self) -> list[Any]:
        """Return everything that is kept. May be asked from another thread."""
        return [event for _, _, event in self._kept.copy()]

    @property
    def _next(self) -> int:
        return self._kept_from + len(self._kept)

    def _drop(self) -> None:
        """Drop the events that no pod has still to see. The first in flight is the oldest."""
        oldest = next(iter(self._since.values()), self._next)
        while self._kept and self._kept[0][0] < oldest:
            self._kept.popleft()
            self._kept_from += 1
