"""Properties of the tree itself."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name]


def test_the_standard_librarys_operator_wins_at_the_root() -> None:
    look = "import operator; print(operator.itemgetter, operator.__file__)"
    path = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert str(ROOT) not in path


@pytest.mark.parametrize("folder", ["operator", "scheduler_runtime", "devcluster", "tests"])
def test_folders_of_the_tree_are_not_packages(folder: str) -> None:
    packages = [path for path in (ROOT / folder).rglob("__init__.py") if "src" not in path.relative_to(ROOT).parts]
    assert packages == []


def test_no_module_is_named_like_one_of_the_standard_library() -> None:
    modules = [path for path in tracked("*.py") if "src" in path.parts]
    allowed = {"__init__", "__main__"}
    names = {path.stem for path in modules} - allowed
    assert names & set(sys.stdlib_module_names) == set()


def test_make_alone_names_every_target() -> None:
    printed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("demo", "test", "check", "e2e", "bench", "image", "chart", "clean"):
        assert re.search(rf"^  make {target}\s+\S", printed, re.MULTILINE)


def test_the_headings_of_the_architecture_page_are_the_import_contracts() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    contracts = re.findall(r'^name = "(\d+\. .*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert len(contracts) >= 6
    for contract in contracts:
        assert re.search(rf"^### {re.escape(contract)}$", page, re.MULTILINE), contract


def test_every_relative_link_of_the_documentation_leads_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in tracked("*.md")
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []
