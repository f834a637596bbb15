"""The groups of modules that are measured: distributions, their rooms, or any folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.house.module import Module, read_module

DISTRIBUTIONS: Mapping[str, Path] = {
    "runtime": Path("scheduler_runtime/src/scheduler_runtime"),
    "operator": Path("operator/src/scheduler_operator"),
    "devcluster": Path("devcluster/src/devcluster"),
    "bench": Path("bench"),
    "tests": Path("tests"),
    "tools": Path("tools"),
}
SHOWN_BY_ROOM = ("runtime", "operator")
NO_ROOM = "(root)"


@dataclass(frozen=True, slots=True)
class Group:
    """Modules below one folder."""

    name: str
    folder: Path
    modules: tuple[Module, ...]

    def rooms(self) -> dict[str, list[Module]]:
        """Return the modules by the package directly below the folder that they are in."""
        rooms: dict[str, list[Module]] = {}
        for module in self.modules:
            rooms.setdefault(self.room(module), []).append(module)
        return dict(sorted(rooms.items()))

    def room(self, module: Module) -> str:
        """Return the name of the package directly below the folder, or ``(root)`` for a module without one."""
        inside = module.path.relative_to(self.folder).parts
        return inside[0] if len(inside) > 1 else NO_ROOM


def read_group(name: str, path: Path) -> Group:
    """Read all modules below ``path``, or the single module that ``path`` is."""
    if not path.is_dir():
        return Group(name, path.parent, (read_module(path),))
    # the rooms of ``src`` are those of the one package in it
    packages = [folder for folder in path.iterdir() if folder.is_dir()] if path.name == "src" else []
    folder = packages[0] if len(packages) == 1 else path
    return Group(name, folder, tuple(read_module(file) for file in sorted(folder.rglob("*.py"))))


def read_distributions(root: Path) -> list[Group]:
    """Read the distributions of the repository at ``root``; those that it does not have are left out."""
    return [read_group(name, root / path) for name, path in DISTRIBUTIONS.items() if (root / path).is_dir()]


def read_paths(paths: Iterable[Path]) -> list[Group]:
    """Read a group per path, named like the path."""
    return [read_group(str(path), path) for path in paths]
