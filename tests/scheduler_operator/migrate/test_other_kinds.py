"""ConfigMaps, OpenShift's Scheduler, AKS' SchedulerConfiguration, and what is none of them."""

import json
from typing import Any

import pytest

from scheduler_operator.migrate import import_documents
from scheduler_runtime.config import Problems
from tests.scheduler_operator.migrate.results import document, one_profile, outcome, profiles, refusals, remarks, spec

POLICY = '{"kind": "Policy", "apiVersion": "v1", "priorities": []}'


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "it"}, "data": data}


def openshift(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "config.openshift.io/v1", "kind": "Scheduler", "metadata": {"name": "cluster"}, "spec": spec}


def aks(**spec: Any) -> dict[str, Any]:
    header = {"apiVersion": "aks.azure.com/v1alpha1", "kind": "SchedulerConfiguration"}
    return {**header, "metadata": {"name": "upstream"}, "spec": spec}


@pytest.mark.parametrize("key", ["config.yaml", "scheduler-config", "anything"])
def test_a_config_map_holds_its_document_under_any_key(key: str) -> None:
    assert list(profiles(outcome(config_map(**{key: json.dumps(one_profile()), "readme": "no document"})))) == ["mine"]


def test_a_config_map_may_hold_a_policy() -> None:
    assert spec(config_map(**{"policy.cfg": POLICY}))["plugins"]["score"] == {"disabled": [{"name": "*"}]}


def test_paths_lead_into_the_text_of_a_config_map() -> None:
    source = config_map(**{"config.yaml": json.dumps(document("v1beta2"))})
    assert "data['config.yaml'].apiVersion" in remarks(source)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        pytest.param({"a": "b"}, "holds no configuration of a scheduler; its keys are a", id="none"),
        pytest.param({"a": POLICY, "b": POLICY}, "holds several configurations, a, b", id="two"),
    ],
)
def test_a_config_map_that_leaves_a_doubt_is_refused(data: dict[str, str], sentence: str) -> None:
    assert sentence in refusals(config_map(**data))["data"]


LEASE = {"leaderElection": {"leaseDuration": "137s", "renewDeadline": "107s", "retryPeriod": "26s"}}
EVERYTHING_OFF = {"disabled": [{"name": "*"}]}


@pytest.mark.parametrize(
    ("profile", "plugins", "args"),
    [
        pytest.param("", None, None, id="none"),
        pytest.param("LowNodeUtilization", None, None, id="low"),
        pytest.param(
            "HighNodeUtilization",
            {
                "score": {
                    "enabled": [{"name": "NodeResourcesFit", "weight": 5}],
                    "disabled": [{"name": "NodeResourcesBalancedAllocation"}],
                }
            },
            [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}],
            id="high",
        ),
        pytest.param("NoScoring", {"preScore": EVERYTHING_OFF, "score": EVERYTHING_OFF}, None, id="no-scoring"),
    ],
)
def test_openshifts_profiles_are_what_its_operator_makes_of_them(profile: str, plugins: Any, args: Any) -> None:
    expected = {"plugins": plugins, "pluginConfig": args, "scheduler": LEASE}
    assert spec(openshift(profile=profile)) == {key: value for key, value in expected.items() if value}


def test_what_openshift_does_beside_scheduling_is_reported() -> None:
    source = openshift(mastersSchedulable=True, defaultNodeSelector="a=b", policy={"name": "old"})
    assert {"spec.mastersSchedulable", "spec.defaultNodeSelector", "spec.policy.name"} <= remarks(source).keys()
    assert not {"spec.mastersSchedulable", "spec.policy.name"} & remarks(openshift(policy={"name": ""})).keys()


def test_openshifts_customisation_turns_a_default_off() -> None:
    source = openshift(profileCustomizations={"dynamicResourceAllocation": "Disabled"})
    assert spec(source)["plugins"] == {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}


def test_a_profile_that_openshift_does_not_have_is_refused() -> None:
    assert "is not a profile of OpenShift" in refusals(openshift(profile="Fast"))["spec.profile"]


def test_aks_keeps_a_document_in_a_string() -> None:
    source = aks(rawConfig=json.dumps(one_profile(percentageOfNodesToScore=20)))
    assert profiles(outcome(source)) == {"mine": {"percentageOfNodesToScore": 20}}


def test_aks_once_had_profiles_of_its_own() -> None:
    assert profiles(outcome(aks(profiles=[{"schedulerName": "binpacking"}]))) == {"binpacking": {}}


def test_aks_without_a_document_is_refused() -> None:
    assert "is required" in refusals(aks())["spec.rawConfig"]
    assert "is not YAML" in refusals(aks(rawConfig="a: [b"))["spec.rawConfig"]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        pytest.param({"apiVersion": "v1", "kind": "Service"}, "Service cannot be imported; give a Kube", id="service"),
        pytest.param({}, "a document without a kind cannot be imported", id="empty"),
        pytest.param({"kind": ["Pod"]}, "cannot be imported", id="kind-that-is-a-list"),
        pytest.param(
            {"apiVersion": "berth.dev/v1alpha1", "kind": "SchedulerProfile"}, "there is nothing to import", id="own"
        ),
    ],
)
def test_what_is_no_configuration_is_refused(source: dict[str, Any], sentence: str) -> None:
    assert sentence in refusals(source)["kind"]


def test_nothing_at_all_is_refused() -> None:
    assert "there is nothing to import" in str(import_documents([]))


def test_a_name_that_cannot_be_is_refused() -> None:
    assert isinstance(import_documents([document()], "Not.A.Name"), Problems)


def test_a_configuration_without_a_name_is_the_default_scheduler_unless_another_is_requested() -> None:
    assert profiles(outcome(document())) == {"default-scheduler": {"replacesDefaultScheduler": True}}
    assert "replacesDefaultScheduler is true" in remarks(document(), name="")[""]
    assert "called mine as requested" in remarks(document(), name="mine")[""]


@pytest.mark.parametrize(
    ("scheduler_name", "profile_name"),
    [
        pytest.param("Fast.Lane", "fast-lane", id="dots-and-capitals"),
        pytest.param("x" * 60, "x" * 42, id="too-long"),
        pytest.param("operator", "operator-scheduler", id="reserved"),
        pytest.param("…", "scheduler", id="nothing-left"),
    ],
)
def test_a_scheduler_name_that_no_object_can_have_is_mapped_with_a_remark(
    scheduler_name: str, profile_name: str
) -> None:
    source = document(profiles=[{"schedulerName": scheduler_name}])
    assert list(profiles(outcome(source))) == [profile_name]
    assert f"spec.schedulerName: {profile_name}" in remarks(source)["profiles[0].schedulerName"]


def test_two_names_that_would_become_one_stay_two() -> None:
    source = document(profiles=[{"schedulerName": "a-b"}, {"schedulerName": "a.b"}])
    assert list(profiles(outcome(source))) == ["a-b", "a-b-2"]
