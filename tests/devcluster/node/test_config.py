"""The node's configuration file, and which image a reference means."""

import json
from pathlib import Path
from typing import Any

import pytest

from devcluster.node.config import Config, Image, find_image

MINIMAL: dict[str, Any] = {
    "server": "https://127.0.0.1:6443",
    "ca_file": "/c/ca.crt",
    "token_file": "/c/token",
    "node_name": "process-0",
    "directory": "/c/node",
}


def test_images_are_lists_or_objects() -> None:
    images = {"a": ["/venv/bin/python", "-m"], "b": {"entrypoint": ["x"], "path": "/p"}, "c": []}
    config = Config.from_json(json.dumps({**MINIMAL, "images": images}))
    assert config.directory == Path("/c/node")
    assert config.images == {
        "a": Image(entrypoint=("/venv/bin/python", "-m"), path="/venv/bin"),
        "b": Image(entrypoint=("x",), path="/p"),
        "c": Image(),
    }


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"sever": "x"}, "sever: not known; known are server, "),
        ({"server": None}, "server: missing"),
        ({"heartbeat_seconds": 0}, "heartbeat_seconds: 0 must be a positive number"),
        ({"labels": ["a"]}, r"labels: \['a'\] must be an object of strings"),
        ({"images": {"a": "python"}}, r"images\['a'\]: must be a list of strings, or an object"),
        ({"images": {"a": {"entrypoint": [1]}}}, r"images\['a'\]: entrypoint must be a list of strings"),
    ],
)
def test_a_mistake_is_named(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Config.from_json(json.dumps({**MINIMAL, **change}))


@pytest.mark.parametrize(
    ("reference", "expected"),
    [("demo/web", "exact"), ("demo/api", "longer"), ("other", "any"), ("devcluster/pause", "sleep")],
)
def test_the_closest_image_wins(reference: str, expected: str) -> None:
    names = {"demo/web": "exact", "demo/*": "longer", "*": "any"}
    image = find_image({name: Image(entrypoint=(value,)) for name, value in names.items()}, reference)
    assert image is not None
    assert image.entrypoint[0] == expected


def test_an_unmapped_image_is_none() -> None:
    assert find_image({"demo/*": Image()}, "demo") is None
