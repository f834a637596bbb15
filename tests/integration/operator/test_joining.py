"""Profiles that share a process, on a real API server."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.operator.running import Installed, RunningOperator, profile
from tests.support.eventually import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("operator")]


@pytest.fixture
def owner(installed: Installed, operator: RunningOperator) -> Iterator[str]:
    """A profile with a process of its own that others may join."""
    installed.apply(profile("owner"))
    eventually(lambda: installed.is_ready("owner"), 30, explain=lambda: operator.log)
    yield "owner"
    installed.delete("schedulerprofile", "owner")
    eventually(lambda: not installed.generated("owner"), 60)


@pytest.fixture
def guest(installed: Installed, owner: str) -> Iterator[str]:
    """A profile in the owner's process."""
    installed.apply(profile("guest", joins=owner))
    eventually(lambda: installed.is_ready("guest"), 30)
    yield "guest"
    installed.delete("schedulerprofile", "guest")
    eventually(lambda: "guest" not in schedulers(installed, owner), 30)


def schedulers(installed: Installed, name: str) -> list[str]:
    """The schedulerNames in the document of a profile's process."""
    return [entry["schedulerName"] for entry in installed.document(name).get("profiles", [])]


def status(installed: Installed, name: str) -> Any:
    return (installed.get("schedulerprofile", name) or {}).get("status", {})


def test_a_profile_runs_in_the_process_that_it_joins(installed: Installed, owner: str, guest: str) -> None:
    assert schedulers(installed, owner) == [owner, guest]
    assert installed.generated(guest) == {}
    guest_status, owner_status = status(installed, guest), status(installed, owner)
    assert guest_status["configMap"].startswith("berth-owner.")
    assert all(guest_status[field] == owner_status[field] for field in ("configMap", "configHash"))
    assert "effectivePlugins" in guest_status
    assert "replicas" not in guest_status


def test_a_change_of_either_reaches_the_process(installed: Installed, owner: str, guest: str) -> None:
    installed.apply(profile(guest, joins=owner, percentageOfNodesToScore=7))

    def percentage() -> bool:
        return bool(installed.document(owner)["profiles"][1].get("percentageOfNodesToScore") == 7)

    eventually(percentage, 30)
    eventually(lambda: installed.is_ready(guest), 30)


def test_a_guest_that_is_wrong_is_ignored_and_disturbs_nobody(installed: Installed, owner: str, guest: str) -> None:
    installed.apply(profile(guest, joins=owner, plugins={"score": {"enabled": [{"name": "Nonsense"}]}}))
    stalled = eventually(lambda: installed.is_stalled_for(guest, "PluginUnknown"), 30)
    assert stalled["message"].startswith("spec.plugins.score.enabled[0].name: ")
    eventually(lambda: schedulers(installed, owner) == [owner], 30)
    eventually(lambda: installed.is_ready(owner), 30)


def test_an_owner_that_is_wrong_keeps_its_guests_waiting(installed: Installed, owner: str, guest: str) -> None:
    installed.apply(profile(owner, plugins={"score": {"enabled": [{"name": "Nonsense"}]}}))
    stalled = eventually(lambda: installed.is_stalled_for(guest, "PluginUnknown"), 30)
    assert "owner, in whose process this profile runs, cannot run" in stalled["message"]
    assert schedulers(installed, owner) == [owner, guest]
    installed.apply(profile(owner))
    eventually(lambda: installed.is_ready(guest), 30)


def test_a_conflict_stalls_the_guest_and_names_both(installed: Installed, owner: str) -> None:
    installed.apply(profile("misfit", joins=owner, engine="KubeScheduler"))
    stalled = eventually(lambda: installed.is_stalled_for("misfit", "JoinConflict"), 30)
    assert "KubeScheduler is not the engine of owner, Python" in stalled["message"]
    installed.delete("schedulerprofile", "misfit")


def test_a_profile_waits_for_what_it_joins(installed: Installed) -> None:
    installed.apply(profile("early", joins="late"))
    eventually(lambda: installed.is_stalled_for("early", "JoinTargetMissing"), 30)
    installed.apply(profile("late"))
    eventually(lambda: schedulers(installed, "late") == ["late", "early"], 20)
    eventually(lambda: installed.is_ready("early"), 30)

    installed.delete("schedulerprofile", "late")

    eventually(lambda: installed.is_stalled_for("early", "JoinTargetMissing"), 30)
    installed.delete("schedulerprofile", "early")


def test_a_profile_with_a_process_gives_it_up_when_it_joins(installed: Installed, owner: str) -> None:
    installed.apply(profile("mover"))
    eventually(lambda: "Deployment" in installed.generated("mover"), 30)

    installed.apply(profile("mover", joins=owner))
    eventually(lambda: schedulers(installed, owner) == [owner, "mover"], 20)
    assert installed.generated("mover") == {}

    installed.apply(profile("mover", scheduler={"replicas": 1}))
    eventually(lambda: schedulers(installed, owner) == [owner], 20)
    eventually(lambda: "Deployment" in installed.generated("mover"), 30)
    installed.delete("schedulerprofile", "mover")


def test_one_that_joins_a_guest_learns_whom_to_join(installed: Installed, owner: str, guest: str) -> None:
    installed.apply(profile("third", joins=guest))
    stalled = eventually(lambda: installed.is_stalled_for("third", "JoinConflict"), 30)
    assert "join owner instead" in stalled["message"]
    installed.delete("schedulerprofile", "third")
