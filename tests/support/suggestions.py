"""Suggestions of the linter, applied as a reader would who writes what a finding says and nothing else.

A suggestion is one way or several, ``…, or …``. A way is made of removals and of YAML, joined by ``and``:

* ``remove this entry`` and ``remove this line`` take away what the finding's path leads to;
* ``remove {name: A}, {name: B} from filter.disabled`` takes lines out of the profile's plugins;
* YAML is written where its first field stands on the way to the path, among the profile's plugins, or at the path
  itself. Lists of plugins are added to, an entry of the same name is replaced, and so is every other value;
* ``--feature-gates=`` starts kube-scheduler with it.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from scheduler_runtime import catalog
from scheduler_runtime.config import Engine, Finding

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_REMOVAL = re.compile(r"remove ((?:\{[^}]*\}(?:, )?)+) from (\w+)\.(\w+)")
_POINTS = {"multiPoint"} | {
    point for minor in catalog.SUPPORTED_MINORS for point in catalog.defaults(catalog.Version.parse(minor)).points
}
CERTIFICATE = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="
"""What stands for the ``…`` that only a reader can fill in."""
_PROSE = ("a signature in ", "the same arguments of ", "topologySpreadConstraints with ")
Step = int | str


@dataclass(slots=True)
class Done:
    """A document after one way was gone, the gates that it wants and what is to run it."""

    document: dict[str, Any]
    gates: dict[str, bool] = field(default_factory=dict)
    engine: Engine = "KubeScheduler"


def done(document: Mapping[str, Any], finding: Finding) -> Iterator[Done]:
    """``document`` mended in each way that ``finding`` suggests; nothing where the remedy lies outside of it."""
    if finding.suggestion.startswith(_PROSE):
        return
    for way in finding.suggestion.split(", or "):
        mended = Done(copy.deepcopy(dict(document)))
        for part in re.split(r" and (?=\w+:|remove )", way):
            _do(part, _steps(finding.path), mended)
        yield mended


def _steps(path: str) -> list[Step]:
    return [int(index) if index else name for index, name in _STEP.findall(path)]


def _do(part: str, path: list[Step], mended: Done) -> None:
    lines = _REMOVAL.fullmatch(part)
    if part == "remove this line":
        _remove(path, mended.document)
    elif part == "remove this entry":
        _remove(_entry(path), mended.document)
    elif lines:
        names = [line["name"] for line in yaml.safe_load(f"[{lines[1]}]")]
        listed = _profile(path, mended.document)["plugins"][lines[2]]
        listed[lines[3]] = [line for line in listed[lines[3]] if line["name"] not in names]
    elif part == "--engine Python":
        mended.engine = "Python"
    elif part.startswith("--feature-gates="):
        pairs = (pair.split("=") for pair in part.partition("=")[2].split(","))
        mended.gates |= {gate: on == "true" for gate, on in pairs}
    elif part.startswith("{"):
        entry = path if isinstance(path[-1], int) else path[:-1]
        _at(entry[:-1], mended.document)[entry[-1]] = yaml.safe_load(part)
    else:
        _write(yaml.safe_load("{" + part.replace("…", CERTIFICATE) + "}"), path, mended.document)


def _profile(path: list[Step], document: dict[str, Any]) -> dict[str, Any]:
    profile: dict[str, Any] = _at(path[:2], document)
    return profile


def _at(path: list[Step], value: Any) -> Any:
    """What ``path`` leads to, made where it is missing."""
    for step in path:
        value = value[step] if isinstance(step, int) else value.setdefault(step, {})
    return value


def _entry(path: list[Step]) -> list[Step]:
    """The entry of a list that ``path`` leads into."""
    return path if isinstance(path[-1], int) else _entry(path[:-1])


def _remove(path: list[Step], document: dict[str, Any]) -> None:
    del _at(path[:-1], document)[path[-1]]


def _write(fields: dict[str, Any], path: list[Step], document: dict[str, Any]) -> None:
    first = next(iter(fields))
    if first in _POINTS:
        _merge(_at([*path[:2], "plugins"], document), fields)
    elif first in path:
        _merge(_at(path[: path.index(first)], document), fields)
    elif isinstance(path[-1], int) or isinstance(_at(path[:-1], document).get(path[-1]), dict):
        _merge(_at(path, document), fields)
    else:
        _merge(_at(path[:-1], document), fields)


def _merge(value: dict[str, Any], fields: Mapping[str, Any]) -> None:
    for name, new in fields.items():
        if isinstance(new, dict) and isinstance(value.get(name), dict):
            _merge(value[name], new)
        elif name in ("enabled", "disabled") and value.get(name):
            names = [entry["name"] for entry in new]
            value[name] = [*(entry for entry in value[name] if entry["name"] not in names), *new]
        else:
            value[name] = new
