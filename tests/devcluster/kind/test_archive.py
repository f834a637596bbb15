"""Image archives: what is in them is what they say is in them."""

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from devcluster.kind import archive


@pytest.fixture
def image(tmp_path: Path) -> Path:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF and so on")
    base = tmp_path / "base.tar"
    with tarfile.open(base, "w"):
        pass
    own = archive.layer(program, "/usr/local/bin/program", tmp_path / "layer.tar")
    path = tmp_path / "image.tar"
    archive.write(path, "localhost/kind/program:v1", [base, own], {"Entrypoint": ["/usr/local/bin/program"]})
    return path


def member(path: Path, name: str) -> bytes:
    with tarfile.open(path) as tar:
        file = tar.extractfile(name)
        assert file is not None
        return file.read()


def manifest(path: Path) -> Any:
    return json.loads(member(path, "manifest.json"))[0]


def test_the_image_has_its_name_and_its_entrypoint(image: Path) -> None:
    assert manifest(image)["RepoTags"] == ["localhost/kind/program:v1"]
    config = json.loads(member(image, manifest(image)["Config"]))
    assert config["config"] == {"Entrypoint": ["/usr/local/bin/program"]}
    assert config["os"] == "linux"


def test_layers_are_in_order_and_have_the_digests_that_are_claimed(image: Path) -> None:
    config = json.loads(member(image, manifest(image)["Config"]))
    layers = [member(image, name) for name in manifest(image)["Layers"]]
    assert [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers] == config["rootfs"]["diff_ids"]
    with tarfile.open(fileobj=io.BytesIO(layers[1])) as top:
        assert top.getnames() == ["usr/local/bin/program"]


def test_the_program_can_be_executed_by_anyone(image: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(member(image, manifest(image)["Layers"][1]))) as top:
        assert top.getmember("usr/local/bin/program").mode == 0o755


def test_the_same_files_make_the_same_image(image: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.tar"
    layers = [tmp_path / "base.tar", tmp_path / "layer.tar"]
    archive.write(again, "localhost/kind/program:v1", layers, {"Entrypoint": ["/usr/local/bin/program"]})
    assert manifest(again) == manifest(image)
