"""Statuses of profiles, as their author reads them."""

import json
from dataclasses import replace
from typing import Any

import pytest

from scheduler_operator.models.status import ProfileStatus
from scheduler_operator.reconcile.conditions import MESSAGE_LENGTH
from scheduler_operator.reconcile.scheduler_state import DeploymentState, SchedulerState
from scheduler_operator.reconcile.status import (
    LastGood,
    excluded_status,
    interrupted_status,
    paused_status,
    plugin_config_status,
    rejected_status,
)
from scheduler_operator.render import ObjectProblems, Rendered, check, render
from scheduler_operator.resources.user_object import Status, UserObject, with_transition_times
from scheduler_runtime.catalog import Target
from scheduler_runtime.config import Finding, Problem, Severity
from tests.scheduler_operator.builders import (
    NAMESPACE,
    V1_36,
    applied,
    declaring,
    led,
    plugin_config,
    processes,
    profile,
    rendered,
    status_of,
)

UNKNOWN = ObjectProblems("PluginUnknown", (Problem("spec.plugins.score.enabled[0].name", "there is no plugin 'X'"),))


def conditions(status: Status) -> dict[str, tuple[str, str]]:
    return {condition["type"]: (condition["status"], condition["reason"]) for condition in status["conditions"]}


def messages(status: Status) -> dict[str, str]:
    return {condition["type"]: condition["message"] for condition in status["conditions"]}


@pytest.mark.parametrize("state", [processes(), processes(ready=0), None])
def test_a_version_newer_than_all_supported_ones_is_remarked_on(state: DeploymentState | None) -> None:
    newer, existing = (profile(scheduler={"kubernetesVersion": version}) for version in ("1.38", "v1.37.9"))
    remark = "; Kubernetes 1.38 is newer than this release knows, 1.37 is used"
    ready, *others = status_of(newer, rendered(newer), SchedulerState(state))["conditions"]
    assert ready["message"].endswith(remark)
    assert remark not in str(others)
    assert "newer" not in str(status_of(existing, rendered(existing), SchedulerState(state))["conditions"])


def test_why_pods_are_refused_is_reported() -> None:
    scheduler_profile = profile()
    status = status_of(
        scheduler_profile,
        rendered(scheduler_profile),
        SchedulerState(processes(existing=0, ready=0, failure="violates PodSecurity")),
    )
    assert messages(status) == {
        "Ready": "0 of 2 scheduler processes are ready",
        "Reconciling": "violates PodSecurity",
        "Redundant": "0 of 2 scheduler processes are ready",
    }


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            processes(existing=3, current=1, ready=2),
            "2 of 2 scheduler processes are ready, not all by the newest configuration",
        ),
        (
            processes(existing=3, current=1, ready=3),
            "3 scheduler processes are ready, 1 more than wanted until the older ones have ended",
        ),
    ],
)
def test_while_a_deployment_rolls_more_may_be_ready_than_are_requested(state: DeploymentState, message: str) -> None:
    scheduler_profile = profile()
    assert (
        messages(status_of(scheduler_profile, rendered(scheduler_profile), SchedulerState(state)))["Ready"] == message
    )


def test_a_document_that_somebody_else_runs_is_ready_when_rendered() -> None:
    scheduler_profile = profile(engine="ConfigMap")
    status = status_of(scheduler_profile, rendered(scheduler_profile), SchedulerState())
    assert conditions(status) == {"Ready": ("True", "Rendered")}
    assert status["configMap"] == "berth-bin-packing"
    assert "replicas" not in status


def test_a_running_profile_says_what_is_needed_to_scale_it() -> None:
    scheduler_profile = profile()
    status = status_of(scheduler_profile, rendered(scheduler_profile), SchedulerState(processes(ready=1)))
    assert (status["replicas"], status["readyReplicas"]) == (2, 1)
    assert status["selector"] == "app.kubernetes.io/name=berth-scheduler,berth.dev/profile=bin-packing"


