"""A crowd that needs the room of others: one victim for each, one request for each victim; kube-scheduler beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import devcluster
from bench.crowd import __main__ as crowd
from bench.crowd import preemption
from bench.crowd.preemption import CrowdScene, Outcome
from bench.side_by_side.schedulers import BERTH, KUBE_SCHEDULER


@pytest.mark.cluster
@pytest.mark.timeout(400)
def test_a_crowd_evicts_no_more_than_with_kube_scheduler_and_asks_each_victim_once() -> None:
    """The shape of ``make bench-preemption``. Forty have to leave; kube-scheduler evicts 40 to 50."""
    needed = 40
    scenes = [CrowdScene(10, needed, 0.0, 50), CrowdScene(10, needed, 0.0, 5000), CrowdScene(10, needed, 2.0, 5000)]
    with devcluster.running(preemption.control_plane("1.36")) as cluster:
        outcomes = list(preemption.measure(cluster, scenes, [KUBE_SCHEDULER, BERTH], "1.36"))
    for theirs, ours in zip(outcomes[::2], outcomes[1::2], strict=True):
        print(ours.scene.title, crowd.line(theirs), crowd.line(ours), sep="\n")  # noqa: T201
        assert list(crowd.faults(theirs, ours)) == []
        assert (ours.evictions, ours.refused) == (needed, 0), ours
        assert theirs.evictions >= needed, theirs  # or it was not the same scene


OURS = Outcome(CrowdScene(10, 40, 0.0, 50), "berth", 40, 40, 0, 40, 40, 1.0)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, [], id="as-promised"),
        pytest.param({"evictions": 42, "requests": 42, "events": 42, "counted": 42}, ["42 evictions"], id="too-many"),
        pytest.param({"requests": 41, "refused": 1}, ["41 requests"], id="asked-twice"),
        pytest.param({"events": 41}, ["41 events"], id="told-twice"),
        pytest.param({"counted": 80}, ["80 counted victims"], id="counted-twice"),
    ],
)
def test_the_bench_fails_when_a_promise_is_not_kept(changes: dict[str, int], expected: list[str]) -> None:
    theirs = replace(OURS, contender="kube-scheduler", evictions=41)
    found = list(crowd.faults(theirs, replace(OURS, **changes)))  # type: ignore[arg-type]
    assert [
        fault.removeprefix(f"{OURS.scene.title}: ").partition(" for")[0].partition(",")[0] for fault in found
    ] == expected


def test_the_api_servers_count_of_deletions_is_read() -> None:
    sample = (
        'apiserver_request_total{code="%s",group="",resource="pods",scope="resource",subresource="%s",verb="%s"} %s'
    )
    samples = (
        ("200", "", "DELETE", "40"),
        ("404", "", "DELETE", "7"),
        ("200", "status", "PATCH", "9"),
        ("200", "", "DELETECOLLECTION", "3"),
    )
    page = "\n".join(sample % values for values in samples)
    assert preemption.deletions_on(page) == {200: 40, 404: 7}
