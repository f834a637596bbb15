"""Small pods for the queue: the uid, the priority and a gate are all that matters there."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from scheduler_runtime.api import Pod


def pod(uid: str, priority: int = 0, *, gated: bool = False, labels: Iterable[str] = ()) -> Pod:
    """A pod called by its uid."""
    gates = [{"name": "wait"}] if gated else []
    fields = {
        "metadata": {"name": uid, "namespace": "default", "uid": uid, "labels": dict.fromkeys(labels, "")},
        "spec": {"priority": priority, "schedulingGates": gates, "containers": [{"name": "main"}]},
    }
    return msgspec.convert(fields, Pod)
