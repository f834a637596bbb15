"""Binding a pod to its node."""

from __future__ import annotations

from typing import Any

from scheduler_runtime.api import Plugin, Pod
from scheduler_runtime.catalog import in_tree


class DefaultBinder(Plugin):
    """Bind through the API server, with the pod's uid, so that no other pod of the same name is bound by mistake."""

    declaration = in_tree()["DefaultBinder"]

    async def bind(self, pod: Pod, node: str, state: Any) -> None:
        await self.handle.client.bind(pod.namespace, pod.name, pod.uid, node)
