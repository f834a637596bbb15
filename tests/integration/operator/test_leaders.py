"""Leader, members and their work as a profile's status tells of them, on a real API server.

The pods are on a fake node: what schedulers and kubelets would write of them is written by the tests.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_operator.resources import kinds
from scheduler_runtime.config import Failure, failure_condition
from tests.integration.operator.running import NAMESPACE, Installed, RunningOperator, profile
from tests.support.eventually import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("operator")]

STRATEGIC_MERGE = "application/strategic-merge-patch+json"


@pytest.fixture(scope="module")
def led(installed: Installed, operator: RunningOperator) -> Iterator[str]:
    """A profile with a leader, for tests that leave it so."""
    installed.apply(profile("led"))
    eventually(lambda: installed.is_ready("led"), 30, explain=lambda: operator.log)
    yield "led"
    installed.leaders_are_away.clear()
    installed.delete("schedulerprofile", "led")


def status(installed: Installed, name: str) -> Any:
    return (installed.get("schedulerprofile", name) or {})["status"]


def test_a_leader_that_is_deleted_by_force_is_shown_no_more(installed: Installed, led: str) -> None:
    leader = status(installed, led)["leader"]
    installed.leaders_are_away.set()
    installed.cluster.kubectl("delete", "pod", leader, "-n", NAMESPACE, "--force", "--grace-period=0")

    # Long before the Lease has run out.
    eventually(lambda: installed.condition(led, "Ready").get("reason") == "NoLeader", 8)
    assert "leader" not in status(installed, led)

    installed.leaders_are_away.clear()
    eventually(lambda: installed.is_ready(led), 20)
    assert status(installed, led)["leader"] != leader


def test_a_leader_that_does_not_renew_its_lease_leads_no_more(installed: Installed, led: str) -> None:
    def renew(time: str) -> None:
        installed.patch("lease", f"berth-{led}", {"spec": {"renewTime": time, "leaseDurationSeconds": 2}})

    renew("2026-01-01T00:00:00.000000Z")  # of a clock that is wrong
    eventually(lambda: installed.condition(led, "Ready").get("reason") == "NoLeader", 15)
    assert installed.condition(led, "Reconciling")["status"] == "True"
    installed.patch(
        "lease",
        f"berth-{led}",
        {"spec": {"renewTime": "2026-01-01T00:00:01.000000Z", "leaseDurationSeconds": 86400}},
    )
    eventually(lambda: installed.is_ready(led), 15)


def test_what_the_leader_reports_of_plugins_is_told(installed: Installed, led: str) -> None:
    pod = f"{kinds.POD.collection(NAMESPACE)}/{status(installed, led)['leader']}/status"

    def report(*failures: Failure) -> None:
        conditions = [failure_condition(failures)]
        installed.api.request("PATCH", pod, {"status": {"conditions": conditions}}, STRATEGIC_MERGE)

    report(Failure(led, "plugin", "PriceCap", "failed in filter: KeyError: 'price'"))
    failing = eventually(lambda: installed.condition(led, "PluginsFailing"), 15)
    assert failing["message"] == "plugin PriceCap: failed in filter: KeyError: 'price'"
    assert installed.condition(led, "Ready")["reason"] == "PluginsFailing"
    report(Failure(led, "ignored extender", "http://a.b", "connection refused"))
    eventually(lambda: installed.condition(led, "ExtendersFailing") and installed.is_ready(led), 15)
    assert installed.condition(led, "PluginsFailing") == {}
    report()
    eventually(lambda: not installed.condition(led, "ExtendersFailing"), 15)


def test_waiting_for_a_paused_profile_ends(installed: Installed, led: str) -> None:
    installed.patch("schedulerprofile", led, {"spec": {"paused": True}})
    eventually(lambda: installed.condition(led, "Ready").get("reason") == "Paused", 15)
    installed.cluster.kubectl("wait", "--for=condition=Ready", "schedulerprofile", led, "--timeout=10s")
    # It shows what runs, as it is.
    installed.leaders_are_away.set()
    installed.patch("lease", f"berth-{led}", {"spec": {"holderIdentity": ""}})
    eventually(lambda: installed.condition(led, "Ready").get("reason") == "NoLeader", 15)
    installed.leaders_are_away.clear()
    eventually(lambda: installed.is_ready(led), 15)
    installed.patch("schedulerprofile", led, {"spec": {"paused": None}})
    eventually(lambda: installed.condition(led, "Ready").get("reason") == "Scheduling", 15)


def test_nobody_waits_for_a_profile_without_processes(installed: Installed, led: str) -> None:
    installed.patch("schedulerprofile", led, {"spec": {"scheduler": {"replicas": 0}}})
    stalled = eventually(lambda: installed.is_stalled_for(led, "NoMemberAvailable"), 15)
    assert "spec.scheduler.replicas is 0" in stalled["message"]
    assert installed.condition(led, "Ready")["status"] == "False"
    installed.patch("schedulerprofile", led, {"spec": {"scheduler": None}})
    eventually(lambda: installed.is_ready(led), 30)


def test_a_row_of_a_wide_list_fits_a_wide_terminal(installed: Installed, led: str) -> None:
    disabled = [{"name": name} for name in ("ImageLocality", "NodeResourcesBalancedAllocation", "InterPodAffinity")]
    installed.patch("schedulerprofile", led, {"spec": {"plugins": {"multiPoint": {"disabled": disabled}}}})
    eventually(lambda: len(status(installed, led)["plugins"]) > 50 and installed.is_ready(led), 20)
    lines = installed.cluster.kubectl("get", "schedulerprofiles", "-o", "wide").stdout.splitlines()
    assert max(map(len, lines)) < 220
    installed.patch("schedulerprofile", led, {"spec": {"plugins": None}})
    eventually(lambda: installed.is_ready(led), 20)
