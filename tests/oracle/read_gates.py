"""Write the feature gates of a Kubernetes version into the table ``scheduler_runtime/catalog/gate_table.py``.

    python tests/oracle/read_gates.py 1.37.1 ~/.cache/devcluster/go/modules/cache/download

They are read from the Go modules of that version; what the table has of other versions stays. ``tests/oracle`` then
asks the real kube-scheduler whether it agrees.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from scheduler_runtime.catalog import gate_table

ELSEWHERE = ("ControllerManagerReleaseLeaderElectionLockOnExit",)
"""Declared beside the others, and registered by another program only."""
MODULES = ("kubernetes", "apiserver", "client-go", "component-base", "controller-manager")
FILES = re.compile(r"/(?:pkg/features/|features/|api/v1/|metrics/features/|zpages/features/)[a-z_]*features?\.go$")
_CONSTANT = re.compile(r'^\s*(\w+)(?:\s+(?:[a-z]+\.)?Feature)?\s*=\s*(?:Feature\()?"(\w+)"', re.MULTILINE)
_ENTRY = re.compile(r"^\t+(?:\w+\.)?(\w+): \{\n((?:\t+(?:\{.*\},?|//).*\n)+)\t+\},?$", re.MULTILINE)
_SPEC = re.compile(r"\{(.*?)\}[,\s]*(?://.*)?$", re.MULTILINE)
_NEEDS = re.compile(r"^\t(?:\w+\.)?(\w+):\s*\{((?:[\s\w.,()]|//.*)*)\},[ \t]*(?://.*)?$", re.MULTILINE)
Minor = tuple[int, int]
MAX_LINE = 120


def sources(version: str, downloads: Path) -> Iterator[str]:
    """The Go files that declare gates."""
    for module in MODULES:
        tag = version if module == "kubernetes" else f"0{version[1:]}"
        with zipfile.ZipFile(downloads / f"k8s.io/{module}/@v/v{tag}.zip") as archive:
            for name in archive.namelist():
                if FILES.search(name) and "_test" not in name and "/test/" not in name:
                    yield archive.read(name).decode()


def gates(texts: Iterable[str], minor: Minor) -> dict[str, str]:
    """Return every gate's stage, default and lock as of ``minor``, by the name of its constant: ``ga on locked``.

    Without a flag, a program is compatible with the minor version before its own.
    """
    before = (minor[0], minor[1] - 1)
    rows: dict[str, str] = {}
    for text in texts:
        for constant, body in _ENTRY.findall(text):
            specs = [spec for spec in map(read_spec, _SPEC.findall(body)) if spec is not None]
            past = [row for since, compatible, row in specs if since <= minor and compatible <= before]
            if past and constant not in ELSEWHERE:
                rows[constant] = past[-1]
    return rows


def read_spec(text: str) -> tuple[Minor, Minor, str] | None:
    """Read one stage of one gate: since when, with which version one must at least be compatible, and the row."""
    since = _minor("Version", text)
    if since is None:
        return None
    stage = re.search(r"PreRelease:\s*(?:\w+\.)?(\w+)", text)
    name = {"Alpha": "alpha", "Beta": "beta", "Deprecated": "deprecated"}.get(stage[1] if stage else "", "ga")
    switch = "on" if re.search(r"\bDefault:\s*true", text) else "off"
    lock = " locked" if re.search(r"LockToDefault:\s*true", text) else ""
    return since, _minor("MinCompatibilityVersion", text) or (0, 0), f"{name} {switch}{lock}"


def _minor(field: str, text: str) -> Minor | None:
    match = re.search(rf'\b{field}:\s*(?:\w+\.)?MustParse\("(\d+)\.(\d+)"\)', text)
    return (int(match[1]), int(match[2])) if match else None


def needs(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return which gates must be on for a gate to be on. Raises ValueError when there is more than can be read."""
    rows: dict[str, list[str]] = {}
    for text in texts:
        _, start, rest = text.partition("FeatureGateDependencies = ")
        _, _, table = rest.partition("\n}\n")[0].partition("{\n") if start else ("", "", "")
        if unread := re.sub(r"//.*", "", _NEEDS.sub("", table)).strip():
            raise ValueError(f"is not understood among the dependencies: {unread}")
        for name, body in _NEEDS.findall(table):
            names = re.findall(r"(\w+)\)?\s*(?:,|$)", re.sub(r"//.*", "", body))
            if names:
                rows[name] = sorted(names)
    return rows


def merge(table: Mapping[str, str], minor: str, rows: Mapping[str, str]) -> dict[str, str]:
    """Return the histories of ``table`` with ``rows`` for ``minor``, and as before for the other minor versions."""
    histories = {name: dict(entry.split(" ", 1) for entry in text.split(", ")) for name, text in table.items()}
    minors = sorted({minor, *(since for history in histories.values() for since in history)}, key=_number)
    merged: dict[str, str] = {}
    for name in sorted({*table, *rows}):
        row, before, entries = "removed", "removed", list[str]()
        for since in minors:
            row = histories.get(name, {}).get(since, row)
            now = rows.get(name, "removed") if since == minor else row
            if now != before:
                entries.append(f"{since} {now}")
            before = now
        if entries:
            merged[name] = ", ".join(entries)
    return merged


def _number(minor: str) -> Minor:
    major, _, number = minor.partition(".")
    return int(major), int(number)


def lines(version: str, downloads: Path) -> Iterator[str]:
    """Yield the lines of the new table."""
    texts = list(sources(version, downloads))
    minor = version.rpartition(".")[0]
    names = dict(pair for text in texts for pair in _CONSTANT.findall(text))
    versions = {version, *(text for text in gate_table.READ_FROM if not text.startswith(f"{minor}."))}
    quoted = ", ".join(f'"{text}"' for text in sorted(versions))
    yield '"""Feature gates of kube-scheduler, as ``target`` reads them. Written by tests/oracle/read_gates.py."""\n'
    yield f"READ_FROM = ({quoted})"
    yield '"""The versions whose sources were read."""\n'
    yield "GATES = {"
    rows = {names.get(constant, constant): row for constant, row in gates(texts, _number(minor)).items()}
    yield from entries(merge(gate_table.GATES, minor, rows))
    yield '}\n"""By name: the minor version since which a stage, a default and a lock hold."""\n'
    yield "NEEDS = {"
    rows = {
        names.get(constant, constant): " ".join(names.get(gate, gate) for gate in required)
        for constant, required in needs(texts).items()
    }
    yield from entries(merge(gate_table.NEEDS, minor, rows))
    yield '}\n"""By name: the minor version since which a gate requires others to be on, and which."""'


def entries(histories: Mapping[str, str]) -> Iterator[str]:
    """Yield a line of the table for each name."""
    for name, history in histories.items():
        line = f'    "{name}": "{history}",'
        yield line if len(line) <= MAX_LINE else f"{line}  # noqa: E501"


if __name__ == "__main__":
    table = "\n".join(lines(sys.argv[1], Path(sys.argv[2]).expanduser()))
    Path(gate_table.__file__).write_text(f"{table}\n")
