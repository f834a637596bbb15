"""kind with its official images. Nothing can be pulled where these tests run: kind, kubectl and Docker are played."""

import base64
import json
from pathlib import Path

import pytest

from devcluster import Spec
from devcluster.build.progress import silent
from devcluster.guard import Guard
from devcluster.kind import base_image, create

KUBECONFIG = {
    "clusters": [
        {
            "cluster": {
                "server": "https://127.0.0.1:6443",
                "certificate-authority-data": base64.b64encode(b"the ca").decode(),
            }
        }
    ]
}
KIND = """
echo "$@" >> {calls}
while [ $# -gt 0 ]; do
  if [ "$1" = --kubeconfig ]; then cat > {configuration}; echo '{kubeconfig}' > "$2"; fi
  shift
done
"""
KUBECTL = """
case "$1 $2" in
  "version -o") echo '{"serverVersion": {"gitVersion": "v1.36.4"}}' ;;
  "create token") echo secret ;;
esac
"""


def play(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A Docker that can have every image, a kind that notes how it is called, and a kubectl that is content."""
    programs = tmp_path / "programs"
    programs.mkdir()
    play(programs / "docker", "exit 0")
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    places = {"calls": tmp_path / "calls", "configuration": tmp_path / "configuration"}
    kind = KIND.format(kubeconfig=json.dumps(KUBECONFIG), **places)
    return {"kind": play(programs / "kind", kind), "kubectl": play(programs / "kubectl", KUBECTL)}


def test_the_cluster_has_the_official_image_and_is_deleted_when_its_guard_ends(
    binaries: dict[str, Path], tmp_path: Path
) -> None:
    directory = tmp_path / "cluster"
    directory.mkdir()
    guard = Guard.begin(directory)
    try:
        cluster = create(Spec(kind=True, name="one"), guard, binaries, silent)
        assert (cluster.version, cluster.token, cluster.ca) == ("v1.36.4", "secret", b"the ca")
        assert base_image(cluster) == "python:3.13-slim"
    finally:
        guard.end()
    assert json.loads((tmp_path / "configuration").read_text())["name"] == "devcluster-one"
    create_call, delete_call = (tmp_path / "calls").read_text().splitlines()
    assert create_call.startswith("create cluster --config - --image kindest/node:v1.36.4@sha256:")
    assert delete_call == "delete cluster --name devcluster-one"
