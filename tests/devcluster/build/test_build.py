"""Building: only what is missing, once, in the same way for everybody, and with errors that say what to do."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from devcluster import DevclusterError, MissingBinariesError
from devcluster.build import binaries, build_seconds, missing, shelf
from devcluster.build.products import product_of
from tests.devcluster.fake_go import FakeGo
from tests.support.eventually import eventually

CONTROL_PLANE = ("etcd", "kube-apiserver", "kubectl")


def test_missing_binaries_are_listed_without_building(go: FakeGo) -> None:
    assert missing(*CONTROL_PLANE) == CONTROL_PLANE
    assert build_seconds(*CONTROL_PLANE) > 60
    assert go.calls("build") == []


def test_all_that_is_missing_of_a_product_is_one_build(go: FakeGo) -> None:
    paths = binaries(*CONTROL_PLANE)
    assert sorted(paths) == sorted(CONTROL_PLANE)
    assert all(path.name == name and os.access(path, os.X_OK) for name, path in paths.items())
    packages = [[word for word in call["argv"] if "/" in word][-2:] for call in go.calls("build")]
    assert packages[1][-1] == "go.etcd.io/etcd/server/v3"
    assert packages[0] == ["k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kubectl"]


def test_what_was_built_is_not_built_again(go: FakeGo) -> None:
    binaries("kubectl")
    binaries("kubectl", "kube-scheduler")
    assert [call["argv"][-1].rpartition("/")[2] for call in go.calls("build")] == ["kubectl", "kube-scheduler"]
    assert missing("kubectl", "kube-scheduler") == ()
    assert build_seconds("kubectl", "kube-scheduler") == 0


def test_versions_of_kubernetes_are_separate_and_etcd_is_shared(go: FakeGo) -> None:
    old, new = (binaries("kubectl", "etcd", kubernetes=version) for version in ("1.35", "1.36"))
    assert old["kubectl"] != new["kubectl"]
    assert old["etcd"] == new["etcd"]


def test_another_go_builds_into_another_place(go: FakeGo) -> None:
    before = shelf(product_of("kubectl", "1.36")).directory
    go.plan(version="1.27.0")
    assert shelf(product_of("kubectl", "1.36")).directory != before


def test_without_go_what_another_go_built_will_do(go: FakeGo, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = binaries("kubectl")
    monkeypatch.setenv("PATH", str(home))
    assert missing("kubectl", "kubelet") == ("kubelet",)
    assert binaries("kubectl") == built


def test_the_users_go_settings_change_where_modules_come_from_and_nothing_else(
    go: FakeGo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOFLAGS", "-mod=vendor -race")
    monkeypatch.setenv("GOTOOLCHAIN", "go1.99.0")
    monkeypatch.setenv("GOOS", "plan9")
    monkeypatch.setenv("CGO_ENABLED", "1")
    go.plan(settings={"GOPROXY": "https://mine.example", "GOPRIVATE": "example.com"})
    binaries("kubectl")
    (call,) = go.calls("build")
    assert call["env"]["GOPROXY"] == "https://mine.example"
    assert call["env"]["GOPRIVATE"] == "example.com"
    assert call["env"]["GOFLAGS"] == "-buildvcs=false -mod=readonly -modcacherw"
    assert (call["env"]["GOTOOLCHAIN"], call["env"]["GOENV"], call["env"]["GOWORK"]) == ("local", "off", "off")
    assert call["env"]["CGO_ENABLED"] == "0"
    assert "GOOS" not in call["env"]
    assert "-trimpath" in call["argv"]


def test_go_works_in_the_cache_and_leaves_only_the_downloads_there(go: FakeGo, home: Path) -> None:
    binaries("kubectl")
    (call,) = go.calls("build")
    for variable in ("GOCACHE", "GOMODCACHE", "GOTMPDIR"):
        assert Path(call["env"][variable]).is_relative_to(home / "cache")
    assert not Path(call["env"]["GOCACHE"]).exists()
    assert [path.name for path in (home / "cache" / "go").iterdir()] == []


def test_a_damaged_binary_is_reported_and_built_again(go: FakeGo) -> None:
    path = binaries("kubectl")["kubectl"]
    path.write_text("nonsense")
    messages: list[str] = []
    binaries("kubectl", progress=lambda what, _: messages.append(what))
    assert messages[0] == f"{path} is damaged and will be built again"
    assert path.read_text() == "built by go 1.26.8"


def test_the_users_own_binary_is_used_as_it_is(go: FakeGo, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = _program(home / "given" / "etcd", "exit 0")
    monkeypatch.setenv("DEVCLUSTER_BIN", str(own.parent))
    assert binaries("etcd") == {"etcd": own}
    assert go.calls("build") == []


def test_a_users_kubernetes_binary_serves_only_its_own_version(
    go: FakeGo, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = _program(home / "given" / "kube-scheduler", "echo Kubernetes v1.35.9")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(own.parent))
    assert binaries("kube-scheduler", kubernetes="1.35") == {"kube-scheduler": own}
    assert missing("kube-scheduler", kubernetes="1.36") == ("kube-scheduler",)


def test_a_users_binary_that_does_not_run_is_reported(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = _program(home / "given" / "kubectl", "exit 3")
    monkeypatch.setenv("DEVCLUSTER_BIN", str(own.parent))
    with pytest.raises(DevclusterError, match="given by DEVCLUSTER_BIN, does not run: replace it or unset"):
        binaries("kubectl")


def test_two_processes_do_not_build_the_same(go: FakeGo) -> None:
    go.plan(seconds=0.5)
    program = (
        "from devcluster import binaries; import sys; binaries('kubectl', progress=lambda what, left: print(what))"
    )
    builders = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [builder.communicate()[0] for builder in builders]
    assert [builder.returncode for builder in builders] == [0, 0]
    assert len(go.calls("build")) == 1
    assert sum("Waiting for another build" in output for output in outputs) == 1


def test_a_go_that_outlives_its_builder_holds_the_lock(go: FakeGo) -> None:
    go.plan(seconds=2)
    builder = subprocess.Popen([sys.executable, "-c", "from devcluster import binaries; binaries('kubectl')"])
    eventually(lambda: go.calls("list"), 10, every=0.05)
    builder.kill()
    builder.wait()
    go.plan(seconds=0)
    start, messages = time.monotonic(), list[str]()
    binaries("kubectl", progress=lambda what, _: messages.append(what))
    assert messages[0].startswith("Waiting for another build")
    assert time.monotonic() - start > 0.5


PROXY = 'k8s.io/api@v0.36.4: Get "https://user:secret@proxy.example/k8s.io/api": dial tcp: connection refused'


UNSERVED = "k8s.io/api@v0.36.4: reading https://p/k: 404 Not Found"
TAMPERED = "verifying k8s.io/api@v0.36.4: checksum mismatch\nSECURITY ERROR"
DISK_FULL = "write /c/m.zip: no space left on device"
KILLED = "k8s.io/x: /go/compile: signal: killed"


@pytest.mark.parametrize(
    ("command", "words", "kind", "expected"),
    [
        (
            "list",
            PROXY,
            MissingBinariesError,
            r"refused\): check the network and GOPROXY=https://…@mine.example, or set",
        ),
        ("list", UNSERVED, MissingBinariesError, "404 Not Found.*DEVCLUSTER_BIN"),
        ("list", TAMPERED, DevclusterError, "is not the one that is pinned.*use another GOPROXY"),
        ("list", DISK_FULL, DevclusterError, "disk is too full.*free 5 GB"),
        ("build", DISK_FULL, DevclusterError, "disk is too full.*DEVCLUSTER_CACHE"),
        ("build", KILLED, DevclusterError, "probably for want of memory: have 2 GB free"),
        ("build", "x.go:1: syntax error", DevclusterError, "syntax error; the whole output is in .*output"),
    ],
    ids=["dead-proxy", "not-served", "tampered", "full-while-fetching", "full-while-building", "killed", "other"],
)
def test_trouble_with_go_is_a_sentence_that_says_what_to_do(
    go: FakeGo, command: str, words: str, kind: type[DevclusterError], expected: str
) -> None:
    go.plan(failures={command: words}, settings={"GOPROXY": "https://me:secret@mine.example"})
    with pytest.raises(DevclusterError, match=expected) as raised:
        binaries("kubectl")
    assert type(raised.value) is kind
    assert "secret" not in str(raised.value)


def test_a_failed_build_can_be_repeated(go: FakeGo) -> None:
    go.plan(failures={"list": PROXY})
    with pytest.raises(MissingBinariesError):
        binaries("kubectl")
    go.plan(failures={})
    assert binaries("kubectl")


def test_a_cache_without_write_access_is_reported(go: FakeGo, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").write_text("")
    monkeypatch.setenv("DEVCLUSTER_CACHE", str(home / "file"))
    with pytest.raises(
        DevclusterError, match=r"binaries in .*file cannot be used .*set DEVCLUSTER_CACHE to another directory"
    ):
        binaries("kubectl")


def test_remaining_time_includes_the_later_builds(go: FakeGo) -> None:
    messages: list[tuple[str, float | None]] = []
    binaries("etcd", "kwok", progress=lambda what, remaining: messages.append((what, remaining)))
    remaining = {what.split()[0] + what.split()[-2]: seconds for what, seconds in messages if seconds is not None}
    assert remaining["Buildingetcd"] > remaining["Buildingkwok"] > 0


def _program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path
