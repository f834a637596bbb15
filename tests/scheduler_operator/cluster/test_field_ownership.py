"""Fields that others wrote to a generated object, and how they are adopted."""

from typing import Any

import pytest

from scheduler_operator.cluster.field_ownership import (
    ForeignManager,
    foreign_managers,
    ownership_patch,
)


def entry(manager: str, fields: dict[str, Any], operation: str = "Update", subresource: str = "") -> dict[str, Any]:
    result = {"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields}
    return {**result, "subresource": subresource} if subresource else result


OURS = entry("berth", {"f:spec": {"f:replicas": {}}}, "Apply")
RESTART: dict[str, Any] = {
    "f:spec": {"f:template": {"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/restartedAt": {}}}}}
}


def live(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": "7", "managedFields": list(entries)}}


def test_fields_are_named_as_a_person_would() -> None:
    fields = {
        "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
        "f:spec": {"f:containers": {'k:{"name":"main"}': {".": {}, "f:image": {}}}, "f:finalizers": {'v:"a"': {}}},
    }
    assert foreign_managers(live(OURS, entry("kubectl", fields))) == [
        ForeignManager("kubectl", ("metadata.labels.x", "spec.containers[name=main].image", 'spec.finalizers["a"]'))
    ]


@pytest.mark.parametrize(
    "harmless",
    [
        pytest.param(OURS, id="ourselves"),
        pytest.param(entry("kube-controller-manager", {"f:status": {}}, subresource="status"), id="status"),
        pytest.param(entry("kubectl-rollout", RESTART), id="a-requested-restart"),
    ],
)
def test_some_may_write(harmless: dict[str, Any]) -> None:
    assert foreign_managers(live(OURS, harmless)) == []
    assert ownership_patch(live(OURS, harmless)) == []


def test_scaling_is_noticed_and_needs_no_adoption() -> None:
    scaled = entry("kubectl", {"f:spec": {"f:replicas": {}}}, subresource="scale")
    assert foreign_managers(live(OURS, scaled)) == [ForeignManager("kubectl", ("spec.replicas",))]
    assert ownership_patch(live(OURS, scaled)) == []


def test_adopted_fields_are_ours_and_no_others() -> None:
    foreign = entry("helm", {"f:spec": {"f:paused": {}}, "f:metadata": {"f:labels": {"f:x": {}}}}, "Apply")
    status = entry("kube-controller-manager", {"f:status": {}}, subresource="status")
    version, managed = ownership_patch(live(foreign, OURS, status))
    assert version == {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}
    assert managed["path"] == "/metadata/managedFields"
    ours, remaining = managed["value"]
    assert ours["fieldsV1"] == {"f:spec": {"f:replicas": {}, "f:paused": {}}, "f:metadata": {"f:labels": {"f:x": {}}}}
    assert remaining == status


@pytest.mark.parametrize(
    ("manager", "operation", "name"),
    [("berth", "Update", "somebody under the name berth"), ("kubectl", "Apply", "kubectl")],
)
def test_ours_is_what_our_manager_applied(manager: str, operation: str, name: str) -> None:
    stranger = entry(manager, {"f:data": {"f:x": {}}}, operation)
    assert foreign_managers(live(OURS, stranger)) == [ForeignManager(name, ("data.x",))]
    _, managed = ownership_patch(live(OURS, stranger))
    assert managed["value"] == [{**OURS, "fieldsV1": {**OURS["fieldsV1"], **stranger["fieldsV1"]}}]


def test_nothing_is_adopted_before_we_have_applied() -> None:
    assert ownership_patch(live(entry("kubectl", {"f:spec": {"f:paused": {}}}))) == []
