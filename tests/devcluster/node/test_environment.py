"""The command line and the environment of a container."""

import base64
from pathlib import Path
from typing import Any

import pytest

from devcluster.node.config import Image
from devcluster.node.environment import command_line, environment, variables
from devcluster.node.mounts import Mounts, expand
from devcluster.node.objects import NotAvailable

Object = dict[str, Any]

CAPACITY = {"cpu": "8", "memory": "16Gi"}
OBJECTS: dict[tuple[str, str], Object] = {
    ("ConfigMap", "settings"): {"data": {"LEVEL": "2", "MODE": "fast"}},
    ("Secret", "password"): {"data": {"word": base64.b64encode(b"sesame").decode()}},
}
POD: Object = {
    "metadata": {
        "name": "web-0",
        "namespace": "shop",
        "uid": "8a19",
        "labels": {"app": "web"},
        "annotations": {"note/a": "hello"},
    },
    "spec": {"nodeName": "process-0", "serviceAccountName": "keeper"},
    "status": {"podIP": "127.1.2.3", "podIPs": [{"ip": "127.1.2.3"}], "hostIP": "127.0.0.1"},
}


def find(kind: str, name: str) -> Object | None:
    return OBJECTS.get((kind, name))


def value_of(value_from: Object, container: Object | None = None) -> str | None:
    entry = {"name": "IT", "valueFrom": value_from}
    return variables({**(container or {}), "env": [entry]}, POD, CAPACITY, find).get("IT")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "web-0"),
        ("metadata.namespace", "shop"),
        ("metadata.uid", "8a19"),
        ("metadata.labels['app']", "web"),
        ("metadata.labels['absent']", ""),
        ("metadata.annotations['note/a']", "hello"),
        ("spec.nodeName", "process-0"),
        ("spec.serviceAccountName", "keeper"),
        ("status.podIP", "127.1.2.3"),
        ("status.podIPs", "127.1.2.3"),
        ("status.hostIP", "127.0.0.1"),
    ],
)
def test_a_field_of_the_pod_becomes_a_variable(path: str, expected: str) -> None:
    assert value_of({"fieldRef": {"fieldPath": path}}) == expected


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(ValueError, match=r"fieldRef spec\.shoeSize: the process node does not know this field"):
        value_of({"fieldRef": {"fieldPath": "spec.shoeSize"}})


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param({"resource": "limits.cpu"}, "2", id="rounded-up"),
        pytest.param({"resource": "limits.cpu", "divisor": "1m"}, "1500", id="in-units"),
        pytest.param({"resource": "limits.cpu", "divisor": "0"}, "2", id="zero-means-one"),
        pytest.param({"resource": "requests.memory", "divisor": "1Mi"}, "64", id="binary-units"),
        pytest.param({"resource": "limits.memory"}, str(16 * 1024**3), id="no-limit-is-the-node"),
    ],
)
def test_a_resource_of_the_container_becomes_a_variable(reference: Object, expected: str) -> None:
    container = {"resources": {"limits": {"cpu": "1500m"}, "requests": {"memory": "64Mi"}}}
    assert value_of({"resourceFieldRef": reference}, container) == expected


def test_keys_of_configmaps_and_secrets_become_variables() -> None:
    assert value_of({"configMapKeyRef": {"name": "settings", "key": "LEVEL"}}) == "2"
    assert value_of({"secretKeyRef": {"name": "password", "key": "word"}}) == "sesame"


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ({"name": "settings", "key": "SIZE"}, 'ConfigMap "settings" has no key SIZE'),
        ({"name": "nothing", "key": "SIZE"}, 'ConfigMap "nothing" does not exist'),
    ],
)
def test_what_is_missing_is_named_unless_it_is_optional(reference: Object, sentence: str) -> None:
    with pytest.raises(NotAvailable, match=sentence):
        value_of({"configMapKeyRef": reference})
    assert value_of({"configMapKeyRef": {**reference, "optional": True}}) is None


def test_env_wins_over_envfrom_and_may_refer_to_it() -> None:
    container = {
        "envFrom": [{"configMapRef": {"name": "settings"}, "prefix": "A_"}],
        "env": [{"name": "A_MODE", "value": "slow"}, {"name": "BOTH", "value": "$(A_LEVEL)-$(A_MODE)"}],
    }
    assert variables(container, POD, CAPACITY, find) == {"A_LEVEL": "2", "A_MODE": "slow", "BOTH": "2-slow"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(A)", "x1y1"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A ${A} $", "$A ${A} $"),
    ],
)
def test_expands(text: str, expected: str) -> None:
    assert expand(text, {"A": "1"}) == expected


def test_the_environment_is_clean_and_its_paths_are_those_of_this_machine(tmp_path: Path) -> None:
    mounts = Mounts({"/etc/web": Path("/real/config")})
    result = environment({"CONFIG": "/etc/web/a.yaml", "LANG": "de"}, mounts, Image(path="/venv/bin"), tmp_path)
    assert result.pop("PATH").startswith("/venv/bin:/usr/local/sbin:")
    assert result == {
        "CONFIG": "/real/config/a.yaml",
        "HOME": str(tmp_path),
        "LANG": "de",
        "TMPDIR": str(tmp_path / "tmp"),
    }


def test_a_volume_at_tmp_is_where_temporary_files_go(tmp_path: Path) -> None:
    mounts = Mounts({"/tmp": Path("/real/tmp")})  # noqa: S108 - a path within the container
    assert environment({}, mounts, Image(), tmp_path)["TMPDIR"] == "/real/tmp"


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        pytest.param({}, ["/venv/bin/python", "-m"], id="entrypoint"),
        pytest.param({"args": ["web", "$(A)"]}, ["/venv/bin/python", "-m", "web", "1"], id="entrypoint-and-args"),
        pytest.param({"command": ["berth"], "args": ["/etc/web"]}, ["berth", "/real/config"], id="command-and-args"),
    ],
)
def test_command_line(container: Object, expected: list[str]) -> None:
    image = Image(entrypoint=("/venv/bin/python", "-m"), path="/venv/bin")
    assert command_line(container, image, {"A": "1"}, Mounts({"/etc/web": Path("/real/config")})) == expected