def test_effective_plugins_have_a_weight_where_it_counts() -> None:
    scheduler_profile = profile(plugins={"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 5}]}})
    plugins = status_of(scheduler_profile, rendered(scheduler_profile), SchedulerState())["effectivePlugins"]
    assert {"name": "NodeResourcesFit", "weight": 5} in plugins["score"]
    assert {"name": "NodeResourcesFit"} in plugins["filter"]


def test_effective_plugins_are_those_that_run() -> None:
    scheduler_profile = profile()
    plugins = status_of(scheduler_profile, rendered(scheduler_profile), SchedulerState())["effectivePlugins"]
    output = {plugin["name"] for point in plugins.values() for plugin in point}
    assert "PodTopologySpread" in output
    assert "VolumeBinding" not in output


def last_good(trouble: str = "", *profiles: UserObject) -> LastGood:
    """The revision of a good profile, which two processes run."""
    state = SchedulerState(processes(), "a-pod")
    return LastGood(
        applied(rendered(profiles[0] if profiles else profile()), state, *profiles).revision, state, trouble
    )


def test_a_mistake_stalls_the_profile_and_the_status_tells_what_runs() -> None:
    status = rejected_status(profile(status={"leader": "dead"}), UNKNOWN, last_good())
    assert conditions(status) == {"Ready": ("False", "PluginUnknown"), "Stalled": ("True", "PluginUnknown")}
    assert (status["configHash"], status["readyReplicas"]) == (rendered(profile()).hash, 2)
    assert status["leader"] == "a-pod"
    place = "spec.plugins.score.enabled[0].name"
    assert messages(status) == {
        "Ready": f"1 problem at {place}; the last good configuration stays active until that is corrected",
        "Stalled": f"{place}: there is no plugin 'X'",
    }


def test_several_mistakes_have_a_line_apiece_and_none_is_repeated() -> None:
    result = ObjectProblems("Invalid", tuple(Problem(f"spec.{letter}", "is odd") for letter in "abcde"))
    assert messages(rejected_status(profile(), result)) == {
        "Ready": "5 problems at spec.a, spec.b, spec.c and 2 more places",
        "Stalled": "5 problems:" + "".join(f"\n      - spec.{letter}: is odd" for letter in "abcde"),
    }


def test_a_profile_that_is_wrong_has_a_number_of_warnings_too() -> None:
    assert (
        rejected_status(profile(), UNKNOWN)["warningCount"] == excluded_status(profile(), UNKNOWN)["warningCount"] == 0
    )
    warned = last_good("", profile(scheduler={"clientConnection": {"qps": 1}}))
    status = rejected_status(profile(), UNKNOWN, warned)
    assert status["warningCount"] == len(status["warnings"]) > 0


def test_a_last_good_configuration_that_cannot_be_maintained_says_so() -> None:
    (ready, stalled) = rejected_status(profile(), UNKNOWN, last_good("PATCH x: 403"))["conditions"]
    assert ready["message"].endswith("until that is corrected; it cannot be maintained")
    assert stalled["message"].splitlines()[1] == "the last good configuration cannot be maintained: PATCH x: 403"


def test_who_joined_after_the_last_good_configuration_is_not_in_it() -> None:
    (ready, _) = rejected_status(profile("guest"), UNKNOWN, last_good())["conditions"]
    assert "stays active, without this profile," in ready["message"]


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        (SchedulerState(), True),
        (led(processes()), True),
        (SchedulerState(processes(replicas=0, existing=0, current=0, ready=0)), True),
        (SchedulerState(processes(ready=1)), False),
    ],
    ids=["somebody-elses", "ready", "none-wanted", "not-ready"],
)
def test_processes_that_are_not_ready_are_looked_at_again(running: SchedulerState, expected: bool) -> None:
    assert running.is_settled is expected


def test_the_first_mistake_does_not_speak_of_a_good_configuration() -> None:
    assert "last good" not in rejected_status(profile(), UNKNOWN)["conditions"][0]["message"]


