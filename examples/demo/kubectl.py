"""kubectl, as a person at the terminal would use it."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Runs kubectl in an environment whose PATH and KUBECONFIG lead to one cluster."""

    environment: Mapping[str, str]

    def __call__(self, *arguments: str | Path, text: str | None = None) -> str:
        """Return what ``kubectl ARGUMENTS`` printed. Raises CalledProcessError with what it complained about."""
        return self.program("kubectl", *arguments, text=text)

    def program(self, *command: str | Path, text: str | None = None) -> str:
        return subprocess.run(
            command, input=text, env=dict(self.environment), capture_output=True, text=True, check=True
        ).stdout

    def items(self, kind: str, *arguments: str) -> list[dict[str, Any]]:
        """The objects of a kind."""
        listed: list[dict[str, Any]] = json.loads(self("get", kind, "--output=json", *arguments))["items"]
        return listed
