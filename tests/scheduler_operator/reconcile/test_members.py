"""Load reports of a profile's processes."""

from typing import Any

from scheduler_operator.models.status import ProfileStatus
from scheduler_operator.reconcile.scheduler_state import DeploymentState, SchedulerState, running_members
from scheduler_operator.resources.user_object import Status
from scheduler_runtime.config import LoadReport
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


def test_a_profile_that_all_processes_follow_is_ready() -> None:
    result = status(pod("a", LoadReport(NEWEST, AT)), pod("b", LoadReport(NEWEST, AT)))
    assert conditions(result) == {"Ready": ("True", "Scheduling")}


def test_processes_that_say_nothing_do_not_hold_a_profile_up() -> None:
    assert conditions(status(pod("a"), pod("b"))) == {"Ready": ("True", "Scheduling")}


def test_a_process_that_has_yet_to_follow_is_waited_for() -> None:
    result = status(pod("a", LoadReport(NEWEST, AT)), pod("b", LoadReport(BEFORE, AT)))
    assert conditions(result) == {"Ready": ("False", "RollingOut"), "Reconciling": ("True", "RollingOut")}
    assert result["conditions"][0]["message"] == "1 of 2 scheduler processes go by the newest configuration"


def test_a_refused_document_is_the_authors_to_mend_and_reported_in_full() -> None:
    refused = LoadReport(BEFORE, AT, "refused", NONSENSE, NEWEST)
    result = status(pod("a", refused), pod("b", LoadReport(NEWEST, AT)))
    assert conditions(result) == {"Ready": ("False", "NotLoaded"), "Stalled": ("True", "NotLoaded")}
    assert result["conditions"][1]["message"] == f"pod a: {NONSENSE}"
    assert "the last good one stays in force" in result["conditions"][0]["message"]


def test_a_document_that_waits_is_nothing_for_the_author_to_mend_and_the_reason_is_reported() -> None:
    why = "the API server does not tell the code of its plugins now"
    result = status(pod("a", LoadReport(BEFORE, AT, "waiting", why, NEWEST)), pod("b", LoadReport(NEWEST, AT)))
    assert conditions(result) == {"Ready": ("False", "RollingOut"), "Reconciling": ("True", "RollingOut")}
    assert result["conditions"][1]["message"] == f"pod a: {why}"


def test_what_was_refused_before_the_newest_is_past() -> None:
    result = status(pod("a", LoadReport(BEFORE, AT, "refused", NONSENSE, "1" * 64)), pod("b", LoadReport(NEWEST, AT)))
    assert conditions(result)["Reconciling"] == ("True", "RollingOut")


def test_a_document_that_is_absent_for_a_moment_is_no_mistake_of_the_author() -> None:
    deleted = LoadReport(NEWEST, AT, "missing", "ConfigMap n/a is not there")
    assert conditions(status(pod("a", deleted), pod("b", deleted))) == {"Ready": ("True", "Scheduling")}
