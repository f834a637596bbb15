"""The kit finds wrong answers of the hooks after the filters, and reservations that are not undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import QUEUE, SKIP, Plugin, Pod, Wait
from tests.support.sound_plugin import Sound, answering, breach_of, broken


class Reserves(Sound):
    """Reserves a place, and gives it back once more when unreserve runs again."""

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.reserved = 0

    def pre_filter(self, pod: Pod, nodes: Any, cycle: Any) -> Any:
        return self.args.most_pods + self.reserved

    def reserve(self, pod: Pod, node: str, state: Any) -> None:
        self.reserved += 1

    def unreserve(self, pod: Pod, node: str, state: Any) -> None:
        self.reserved -= 1


async def pre_bind(self: Any, pod: Pod, node: str, state: Any) -> None: ...


def removes_pods(self: Any, pod: Pod, nodes: Any, verdicts: Any, cycle: Any) -> None:
    for row in range(len(nodes)):
        nodes._columns.pods[row].clear()


@pytest.mark.parametrize(
    ("check", "plugin", "words"),
    [
        pytest.param(
            "post_filter", broken(post_filter=answering("text")), "post_filter answered 'text'", id="post-filter"
        ),
        pytest.param(
            "post_filter", broken(post_filter=removes_pods), "changed which pods are in the table", id="removes-pods"
        ),
        pytest.param(
            "reserve",
            Reserves,
            "unreserve must undo all of reserve, and nothing when it runs again",
            id="gives-back-twice",
        ),
        pytest.param("reserve", broken(reserve=answering(SKIP)), "reserve answered ", id="reserve"),
        pytest.param("permit", broken(permit=answering(None)), "permit answered None", id="permit"),
        pytest.param("permit", broken(permit=answering(Wait(0))), "with more than 0", id="no-time-to-wait"),
        pytest.param(
            "pre_bind_flight",
            broken(pre_bind=pre_bind, pre_bind_flight=answering(QUEUE)),
            "answer SKIP, SERIAL or PARALLEL",
            id="flight",
        ),
    ],
)
def test_a_hook_after_the_filters_answers_what_the_contract_knows(check: str, plugin: type[Plugin], words: str) -> None:
    assert words in breach_of(plugin, check)


class Counts(Plugin):
    """Counts what it reserves, and never undoes it."""

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.reserved = np.zeros(1)
        self.client = object()

    def reserve(self, pod: Pod, node: str, state: Any) -> None:
        self.reserved[0] += 1


@pytest.mark.parametrize(
    ("reserve", "words"),
    [
        (None, "reserve changes self.reserved, and nothing undoes that"),
        (lambda self, pod, *_: setattr(self, "last", pod), "reserve changes self.last, "),
    ],
)
def test_what_reserve_changes_must_be_undone(reserve: Callable[..., Any] | None, words: str) -> None:
    replaced = {} if reserve is None else {"reserve": reserve}
    assert breach_of(broken(Counts, **replaced), "missing_unreserve").startswith(words)


@pytest.mark.parametrize("hooks", [{"unreserve": answering(None)}, {"reserve": answering(None)}])
def test_a_plugin_that_undoes_or_changes_nothing_passes(hooks: dict[str, Any]) -> None:
    assert testing.breaches(broken(Counts, **hooks)) == []
