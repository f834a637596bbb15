"""The chart's FlowSchemas: which priority a busy API server gives to requests of Berth's accounts."""

from contextlib import closing

import pytest

from devcluster.model.api import AdminApi
from tests.integration.operator.running import NAMESPACE, Installed
from tests.support.eventually import eventually

pytestmark = pytest.mark.cluster

SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"


def flow_schema(installed: Installed, api: AdminApi, path: str) -> str:
    """The name of the FlowSchema by which the API server treats that request."""
    names = {item["metadata"]["uid"]: item["metadata"]["name"] for item in installed.api.get(SCHEMAS)["items"]}
    connection, response = api.stream(path)
    with closing(connection), closing(response):
        return str(names[response.headers["X-Kubernetes-Pf-Flowschema-Uid"]])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(f"{LEASES}/berth-operator", "berth-leases", id="its-lease"),
        pytest.param(f"{LEASES}?watch=1&timeoutSeconds=1", "berth-requests", id="a-watch-of-leases"),
        pytest.param("/apis/berth.dev/v1alpha1/schedulerprofiles", "berth-requests", id="profiles"),
        pytest.param("/version", "berth-requests", id="no-resource"),
    ],
)
def test_leases_go_before_all_and_other_requests_go_with_kube_schedulers(
    installed: Installed, path: str, expected: str
) -> None:
    with installed.as_account("berth-operator") as api:
        eventually(lambda: flow_schema(installed, api, path) == expected, 30)


def test_they_are_about_nobody_elses_requests(installed: Installed) -> None:
    token = installed.cluster.kubectl("create", "token", "default", "-n", "default").stdout
    with AdminApi(installed.cluster.server, installed.cluster.ca, token) as api:
        assert not flow_schema(installed, api, "/apis/berth.dev/v1alpha1/schedulerprofiles").startswith("berth-")


@pytest.mark.parametrize("name", ["berth-leases", "berth-requests"])
def test_the_priority_levels_exist(installed: Installed, name: str) -> None:
    def dangling() -> list[str]:
        conditions = installed.api.get(f"{SCHEMAS}/{name}").get("status", {}).get("conditions", [])
        return [condition["status"] for condition in conditions if condition["type"] == "Dangling"]

    eventually(lambda: dangling() == ["False"], 30)
