"""Imported profiles can run: the linter finds no error, and the real kube-scheduler accepts the document."""

from typing import Any

import pytest
import yaml

from scheduler_operator.migrate import Imported, import_documents
from scheduler_operator.migrate.policy_tables import PREDICATES, PRIORITIES
from scheduler_operator.render import Rendered, render
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import catalog
from scheduler_runtime.catalog import Target
from tests.scheduler_operator.builders import NAMESPACE, V1_36
from tests.scheduler_operator.migrate.test_documentation import EXAMPLES
from tests.support.kube_scheduler import KubeScheduler


def policy(**fields: Any) -> list[dict[str, Any]]:
    return [{"kind": "Policy", "apiVersion": "v1", **fields}]


def openshift(profile: str) -> list[dict[str, Any]]:
    return [{"apiVersion": "config.openshift.io/v1", "kind": "Scheduler", "spec": {"profile": profile}}]


def asking(extender: dict[str, Any]) -> list[dict[str, Any]]:
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return [{**header, "extenders": [{"filterVerb": "filter", **extender}]}]


def older(version: str, **plugins: Any) -> list[dict[str, Any]]:
    header = {"apiVersion": f"kubescheduler.config.k8s.io/{version}", "kind": "KubeSchedulerConfiguration"}
    return [{**header, "profiles": [{"schedulerName": "older", "plugins": plugins}]}]


PREPARED = {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}, {"name": "NodePorts"}]}
INPUTS = [
    *(list(yaml.safe_load_all(inputs)) for inputs, _, _ in EXAMPLES),
    *(policy(predicates=[{"name": name}]) for name in PREDICATES),
    *(policy(priorities=[{"name": name, "weight": 2}]) for name in PRIORITIES),
    policy(predicates=[], priorities=[]),
    policy(),
    *(openshift(name) for name in ("LowNodeUtilization", "HighNodeUtilization", "NoScoring")),
    asking({"urlPrefix": "https://one.example.com", "tlsConfig": {"serverName": "two.example.com"}}),
    *(older(version, preFilter=PREPARED, filter=PREPARED) for version in ("v1beta1", "v1beta2", "v1beta3")),
]


def rendered(inputs: list[dict[str, Any]], target: Target) -> str:
    result = import_documents(inputs)
    assert isinstance(result, Imported), str(result)
    objects = [
        UserObject(item["kind"], item["metadata"]["name"], uid=str(index), generation=1, spec=item["spec"], status={})
        for index, item in enumerate(result.objects)
    ]
    came = render([item for item in objects if item.kind == "SchedulerProfile"], {}, NAMESPACE, target)
    assert isinstance(came, Rendered), str(came)
    return came.text


@pytest.mark.parametrize("inputs", INPUTS)
def test_an_import_is_no_error_to_the_linter(inputs: list[dict[str, Any]]) -> None:
    assert rendered(inputs, Target(V1_36))


@pytest.mark.cluster(kubernetes=catalog.NEWEST_MINOR, binaries=("kube-scheduler",))
def test_an_import_is_accepted_by_the_real_kube_scheduler() -> None:
    texts = [rendered(inputs, Target.parse(catalog.NEWEST_MINOR)) for inputs in INPUTS]
    answers = KubeScheduler.of(catalog.NEWEST_MINOR).ask_all(texts)
    assert [answer.refusal for answer in answers if answer.refusal] == []
