"""Several inputs at once, the findings that their comments allow, and the requested name."""

from collections.abc import Sequence
from typing import Any

import pytest

from scheduler_operator.migrate import Imported, import_documents
from tests.scheduler_operator.migrate.results import document, one_profile, outcome, outcome_of_all, profiles
from tests.scheduler_operator.migrate.test_manifests import MOUNTED, config_map, deployment

COMMENTED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {qps: 1}  # berth: allow TinyQPS
"""
AKS = {
    "apiVersion": "aks.azure.com/v1alpha1",
    "kind": "SchedulerConfiguration",
    "spec": {"rawConfig": COMMENTED},
}


def annotations(inputs: Sequence[dict[str, Any]], allowed: Sequence[set[str]]) -> list[dict[str, str] | None]:
    """The annotations of each profile that comes of the inputs."""
    result = import_documents(inputs, allowed=allowed)
    assert isinstance(result, Imported), str(result)
    return [item["metadata"].get("annotations") for item in result.objects]


def test_findings_that_a_comment_allows_are_allowed_by_an_annotation() -> None:
    source = document(profiles=[{"schedulerName": "one"}, {"schedulerName": "two"}])
    expected = {"berth.dev/allow-findings": "NoBind, TinyQPS"}
    assert annotations([source], [{"TinyQPS", "NoBind"}]) == [expected, expected]


def test_the_comments_of_one_document_allow_nothing_in_another() -> None:
    one, two = document(profiles=[{"schedulerName": "one"}]), document(profiles=[{"schedulerName": "two"}])
    assert annotations([one, two], [{"TinyQPS"}, set()]) == [{"berth.dev/allow-findings": "TinyQPS"}, None]


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param([config_map(COMMENTED)], id="config-map"),
        pytest.param(
            [config_map(COMMENTED), deployment("--config=/etc/scheduler/config.yaml", **MOUNTED)], id="mounted"
        ),
        pytest.param([AKS], id="aks"),
    ],
)
def test_comments_inside_of_a_text_count_too(inputs: list[dict[str, Any]]) -> None:
    assert annotations(inputs, []) == [{"berth.dev/allow-findings": "TinyQPS"}]


def test_a_comment_beside_the_flags_of_a_manifest_counts() -> None:
    assert annotations([deployment("--scheduler-name=a")], [{"TinyQPS"}]) == [{"berth.dev/allow-findings": "TinyQPS"}]


def test_a_requested_name_without_use_is_reported() -> None:
    (remark,) = outcome(one_profile(), "other").remarks
    assert (remark.path, remark.message.partition(";")[0]) == (
        "",
        "the name other that was requested is not used, because the input names its schedulers: mine",
    )
    assert outcome(one_profile(), "mine").remarks == ()


def test_the_same_input_twice_is_read_once() -> None:
    result = outcome_of_all(one_profile(), one_profile())
    assert list(profiles(result)) == ["mine"]
    assert [str(remark) for remark in result.remarks] == ["[1]: left out, because the same was given before"]


def test_two_schedulers_of_one_name_are_numbered() -> None:
    result = outcome_of_all(one_profile(), one_profile(percentageOfNodesToScore=4))
    assert list(profiles(result)) == ["mine", "mine-2"]
    assert "'mine' is the name of another one already" in str(result.remarks[0])
