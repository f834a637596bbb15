"""upstream: test/integration/scheduler/serving, /statusz and /flagz in the form that is asked for, and /configz."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from devcluster import Cluster
from scheduler_runtime import config
from tests.integration.scheduler.support import document, scheduler
from tests.support.eventually import eventually
from tests.support.pages import FetchedPage, get_page

pytestmark = pytest.mark.cluster

STATUSZ, FLAGZ, CONFIGZ = "/statusz", "/flagz", "/configz"
EXPECTED_FIELDS = {
    STATUSZ: ("paths", ["/configz", "/debug", "/flagz", "/healthz", "/livez", "/metrics", "/readyz"]),
    FLAGZ: ("flags", {"leader-elect-resource-name": "kube-scheduler", "leader-elect": "false"}),
}


def request_page(port: int, path: str, accept: str) -> FetchedPage:
    return get_page(port, path, {"Accept": accept} if accept else {})


@pytest.fixture(scope="module")
def port(server: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Where a scheduler answers that does nothing else."""
    with scheduler(tmp_path_factory.mktemp("pages"), server.kubeconfig, document(), "--leader-elect=false") as process:
        eventually(lambda: "scheduling" in process.log, 60, explain=lambda: process.log)
        yield process.port


def form(path: str, media_type: str = "application/json", version: str = "v1beta1") -> str:
    return f"{media_type};v={version};g=config.k8s.io;as={path[1:].capitalize()}"


def in_both(*rows: Any) -> list[Any]:
    return [pytest.param(path, *row, id=f"{path[1:]}-{name}") for path in (STATUSZ, FLAGZ) for name, *row in rows]


@pytest.mark.parametrize(
    ("path", "accept", "is_there"),
    in_both(
        ("text-plain-response", "text/plain", True),
        ("no-accept-header", "", True),
        ("wildcard-accept-header", "*/*", True),
        ("invalid-accept-header", "application/xml", False),
        ("application/json-without-params", "application/json", False),
        ("application/json-with-missing-as", "application/json;v=v1beta1;g=config.k8s.io", False),
    ),
)
def test_scheduler_z_pages(port: int, path: str, accept: str, is_there: bool) -> None:
    answer = request_page(port, path, accept)
    if is_there:
        text = f"kube-scheduler {path[1:]}\nWarning: This endpoint is not meant to be machine parseable"
        assert (answer.status, text in answer.body) == (200, True)
    else:
        assert (answer.status, json.loads(answer.body)["reason"]) == (406, "NotAcceptable")


@pytest.mark.parametrize("path", [pytest.param(path, id=path[1:]) for path in (STATUSZ, FLAGZ)])
def test_scheduler_z_pages_fall_back(port: int, path: str) -> None:
    """One more row of each of upstream's tables: a version that is not there."""
    assert request_page(port, path, f"{form(path, version='foo')},*/*").content_type.startswith("text/plain")


@pytest.mark.parametrize(
    ("path", "media_type", "versions", "is_old"),
    in_both(
        ("structured-json-response", "application/json", ["v1beta1"], False),
        ("structured-yaml-response", "application/yaml", ["v1beta1"], False),
        ("alpha-specified-before-beta", "application/json", ["v1alpha1", "v1beta1"], True),
        ("beta-specified-before-alpha", "application/json", ["v1beta1", "v1alpha1"], False),
    ),
)
def test_scheduler_z_pages_as_objects(port: int, path: str, media_type: str, versions: list[str], is_old: bool) -> None:
    """Most of the other rows of upstream's tables: the version that comes first is the one that is given."""
    answer = request_page(port, path, ",".join(form(path, media_type, version) for version in versions))
    page = yaml.safe_load(answer.body)
    assert (page["kind"], page["apiVersion"]) == (path[1:].capitalize(), f"config.k8s.io/{versions[0]}")
    assert page["metadata"]["name"] == "kube-scheduler"
    assert (answer.content_type.partition(";")[0], "deprecated" in answer.warning) == (media_type, is_old)
    field, expected = EXPECTED_FIELDS[path]
    assert (page[field].items() >= expected.items()) if isinstance(expected, dict) else page[field] == expected


def test_scheduler_z_pages_configz(port: int) -> None:
    """The last table of upstream's has one row: what is followed, as a document that can be read again."""
    answer = request_page(port, CONFIGZ, "application/json")
    page = json.loads(answer.body)["componentconfig"]
    assert (page["apiVersion"], page["kind"]) == ("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration")
    assert isinstance(config.parse_document(page), config.Document)
