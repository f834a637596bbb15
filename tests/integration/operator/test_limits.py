"""Limits of profiles: the chart's policy and the operator refuse the same, in the same words."""

from typing import Any

import pytest

from devcluster.model.api import RefusedError
from scheduler_operator.app import settings
from scheduler_operator.models import SchedulerSpec
from tests.integration.operator.running import Installed, profile
from tests.support.eventually import eventually

pytestmark = pytest.mark.cluster

PROFILES = "/apis/berth.dev/v1alpha1/schedulerprofiles"
BINDING = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
DIGEST = "@sha256:0123"


def policy_says(installed: Installed, spec: dict[str, Any]) -> str:
    """The policy's answer to a profile; empty when it may be created."""
    try:
        installed.api.post(f"{PROFILES}?dryRun=All", profile("tried", **spec))
    except RefusedError as refusal:
        return str(refusal)
    return ""


def operator_says(installed: Installed, spec: dict[str, Any]) -> list[str]:
    """The answer of the operator's own check, with the command line of the chart."""
    limits = settings.parse(installed.arguments, {}).release.limits
    scheduler = SchedulerSpec.model_validate(spec.get("scheduler", {}))
    return [str(problem) for problem in limits.problems(spec.get("engine", "Python"), scheduler)]


def image(name: str) -> dict[str, Any]:
    return {"scheduler": {"image": name}}


@pytest.fixture(scope="module", autouse=True)
def in_force(installed: Installed) -> None:
    """A new policy takes a moment."""
    eventually(lambda: policy_says(installed, image("evil:1")), 30)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"scheduler": {}}, id="an-empty-scheduler"),
        pytest.param({"engine": "KubeScheduler"}, id="an-engine"),
        pytest.param(image("berth:test"), id="the-releases-image"),
        pytest.param(image("registry.k8s.io/kube-scheduler:v1.36.4"), id="upstreams-image"),
        pytest.param(image("registry.example.com/team/it:2"), id="below-a-prefix"),
        pytest.param(image("mine"), id="a-repository"),
        pytest.param(image("mine:2"), id="its-tag"),
        pytest.param(image(f"mine{DIGEST}"), id="its-digest"),
        pytest.param(image(f"mine:2{DIGEST}"), id="its-tag-and-digest"),
        pytest.param(image("pinned:1"), id="exactly-it"),
        pytest.param({"scheduler": {"priorityClassName": "important"}}, id="a-priority-class"),
        pytest.param({"scheduler": {"podLabels": {"team": "a", "example.com/any": "b"}}}, id="labels"),
        pytest.param({"scheduler": {"podAnnotations": {"note": "a", "exact.example.com/key": "b"}}}, id="annotations"),
    ],
)
def test_what_is_allowed_is_allowed_by_both(installed: Installed, spec: dict[str, Any]) -> None:
    assert (policy_says(installed, spec), operator_says(installed, spec)) == ("", [])


@pytest.mark.parametrize(
    "name",
    [
        *("evil:1", "berth", "berth:other", f"berth:test{DIGEST}", "Berth:test", "docker.io/library/berth:test"),
        *("mine-evil:1", "mine.evil/it:1", "mine:5000/evil:1", "mine/evil:1", "mine:1 ", "xmine:1"),
        *("registry.example.com", "registry.example.com.evil/it:1", "registry.example.com:5000/it:1"),
        *("pinned", "pinned:10", f"pinned:1{DIGEST}", "pinned:1/evil"),
        *("registry.k8s.io/kube-scheduler-evil:1", "registry.k8s.io/other:1"),
    ],
)
def test_an_image_is_none_of_those_whose_name_it_resembles(installed: Installed, name: str) -> None:
    (problem,) = operator_says(installed, image(name))
    assert problem.startswith(f"spec.scheduler.image: {name} is not among what profiles may have here (berth:test, ")
    assert problem in policy_says(installed, image(name))


@pytest.mark.parametrize(
    ("scheduler", "start"),
    [
        pytest.param(
            {"priorityClassName": "system-node-critical"},
            "spec.scheduler.priorityClassName: system-node-c",
            id="priority",
        ),
        pytest.param({"podLabels": {"evil.com/a": "b"}}, "spec.scheduler.podLabels: evil.com/a is", id="a-label"),
        pytest.param(
            {"podLabels": {"example.com.evil/a": "b"}}, "spec.scheduler.podLabels: example.com.evil/a", id="like"
        ),
        pytest.param(
            {"podAnnotations": {"container.apparmor.security.beta.kubernetes.io/scheduler": "unconfined"}},
            "spec.scheduler.podAnnotations: container.apparmor.security.beta.kubernetes.io/scheduler is",
            id="apparmor",
        ),
        pytest.param(
            {"podAnnotations": {"exact.example.com/keys": "b"}},
            "spec.scheduler.podAnnotations: exact.e",
            id="longer-key",
        ),
    ],
)
def test_what_is_not_allowed_is_refused_by_both_in_the_same_words(
    installed: Installed, scheduler: dict[str, Any], start: str
) -> None:
    (problem,) = operator_says(installed, {"scheduler": scheduler})
    assert problem.startswith(start)
    assert problem in policy_says(installed, {"scheduler": scheduler})


def test_a_profile_beyond_newer_limits_is_invalid_and_what_ran_goes_on(installed: Installed) -> None:
    operator = installed.operator("wide").until_leading()
    try:
        installed.apply(profile("older", scheduler={"image": "mine:1"}))
        eventually(lambda: installed.is_ready("older"), 30)
        before = installed.generated("older")["Deployment"]["metadata"]["uid"]
    finally:
        operator.end()
    operator = installed.operator("narrow", arguments=["--allowed-images=pinned:1"]).until_leading()
    try:
        stalled = eventually(lambda: installed.is_stalled_for("older", "Invalid"), 30)
        assert stalled["message"] == (
            "spec.scheduler.image: mine:1 is not among what profiles may have here (berth:test, pinned:1); "
            "change it, or have it added to profiles.allowed.images of the chart"
        )
        assert installed.generated("older")["Deployment"]["metadata"]["uid"] == before
        installed.delete("schedulerprofile", "older")
    finally:
        operator.end()


def test_a_profile_from_before_the_policy_can_be_labelled_and_mended_but_not_changed_otherwise(
    installed: Installed,
) -> None:
    binding = installed.api.get(f"{BINDING}/berth-profile-limits")
    installed.api.request("DELETE", f"{BINDING}/berth-profile-limits")
    eventually(lambda: not policy_says(installed, image("evil:1")), 30)
    installed.api.post(PROFILES, profile("outgrown", engine="ConfigMap", **image("evil:1")))
    metadata = {"name": binding["metadata"]["name"], "labels": binding["metadata"]["labels"]}
    installed.api.post(BINDING, {**binding, "metadata": metadata})
    eventually(lambda: policy_says(installed, image("evil:1")), 30)

    path = f"{PROFILES}/outgrown"
    installed.api.merge(path, {"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/held"]}})
    with pytest.raises(RefusedError, match="evil:1 is not among what"):
        installed.api.merge(path, {"spec": {"scheduler": {"replicas": 3}}})
    installed.api.request("DELETE", path)
    installed.api.merge(path, {"metadata": {"finalizers": None}})
    eventually(lambda: installed.get("schedulerprofile", "outgrown") is None, 30)
