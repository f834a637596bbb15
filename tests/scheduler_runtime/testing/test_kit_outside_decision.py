"""What the kit says of events and hints, and of the hooks around the decision."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from scheduler_runtime.api import QUEUE, SKIP, Action, ClusterEvent, Plugin, Pod, Reject, Wait
from tests.support.sound_plugin import Sound, breach_of, broken

CALLS = itertools.count()


def says(answer: Any) -> Any:
    """A hook that always answers the same."""

    def hook(self: Any, *_: Any) -> Any:
        return answer

    return hook


def gates(self: Any, pod: Pod) -> Reject | None:
    return Reject.pod("not yet") if pod.spec.priority else None


@pytest.mark.parametrize(
    ("check", "plugin", "words"),
    [
        pytest.param("events", broken(events=()), "it rejects, and declares no events", id="rejects"),
        pytest.param("events", broken(Plugin, pre_enqueue=gates), "it rejects, and declares no events", id="gates"),
        pytest.param("hints", broken(hint=says(True)), "hint answered True to ", id="hint-is-a-bool"),
        pytest.param("waking", broken(hint=says(SKIP)), "but its hint says SKIP: the pod would wait", id="hint-lies"),
        pytest.param(
            "waking",
            broken(events=(ClusterEvent("Node", Action.UPDATE_NODE_LABEL),), hint=None),
            "but its events do not cover that: the pod would wait in vain",
            id="event-is-missing",
        ),
    ],
)
def test_a_rejected_pod_must_be_woken(check: str, plugin: type[Plugin], words: str) -> None:
    assert words in breach_of(plugin, check)


class Reserves(Sound):
    """Takes a place, and gives it back twice."""

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.taken = 0

    def pre_filter(self, pod: Pod, nodes: Any, cycle: Any) -> Any:
        return self.args.most_pods + self.taken

    def reserve(self, pod: Pod, node: str, state: Any) -> None:
        self.taken += 1

    def unreserve(self, pod: Pod, node: str, state: Any) -> None:
        self.taken -= 1


def mixed(self: Any, entry: Any) -> Any:
    return entry.added_at if entry.attempts % 2 else str(entry.added_at)


def ever_later(self: Any, entry: Any) -> Any:
    return next(CALLS)


def now_and_then(self: Any, pod: Pod) -> Any:
    return Reject.pod("not now") if next(CALLS) % 2 else None


async def pre_bind(self: Any, pod: Pod, node: str, state: Any) -> None: ...


def takes_pods_away(self: Any, pod: Pod, nodes: Any, verdicts: Any, cycle: Any) -> None:
    for row in range(len(nodes)):
        nodes._columns.pods[row].clear()


@pytest.mark.parametrize(
    ("check", "plugin", "words"),
    [
        pytest.param("pre_enqueue", broken(pre_enqueue=says("no")), "pre_enqueue answered 'no'", id="pre-enqueue"),
        pytest.param("pre_enqueue", broken(pre_enqueue=now_and_then), "answers differently", id="pre-enqueue-changes"),
        pytest.param("sort_key", broken(Plugin, sort_key=mixed), "keys that cannot be compared", id="sort-key-types"),
        pytest.param("sort_key", broken(Plugin, sort_key=ever_later), "another key when it is asked again", id="clock"),
        pytest.param("post_filter", broken(post_filter=says("text")), "post_filter answered 'text'", id="post-filter"),
        pytest.param("post_filter", broken(post_filter=takes_pods_away), "left pods in the table", id="takes-pods"),
        pytest.param("reserving", Reserves, "unreserve must give back all of it, once", id="gives-back-twice"),
        pytest.param("reserving", broken(reserve=says(SKIP)), "reserve answered ", id="reserve"),
        pytest.param("permit", broken(permit=says(None)), "permit answered None", id="permit"),
        pytest.param("permit", broken(permit=says(Wait(0))), "with more than 0", id="no-time-to-wait"),
        pytest.param(
            "pre_bind_flight",
            broken(pre_bind=pre_bind, pre_bind_flight=says(QUEUE)),
            "answer SKIP, SERIAL or PARALLEL",
            id="flight",
        ),
    ],
)
def test_hooks_around_the_decision_answer_what_the_contract_knows(check: str, plugin: type[Plugin], words: str) -> None:
    assert words in breach_of(plugin, check)
