"""Progress of the pods on their way to a node: the permit or the hook that each waits for at the moment."""

from __future__ import annotations

from scheduler_runtime.framework.permit_waits import PermitWait


class Progress:
    """The plugins that each pod on its way to a node waits for at the moment, of all profiles. For people."""

    def __init__(self) -> None:
        self.permits: dict[str, PermitWait] = {}
        """By the uid of the pod."""
        self.hooks: dict[tuple[str, str], str] = {}
        """The names of awaited hooks, by pod uid and plugin: several may prepare a binding beside each other."""

    def describe(self, now: float) -> dict[str, list[str]]:
        """Return in words what each pod waits for, by its uid. Another thread may ask."""
        descriptions: dict[str, list[str]] = {}
        for uid, wait in list(self.permits.items()):
            for plugin, seconds in wait.remaining(now).items():
                descriptions.setdefault(uid, []).append(f"permit of plugin {plugin}, for {seconds:.0f} s at most")
        for (uid, plugin), hook in list(self.hooks.items()):
            descriptions.setdefault(uid, []).append(f"{hook} of plugin {plugin}")
        return descriptions
