"""Volumes: what is in them, and that a reader never sees half of a change."""

import os
from pathlib import Path
from typing import Any

import pytest

from devcluster.node.objects import NotAvailable
from devcluster.node.volumes import File, TokenKind, files, publish

Object = dict[str, Any]

CAPACITY = {"cpu": "8"}
CONFIG: Object = {"data": {"a": "1", "b": "2"}, "binaryData": {"c": "AAE="}}
POD: Object = {
    "metadata": {"name": "web-0", "namespace": "shop", "labels": {"app": "web", "tier": 'the "front"'}},
    "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "2"}}}]},
}


def find(kind: str, name: str) -> Object | None:
    return CONFIG if (kind, name) == ("ConfigMap", "config") else None


def token(kind: TokenKind) -> str:
    return f"token for {kind.audience or 'the API server'}, {kind.seconds} s"


def content(volume: Object) -> dict[str, bytes]:
    return {path: file.content for path, file in files(volume, POD, CAPACITY, find, token).items()}


def test_a_configmap_volume_has_a_file_for_every_key() -> None:
    assert content({"name": "v", "configMap": {"name": "config"}}) == {"a": b"1", "b": b"2", "c": b"\0\1"}


def test_items_choose_keys_and_their_paths_and_modes() -> None:
    source = {
        "name": "config",
        "defaultMode": 0o640,
        "items": [{"key": "a", "path": "x/a"}, {"key": "b", "path": "b", "mode": 0o600}],
    }
    result = files({"name": "v", "configMap": source}, POD, CAPACITY, find, token)
    assert result == {"x/a": File(b"1", 0o640), "b": File(b"2", 0o600)}


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ({"configMap": {"name": "config", "items": [{"key": "z", "path": "z"}]}}, 'ConfigMap "config" has no key z'),
        ({"secret": {"secretName": "s"}}, 'Secret "s" does not exist'),
    ],
)
def test_what_is_missing_is_named_unless_it_is_optional(source: Object, sentence: str) -> None:
    with pytest.raises(NotAvailable, match=sentence):
        content({"name": "v", **source})
    optional = {kind: {**body, "optional": True} for kind, body in source.items()}
    assert content({"name": "v", **optional}) == {}


def test_a_projected_volume_joins_its_sources() -> None:
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"serviceAccountToken": {"path": "vault", "audience": "vault", "expirationSeconds": 600}},
        {"configMap": {"name": "config", "items": [{"key": "a", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [
                    {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}},
                    {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
                    {"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu"}},
                ]
            }
        },
    ]
    assert content({"name": "v", "projected": {"sources": sources}}) == {
        "token": b"token for the API server, 3607 s",
        "vault": b"token for vault, 600 s",
        "ca.crt": b"1",
        "namespace": b"shop",
        "labels": b'app="web"\ntier="the \\"front\\""',
        "cpu": b"2",
    }


def read_files(directory: Path) -> dict[str, str]:
    """The files of a volume, as a program reads them."""
    names = [path for path in directory.rglob("*") if not path.relative_to(directory).parts[0].startswith("..")]
    return {str(path.relative_to(directory)): path.read_text() for path in names if path.is_file()}


def test_published_files_are_exactly_the_desired_ones_with_their_modes(tmp_path: Path) -> None:
    publish(tmp_path, {"a": File(b"1", 0o644), "x/b": File(b"2", 0o600)})
    publish(tmp_path, {"a": File(b"3", 0o640)})
    assert read_files(tmp_path) == {"a": "3"}
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_all_files_change_at_once_through_one_link(tmp_path: Path) -> None:
    publish(tmp_path, {"a": File(b"old", 0o644), "b": File(b"old", 0o644)})
    version = os.readlink(tmp_path / "..data")
    publish(tmp_path, {"a": File(b"new", 0o644), "b": File(b"new", 0o644)})
    assert os.readlink(tmp_path / "a") == "..data/a"
    assert os.readlink(tmp_path / "..data") != version
    assert read_files(tmp_path) == {"a": "new", "b": "new"}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["..data", os.readlink(tmp_path / "..data"), "a", "b"]
    )


def test_an_empty_volume_can_be_published(tmp_path: Path) -> None:
    publish(tmp_path, {"a": File(b"1", 0o644)})
    publish(tmp_path, {})
    assert read_files(tmp_path) == {}
