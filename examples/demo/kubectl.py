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
        """Return the output of ``kubectl ARGUMENTS``. Raises CalledProcessError with its error output."""
        return self.program("kubectl", *arguments, text=text)

    def program(self, *command: str | Path, text: str | None = None) -> str:
        """Run any program in this environment, with ``text`` as its input, and return its output.

        Raises CalledProcessError with its error output.
        """
        return subprocess.run(
            command, input=text, env=dict(self.environment), capture_output=True, text=True, check=True
        ).stdout

    def items(self, kind: str, *arguments: str) -> list[dict[str, Any]]:
        """Return the objects of a kind."""
        objects: list[dict[str, Any]] = json.loads(self("get", kind, "--output=json", *arguments))["items"]
        return objects
