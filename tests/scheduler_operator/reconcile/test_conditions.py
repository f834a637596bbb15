"""Conditions of profiles: whether somebody schedules, and what tools that wait for it make of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from scheduler_operator.models.status import ProfileStatus
from scheduler_operator.reconcile.scheduler_state import DeploymentState, PodTrouble, SchedulerMember, SchedulerState
from scheduler_operator.reconcile.status import paused_status
from scheduler_operator.resources.user_object import Status, UserObject, with_transition_times
from scheduler_runtime.config import Failure, LoadReport
from tests.scheduler_operator.builders import led, processes, profile, rendered, status_of

PROFILE = profile()
RENDERED = rendered(PROFILE)
NEWEST, BEFORE = RENDERED.hash, "0" * 64
AT = "2026-01-01T00:00:00Z"


def status(state: SchedulerState) -> Status:
    result = status_of(PROFILE, RENDERED, state)
    ProfileStatus.model_validate(with_transition_times(result, {}, AT))
    return result


def conditions(result: Status) -> dict[str, tuple[str, str]]:
    return {condition["type"]: (condition["status"], condition["reason"]) for condition in result["conditions"]}


def message(result: Status, of_type: str) -> str:
    messages = {str(condition["type"]): str(condition["message"]) for condition in result["conditions"]}
    return messages[of_type]


def kstatus(result: Mapping[str, Any], generation: int = 3) -> str:
    """What kstatus makes of a status: pkg/kstatus/status/generic.go, and Ready as its last rule."""
    if result["observedGeneration"] != generation:
        return "InProgress"
    for condition in result["conditions"]:
        if condition["status"] == "True" and condition["type"] in ("Reconciling", "Stalled"):
            return "InProgress" if condition["type"] == "Reconciling" else "Failed"
    of_ready = [condition["status"] for condition in result["conditions"] if condition["type"] == "Ready"]
    return "Current" if of_ready in ([], ["True"]) else "InProgress"


def member(name: str, is_leader: bool = False, **more: Any) -> SchedulerMember:
    return SchedulerMember(name, is_leader, more.pop("report", None), **more)


READY, ROLLING = {"Ready": ("True", "Scheduling")}, {"Reconciling": ("True", "RollingOut")}
REDUNDANT, ALONE = {"Redundant": ("True", "MembersReady")}, {"Redundant": ("False", "MembersMissing")}
IMAGE = PodTrouble("berth-system/berth-bin-packing-1", "ErrImageNeverPull", "Container image is not present", True)


@pytest.mark.parametrize(
    ("state", "expected", "waits_for"),
    [
        pytest.param(led(processes()), READY | REDUNDANT, "Current", id="all-ready"),
        pytest.param(led(processes(ready=1)), READY | ALONE, "Current", id="one-of-two-is-down"),
        pytest.param(led(processes(current=1, ready=1)), READY | ROLLING | ALONE, "InProgress", id="one-is-made"),
        pytest.param(led(processes(current=0)), READY | ROLLING | REDUNDANT, "InProgress", id="the-old-ones-still-run"),
        pytest.param(led(processes(existing=3)), READY | ROLLING | REDUNDANT, "InProgress", id="an-old-one-ends"),
        pytest.param(
            led(processes(existing=3, current=1), pod_trouble=IMAGE),
            READY | {"Stalled": ("True", "RollingOut")} | REDUNDANT,
            "Failed",
            id="no-image-while-the-old-ones-run",
        ),
        pytest.param(led(processes(replicas=1, existing=1, current=1, ready=1)), READY, "Current", id="one-is-wanted"),
        pytest.param(
            SchedulerState(processes()),
            {"Ready": ("False", "NoLeader"), "Reconciling": ("True", "NoLeader")} | REDUNDANT,
            "InProgress",
            id="between-two-leaders",
        ),
        pytest.param(
            SchedulerState(processes(ready=1)),
            {"Ready": ("False", "NoLeader"), "Reconciling": ("True", "NoLeader")} | ALONE,
            "InProgress",
            id="the-leader-died",
        ),
        pytest.param(
            SchedulerState(processes(ready=0)),
            {"Ready": ("False", "RollingOut")} | ROLLING | ALONE,
            "InProgress",
            id="none-has-started",
        ),
        pytest.param(
            SchedulerState(processes(existing=0, current=0, ready=0)),
            {"Ready": ("False", "RollingOut")} | ROLLING | ALONE,
            "InProgress",
            id="none-is-made",
        ),
        pytest.param(
            SchedulerState(processes(existing=0, ready=0, failure="violates PodSecurity")),
            {"Ready": ("False", "NoMemberAvailable"), "Reconciling": ("True", "NoMemberAvailable")} | ALONE,
            "InProgress",
            id="pods-are-refused",
        ),
        pytest.param(
            SchedulerState(processes(ready=0, stuck="has timed out progressing")),
            {"Ready": ("False", "NoMemberAvailable"), "Stalled": ("True", "NoMemberAvailable")} | ALONE,
            "Failed",
            id="never-becomes-ready",
        ),
        pytest.param(
            SchedulerState(processes(ready=0), pod_trouble=IMAGE),
            {"Ready": ("False", "NoMemberAvailable"), "Stalled": ("True", "NoMemberAvailable")} | ALONE,
            "Failed",
            id="no-image",
        ),
        pytest.param(
            SchedulerState(processes(replicas=0, existing=0, current=0, ready=0)),
            {"Ready": ("False", "NoMemberAvailable"), "Stalled": ("True", "NoMemberAvailable")},
            "Failed",
            id="none-wanted",
        ),
    ],
)
def test_a_profile_is_ready_when_a_leader_schedules(
    state: SchedulerState, expected: dict[str, tuple[str, str]], waits_for: str
) -> None:
    assert conditions(status(state)) == expected
    assert kstatus(status(state)) == waits_for


def test_what_keeps_a_member_from_standing_by_is_told() -> None:
    result = status(led(processes(ready=1), pod_trouble=IMAGE))
    assert message(result, "Redundant") == (
        "1 of 2 scheduler processes are ready; "
        "pod berth-system/berth-bin-packing-1 waits: ErrImageNeverPull: Container image is not present"
    )


def test_somebody_else_who_holds_the_lease_is_named() -> None:
    result = status(SchedulerState(processes(), other_holder="thief"))
    assert conditions(result)["Ready"] == ("False", "NoLeader")
    assert message(result, "Reconciling").startswith("the Lease is held by thief, which is no process of this profile")


OLDER = LoadReport(BEFORE, AT)
WAITING = LoadReport(BEFORE, AT, "waiting", "the code cannot be read now", NEWEST)
REFUSED = LoadReport(BEFORE, AT, "refused", "profiles[0].plugin: is not a field", NEWEST)


@pytest.mark.parametrize(
    ("report", "also", "words"),
    [
        pytest.param(OLDER, "Reconciling", "it is about to follow the newest", id="older"),
        pytest.param(WAITING, "Reconciling", "pod a: the code cannot be read now", id="waiting"),
        pytest.param(REFUSED, "Stalled", "pod a: profiles[0].plugin: is not a field", id="refused"),
    ],
)
def test_a_leader_with_an_older_document_is_not_ready(report: LoadReport, also: str, words: str) -> None:
    result = status(led(processes(), member("a", is_leader=True, report=report)))
    reason = "NotLoaded" if report is REFUSED else "RollingOut"
    assert conditions(result) == {
        "Ready": ("False", reason),
        also: ("True", reason),
        "Redundant": ("False", "MembersBehind"),
    }
    assert message(result, also) == words


def test_a_standby_with_an_older_document_does_not_stand_by() -> None:
    state = led(processes(), member("a", is_leader=True), others=(member("b", report=REFUSED),))
    assert conditions(status(state)) == READY | {"Redundant": ("False", "MembersBehind")}
    assert message(status(state), "Redundant").splitlines() == [
        "1 of 2 scheduler processes go by the newest configuration",
        "pod b: profiles[0].plugin: is not a field",
    ]


def test_a_kube_scheduler_goes_by_the_document_that_it_was_started_with() -> None:
    old = led(processes(existing=3, current=1), member("a", is_leader=True, started_with=BEFORE))
    assert conditions(status(old))["Ready"] == ("False", "RollingOut")
    new = led(processes(), member("a", is_leader=True, started_with=NEWEST))
    assert conditions(status(new)) == READY | REDUNDANT


PLUGIN = Failure("bin-packing", "plugin", "PriceCap", "failed in filter: KeyError: 'price'")
EXTENDER = Failure("bin-packing", "extender", "http://a.b", "connection refused")
IGNORED = Failure("bin-packing", "ignored extender", "http://a.b", "connection refused")
OF_ANOTHER = replace(PLUGIN, profile="other")


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        pytest.param(
            [PLUGIN],
            {
                "Ready": ("False", "PluginsFailing"),
                "Stalled": ("True", "PluginsFailing"),
                "PluginsFailing": ("True", "NearlyEveryAttempt"),
            },
            id="plugin",
        ),
        pytest.param(
            [EXTENDER],
            {
                "Ready": ("False", "ExtendersFailing"),
                "Stalled": ("True", "ExtendersFailing"),
                "ExtendersFailing": ("True", "NearlyEveryAttempt"),
            },
            id="extender",
        ),
        pytest.param([IGNORED], READY | {"ExtendersFailing": ("True", "NearlyEveryAttempt")}, id="ignored-extender"),
        pytest.param([OF_ANOTHER], READY, id="of-another-profile-in-the-process"),
    ],
)
def test_what_fails_in_nearly_every_attempt_is_told(
    failures: list[Failure], expected: dict[str, tuple[str, str]]
) -> None:
    result = status(led(processes(), member("a", is_leader=True, failures=tuple(failures))))
    assert conditions(result) == expected | REDUNDANT
    if failures == [PLUGIN]:
        assert message(result, "PluginsFailing") == "plugin PriceCap: failed in filter: KeyError: 'price'"
        assert message(result, "Ready") == "no pod is placed: PriceCap fails in nearly every attempt"


def test_a_standby_has_nothing_to_say_of_failures() -> None:
    state = led(processes(), member("a", is_leader=True), others=(member("b", failures=(PLUGIN,)),))
    assert conditions(status(state)) == READY | REDUNDANT


# Paused.


def paused(before: dict[str, Any], state: SchedulerState, owner: UserObject | None = None) -> Status:
    own = profile(paused=True, status=before)
    result = paused_status(own, state, owner or own)
    ProfileStatus.model_validate(with_transition_times(result, {}, AT))
    return result


RUNNING = {"configHash": NEWEST, "configMap": "berth-bin-packing", "selector": "a=b", "leader": "x", "readyReplicas": 9}
PAUSED = {"Ready": ("True", "Paused")}


@pytest.mark.parametrize(
    ("before", "state", "expected", "waits_for"),
    [
        pytest.param(RUNNING, led(processes()), PAUSED | REDUNDANT, "Current", id="what-runs-schedules"),
        pytest.param(
            RUNNING,
            SchedulerState(processes()),
            {"Ready": ("False", "NoLeader"), "Reconciling": ("True", "NoLeader")} | REDUNDANT,
            "InProgress",
            id="between-two-leaders",
        ),
        pytest.param(
            RUNNING,
            SchedulerState(),
            {"Ready": ("False", "Paused"), "Stalled": ("True", "Paused")},
            "Failed",
            id="somebody-deleted-the-deployment",
        ),
        pytest.param(
            {},
            SchedulerState(),
            {"Ready": ("False", "Paused"), "Stalled": ("True", "Paused")},
            "Failed",
            id="never-ran",
        ),
        pytest.param({"configHash": NEWEST}, SchedulerState(), PAUSED, "Current", id="only-rendered"),
    ],
)
def test_a_paused_profile_is_ready_while_what_runs_schedules(
    before: dict[str, Any], state: SchedulerState, expected: dict[str, tuple[str, str]], waits_for: str
) -> None:
    result = paused(before, state)
    assert conditions(result) == expected
    assert kstatus(result) == waits_for
    assert result["conditions"][0]["message"].startswith("spec.paused is true: changes wait")


def test_a_paused_profile_shows_the_processes_as_they_are() -> None:
    result = paused(RUNNING, led(processes(ready=1)))
    assert (result["leader"], result["readyReplicas"], result["configHash"]) == ("a", 1, NEWEST)
    assert "leader" not in paused(RUNNING, SchedulerState(processes()))


def test_a_profile_in_a_paused_process_says_whose_it_is() -> None:
    owner = profile("owner", paused=True, status=RUNNING)
    result = paused({"configHash": NEWEST, "configMap": "berth-owner"}, led(processes()), owner)
    assert conditions(result) == PAUSED | REDUNDANT
    assert result["conditions"][0]["message"].startswith("spec.paused of owner is true")
    assert "replicas" not in result


def test_messages_of_ready_are_short() -> None:
    states = [led(processes()), SchedulerState(processes()), led(processes(existing=3, current=1, ready=3))]
    failing = member("a", is_leader=True, failures=(PLUGIN, EXTENDER))
    for state in (*states, led(processes(), failing), led(DeploymentState(32, 64, 0, 64))):
        assert len(message(status(state), "Ready")) < 100
