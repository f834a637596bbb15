"""What the node is told when it starts: one JSON file, checked as a whole before anything else happens."""

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

PAUSE = "devcluster/pause"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What an image reference stands for on this machine.

    ``entrypoint`` is run by a container without ``command``, with the container's args behind it.
    A container with ``command`` runs that instead, as with a real image. In both cases ``path``, by default the
    entrypoint's directory, comes first in PATH: an image of ``["/v/bin/python"]`` offers every program of ``/v/bin``.
    """

    entrypoint: tuple[str, ...] = ()
    path: str = ""
    forks: bool = True  # False: known to start nothing, so it needs no init


BUILT_IN: Mapping[str, Image] = {PAUSE: Image(entrypoint=("sleep", "infinity"), forks=False)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The configuration file. ``from_json`` refuses what it does not know."""

    server: str
    ca_file: Path
    token_file: Path  # read again whenever it changes
    node_name: str
    directory: Path  # everything the node writes is in here
    images: Mapping[str, Image] = field(default_factory=dict)  # a reference, or the beginning of one and ``*``
    labels: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(
        default_factory=lambda: {"cpu": "8", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    )
    heartbeat_seconds: float = 10
    restart_backoff_seconds: float = 1  # before the second restart, doubling
    restart_backoff_max_seconds: float = 30
    token_refresh_at: float = 0.8  # of a token's life

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the file's text. Raises ValueError with a sentence for everything that is wrong with it."""
        document = json.loads(text)
        if not isinstance(document, dict):
            raise ValueError("the configuration must be a JSON object")
        fields = {each.name: each for each in dataclasses.fields(cls)}
        problems = [f"{key}: not known; known are {', '.join(fields)}" for key in document if key not in fields]
        required = [name for name, each in fields.items() if _is_required(each)]
        problems += [f"{name}: missing" for name in required if not isinstance(document.get(name), str)]
        problems += [f"{key}: {value!r} must be a positive number" for key, value in _bad_numbers(document, fields)]
        problems += [f"{key}: {document[key]!r} must be an object of strings" for key in _bad_maps(document)]
        images = {}
        for reference, value in document.get("images", {}).items():
            try:
                images[reference] = image(value)
            except ValueError as error:
                problems.append(f"images[{reference!r}]: {error}")
        if problems:
            raise ValueError("; ".join(problems))
        paths = {key: Path(document[key]) for key in ("ca_file", "token_file", "directory")}
        return cls(**{**document, **paths, "images": images})


def _is_required(each: "dataclasses.Field[Any]") -> bool:
    return each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING


def _bad_numbers(document: dict[str, Any], fields: "dict[str, dataclasses.Field[Any]]") -> list[tuple[str, Any]]:
    numeric = [name for name, each in fields.items() if isinstance(each.default, int | float)]
    values = [(name, document[name]) for name in numeric if name in document]
    return [(name, value) for name, value in values if not isinstance(value, int | float) or value <= 0]


def _bad_maps(document: dict[str, Any]) -> list[str]:
    maps = {key: document[key] for key in ("labels", "capacity") if key in document}
    return [
        key
        for key, value in maps.items()
        if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values())
    ]


def image(value: Any) -> Image:
    """``["program", "argument"]``, or ``{"entrypoint": [...], "path": "directory"}``."""
    parts = {"entrypoint": value} if isinstance(value, list) else value
    if not isinstance(parts, dict) or not parts.keys() <= {"entrypoint", "path"}:
        raise ValueError("must be a list of strings, or an object of entrypoint and path")
    entrypoint, path = parts.get("entrypoint", []), parts.get("path", "")
    if not isinstance(entrypoint, list) or not all(isinstance(part, str) for part in [*entrypoint, path]):
        raise ValueError("entrypoint must be a list of strings, and path a string")
    return Image(entrypoint=tuple(entrypoint), path=path or (os.path.dirname(entrypoint[0]) if entrypoint else ""))


def find_image(images: Mapping[str, Image], reference: str) -> Image | None:
    """The image called ``reference``: an exact entry, else the longest beginning that ends in ``*``."""
    known = {**BUILT_IN, **images}
    if reference in known:
        return known[reference]
    beginnings = [name for name in known if name.endswith("*") and reference.startswith(name[:-1])]
    return known[max(beginnings, key=len)] if beginnings else None
