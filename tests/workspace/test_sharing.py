"""What shares a cluster is run by one worker."""

from pathlib import Path

from tests.support.sharing import TOGETHER, group_of, rank

ROOT = Path(__file__).resolve().parents[2]


def test_the_folders_that_share_something_exist_and_have_tests() -> None:
    folders = [folder for group in TOGETHER.values() for folder in group]
    assert [folder for folder in folders if not list((ROOT / folder).rglob("test_*.py"))] == []


def test_tests_of_folders_that_share_a_cluster_are_one_group_and_others_go_by_file() -> None:
    assert group_of("tests/e2e/test_stories.py::test_a") == group_of("tests/devcluster/kind/test_kind.py::test_b[c]")
    assert group_of("tests/readme/test_demo.py::test_a[::]") == "tests/readme/test_demo.py"


def test_what_is_shared_by_many_begins_before_single_files() -> None:
    assert rank("tests/e2e/test_stories.py::test_a") < rank("tests/bench/test_smoke.py::test_a")
