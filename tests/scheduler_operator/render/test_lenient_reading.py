"""One mistake does not hide the next, and does not make others up."""

from typing import Any

import pytest

from tests.scheduler_operator.builders import problems, profile

NOPE = {"name": "Nope"}
BEST = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Best"}}}
SHORT = {"leaderElection": {"leaseDuration": "1s"}, "podInitialBackoffSeconds": 50}
EXPECTED_PATHS = {
    "spec.plugins.filter.enabled[0].name",
    "spec.pluginConfig[0].args.scoringStrategy.type",
    "spec.scheduler.leaderElection.leaseDuration",
    "spec.scheduler.podMaxBackoffSeconds",
}


def paths(**spec: Any) -> set[str]:
    return {problem.path for problem in problems(profile(**spec)).problems}


def test_a_mistake_in_the_process_does_not_hide_those_in_plugins() -> None:
    assert paths(plugins={"filter": {"enabled": [NOPE]}}, pluginConfig=[BEST], scheduler=SHORT) == EXPECTED_PATHS


def test_a_field_that_does_not_exist_hides_nothing() -> None:
    spec = {"plugins": {"filter": {"enabled": [NOPE]}}, "pluginConfig": [BEST], "scheduler": SHORT}
    assert paths(foo=1, **spec) == {"spec.foo", *EXPECTED_PATHS}


def test_what_follows_an_entry_that_cannot_be_read_is_reported_at_its_own_place() -> None:
    assert paths(plugins={"score": {"enabled": [{"name": 5}, NOPE]}}, pluginConfig=[{"args": {}}, BEST]) == {
        "spec.plugins.score.enabled[0].name",
        "spec.plugins.score.enabled[1].name",
        "spec.pluginConfig[0].name",
        "spec.pluginConfig[1].args.scoringStrategy.type",
    }


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param(
            {"plugins": {"queueSort": {"disabled": [{"name": 5}], "enabled": [{"name": "PrioritySort"}]}}},
            "spec.plugins.queueSort.disabled[0].name",
            id="another-sorter-was-perhaps-disabled",
        ),
        pytest.param(
            {"plugins": {"bind": {"disabled": [{"name": "*"}], "enabled": [{"name": 5}]}}},
            "spec.plugins.bind.enabled[0].name",
            id="another-binder-was-perhaps-enabled",
        ),
        pytest.param(
            {"pluginConfig": [{"name": "NodeResourcesFit", "args": 5}]},
            "spec.pluginConfig[0].args",
            id="args-are-given",
        ),
        pytest.param(
            {"scheduler": {"podInitialBackoffSeconds": 20, "podMaxBackoffSecond": 30}},
            "spec.scheduler.podMaxBackoffSecond",
            id="the-other-bound-is-misspelt",
        ),
        pytest.param(
            {"engine": "Rust", "extenders": [{"urlPrefix": "http://a.example", "filterVerb": "filter"}]},
            "spec.engine",
            id="engine-that-has-extenders",
        ),
        pytest.param(
            {"overrides": [{"op": "add", "path": "/a/b"}, {"op": "put", "path": "/a", "value": {}}]},
            "spec.overrides[1].op",
            id="overrides-build-on-one-another",
        ),
    ],
)
def test_what_may_be_right_with_the_rest_is_not_reported(spec: dict[str, Any], path: str) -> None:
    assert paths(**spec) == {path}
