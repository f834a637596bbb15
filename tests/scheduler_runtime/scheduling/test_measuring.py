"""Metrics of pods on their way and of preemption, with upstream's words for the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest

from scheduler_runtime.api import Answer, Cycle, NodeTable, Nomination, Plugin, Pod, Reject, Verdicts, Wait, WaitingPod
from tests.support.scheduling import Scene, running


class Holds(Plugin):
    """Holds every pod until the test lets it go."""

    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        return Wait(30)


class MakesRoom(Plugin):
    """Makes room on the node by work that fails for some pods."""

    def post_filter(self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle) -> Nomination:
        async def work() -> None:
            if pod.name == "unlucky":
                raise ZeroDivisionError

        return Nomination("n", work())


async def counted(scene: Scene, *lines: str) -> None:
    """Wait until the metrics have these lines."""
    await scene.until(lambda: set(lines) <= set(scene.metrics.text().splitlines()))


@pytest.mark.parametrize(
    ("decide", "result"),
    [
        (lambda waiting: waiting.allow("Holds"), "Success"),
        (lambda waiting: waiting.reject("Holds", "its gang is not complete"), "Unschedulable"),
    ],
    ids=["allowed", "rejected"],
)
async def test_waiting_for_a_permit_is_measured_by_how_it_ended(
    decide: Callable[[WaitingPod], object], result: str
) -> None:
    async with running(Holds) as scene:
        scene.add("a")
        await scene.until(lambda: scene.underway.waiting_for_permit)
        (waiting,) = scene.frameworks["test"].context.waiting.values()
        decide(waiting)
        await counted(scene, f'scheduler_permit_wait_duration_seconds_count{{result="{result}"}} 1')


@pytest.mark.parametrize(("name", "result"), [("lucky", "success"), ("unlucky", "error")])
async def test_making_room_is_measured_by_how_it_ended(name: str, result: str) -> None:
    async with running(MakesRoom) as scene:
        scene.add(name, cpu="5")
        await counted(
            scene,
            f'scheduler_preemption_goroutines_execution_total{{result="{result}"}} 1',
            f'scheduler_preemption_goroutines_duration_seconds_count{{result="{result}"}} 1',
        )
