"""Statuses that the profiles of a process get by each outcome of a reconcile."""

import asyncio
from typing import Any, cast

import pytest

from scheduler_operator.cluster.api import RequestError
from scheduler_operator.cluster.crd_check import CrdCheck
from scheduler_operator.cluster.user_objects import UserObjects
from scheduler_operator.reconcile.reconciler import Reconciler
from scheduler_operator.reconcile.scheduler_state import SchedulerState
from scheduler_operator.reconcile.status import (
    Excluded,
    Interrupted,
    Outcome,
    Paused,
    ProfileGroup,
    Rejected,
    profile_statuses,
)
from scheduler_operator.render import ObjectProblems, Rendered, render
from scheduler_operator.resources.user_object import Status, UserObject
from scheduler_runtime.catalog import Target
from scheduler_runtime.config import Problem
from tests.scheduler_operator.builders import NAMESPACE, V1_36, applied, profile

OWNER, GUEST = profile("owner"), profile("guest", joins="owner")
GROUP = ProfileGroup(OWNER, [GUEST])
PROBLEMS = ObjectProblems("Invalid", (Problem("spec.nodes", "is odd"),))


def both_rendered() -> Rendered:
    result = render([OWNER, GUEST], {}, NAMESPACE, Target(V1_36))
    assert isinstance(result, Rendered)
    return result


def ready(outcome: Outcome, group: ProfileGroup = GROUP) -> dict[str, tuple[str, str]]:
    statuses = {user_object.name: status["conditions"][0] for user_object, status in profile_statuses(group, outcome)}
    return {name: (condition["status"], condition["reason"]) for name, condition in statuses.items()}


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        pytest.param(Excluded({}), {}, id="nobody-is-excluded"),
        pytest.param(Excluded({"guest": PROBLEMS}), {"guest": ("False", "Invalid")}, id="excluded"),
        pytest.param(Paused(), dict.fromkeys(("owner", "guest"), ("False", "Paused")), id="paused"),
        pytest.param(Rejected(PROBLEMS), dict.fromkeys(("owner", "guest"), ("False", "Invalid")), id="rejected"),
        pytest.param(
            Interrupted(RequestError("GET /x", 500, "Oops", "later")),
            {"owner": ("Unknown", "RollingOut")},
            id="interrupted",
        ),
        pytest.param(Interrupted(RequestError("PATCH /x", 409, "Conflict", "again")), {}, id="another-was-faster"),
    ],
)
def test_an_outcome_concerns(outcome: Outcome, expected: dict[str, tuple[str, str]]) -> None:
    assert ready(outcome) == expected


def test_an_applied_process_reports_to_all_of_its_profiles() -> None:
    assert ready(applied(both_rendered(), SchedulerState(), OWNER, GUEST)) == dict.fromkeys(
        ("owner", "guest"), ("True", "Rendered")
    )


def test_whoever_joins_a_rejected_profile_learns_whom_it_waits_for() -> None:
    messages = {name: status["conditions"][1]["message"] for name, status in by_name(Rejected(PROBLEMS)).items()}
    assert messages["guest"].startswith("spec.joins: owner, in whose process this profile runs, cannot run: spec.nodes")


def test_a_group_goes_on_without_those_that_are_excluded() -> None:
    assert [joiner.name for joiner in GROUP.without(["guest"]).joiners] == []
    assert ready(Rejected(PROBLEMS), GROUP.without(["guest"])) == {"owner": ("False", "Invalid")}


class OldStatuses:
    """An API server whose CRD does not know all fields of a status."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.messages: list[str] = []
        self.users = UserObjects()
        self.crds = CrdCheck(cast("Any", None))
        self.crds.remark = "the CRD is old"

    async def report(self, user_object: UserObject, status: Status) -> bool:
        if "effectivePlugins" in status:
            raise RequestError("PATCH /x", 422, "Invalid", "unknown field")
        self.reasons.append(f"{user_object.name}: {status['conditions'][0]['reason']}")
        self.messages.append(status["conditions"][0]["message"])
        return False


def test_a_status_that_the_api_server_refuses_is_followed_by_a_smaller_one() -> None:
    cluster = OldStatuses()
    unused = cast("Any", None)
    reconciler = Reconciler(cast("Any", cluster), unused, unused, V1_36, unused, unused, unused)
    with pytest.raises(RequestError, match="unknown field"):
        asyncio.run(reconciler.report(GROUP, applied(both_rendered(), SchedulerState(), OWNER, GUEST)))
    assert cluster.reasons == ["owner: RollingOut"]
    assert cluster.messages == ["trying again; the CRD is old"]


def by_name(outcome: Outcome) -> dict[str, dict[str, list[dict[str, str]]]]:
    return {user_object.name: status for user_object, status in profile_statuses(GROUP, outcome)}
