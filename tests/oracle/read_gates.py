"""Write the feature gates of a Kubernetes version as a module of ``scheduler_runtime.catalog.gates``.

    python tests/oracle/read_gates.py 1.37.1 ~/.cache/devcluster/go/modules/cache/download > v1_37.py

They are read from the Go modules of that version; ``tests/oracle`` then asks the real kube-scheduler whether it agrees.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ELSEWHERE = ("ControllerManagerReleaseLeaderElectionLockOnExit",)
"""Declared beside the others, and registered by another program only."""
MODULES = ("kubernetes", "apiserver", "client-go", "component-base", "controller-manager")
FILES = re.compile(r"/(?:pkg/features/|features/|api/v1/|metrics/features/|zpages/features/)[a-z_]*features?\.go$")
_CONSTANT = re.compile(r'^\s*(\w+)(?:\s+(?:[a-z]+\.)?Feature)?\s*=\s*(?:Feature\()?"(\w+)"', re.MULTILINE)
_ENTRY = re.compile(r"^\t+(?:\w+\.)?(\w+): \{\n((?:\t+(?:\{.*\},?|//).*\n)+)\t+\},?$", re.MULTILINE)
_SPEC = re.compile(r"\{(.*?)\}[,\s]*(?://.*)?$", re.MULTILINE)
_NEEDS = re.compile(r"^\t(?:\w+\.)?(\w+):\s*\{((?:[\s\w.,]|//.*)*)\},$", re.MULTILINE)
Gate = tuple[str, bool, bool]


def sources(version: str, downloads: Path) -> Iterator[str]:
    """The Go files that declare gates."""
    for module in MODULES:
        tag = version if module == "kubernetes" else f"0{version[1:]}"
        with zipfile.ZipFile(downloads / f"k8s.io/{module}/@v/v{tag}.zip") as archive:
            for name in archive.namelist():
                if FILES.search(name) and "_test" not in name and "/test/" not in name:
                    yield archive.read(name).decode()


def gates(texts: Iterable[str], minor: tuple[int, int]) -> dict[str, Gate]:
    """Every gate's stage, default and lock as of ``minor``, by the name of its constant."""
    found: dict[str, Gate] = {}
    for text in texts:
        for constant, body in _ENTRY.findall(text):
            specs = [spec for spec in map(read_spec, _SPEC.findall(body)) if spec is not None]
            past = [gate for version, gate in specs if version <= minor]
            if past and constant not in ELSEWHERE:
                found[constant] = past[-1]
    return found


def read_spec(text: str) -> tuple[tuple[int, int], Gate] | None:
    """One stage of one gate: since when, and what."""
    since = re.search(r'MustParse\("(\d+)\.(\d+)"\)', text)
    if since is None:
        return None
    stage = re.search(r"PreRelease:\s*(?:\w+\.)?(\w+)", text)
    name = {"Alpha": "alpha", "Beta": "beta", "Deprecated": "deprecated"}.get(stage[1] if stage else "", "ga")
    on = re.search(r"\bDefault:\s*true", text) is not None
    return (int(since[1]), int(since[2])), (name, on, re.search(r"LockToDefault:\s*true", text) is not None)


def needs(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Which gates must be on for a gate to be on."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        _, begun, rest = text.partition("FeatureGateDependencies = ")
        for name, body in _NEEDS.findall(rest.partition("\n}\n")[0]) if begun else ():
            names = re.findall(r"(\w+)\s*(?:,|$)", re.sub(r"//.*", "", body))
            if names:
                found[name] = tuple(sorted(names))
    return found


def lines(version: str, downloads: Path) -> Iterator[str]:
    """The module, line by line."""
    texts = list(sources(version, downloads))
    major, minor = (int(part) for part in version.split(".")[:2])
    names = dict(pair for text in texts for pair in _CONSTANT.findall(text))
    yield f'"""The feature gates of kube-scheduler {version}. Written by tests/oracle/read_gates.py."""\n'
    yield "GATES = {"
    for constant, (stage, on, locked) in sorted(gates(texts, (major, minor)).items()):
        yield f'    "{names.get(constant, constant)}": ("{stage}", {on}, {locked}),'
    yield "}\n\nNEEDS = {"
    for constant, needed in sorted(needs(texts).items()):
        listed = ", ".join(f'"{names.get(each, each)}"' for each in needed)
        yield f'    "{names.get(constant, constant)}": ({listed}{"," if len(needed) == 1 else ""}),'
    yield "}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in lines(sys.argv[1], Path(sys.argv[2]).expanduser()))
