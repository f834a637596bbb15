"""Load reports of a profile's processes."""

from typing import Any

from scheduler_operator.models.status import ProfileStatus
from scheduler_operator.reconcile.scheduler_state import DeploymentState, SchedulerState, running_members
from scheduler_operator.resources.user_object import Status
from scheduler_runtime.config import Failure, LoadReport, failure_condition
from tests.scheduler_operator.builders import profile, rendered, status_of

PROFILE = profile()
RENDERED = rendered(PROFILE)
NEWEST, BEFORE = RENDERED.hash, "0" * 64
AT = "2026-01-01T00:00:00Z"
NONSENSE = "profiles[0].plugin: is not a field"


def pod(name: str, says: LoadReport | None = None, **metadata: str) -> dict[str, Any]:
    conditions = [says.condition()] if says else []
    return {"metadata": {"name": name, **metadata}, "status": {"phase": "Running", "conditions": conditions}}


def status(*pods: dict[str, Any]) -> Status:
    processes = DeploymentState(replicas=2, existing=2, current=2, ready=2)
    result = status_of(PROFILE, RENDERED, SchedulerState(processes, "a", members=running_members(pods, "a")))
    times = [{**condition, "lastTransitionTime": AT} for condition in result["conditions"]]
    ProfileStatus.model_validate({**result, "conditions": times})
    return result


def conditions(result: Status) -> dict[str, tuple[str, str]]:
    return {condition["type"]: (condition["status"], condition["reason"]) for condition in result["conditions"]}


def test_every_process_is_displayed_with_what_it_goes_by() -> None:
    refused = LoadReport(BEFORE, AT, "refused", NONSENSE, NEWEST)
    result = status(pod("b", refused), pod("a", LoadReport(NEWEST, AT)), pod("c"))
    assert result["members"] == [
        {"name": "a", "leader": True, "configHash": NEWEST, "loadedAt": AT},
        {"name": "b", "leader": False, "configHash": BEFORE, "loadedAt": AT, "error": NONSENSE},
        {"name": "c", "leader": False},
    ]


def test_pods_that_end_or_have_not_started_are_no_processes() -> None:
    pending = {**pod("p"), "status": {"phase": "Pending"}}
    assert "members" not in status(pod("gone", LoadReport(NEWEST, AT), deletionTimestamp=AT), pending)


def test_processes_that_say_nothing_are_taken_to_follow() -> None:
    assert conditions(status(pod("a"), pod("b"))) == {
        "Ready": ("True", "Scheduling"),
        "Redundant": ("True", "MembersReady"),
    }


def test_a_kube_scheduler_goes_by_the_document_of_its_pod() -> None:
    def of(document: str) -> dict[str, Any]:
        item = pod("a")
        item["metadata"]["annotations"] = {"berth.dev/config-hash": document}
        return item

    assert conditions(status(of(NEWEST)))["Ready"] == ("True", "Scheduling")
    assert conditions(status(of(BEFORE)))["Ready"] == ("False", "RollingOut")


def test_what_fails_is_read_from_the_pod_of_the_leader() -> None:
    failing = pod("a", LoadReport(NEWEST, AT))
    failure = Failure(PROFILE.name, "plugin", "PriceCap", "failed in filter: KeyError")
    failing["status"]["conditions"].append(failure_condition([failure]))
    assert conditions(status(failing))["PluginsFailing"] == ("True", "NearlyEveryAttempt")


def test_a_leader_that_was_told_to_end_leads_until_it_has_ended() -> None:
    assert status(pod("a", LoadReport(NEWEST, AT), deletionTimestamp=AT))["members"][0]["leader"] is True


def test_the_leader_is_among_the_members_however_many_there_are() -> None:
    pods = [pod(f"0{number:03}") for number in range(100)]
    members = status(*pods, pod("a"))["members"]
    assert len(members) == 64
    assert [member["name"] for member in members if member["leader"]] == ["a"]


def test_errors_of_many_members_take_no_more_room_than_those_of_a_few() -> None:
    refused = LoadReport(BEFORE, AT, "refused", "x" * 10_000, NEWEST)
    few, many = ([pod(f"{number:02}", refused) for number in range(count)] for count in (8, 64))
    assert {len(member["error"]) for member in status(*few)["members"]} == {4096}
    assert {len(member["error"]) for member in status(*many)["members"]} == {512}


def test_what_was_refused_before_the_newest_is_past() -> None:
    result = status(pod("a", LoadReport(BEFORE, AT, "refused", NONSENSE, "1" * 64)), pod("b", LoadReport(NEWEST, AT)))
    assert conditions(result)["Reconciling"] == ("True", "RollingOut")


def test_a_document_that_is_absent_for_a_moment_is_no_mistake_of_the_author() -> None:
    deleted = LoadReport(NEWEST, AT, "missing", "ConfigMap n/a is not there")
    assert conditions(status(pod("a", deleted), pod("b", deleted)))["Ready"] == ("True", "Scheduling")
