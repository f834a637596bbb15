"""The node's configuration: one JSON file, checked as a whole before anything else happens."""

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

PAUSE = "devcluster/pause"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The command of this machine that an image reference stands for.

    ``entrypoint`` is run by a container without ``command``, with the container's args behind it.
    A container with ``command`` runs that instead, as with a real image. In both cases ``path``, by default the
    entrypoint's directory, comes first in PATH: an image of ``["/v/bin/python"]`` offers every program of ``/v/bin``.
    """

    entrypoint: tuple[str, ...] = ()
    path: str = ""
    forks: bool = True  # False: it starts nothing, so it needs no init


BUILT_IN: Mapping[str, Image] = {PAUSE: Image(entrypoint=("sleep", "infinity"), forks=False)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The configuration file. ``from_json`` refuses unknown fields."""

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
        problems = list(_problems(document, {field.name: field for field in dataclasses.fields(cls)}))
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


def _problems(document: dict[str, Any], fields: "dict[str, dataclasses.Field[Any]]") -> Iterator[str]:
    """Everything that is wrong with ``document`` except its images."""
    yield from (f"{key}: not known; known are {', '.join(fields)}" for key in document if key not in fields)
    for name, setting in fields.items():
        required = setting.default is dataclasses.MISSING and setting.default_factory is dataclasses.MISSING
        if required and not isinstance(document.get(name), str):
            yield f"{name}: missing"
    for name in (name for name, setting in fields.items() if isinstance(setting.default, int | float)):
        value = document.get(name, 1)
        if not isinstance(value, int | float) or value <= 0:
            yield f"{name}: {value!r} must be a positive number"
    for name in ("labels", "capacity"):
        value = document.get(name, {})
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            yield f"{name}: {value!r} must be an object of strings"


def image(value: Any) -> Image:
    """Read ``["program", "argument"]`` or ``{"entrypoint": [...], "path": "directory"}``. Raises ValueError."""
    parts = {"entrypoint": value} if isinstance(value, list) else value
    if not isinstance(parts, dict) or not parts.keys() <= {"entrypoint", "path"}:
        raise ValueError("must be a list of strings, or an object of entrypoint and path")
    entrypoint, path = parts.get("entrypoint", []), parts.get("path", "")
    if not isinstance(entrypoint, list) or not all(isinstance(part, str) for part in [*entrypoint, path]):
        raise ValueError("entrypoint must be a list of strings, and path a string")
    return Image(entrypoint=tuple(entrypoint), path=path or (os.path.dirname(entrypoint[0]) if entrypoint else ""))


def find_image(images: Mapping[str, Image], reference: str) -> Image | None:
    """The image called ``reference``: an exact entry, else the longest beginning that ends in ``*``."""
    images = {**BUILT_IN, **images}
    if reference in images:
        return images[reference]
    beginnings = [name for name in images if name.endswith("*") and reference.startswith(name[:-1])]
    return images[max(beginnings, key=len)] if beginnings else None
