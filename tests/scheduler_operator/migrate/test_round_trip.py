"""Imported and rendered documents have the meaning of their source."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from scheduler_operator.migrate import Imported, import_document
from scheduler_operator.render import Rendered, render
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import config
from scheduler_runtime.catalog import Target
from tests.scheduler_operator.builders import NAMESPACE, V1_36
from tests.scheduler_operator.migrate.results import outcome
from tests.support.documents import documents

TARGET = Target(V1_36)
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
BERTHS_OWN = ("leaderElect", "resourceLock", "resourceName", "resourceNamespace")


def accepted(document: dict[str, Any]) -> config.Document | None:
    """The document, if kube-scheduler accepts it."""
    result = config.parse_document(document)
    if isinstance(result, config.Problems) or isinstance(config.expand_profiles(result, TARGET), config.Problems):
        return None
    return result


def carried(document: dict[str, Any]) -> Imported:
    """The import of an accepted document within the limits of the API; others are not what a property is about."""
    result = import_document(document)
    assume(isinstance(result, Imported))
    assert isinstance(result, Imported)
    return result


def rendered(result: Imported) -> config.Document:
    """The document that the imported objects come to, whatever a linter thinks of it."""
    objects = [
        UserObject(item["kind"], item["metadata"]["name"], uid=str(index), generation=1, spec=item["spec"], status={})
        for index, item in enumerate(result.objects)
    ]
    configs = {item.name: item for item in objects if item.kind == "PluginConfig"}
    profiles = [item for item in objects if item.kind == "SchedulerProfile"]
    came = render(profiles, configs, NAMESPACE, TARGET, lint=lambda *_: ())
    assert isinstance(came, Rendered), str(came)
    return came.document


def meaning(document: config.Document) -> dict[str, Any]:
    """All that a document decides: its effective profiles in order, extenders and the process."""
    effective = config.expand_profiles(document, TARGET)
    assert not isinstance(effective, config.Problems)
    messages = config.with_defaults(document, TARGET)
    whole = messages.pop("percentageOfNodesToScore")
    own = [profile.get("percentageOfNodesToScore") for profile in messages.pop("profiles")]
    messages["leaderElection"] = {
        key: value for key, value in messages["leaderElection"].items() if key not in BERTHS_OWN
    }
    for extender in messages.get("extenders", ()):
        if not any(extender.get("tlsConfig", {}).values()):
            extender.pop("tlsConfig", None)  # it decides nothing
    return {
        "points": [dict(item.points) for item in effective],
        "args": [dict(item.args) for item in effective],
        "percentages": [whole if item is None else item for item in own],
        **messages,
    }


@pytest.mark.thorough
@QUICK
@given(documents(TARGET))
def test_a_document_means_the_same_as_the_profiles_that_come_of_it(document: dict[str, Any]) -> None:
    document = {**document, "clientConnection": {"qps": -1, "burst": 7, **document.get("clientConnection", {})}}
    before = accepted(document)
    assume(before is not None)
    assert before is not None
    assert meaning(rendered(carried(document))) == meaning(before)


@pytest.mark.thorough
@QUICK
@given(documents(TARGET))
def test_what_was_rendered_is_imported_as_what_it_was_rendered_from(document: dict[str, Any]) -> None:
    assume(accepted(document) is not None)
    document.get("leaderElection", {}).pop("leaderElect", None)  # replicas, which it becomes, are not in a document
    first = carried(document)
    again = carried(json.loads(json.dumps(parsed(config.dump(rendered(first))))))
    assert again.objects == first.objects


def parsed(text: str) -> Any:
    result = config.read_yaml(text)
    assert isinstance(result, tuple)
    return result[0].value


@pytest.mark.parametrize("qps", [-1, 0, 20])
def test_an_explicit_rate_stays(qps: int) -> None:
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    document = {**header, "clientConnection": {"qps": qps}}
    before = accepted(document)
    assert before is not None
    assert meaning(rendered(outcome(document)))["clientConnection"] == meaning(before)["clientConnection"]
