"""The objects of Berth's two kinds that the documentation and the examples show."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/profiles.md"


def documented_manifests() -> dict[str, list[dict[str, Any]]]:
    """By place, the objects that belong together: those of a block of the page, or of a file."""
    return dict(_blocks()) | {
        str(file.relative_to(ROOT)): list(yaml.safe_load_all(file.read_text()))
        for file in (*sorted((ROOT / "examples/profiles").glob("*.yaml")), ROOT / "examples/demo/profile.yaml")
    }


def _blocks() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    text = PAGE.read_text()
    for block in re.finditer(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, block.start()) + 1
        objects = list(yaml.safe_load_all(block[1]))
        yield f"docs/profiles.md:{line}", [item for item in objects if item["apiVersion"].startswith("berth.dev/")]
