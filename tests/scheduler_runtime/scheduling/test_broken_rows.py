"""A plugin that fails, or answers nonsense, when it is asked again about the rows that changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Plugin, Pod, Reject
from scheduler_runtime.scheduling.pending import QueuePlace
from tests.support.scheduling import running


class Lonely(Plugin):
    """Lets one pod be on a node, and fails for pods called broken when it is asked about a row."""

    row_local = True

    def filter(self, pod: Pod, nodes: Any, state: Any) -> Any:
        yield Reject(nodes.pod_counts > 0, "taken")

    def filter_row(self, pod: Pod, nodes: Any, state: Any, row: int) -> Any:
        if pod.name == "broken":
            raise ZeroDivisionError("a plugin's bug")
        if nodes.pod_counts.item(row):
            yield Reject(True, "taken")

    def signature(self, pod: Pod) -> Any:
        return ()


class Scores(Plugin):
    """Scores rows as the test says for pods called broken."""

    row_local = True
    answer: Any = 0

    def score(self, pod: Pod, nodes: Any, state: Any) -> Any:
        return np.zeros(len(nodes), np.int64)

    def score_row(self, pod: Pod, nodes: Any, state: Any, row: int) -> Any:
        return self.answer if pod.name == "broken" else 0

    def signature(self, pod: Pod) -> Any:
        return ()


async def test_cached_answers_stay_true_when_a_row_hook_fails() -> None:
    async with running(Lonely) as scene:
        scene.add("warm")
        await scene.until(lambda: scene.binds.bound)
        scene.add("broken")
        await scene.until(lambda: len(scene.script.requests("POST")) > 1)
        assert (await scene.events())[1] == (
            "FailedScheduling",
            "plugin Lonely failed in filter_row: ZeroDivisionError: a plugin's bug",
        )
        after = scene.add("after")
        await scene.until(lambda: scene.place(after) is QueuePlace.PARKED)
        assert scene.binds.bound == [("warm", "n")]


@pytest.mark.parametrize("answer", ["many", 101, -1, 50.5, float("nan"), None])
async def test_a_row_hook_that_scores_nonsense_is_named(answer: Any) -> None:
    async with running(type("Scores", (Scores,), {"answer": answer})) as scene:
        scene.cache.set_node(testing.node("m"))
        scene.add("warm")
        await scene.until(lambda: scene.binds.bound)
        scene.add("broken")
        await scene.until(lambda: len(scene.script.requests("POST")) > 1)
        message = f"plugin Scores failed in score_row: it scored {answer!r}; scores are whole numbers from 0 to 100"
        assert (await scene.events())[1] == ("FailedScheduling", message)
