"""Audit log of an API server, read as a list of requests."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

BINDINGS = {"level": "Metadata", "resources": [{"group": "", "resources": ["pods/binding"]}]}
"""The rule for who bound which pod."""


def of_accounts(namespace: str) -> dict[str, Any]:
    """The rule for all that the ServiceAccounts of ``namespace`` ask for."""
    return {"level": "Metadata", "userGroups": [f"system:serviceaccounts:{namespace}"]}


@dataclass(frozen=True, slots=True)
class AuditLog:
    """The audit log of one API server, and the policy that says what is in it."""

    directory: Path

    @classmethod
    def of(cls, directory: Path, *rules: dict[str, Any]) -> AuditLog:
        """A log of what ``rules`` say, the first one that fits, and of nothing else."""
        log = cls(directory)
        policy = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [*rules, {"level": "None"}],
        }
        log._policy.write_text(yaml.safe_dump(policy))
        return log

    @property
    def apiserver_args(self) -> tuple[str, ...]:
        """What the API server has to be started with."""
        return f"--audit-log-path={self._file}", f"--audit-policy-file={self._policy}"

    def records(self) -> list[dict[str, Any]]:
        """Everything so far; a line that is being written is not yet there."""
        lines = self._file.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def bindings(self) -> Counter[str]:
        """How often each pod was bound, as far as the API server could tell of it."""
        bound = self.binding_requests()
        return Counter(record["objectRef"]["name"] for record in bound if record["responseStatus"]["code"] == 201)

    def binding_requests(self) -> list[dict[str, Any]]:
        """Every request to bind a pod."""
        return [record for record in self.records() if record.get("objectRef", {}).get("subresource") == "binding"]

    @property
    def _policy(self) -> Path:
        return self.directory / "policy.yaml"

    @property
    def _file(self) -> Path:
        return self.directory / "audit.log"
