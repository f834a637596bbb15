"""What pods on their way to a node wait for: a plugin's permit, or a hook of a plugin that is awaited. For people."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_runtime.framework.waiting_pods import PermitWait


class Progress:
    """Says so of each pod. May be asked from another thread."""

    def __init__(self) -> None:
        self.permits: dict[str, PermitWait] = {}
        """By the uid of the pod."""
        self.hooks: dict[tuple[str, str], str] = {}
        """By the uid of the pod and the plugin: several may prepare a binding beside each other."""

    def describe(self, now: float) -> dict[str, list[str]]:
        """What each pod waits for, by its uid."""
        found: dict[str, list[str]] = {}
        for uid, step in (*self._permits(now), *self._hooks()):
            found.setdefault(uid, []).append(step)
        return found

    def _permits(self, now: float) -> Iterator[tuple[str, str]]:
        for uid, waiting in list(self.permits.items()):
            for plugin, seconds in waiting.left(now).items():
                yield uid, f"permit of plugin {plugin}, for {seconds:.0f} s at most"

    def _hooks(self) -> Iterator[tuple[str, str]]:
        for (uid, plugin), hook in list(self.hooks.items()):
            yield uid, f"{hook} of plugin {plugin}"
