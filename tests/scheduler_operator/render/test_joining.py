"""Several profiles in one process: what they share, and what keeps them apart."""

from typing import Any

import pytest
import yaml

from scheduler_operator.render import (
    ObjectProblems,
    Rendered,
    join_problem,
    joiners,
    problems_alone,
    render,
    render_shared,
)
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import config
from scheduler_runtime.catalog import Target
from tests.scheduler_operator.builders import NAMESPACE, V1_36, profile

TARGET = Target(V1_36)
DECLARED = UserObject(
    "PluginConfig", "fifo", "uid", 1, {"plugin": "Fifo", "declares": {"hooks": ["queueSort"]}}, status={}
)
EXTENDER = {"urlPrefix": "http://x", "filterVerb": "f", "ignorable": True}
FIFO = {"queueSort": {"enabled": [{"name": "Fifo"}], "disabled": [{"name": "*"}]}}


def process(owner: UserObject, *others: UserObject) -> tuple[Rendered, dict[str, ObjectProblems]]:
    shared = render_shared(owner, others, {"fifo": DECLARED}, NAMESPACE, TARGET)
    assert isinstance(shared.outcome, Rendered), str(shared.outcome)
    return shared.outcome, dict(shared.excluded)


def test_profiles_of_a_process_stand_in_one_document_under_one_lease() -> None:
    rendered, excluded = process(profile("a", scheduler={"replicas": 3}), profile("b", joins="a"))
    assert excluded == {}
    assert [item.scheduler_name for item in rendered.document.profiles] == ["a", "b"]
    assert rendered.document.leader_election.resource_name == "berth-a"
    assert list(rendered.profiles) == ["a", "b"]
    assert rendered.scheduler.replicas == 3
    assert isinstance(config.load(rendered.text), config.Document)


def test_who_came_first_stands_first() -> None:
    ages = {"z": "2026-01-01T00:00:00Z", "y": "2026-01-02T00:00:00Z", "x": "2026-01-02T00:00:00Z"}
    result = [UserObject("SchedulerProfile", name, "uid", 1, {"joins": "a"}, {}, {}, age) for name, age in ages.items()]
    assert [joiner.name for joiner in joiners("a", [*result, profile("a"), profile("b", joins="c")])] == ["z", "x", "y"]


@pytest.mark.parametrize(
    ("owner", "joiner", "path", "words"),
    [
        pytest.param({}, {"engine": "KubeScheduler"}, "spec.engine", "is not the engine of a, Python", id="engine"),
        pytest.param(
            {"engine": "KubeScheduler"},
            {"engine": "KubeScheduler", "plugins": FIFO},
            "spec.plugins.queueSort",
            "Fifo sorts the queue of b and PrioritySort that of a",
            id="queue-sort",
        ),
        pytest.param(
            {"engine": "KubeScheduler", "extenders": [EXTENDER]},
            {"engine": "KubeScheduler"},
            "spec.joins",
            "the extenders of a about the pods of b",
            id="extenders-of-the-owner",
        ),
        pytest.param(
            {"engine": "KubeScheduler"},
            {"engine": "KubeScheduler", "extenders": [EXTENDER]},
            "spec.joins",
            "the extenders of b about the pods of a",
            id="extenders-of-the-joiner",
        ),
        pytest.param(
            {"extenders": [{"urlPrefix": "http://x", "bindVerb": "bind", "ignorable": True}]},
            {"extenders": [{"urlPrefix": "http://y", "bindVerb": "bind", "ignorable": True}]},
            "spec.joins",
            "a and b both have an extender that binds",
            id="two-that-bind",
        ),
        pytest.param(
            {"extenders": [{**EXTENDER, "managedResources": [{"name": "example.com/gpu"}]}]},
            {"extenders": [{**EXTENDER, "managedResources": [{"name": "example.com/gpu"}]}]},
            "spec.joins",
            "extenders of both a and b manage example.com/gpu",
            id="two-that-manage-a-resource",
        ),
    ],
)
def test_a_conflict_keeps_the_later_one_out_and_names_both(
    owner: dict[str, Any], joiner: dict[str, Any], path: str, words: str
) -> None:
    rendered, excluded = process(profile("a", **owner), profile("b", joins="a", **joiner))
    assert list(rendered.profiles) == ["a"]
    assert excluded["b"].reason == "JoinConflict"
    assert [problem.path for problem in excluded["b"].problems] == [path]
    assert words in str(excluded["b"])


def test_every_profile_of_a_process_asks_its_own_extenders() -> None:
    first, second = profile("a", extenders=[EXTENDER]), profile("b", joins="a")
    third = profile("c", joins="a", extenders=[EXTENDER, {**EXTENDER, "urlPrefix": "http://y"}])
    rendered, excluded = process(first, second, third)
    assert excluded == {}
    assert [extender.url_prefix for extender in rendered.document.extenders] == ["http://x", "http://x", "http://y"]
    assert yaml.safe_load(rendered.extras)["extenders"] == {"a": [0], "c": [1, 2]}
    problems_alone, _ = process(first)
    assert "extenders" not in yaml.safe_load(problems_alone.extras)


def test_a_joiner_that_is_wrong_disturbs_nobody_else() -> None:
    wrong = profile("b", joins="a", plugins={"score": {"enabled": [{"name": "Nonsense"}]}})
    rendered, excluded = process(profile("a"), wrong, profile("c", joins="a"))
    assert list(rendered.profiles) == ["a", "c"]
    assert excluded["b"].reason == "PluginUnknown"
    assert str(excluded["b"]).startswith("spec.plugins.score.enabled[0].name: ")


def test_rendered_at_once_the_problems_of_others_name_them() -> None:
    wrong = profile("b", joins="a", percentageOfNodesToScore=101)
    result = render([profile("a"), wrong], {}, NAMESPACE, TARGET)
    assert isinstance(result, ObjectProblems)
    assert str(result).startswith("SchedulerProfile b: spec.percentageOfNodesToScore: 101 is too large")


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param({"scheduler": {}}, "spec.scheduler", id="a-process-of-its-own"),
        pytest.param({"overrides": []}, "spec.overrides", id="overrides"),
        pytest.param({"paused": True}, "spec.paused", id="a-pause-of-its-own"),
        pytest.param({"joins": "b"}, "spec.joins", id="itself"),
    ],
)
def test_what_a_joiner_cannot_have_is_refused(spec: dict[str, Any], path: str) -> None:
    _, excluded = process(profile("a"), profile("b", **{"joins": "a", **spec}))
    assert [problem.path for problem in excluded["b"].problems] == [path]


@pytest.mark.parametrize(
    ("expected", "reason"),
    [("gone", "JoinTargetMissing"), ("b", "JoinConflict"), ("a", None), ("", None)],
)
def test_whom_a_profile_can_join(expected: str, reason: str | None) -> None:
    there = {item.name: item for item in (profile("a"), profile("b", joins="a"))}
    result = join_problem(profile("c", joins=expected), there)
    assert (result.reason if result else None) == reason


def test_what_is_wrong_with_a_profile_without_a_process_is_reported_as_well() -> None:
    scheduler_profile = profile("Joins_Bad", joins="x", scheduler={"replicas": 1}, plugin={})
    result = [problem.path for problem in problems_alone(scheduler_profile, {}, NAMESPACE, Target(V1_36))]
    assert result == ["metadata.name", "spec.plugin", "spec.scheduler"]
    assert problems_alone(profile("right", joins="x"), {}, NAMESPACE, Target(V1_36)) == ()
