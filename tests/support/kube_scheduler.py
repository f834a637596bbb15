"""The real kube-scheduler, asked what it makes of a document."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

import devcluster

_NO_GATES: Mapping[str, bool] = MappingProxyType({})
_PLUGINS = re.compile(r"the scheduler starts to work with those plugins\" Plugins=(\{.*\})")


class _Loader(yaml.SafeLoader):
    """What it writes, read: plain words that only YAML 1.1 takes for more are text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(("timestamp", "merge", "value"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# Go writes large floats as 1e+30, which YAML 1.1 takes for text as long as there is no dot; 1e400 is text, as no float.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]{1,2}$"), list("-+0123456789")
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What it said."""

    document: dict[str, Any] | None
    """The document with all its defaults; None when it was refused."""
    refusal: str
    log: str

    @property
    def plugins(self) -> list[dict[str, list[tuple[str, int]]]]:
        """The plugins of each profile at each point, in order, with weights; logged at -v 2."""
        return [
            {
                point[0].lower() + point[1:]: [
                    (plugin["Name"], plugin["Weight"]) for plugin in plugin_set["Enabled"] or ()
                ]
                for point, plugin_set in json.loads(logged).items()
            }
            for logged in _PLUGINS.findall(self.log)
        ]


@dataclass(frozen=True, slots=True)
class KubeScheduler:
    """The kube-scheduler of one minor version. It reads, checks, builds its plugins, prints, and ends."""

    binary: Path

    @classmethod
    def of(cls, minor: str) -> KubeScheduler:
        """The one of ``minor``, built when it is not there yet."""
        return cls(devcluster.binaries("kube-scheduler", kubernetes=minor)["kube-scheduler"])

    def ask(self, text: str | bytes, gates: Mapping[str, bool] = _NO_GATES, verbosity: int = 0) -> Answer:
        """Whether it takes the document ``text``."""
        with tempfile.TemporaryDirectory() as directory:
            source, target = Path(directory, "config.yaml"), Path(directory, "written.yaml")
            source.write_bytes(text.encode() if isinstance(text, str) else text)
            flags = ["--master=http://127.0.0.1:1", "--secure-port=0", f"-v={verbosity}"]
            flags += [f"--config={source}", f"--write-config-to={target}"]
            if gates:
                flags.append("--feature-gates=" + ",".join(f"{gate}={str(on).lower()}" for gate, on in gates.items()))
            run = subprocess.run([self.binary, *flags], capture_output=True, text=True, timeout=60, check=False)
            document = yaml.load(target.read_text(), Loader=_Loader) if target.exists() else None  # noqa: S506
        problem = "" if document is not None else run.stderr.rpartition("command failed")[2].strip() or "no reason"
        return Answer(document, problem, run.stderr)

    def ask_all(self, texts: Iterable[str | bytes]) -> list[Answer]:
        """The answers to many, two at a time."""
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(self.ask, texts))

    def ask_gates(self, text: str | bytes, turned: Iterable[Mapping[str, bool]]) -> list[Answer]:
        """The answers to one document with feature gates turned in several ways, two at a time."""
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda gates: self.ask(text, gates), turned))


# Where a pod has its credentials at a path of its own, a process of this machine has them in $KUBECONFIG.
PROGRAM = """#!/bin/sh
test "$1" = --config || exit 64
document=$(mktemp)
sed "s#^clientConnection:.*#&\\n  kubeconfig: $KUBECONFIG#" "$2" > "$document"
shift 2
exec {program} --config "$document" --authentication-kubeconfig="$KUBECONFIG" \\
  --authorization-kubeconfig="$KUBECONFIG" "$@"
"""


def image_program(directory: Path, minor: str) -> Path:
    """What the image of kube-scheduler of ``minor`` runs on a process node, as a file in ``directory``."""
    binary = devcluster.binaries("kube-scheduler", kubernetes=minor)["kube-scheduler"]
    script = directory / minor / "kube-scheduler"
    script.parent.mkdir()
    script.write_text(PROGRAM.format(program=shlex.quote(str(binary))))
    script.chmod(0o755)
    return script
