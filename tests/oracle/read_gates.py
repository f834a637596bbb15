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
_NEEDS = re.compile(r"^\t(?:\w+\.)?(\w+):\s*\{((?:[\s\w.,()]|//.*)*)\},[ \t]*(?://.*)?$", re.MULTILINE)
Gate = tuple[str, bool, bool]
Minor = tuple[int, int]


def sources(version: str, downloads: Path) -> Iterator[str]:
    """The Go files that declare gates."""
    for module in MODULES:
        tag = version if module == "kubernetes" else f"0{version[1:]}"
        with zipfile.ZipFile(downloads / f"k8s.io/{module}/@v/v{tag}.zip") as archive:
            for name in archive.namelist():
                if FILES.search(name) and "_test" not in name and "/test/" not in name:
                    yield archive.read(name).decode()


def gates(texts: Iterable[str], minor: Minor) -> dict[str, Gate]:
    """Every gate's stage, default and lock as of ``minor``, by the name of its constant.

    Unless told otherwise, a program is compatible with the minor version before its own.
    """
    before = (minor[0], minor[1] - 1)
    found: dict[str, Gate] = {}
    for text in texts:
        for constant, body in _ENTRY.findall(text):
            specs = [spec for spec in map(read_spec, _SPEC.findall(body)) if spec is not None]
            past = [gate for since, compatible, gate in specs if since <= minor and compatible <= before]
            if past and constant not in ELSEWHERE:
                found[constant] = past[-1]
    return found


def read_spec(text: str) -> tuple[Minor, Minor, Gate] | None:
    """One stage of one gate: since when, with which version one must at least be compatible, and what."""
    since = _minor("Version", text)
    if since is None:
        return None
    stage = re.search(r"PreRelease:\s*(?:\w+\.)?(\w+)", text)
    name = {"Alpha": "alpha", "Beta": "beta", "Deprecated": "deprecated"}.get(stage[1] if stage else "", "ga")
    on = re.search(r"\bDefault:\s*true", text) is not None
    locked = re.search(r"LockToDefault:\s*true", text) is not None
    return since, _minor("MinCompatibilityVersion", text) or (0, 0), (name, on, locked)


def _minor(field: str, text: str) -> Minor | None:
    found = re.search(rf'\b{field}:\s*(?:\w+\.)?MustParse\("(\d+)\.(\d+)"\)', text)
    return (int(found[1]), int(found[2])) if found else None


def needs(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Which gates must be on for a gate to be on. Raises ValueError when there is more than can be read."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        _, begun, rest = text.partition("FeatureGateDependencies = ")
        _, _, table = rest.partition("\n}\n")[0].partition("{\n") if begun else ("", "", "")
        if unread := re.sub(r"//.*", "", _NEEDS.sub("", table)).strip():
            raise ValueError(f"is not understood among the dependencies: {unread}")
        for name, body in _NEEDS.findall(table):
            names = re.findall(r"(\w+)\)?\s*(?:,|$)", re.sub(r"//.*", "", body))
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
