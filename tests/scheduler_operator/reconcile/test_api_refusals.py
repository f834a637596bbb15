"""Refusals of the API server that somebody has to act upon."""

import pytest

from scheduler_operator.cluster.api import RequestError
from scheduler_operator.reconcile.api_refusals import refusal_problems

ESCALATION = """clusterroles.rbac.authorization.k8s.io "berth-p" is forbidden: \
user "system:serviceaccount:berth-system:berth-operator" (groups=["a"]) is attempting to grant RBAC permissions \
not currently held:
{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}
{APIGroups:["example.com"], Resources:["prices"], Verbs:["get" "list"]}; resolution errors: [x]"""


def error(status: int, message: str) -> RequestError:
    return RequestError("PATCH /x", status, "Reason", message)


def test_a_right_that_cannot_be_passed_on_is_named_with_the_way_to_grant_it() -> None:
    result = refusal_problems(error(403, ESCALATION))
    assert result is not None
    assert result.reason == "PermissionMissing"
    assert '{APIGroups:["example.com"], Resources:["prices"], Verbs:["get" "list"]}' in str(result)
    assert "resolution errors" not in str(result)
    assert 'berth.dev/aggregate-to-operator: "true"' in str(result)


def test_a_right_that_the_operator_lacks_is_named() -> None:
    result = refusal_problems(error(403, 'deployments.apps "berth-p" is forbidden: User "me" cannot patch resource'))
    assert result is not None
    assert result.reason == "PermissionMissing"
    assert "cannot patch" in str(result)
    assert "install its chart again" in str(result)


POLICY = "ValidatingAdmissionPolicy 'no-latest' with binding 'no-latest' denied request: name a version"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        pytest.param(422, f'deployments.apps "berth-p" is forbidden: {POLICY}', id="policy"),
        pytest.param(400, 'admission webhook "a.example.com" denied the request: no', id="webhook"),
        pytest.param(403, 'admission webhook "a.example.com" denied the request: no', id="webhook-that-forbids"),
        pytest.param(403, 'services "berth-p" is forbidden: exceeded quota: few', id="quota"),
    ],
)
def test_what_admission_refuses_is_not_blamed_on_the_profile(status: int, message: str) -> None:
    refusal = RequestError("PATCH /apis/apps/v1/namespaces/n/deployments/berth-p?force=true", status, "Reason", message)
    result = refusal_problems(refusal)
    assert result is not None
    assert result.reason == "PermissionMissing"
    assert str(result).startswith(f"the cluster's admission control refuses deployments/berth-p: {message}; change the")


@pytest.mark.parametrize("status", [400, 422])
def test_what_the_api_server_finds_invalid_is_the_authors_to_mend(status: int) -> None:
    result = refusal_problems(error(status, "spec.template: Invalid value"))
    assert result is not None
    assert result.reason == "Invalid"
    assert "spec.template: Invalid value" in str(result)


@pytest.mark.parametrize("status", [0, 401, 404, 409, 429, 500, 503])
def test_anything_else_may_pass_by_itself(status: int) -> None:
    assert refusal_problems(error(status, "oh")) is None