def test_what_passes_by_itself_is_being_reconciled() -> None:
    assert conditions(interrupted_status(profile(), "500")) == {
        "Ready": ("Unknown", "RollingOut"),
        "Reconciling": ("True", "RollingOut"),
    }


def test_a_plugin_config_names_its_users_in_order() -> None:
    config = plugin_config("packed", "NodeResourcesFit")
    assert plugin_config_status(config, None, ["b", "a"])["usedBy"] == ["a", "b"]
    assert conditions(plugin_config_status(config, UNKNOWN, []))["Stalled"] == ("True", "PluginUnknown")


def test_every_condition_speaks_of_the_generation_that_was_read() -> None:
    scheduler_profile = profile()
    for status in (
        status_of(scheduler_profile, rendered(scheduler_profile), SchedulerState(processes(ready=0))),
        rejected_status(scheduler_profile, UNKNOWN),
        paused_status(scheduler_profile, SchedulerState(), scheduler_profile),
    ):
        assert status["observedGeneration"] == 3
        assert {condition["observedGeneration"] for condition in status["conditions"]} == {3}


def test_a_very_long_message_is_cut() -> None:
    status = rejected_status(profile(), ObjectProblems("Invalid", (Problem("spec", "x" * 10_000),)))
    assert len(messages(status)["Stalled"]) == MESSAGE_LENGTH


def test_a_condition_is_dated_when_its_status_changes_and_only_then() -> None:
    scheduler_profile = profile()
    first = with_transition_times(rejected_status(scheduler_profile, UNKNOWN), {}, "2026-01-01T00:00:00Z")
    other = ObjectProblems("Invalid", (Problem("spec", "another"),))
    second = with_transition_times(rejected_status(scheduler_profile, other), first, "2026-01-02T00:00:00Z")
    third = with_transition_times(
        status_of(scheduler_profile, rendered(scheduler_profile), led(processes())),
        second,
        "2026-01-03T00:00:00Z",
    )
    assert [item["conditions"][0]["lastTransitionTime"][:10] for item in (first, second, third)] == [
        "2026-01-01",
        "2026-01-01",
        "2026-01-03",
    ]


def test_a_second_look_at_the_same_state_gives_the_same_status() -> None:
    scheduler_profile = profile()
    first = with_transition_times(
        status_of(scheduler_profile, rendered(scheduler_profile), led(processes())),
        {},
        "2026-01-01T00:00:00Z",
    )
    again = profile(status=first)
    assert (
        with_transition_times(status_of(again, rendered(again), led(processes())), first, "2026-01-02T00:00:00Z")
        == first
    )


def test_every_status_fits_the_schema() -> None:
    scheduler_profile = profile()
    for status in (
        status_of(scheduler_profile, rendered(scheduler_profile), led(processes())),
        rejected_status(scheduler_profile, UNKNOWN),
        paused_status(scheduler_profile, SchedulerState(), scheduler_profile),
    ):
        ProfileStatus.model_validate(with_transition_times(status, {}, "2026-01-01T00:00:00Z"))


def deployment(**status: Any) -> dict[str, Any]:
    return {"metadata": {"generation": 4}, "spec": {"replicas": 2}, "status": {"observedGeneration": 4, **status}}


def test_processes_are_read_from_the_deployment() -> None:
    assert DeploymentState.from_deployment(deployment(replicas=2, updatedReplicas=2, readyReplicas=2)).is_settled
    assert DeploymentState.from_deployment(deployment()) == DeploymentState(replicas=2, existing=0, current=0, ready=0)


def test_nothing_is_current_before_the_deployment_was_looked_at() -> None:
    stale = deployment(observedGeneration=3, replicas=2, updatedReplicas=2, readyReplicas=2)
    assert DeploymentState.from_deployment(stale).current == 0


