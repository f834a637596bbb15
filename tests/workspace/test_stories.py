"""The architecture page and its stories name modules and functions that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (ROOT / "operator/src/scheduler_operator", ROOT / "scheduler_runtime/src/scheduler_runtime")
ROOMS = {path.name for package in PACKAGES for path in package.iterdir() if (path / "__init__.py").exists()}
PAGES = sorted([ROOT / "docs/architecture.md", *(ROOT / "docs/stories").glob("*.md")])


@cache
def definitions(path: Path) -> frozenset[str]:
    """Everything that a module defines, with the methods of its classes."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                names.add(node.name)
            case ast.ClassDef():
                names.add(node.name)
                members = (inner for inner in node.body if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef))
                names.update(f"{node.name}.{member.name}" for member in members)
    return frozenset(names)


def exists(reference: str, package: Path) -> bool:
    """Whether ``room.module.Class.method``, or a part of it from the left, is in the package."""
    path, steps = package, reference.split(".")
    for depth, step in enumerate(steps):
        if (path / step).is_dir():
            path /= step
        elif (path / f"{step}.py").is_file():
            inner = ".".join(steps[depth + 1 :])
            return not inner or inner in definitions(path / f"{step}.py")
        else:
            return ".".join(steps[depth:]) in definitions(path / "__init__.py")
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_function_that_a_page_names_exists(page: Path) -> None:
    spans = re.findall(r"`([a-z_]+(?:\.\w+)+)`", page.read_text())
    references = [span for span in spans if span.partition(".")[0] in ROOMS]
    assert [name for name in references if not any(exists(name, package) for package in PACKAGES)] == []


def test_every_story_names_functions() -> None:
    stories = [page for page in PAGES if page.parent.name == "stories"]
    assert len(stories) == 5
    for story in stories:
        assert len(re.findall(r"^\| \d+ \| `", story.read_text(), re.MULTILINE)) >= 8, story.name


def test_the_page_has_every_room() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    assert [room for room in sorted(ROOMS) if not re.search(rf"(^|[ `|]){room}\b", page, re.MULTILINE)] == []
