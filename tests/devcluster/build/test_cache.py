"""The cache: a binary is returned only while it is what was put there."""

import os
from pathlib import Path

import pytest

from devcluster import DevclusterError
from devcluster.build.cache import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    built = tmp_path / "built"
    built.write_text("a program")
    shelf = Shelf(tmp_path / "shelf")
    shelf.put("kubectl", built)
    return shelf


def test_a_binary_is_where_it_was_put(shelf: Shelf) -> None:
    path = shelf.find("kubectl")
    assert path is not None
    assert path.read_text() == "a program"
    assert not shelf.is_damaged("kubectl")


def test_an_absent_binary_is_not_damaged(shelf: Shelf) -> None:
    (shelf.directory / "etcd").write_text("from somewhere else")
    assert shelf.find("etcd") is None
    assert not shelf.is_damaged("etcd")


def test_a_touched_binary_is_checked_and_still_there(shelf: Shelf) -> None:
    os.utime(shelf.directory / "kubectl", (1, 1))
    assert shelf.find("kubectl") is not None
    assert shelf.find("kubectl") is not None


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("a progr", id="cut-short"),
        pytest.param("A program", id="same-length"),
        pytest.param("", id="empty"),
    ],
)
def test_a_changed_binary_is_damaged(shelf: Shelf, content: str) -> None:
    path = shelf.directory / "kubectl"
    path.write_text(content)
    os.utime(path, (1, 1))
    assert shelf.find("kubectl") is None
    assert shelf.is_damaged("kubectl")


def test_a_removed_binary_is_damaged(shelf: Shelf) -> None:
    (shelf.directory / "kubectl").unlink()
    assert shelf.is_damaged("kubectl")


def test_putting_again_heals(shelf: Shelf, tmp_path: Path) -> None:
    (shelf.directory / "kubectl").write_text("nonsense")
    again = tmp_path / "again"
    again.write_text("a program")
    shelf.put("kubectl", again)
    assert shelf.find("kubectl") is not None


def test_an_unreadable_manifest_is_reported_with_what_to_do(shelf: Shelf) -> None:
    (shelf.directory / "manifest.json").write_text("{")
    with pytest.raises(DevclusterError, match=r"shelf is damaged .*remove this directory and try again"):
        shelf.find("kubectl")