def test_failures_are_read_from_the_deployments_conditions() -> None:
    failing = deployment(
        conditions=[
            {"type": "ReplicaFailure", "status": "True", "message": "forbidden"},
            {"type": "Progressing", "status": "False", "message": "timed out"},
        ]
    )
    result = DeploymentState.from_deployment(failing)
    assert (result.failure, result.stuck) == ("forbidden", "timed out")
    fine = deployment(conditions=[{"type": "Progressing", "status": "True", "message": "is progressing"}])
    assert DeploymentState.from_deployment(fine).stuck == ""


def test_warnings_are_displayed_and_counted() -> None:
    scheduler_profile = profile(scheduler={"clientConnection": {"qps": 1}})
    status = status_of(scheduler_profile, rendered(scheduler_profile), SchedulerState())
    output = {warning["code"]: warning["path"] for warning in status["warnings"]}
    assert status["warningCount"] == len(status["warnings"])
    assert output["TinyQPS"] == "spec.scheduler.clientConnection.qps"
    assert status_of(profile(), rendered(profile()), SchedulerState())["warningCount"] == 0


def test_a_note_is_no_warning() -> None:
    noted = profile(nodes={"matchLabels": {"pool": "batch"}})
    assert [finding.code for finding in rendered(noted).first.findings] == ["NodesIgnoredBySpread"]
    status = status_of(noted, rendered(noted), SchedulerState())
    assert status["warningCount"] == 0
    assert "warnings" not in status


def test_a_profile_in_the_process_of_another_is_ready_when_that_is() -> None:
    owner, guest = profile("owner"), profile("guest", joins="owner")
    created = render([owner, guest], {}, NAMESPACE, Target(V1_36))
    assert isinstance(created, Rendered)
    status = status_of(guest, created, led(processes()))
    assert conditions(status) == {"Ready": ("True", "Scheduling"), "Redundant": ("True", "MembersReady")}
    assert "processes of owner are ready" in status["conditions"][0]["message"]
    assert status["configMap"].startswith("berth-owner.")
    assert status["leader"] == "a"
    assert "replicas" not in status


@pytest.mark.parametrize(
    ("has_own", "words"), [(False, "nobody schedules its pods"), (True, "last good configuration")]
)
def test_a_profile_that_is_omitted_says_who_schedules_its_pods(has_own: bool, words: str) -> None:
    own = last_good("", profile("guest")) if has_own else None
    status = excluded_status(profile("guest", joins="owner"), UNKNOWN, own)
    assert conditions(status)["Stalled"] == ("True", "PluginUnknown")
    assert words in status["conditions"][0]["message"]


@pytest.mark.parametrize("text", ["x", "\0", "é", "🙂"])
def test_a_status_has_room_for_itself_and_says_what_is_left_out(text: str) -> None:
    long = text * 3_000_000
    member = replace(
        rendered(profile()).first,
        findings=tuple(Finding("Odd", Severity.WARNING, f"spec.{long}", long, long) for _ in range(100)),
    )
    result = replace(rendered(profile()), profiles={"bin-packing": member})

    status = status_of(profile(), result, SchedulerState())

    assert len(json.dumps(status)) < 400_000
    assert status["warningCount"] == 100
    listed = len(status["warnings"])
    assert f"{100 - listed} of 100 findings are not listed" in status["conditions"][0]["message"]
    problems = ObjectProblems("Invalid", tuple(Problem(f"spec.{long}[{n}]", long) for n in range(100)))
    refused = rejected_status(profile(), problems)
    assert len(json.dumps(refused)) < 100_000
    assert all(len(condition["message"]) <= 4096 for condition in refused["conditions"])
    stalled = refused["conditions"][1]["message"].splitlines()
    assert stalled[0] == "100 problems:"
    assert stalled[-1] == f"      - and {100 - (len(stalled) - 2)} more"


def test_a_plugin_with_an_impossible_name_is_judged_like_any_other() -> None:
    config = declaring("odd", "A\0B", {"hooks": ["filter"], "argsSchema": {"type": "object"}}, args={"a\0": 1})
    problems = check(config, {"odd": config}, NAMESPACE, Target(V1_36))
    assert problems is not None
    assert len(json.dumps(plugin_config_status(config, problems, ()))) < 10_000
