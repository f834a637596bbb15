"""The OCI runtime removes from a container's description what the kernel would refuse."""

import json
import resource
from pathlib import Path
from typing import Any

import pytest

from devcluster.kind.oci_runtime import CAPABILITIES, bounding_set, clip, clip_file, option

UNLIMITED = 2**64 - 1


def process(**parts: Any) -> dict[str, Any]:
    return {"args": ["/sbin/init"], **parts}


def test_capabilities_outside_the_bounding_set_are_dropped_from_every_set() -> None:
    described = process(capabilities={"bounding": ["CAP_CHOWN", "CAP_SYS_RESOURCE"], "effective": None})
    clip(described, {"CAP_CHOWN"}, {}, 0)
    assert described["capabilities"] == {"bounding": ["CAP_CHOWN"], "effective": []}


def test_the_bounding_set_is_read_by_the_kernels_numbers() -> None:
    mask = 1 << 0 | 1 << 24
    assert bounding_set(f"Name:\tx\nCapBnd:\t{mask:016x}\n") == {"CAP_CHOWN", "CAP_SYS_RESOURCE"}
    assert len(CAPABILITIES) == 41


@pytest.mark.parametrize(
    ("requested", "allowed", "stays"),
    [
        pytest.param(1024, 20000, True, id="below-our-own"),
        pytest.param(20000, 20000, True, id="as-our-own"),
        pytest.param(20001, 20000, False, id="above-our-own"),
        pytest.param(UNLIMITED, 20000, False, id="unlimited-above-our-own"),
        pytest.param(UNLIMITED, resource.RLIM_INFINITY, True, id="unlimited-as-our-own"),
    ],
)
def test_limits_above_our_own_are_dropped(requested: int, allowed: int, stays: bool) -> None:
    limit = {"type": "RLIMIT_NOFILE", "soft": 10, "hard": requested}
    described = process(rlimits=[limit])
    clip(described, set(), {"RLIMIT_NOFILE": allowed}, 0)
    assert described["rlimits"] == ([limit] if stays else [])


@pytest.mark.parametrize(("requested", "expected"), [(-999, 1), (500, 500)])
def test_oom_score_is_never_below_our_own(requested: int, expected: int) -> None:
    described = process(oomScoreAdj=requested)
    clip(described, set(), {}, 1)
    assert described["oomScoreAdj"] == expected


def test_a_description_without_requests_does_not_change() -> None:
    described = process()
    clip(described, set(), {}, 1)
    assert described == process(rlimits=[])


def test_a_bundles_configuration_is_rewritten_in_place(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"hostname": "node", "process": process(capabilities={"bounding": ["CAP_NONSENSE"]})}))
    clip_file(path, "process")
    document = json.loads(path.read_text())
    assert document["hostname"] == "node"
    assert document["process"]["capabilities"] == {"bounding": []}


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["--root", "/r", "create", "--bundle", "/b", "id"], "/b"),
        (["create", "-b", "/b", "id"], "/b"),
        (["create", "--bundle=/b", "id"], "/b"),
        (["create", "id"], None),
    ],
)
def test_options_are_read_in_either_spelling(arguments: list[str], value: str | None) -> None:
    assert option(arguments, ("--bundle", "-b")) == value
