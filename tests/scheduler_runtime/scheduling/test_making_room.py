"""A plugin that finds no node may make room on one, and says which."""

from __future__ import annotations

from scheduler_runtime.api import Cycle, NodeTable, Nomination, Plugin, Pod, Verdicts
from tests.support.scheduling import running

done: list[str] = []


class MakesRoom(Plugin):
    """Makes room on the node by work that takes its time."""

    def post_filter(self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle) -> Nomination:
        async def work() -> None:
            done.append(f"room for {pod.name}")

        return Nomination("n", work())


async def test_what_a_plugin_begins_to_make_room_is_done_and_the_node_is_nominated() -> None:
    async with running(MakesRoom) as scene:
        scene.add("big", cpu="5")
        await scene.until(lambda: done == ["room for big"])
        await scene.conditions()
        (patch,) = scene.script.requests("PATCH")
        assert patch.body["status"]["nominatedNodeName"] == "n"
