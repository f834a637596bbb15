"""Mount paths in arguments and values become the real ones."""

from pathlib import Path

import pytest

from devcluster.node.mounts import Mounts, announcements, mounts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/etc/berth", "/real/config"),
        ("/etc/berth/config.yaml", "/real/config/config.yaml"),
        ("--config=/etc/berth/config.yaml", "--config=/real/config/config.yaml"),
        ("/etc/berth/a:/etc/berth/b", "/real/config/a:/real/config/b"),
        ("cat '/etc/berth/a' > /data/b", "cat '/real/config/a' > /real/data/b"),
        pytest.param("/etc/berth/plugins/x.py", "/real/plugins/x.py", id="the-longer-mount-wins"),
        pytest.param("/etc/berth-old/a", "/etc/berth-old/a", id="whole-components-to-the-right"),
        pytest.param("/etc/berth.yaml", "/etc/berth.yaml", id="no-file-extension"),
        pytest.param("/opt/etc/berth/a", "/opt/etc/berth/a", id="whole-components-to-the-left"),
        pytest.param("http://host/data", "http://host/data", id="not-in-an-address"),
        pytest.param("/real/data/etc/berth", "/real/data/etc/berth", id="only-once"),
    ],
)
def test_relocates(text: str, expected: str) -> None:
    paths = {"/etc/berth": "/real/config", "/etc/berth/plugins/": "/real/plugins", "/data": "/real/data"}
    assert Mounts({path: Path(real) for path, real in paths.items()}).relocate(text) == expected


def test_without_mounts_nothing_is_relocated() -> None:
    assert Mounts({}).relocate("/etc/berth") == "/etc/berth"


def test_a_mount_of_a_part_of_a_volume_leads_to_that_part() -> None:
    container = {
        "volumeMounts": [
            {"name": "data", "mountPath": "/one", "subPath": "a/b"},
            {"name": "data", "mountPath": "/two", "subPathExpr": "$(POD)"},
        ]
    }
    result = mounts(container, Path("/pod/volumes"), {"POD": "web-0"})
    assert result.relocate("/one /two") == "/pod/volumes/data/a/b /pod/volumes/data/web-0"


def test_a_directory_is_covered_by_the_mount_it_is_in() -> None:
    result = Mounts({"/data": Path("/real")})
    assert result.covers("/data")
    assert result.covers("/data/x")
    assert not result.covers("/database")


def test_volumes_are_announced_by_name() -> None:
    assert announcements(["kube-api-x1"], Path("/v")) == {"DEVCLUSTER_MOUNT_KUBE_API_X1": "/v/kube-api-x1"}
