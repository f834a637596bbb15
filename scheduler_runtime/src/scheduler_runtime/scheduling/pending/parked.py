"""Pods that wait for an event, by the plugins that can tell whether it helps."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_runtime.scheduling.pending.entry import QueuedPod


class Parked:
    """Entries that their plugins rejected, or keep out at a gate."""

    def __init__(self) -> None:
        self._by_plugin: dict[tuple[str, str], dict[str, QueuedPod]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_plugin)

    def __iter__(self) -> Iterator[QueuedPod]:
        """Each of them once, as they are now."""
        return iter({uid: entry for entries in self._by_plugin.values() for uid, entry in entries.items()}.values())

    def of(self, profile: str, plugin: str) -> list[QueuedPod]:
        """Return those that ``plugin`` of ``profile`` rejected."""
        return list(self._by_plugin.get((profile, plugin), {}).values())

    def put(self, entry: QueuedPod) -> None:
        """Keep ``entry`` for each of its plugins, which stay the same while it is here."""
        for plugin in entry.plugins:
            self._by_plugin.setdefault((entry.profile, plugin), {})[entry.uid] = entry

    def discard(self, entry: QueuedPod) -> None:
        """Take out ``entry`` if it is here."""
        for plugin in entry.plugins:
            entries = self._by_plugin.get((entry.profile, plugin))
            if entries and entries.pop(entry.uid, None) and not entries:
                del self._by_plugin[entry.profile, plugin]
