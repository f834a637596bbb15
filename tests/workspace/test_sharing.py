"""Files are dealt out so that what shares a cluster stays together and workers end at about the same time."""

from pathlib import Path

import pytest

from tests.support.sharing import GROUPS, add_measured, group_of, next_file

ROOT = Path(__file__).resolve().parents[2]
OPERATOR, ANOTHER = "tests/integration/operator/test_a.py", "tests/integration/operator/test_b.py"
UPSTREAM, KIND, LONE = "tests/integration/upstream/test_c.py", "tests/e2e/test_d.py", "tests/readme/test_e.py"
SECONDS = {OPERATOR: 10.0, ANOTHER: 20.0, UPSTREAM: 25.0, KIND: 100.0, LONE: 1.0}


def test_the_folders_that_share_something_exist_and_have_tests() -> None:
    folders = [folder for group in GROUPS.values() for folder in group]
    assert [folder for folder in folders if not list((ROOT / folder).rglob("test_*.py"))] == []


def test_tests_of_folders_that_share_a_cluster_are_one_group_and_others_go_by_file() -> None:
    assert group_of("tests/e2e/test_stories.py::test_a") == group_of("tests/devcluster/kind/test_kind.py::test_b[c]")
    assert group_of("tests/readme/test_demo.py::test_a[::]") == "tests/readme/test_demo.py"


@pytest.mark.parametrize(
    ("files", "current", "others", "expected"),
    [
        pytest.param([LONE, OPERATOR, ANOTHER, UPSTREAM], None, [], ANOTHER, id="the-group-with-most-work-first"),
        pytest.param([LONE, OPERATOR, UPSTREAM], "operator", [], OPERATOR, id="stays-with-its-group"),
        pytest.param([LONE, OPERATOR, ANOTHER, UPSTREAM], None, ["operator"], UPSTREAM, id="one-that-nobody-has-begun"),
        pytest.param([LONE, UPSTREAM], None, ["upstream", LONE], UPSTREAM, id="helps-where-most-is-left"),
        pytest.param([KIND, LONE], LONE, ["kind"], LONE, id="kind-is-not-divided"),
        pytest.param([KIND], None, ["kind"], None, id="nothing-that-can-be-helped-with"),
    ],
)
def test_a_worker_that_is_idle_gets(files: list[str], current: str | None, others: list[str], expected: str) -> None:
    assert next_file(files, SECONDS, current, others) == expected


def test_seconds_are_read_from_a_report() -> None:
    this, removed = "tests/workspace/test_sharing.py", "tests/workspace/test_that_never_was.py"
    case = '<testcase classname="tests.workspace.{}" time="{}">{}</testcase>'
    cases = (("test_sharing", "1.25", ""), ("test_sharing", "0.5", ""), ("test_workspace", "9", "<skipped/>"))
    report = f"<testsuite>{''.join(case.format(*values) for values in cases)}</testsuite>"
    before = {removed: 3.0, this: 7.0, "tests/workspace/test_workspace.py": 2.0}
    assert add_measured(before, report) == {this: 1.8, "tests/workspace/test_workspace.py": 2.0}
