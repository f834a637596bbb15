"""Profiles that cannot run, and the status that their author reads, on a real API server."""

import json
from collections.abc import Iterator

import pytest

from tests.integration.operator.running import NAMESPACE, Installed, profile
from tests.support.eventually import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("operator")]


def test_an_unknown_plugin_stalls_the_profile(installed: Installed) -> None:
    installed.apply(profile("mistaken", plugins={"score": {"enabled": [{"name": "NodeResourceFit"}]}}))
    stalled = eventually(lambda: installed.is_stalled_for("mistaken", "PluginUnknown"), 30)
    assert "NodeResourceFit" in stalled["message"]
    assert "NodeResourcesFit" in stalled["message"]
    assert installed.generated("mistaken") == {}
    installed.apply(profile("mistaken"))
    eventually(lambda: installed.is_ready("mistaken"), 30)
    installed.delete("schedulerprofile", "mistaken")


def test_what_has_to_be_changed_can_be_read_in_a_terminal(installed: Installed) -> None:
    unknown = {"enabled": [{"name": "Nonsense"}]}
    installed.apply(profile("readable", plugins={"filter": unknown, "score": unknown}))
    eventually(lambda: installed.is_stalled_for("readable", "PluginUnknown"), 30)
    eventually(lambda: installed.events("readable"), 30)

    described = installed.cluster.kubectl("describe", "schedulerprofile", "readable").stdout.splitlines()

    listed = [line for line in described if line.startswith("      - spec.plugins.")]
    assert [line.partition(": ")[0] for line in listed] == [
        "      - spec.plugins.filter.enabled[0].name",
        "      - spec.plugins.score.enabled[0].name",
    ]
    row = installed.cluster.kubectl("get", "schedulerprofile", "readable").stdout.splitlines()[1]
    assert row.split()[:5] == ["readable", "Python", "False", "PluginUnknown", "0"]
    installed.apply(profile("readable"))
    eventually(lambda: installed.is_ready("readable"), 30)
    eventually(lambda: len(installed.events("readable")) > 1, 30)
    notes = {note.partition(": ")[0] for note in installed.events("readable")}
    assert notes == {"2 problems", "no longer stalled"}
    assert len(installed.events("readable")) == len(notes)
    installed.delete("schedulerprofile", "readable")


def test_an_object_of_somebody_else_is_not_adopted(installed: Installed) -> None:
    metadata = {"name": "berth-wanting", "namespace": NAMESPACE}
    installed.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    installed.apply(profile("wanting"))

    stalled = eventually(lambda: installed.is_stalled_for("wanting", "NameTaken"), 30)

    assert "ServiceAccount berth-wanting" in stalled["message"]
    assert installed.generated("wanting") == {}
    installed.delete("serviceaccount", "berth-wanting")
    eventually(lambda: installed.is_ready("wanting"), 30)
    installed.delete("schedulerprofile", "wanting")


def test_what_the_api_server_refuses_is_reported_in_its_words(installed: Installed) -> None:
    resources = {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}
    installed.apply(profile("greedy", scheduler={"resources": resources}))
    stalled = eventually(lambda: installed.is_stalled_for("greedy", "Invalid"), 30)
    assert "must be less than or equal to memory limit" in stalled["message"]
    installed.delete("schedulerprofile", "greedy")


@pytest.fixture
def webhook(installed: Installed) -> Iterator[str]:
    """A webhook that nobody answers, in the way of the Deployments of a profile whose name this is."""
    hook = {
        "name": "hinder.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["deployments"]}],
        "objectSelector": {"matchLabels": {"berth.dev/profile": "hindered"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = "ValidatingWebhookConfiguration"
    api_version = "admissionregistration.k8s.io/v1"
    metadata = {"name": "hinder"}
    installed.apply({"apiVersion": api_version, "kind": kind, "metadata": metadata, "webhooks": [hook]})
    yield "hindered"
    installed.cluster.kubectl("delete", kind, "hinder", "--ignore-not-found")


def test_what_passes_by_itself_is_being_reconciled(installed: Installed, webhook: str) -> None:
    installed.apply(profile(webhook))
    reconciling = eventually(lambda: installed.condition(webhook, "Reconciling"), 30)
    assert "failed calling webhook" in reconciling["message"]
    assert installed.condition(webhook, "Stalled") == {}

    installed.cluster.kubectl("delete", "validatingwebhookconfiguration", "hinder")

    eventually(lambda: installed.is_ready(webhook), 60)
    installed.delete("schedulerprofile", webhook)


@pytest.fixture
def policy(installed: Installed) -> Iterator[str]:
    """An admission policy that wants no ServiceAccount for a profile whose name this is."""
    api_version = "admissionregistration.k8s.io/v1"
    metadata = {"name": "bar"}
    accounts = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["serviceaccounts"]}
    constraints = {"resourceRules": [accounts], "objectSelector": {"matchLabels": {"berth.dev/profile": "barred"}}}
    validations = [{"expression": "false", "message": "not in this house"}]
    spec = {"matchConstraints": constraints, "validations": validations}
    binding = {"policyName": "bar", "validationActions": ["Deny"]}
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    for kind, content in zip(kinds, (spec, binding), strict=True):
        installed.apply({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": content})
    labelled = {"name": "x", "namespace": NAMESPACE, "labels": {"berth.dev/profile": "barred"}}
    account = json.dumps({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": labelled})
    attempt = ("create", "--dry-run=server", "-f", "-")
    kubectl = installed.cluster.kubectl
    eventually(lambda: "house" in kubectl(*attempt, input=account, check=False).stderr, 30)  # it takes a moment
    yield "barred"
    for kind in kinds:
        installed.cluster.kubectl("delete", kind, "bar", "--ignore-not-found")


def test_what_a_policy_refuses_is_not_blamed_on_the_profile(installed: Installed, policy: str) -> None:
    installed.apply(profile(policy))
    stalled = eventually(lambda: installed.is_stalled_for(policy, "PermissionMissing"), 30)
    assert stalled["message"].startswith("the cluster's admission control refuses serviceaccounts/berth-barred: ")
    assert "ValidatingAdmissionPolicy 'bar'" in stalled["message"]
    assert "spec.scheduler" not in stalled["message"]
    installed.delete("schedulerprofile", policy)


def test_a_right_that_the_operator_cannot_pass_on_is_named(installed: Installed) -> None:
    catalog = installed.get("clusterrole", "berth-catalog-permissions")
    assert catalog is not None
    without = [rule for rule in catalog["rules"] if rule["resources"] != ["pods/binding"]]
    installed.patch("clusterrole", "berth-catalog-permissions", {"rules": without})
    installed.apply(profile("powerless"))

    stalled = eventually(lambda: installed.is_stalled_for("powerless", "PermissionMissing"), 30)

    assert 'Resources:["pods/binding"], Verbs:["create"]' in stalled["message"]
    installed.patch("clusterrole", "berth-catalog-permissions", {"rules": catalog["rules"]})
    eventually(lambda: installed.is_ready("powerless"), 60)
    installed.delete("schedulerprofile", "powerless")
