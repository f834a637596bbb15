"""The documents of the schedulers, good ones and bad ones, and the file that they watch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.soak.plan import Plan
from bench.soak.pod_families import FIRST, SECOND

MOST = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}
PACKING = {
    "schedulerName": SECOND,
    "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": MOST}}],
}
HEAVY = {"schedulerName": FIRST, "plugins": {"multiPoint": {"enabled": [{"name": "NodeResourcesFit", "weight": 7}]}}}
BAD = (
    "profiles: [",
    json.dumps({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "Deployment"}),
)


class Documents:
    """The possible contents of the file. Each is JSON, and so YAML."""

    def __init__(self, file: Path, plan: Plan) -> None:
        self._file = file
        self._common = common(plan)

    @property
    def usual(self) -> str:
        """The one with every profile, by which the schedulers are judged."""
        return self._document(profiles=[{"schedulerName": FIRST}, PACKING])

    def good(self, number: int) -> str:
        """A valid one."""
        others = (
            self._document(profiles=[HEAVY, PACKING]),
            self._document(profiles=[{"schedulerName": FIRST}]),
            self._document(profiles=[{"schedulerName": FIRST}, PACKING], podMaxBackoffSeconds=5),
        )
        return others[number % len(others)]

    def bad(self, number: int) -> str:
        """An invalid one."""
        unknown = {"schedulerName": FIRST, "plugins": {"score": {"enabled": [{"name": f"Unheard{number}"}]}}}
        return (*BAD, self._document(profiles=[unknown]))[number % (len(BAD) + 1)]

    def write(self, text: str) -> None:
        """Put ``text`` into the file in one step, as a kubelet does."""
        new = self._file.with_suffix(".new")
        new.write_text(text)
        new.replace(self._file)

    def _document(self, **more: Any) -> str:
        return json.dumps({**self._common, **more}, indent=1)


def common(plan: Plan) -> Mapping[str, Any]:
    """The part that all valid documents share."""
    lease = plan.lease_seconds
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"qps": 500, "burst": 1000},
        "leaderElection": {
            "leaseDuration": f"{lease}s",
            "renewDeadline": f"{lease * 2 // 3}s",
            "retryPeriod": f"{max(lease * 2 // 15, 1)}s",
        },
    }


def document_hash(text: str) -> str:
    """The hash of the document, as /configz reports it."""
    return hashlib.sha256(text.encode()).hexdigest()
