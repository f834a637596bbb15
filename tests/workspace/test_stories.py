"""The architecture page, its stories and docstrings name modules and functions that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (ROOT / "operator/src/scheduler_operator", ROOT / "scheduler_runtime/src/scheduler_runtime")
DEVCLUSTER = ROOT / "devcluster/src/devcluster"


def names_at_the_root(package: Path) -> set[str]:
    """The rooms of a package, and the modules beside them."""
    rooms = {path.name for path in package.iterdir() if (path / "__init__.py").exists()}
    return rooms | {path.stem for path in package.glob("*.py")} - {"__init__"}


ROOMS = {name for package in PACKAGES for name in names_at_the_root(package)}
PAGES = sorted([ROOT / "docs/architecture.md", *(ROOT / "docs/stories").glob("*.md")])


@cache
def definitions(path: Path) -> frozenset[str]:
    """Everything that a module defines, with the methods of its classes."""
    names = set[str]()
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.Assign(targets=targets):
                names.update(target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.ImportFrom(names=imported) if path.name == "__init__.py":
                names.update(alias.asname or alias.name for alias in imported)
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
        if (path / step / "__init__.py").is_file():
            path /= step
        elif (path / f"{step}.py").is_file():
            inner = ".".join(steps[depth + 1 :])
            return not inner or inner in definitions(path / f"{step}.py")
        else:
            return ".".join(steps[depth:]) in definitions(path / "__init__.py")
    return True


def is_right(reference: str) -> bool:
    """Whether the name is in the package that it begins with, or in the only package that has such a room."""
    first, _, rest = reference.partition(".")
    for package in PACKAGES:
        if package.name == first:
            return exists(rest, package)
    owners = [package for package in PACKAGES if first in names_at_the_root(package)]
    return len(owners) == 1 and exists(reference, owners[0])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_function_that_a_page_names_exists_and_only_once(page: Path) -> None:
    spans = re.findall(r"`([a-z_]+(?:\.\w+)+)`", page.read_text())
    packages = {package.name for package in PACKAGES}
    references = [span for span in spans if span.partition(".")[0] in ROOMS | packages]
    assert [name for name in references if not is_right(name)] == []


def test_every_module_that_a_docstring_names_exists() -> None:
    wrong = []
    for package in (*PACKAGES, DEVCLUSTER):
        rooms = names_at_the_root(package)
        for path in sorted(package.rglob("*.py")):
            spans = re.findall(r"``([a-z_]+(?:\.\w+)+)``", path.read_text())
            names = [span for span in spans if span.partition(".")[0] in rooms]
            wrong += [f"{path.relative_to(ROOT)}: {name}" for name in names if not exists(name, package)]
    assert wrong == []


def test_every_story_names_functions() -> None:
    stories = [page for page in PAGES if page.parent.name == "stories"]
    assert len(stories) == 5
    for story in stories:
        assert len(re.findall(r"^\| \d+ \| `", story.read_text(), re.MULTILINE)) >= 8, story.name


def test_the_page_has_every_room() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    rooms = ROOMS | names_at_the_root(DEVCLUSTER)
    assert [room for room in sorted(rooms) if not re.search(rf"(^|[ `|]){room}\b", page, re.MULTILINE)] == []
