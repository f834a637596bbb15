"""Leadership as an event loop sees it, and the holder of the lease in the log of a process that stands by."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from scheduler_runtime.kube.leader_election import Leadership
from scheduler_runtime.kube.leader_election.leadership import describe_holder
from tests.support.kubeconfigs import kubeconfig
from tests.support.leases import settings
from tests.support.scripted import Script, served
from tests.support.tiny_cluster import TinyCluster


async def test_without_an_election_a_process_leads_from_its_start_on() -> None:
    leadership = Leadership(None)
    assert not leadership.is_leader
    leadership.start()
    await leadership.won.wait()
    assert (leadership.is_leader, leadership.leads_until(), leadership.has_rivals) == (True, math.inf, False)
    assert (leadership.name, leadership.identity, leadership.lease, leadership.check()) == ("", "", {}, None)
    await leadership.stop(release=True, seconds=1)
    assert not leadership.lost.is_set()


@pytest.mark.parametrize("release", [True, False])
async def test_a_lease_is_won_and_lost_in_the_event_loop(tmp_path: Path, release: bool) -> None:
    cluster, losses = TinyCluster(), list[asyncio.AbstractEventLoop]()

    def report_loss(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
        losses.append(loop)
        loop.call_soon_threadsafe(act)

    async with served(Script(otherwise=cluster.answer)) as url, asyncio.timeout(10):
        leadership = Leadership(settings(), str(kubeconfig(tmp_path, url)), "tests", report_loss=report_loss)
        leadership.start()
        await leadership.won.wait()
        assert (leadership.is_leader, leadership.name, leadership.has_rivals) == (True, "bar", True)
        await leadership.stop(release=release, seconds=5)
        await leadership.lost.wait()
    assert losses == [asyncio.get_running_loop()]
    assert not leadership.is_leader
    assert cluster.leases.record.holder == ("" if release else "baz")


@pytest.mark.parametrize(
    ("identity", "seconds", "text"),
    [
        ("a", 14.9, "a; standing by, for 15 s at most if it is not renewed"),
        ("thief", 0.0, "thief"),
        ("", 0.0, "nobody"),
    ],
    ids=["another-leads", "we-led-and-end", "it-is-free"],
)
def test_a_holder_is_described_with_how_long_others_wait(identity: str, seconds: float, text: str) -> None:
    assert describe_holder(identity, seconds) == text
