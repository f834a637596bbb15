"""The plugin: cheap where nobody asks for a cluster, honest where none can be had."""

import subprocess
import sys

import pytest

from tests.devcluster.fake_go import FakeGo

pytest_plugins = ["pytester"]

TEST = """
import pytest

@pytest.mark.cluster
def test_uses_a_cluster(cluster): pass

def test_uses_none(): pass
"""
OTHER_VERSION = """
import pytest

@pytest.mark.cluster(kubernetes="1.35", binaries=("kubelet",))
def test_needs_more(): pass
"""
OFFLINE = "k8s.io/api@v0.36.4: dial tcp: lookup proxy.example: no such host"
HEAVY = {"aiohttp", "cryptography", "click", "yaml", "ssl", "devcluster.lifecycle", "devcluster.build"}


def run(pytester: pytest.Pytester, test: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(test)
    others = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")  # the second takes a second to say nothing
    return pytester.runpytest_inprocess("-rs", *others, *options)


def test_where_binaries_cannot_be_had_a_test_is_skipped_with_what_it_needs(
    go: FakeGo, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "2000")  # so that no line is broken
    go.plan(failures={"list": OFFLINE})
    result = run(pytester, TEST)
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines("*needs the binaries of a control plane: the Go modules of *no such host*")


def test_any_other_trouble_is_no_reason_to_skip(go: FakeGo, pytester: pytest.Pytester) -> None:
    go.plan(failures={"build": "no space left on device"})
    result = run(pytester, TEST)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("ERROR: the disk is too full to build in *")


def test_what_marked_tests_need_is_built_before_the_first_test(go: FakeGo, pytester: pytest.Pytester) -> None:
    result = run(pytester, OTHER_VERSION)
    result.assert_outcomes(passed=1)
    result.stderr.fnmatch_lines("Building kube-apiserver, *, kubectl, kubelet of kubernetes v1.35.*")
    assert [call["cwd"].rpartition("/")[2] for call in go.calls("build")] == ["kubernetes-1.35", "etcd", "kwok"]


@pytest.mark.parametrize("options", [("-m", "not cluster"), ("--collect-only",)])
def test_nothing_is_built_for_tests_that_are_not_run(
    go: FakeGo, pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    assert run(pytester, TEST, *options).ret == pytest.ExitCode.OK
    assert go.calls("list") == []


def test_loading_the_plugin_loads_nothing_else() -> None:
    program = "import pytest, sys; a = {*sys.modules}; import devcluster.pytest_plugin; print(*{*sys.modules} - a)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) & HEAVY == set()
    assert "devcluster.pytest_plugin" in loaded
