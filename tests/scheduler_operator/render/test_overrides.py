"""``spec.overrides``: what they do to the document, what they may not, and where their mistakes are reported."""

from typing import Any

import pytest

from scheduler_operator.render import ObjectProblems, render
from scheduler_runtime import config
from scheduler_runtime.catalog import Target
from tests.scheduler_operator.builders import NAMESPACE, V1_36, profile, rendered

FIT: dict[str, Any] = {"plugins": {"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 5}]}}}


def problems(*overrides: dict[str, Any], **spec: Any) -> list[str]:
    outcome = render([profile(overrides=list(overrides), **spec)], {}, NAMESPACE, Target(V1_36))
    assert isinstance(outcome, ObjectProblems)
    return [str(problem) for problem in outcome.problems]


def test_overrides_are_applied_one_after_the_other_and_last() -> None:
    result = rendered(
        profile(
            **FIT,
            overrides=[
                {"op": "test", "path": "/profiles/0/plugins/score/enabled/0/weight", "value": 5},
                {"op": "add", "path": "/profiles/0/plugins/score/enabled/0", "value": {"name": "ImageLocality"}},
                {"op": "copy", "from": "/clientConnection/burst", "path": "/percentageOfNodesToScore"},
                {"op": "add", "path": "/parallelism", "value": 3},
                {"op": "move", "from": "/parallelism", "path": "/podMaxBackoffSeconds"},
            ],
        )
    )
    enabled = result.document.profiles[0].plugins.score.enabled
    assert [plugin.name for plugin in enabled] == ["ImageLocality", "NodeResourcesFit"]
    assert (result.document.percentage_of_nodes_to_score, result.document.pod_max_backoff_seconds) == (0, 3)
    assert isinstance(config.load(result.text), config.Document)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        pytest.param(
            {"op": "remove", "path": "/nothing"}, "spec.overrides[0]: cannot remove /nothing", id="nothing-there"
        ),
        pytest.param(
            {"op": "copy", "from": "/nothing", "path": "/parallelism"},
            "spec.overrides[0]: cannot copy /nothing to /parallelism: there is no /nothing in the rendered document",
            id="nothing-to-copy",
        ),
        pytest.param(
            {"op": "add", "path": "/nothing/in/it", "value": 1},
            "spec.overrides[0]: cannot add /nothing/in/it: there is no /nothing/in in the rendered document",
            id="nothing-to-add-to",
        ),
        pytest.param(
            {"op": "replace", "path": "", "value": {}},
            "spec.overrides[0].path: '' is the whole document; write a place in it, such as /profiles/0/",
            id="the-whole-document",
        ),
        pytest.param({"op": "add", "path": "/parallelism"}, "spec.overrides[0]: add needs a value", id="no-value"),
        pytest.param(
            {"op": "test", "path": "/kind", "value": "Other"},
            "spec.overrides[0]: the document has not 'Other' at /kind",
            id="test-that-fails",
        ),
        pytest.param(
            {"op": "add", "path": "/parallelism", "value": 0},
            "spec.overrides[0].value: 0 is too small; it must be at least 1",
            id="value-out-of-bounds",
        ),
        pytest.param(
            {"op": "add", "path": "/profiles/0/plugins", "value": {"score": {"enabled": [{"name": "Nonsense"}]}}},
            "spec.overrides[0].value.score.enabled[0].name: there is no plugin 'Nonsense'",
            id="deep-inside-its-value",
        ),
        pytest.param(
            {"op": "add", "path": "/leaderElection/odd", "value": 1},
            "spec.overrides[0].value: is not a field",
            id="field-that-does-not-exist",
        ),
    ],
)
def test_a_mistake_in_an_override_is_reported_at_the_override(override: dict[str, Any], words: str) -> None:
    assert problems(override)[0].startswith(words)


@pytest.mark.parametrize(
    "override",
    [
        {"op": "replace", "path": "/leaderElection/resourceName", "value": "kube-scheduler"},
        {"op": "replace", "path": "/leaderElection/leaderElect", "value": False},
        {"op": "remove", "path": "/leaderElection"},
        {"op": "add", "path": "/clientConnection", "value": {"kubeconfig": "/etc/berth/e.yaml"}},
        {"op": "remove", "path": "/profiles"},
        {"op": "replace", "path": "/profiles/0/schedulerName", "value": "other"},
        {"op": "add", "path": "/profiles/-", "value": {"schedulerName": "other"}},
        {"op": "replace", "path": "/apiVersion", "value": "kubescheduler.config.k8s.io/v1beta3"},
    ],
)
def test_what_berth_relies_on_is_not_the_profiles_to_change(override: dict[str, Any]) -> None:
    (result,) = {problem.partition(": changes ")[0] for problem in problems(override)}
    assert result == "spec.overrides[0]"


def test_what_an_override_does_not_touch_is_still_reported_where_its_author_has_it() -> None:
    before = {"op": "add", "path": "/profiles/0/plugins/score/enabled/0", "value": {"name": "ImageLocality"}}
    spec = {"plugins": {"score": {"enabled": [{"name": "NodeResourceFit"}]}}}
    (result,) = problems(before, **spec)
    assert result.startswith("spec.plugins.score.enabled[0].name: there is no plugin 'NodeResourceFit'")
