"""The kit finds wrong answers of the hooks around the queue, and events and hints that leave a pod waiting in vain."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from scheduler_runtime.api import SKIP, Action, ClusterEvent, Plugin, Pod, Reject
from tests.support.sound_plugin import answering, breach_of, broken

CALLS = itertools.count()


def now_and_then(self: Any, pod: Pod) -> Any:
    return Reject.pod("not now") if next(CALLS) % 2 else None


def ever_later(self: Any, entry: Any) -> Any:
    return next(CALLS)


def mixed(self: Any, entry: Any) -> Any:
    return entry.added_at if entry.attempts % 2 else str(entry.added_at)


def gates(self: Any, pod: Pod) -> Reject | None:
    return Reject.pod("not yet") if pod.spec.priority else None


@pytest.mark.parametrize(
    ("check", "plugin", "words"),
    [
        pytest.param("events", broken(events=()), "it rejects, and declares no events", id="rejects"),
        pytest.param("events", broken(Plugin, pre_enqueue=gates), "it rejects, and declares no events", id="gates"),
        pytest.param("hints", broken(hint=answering(True)), "hint answered True to ", id="hint-is-a-bool"),
        pytest.param(
            "requeueing", broken(hint=answering(SKIP)), "but its hint answers SKIP: the pod would wait", id="hint-lies"
        ),
        pytest.param(
            "requeueing",
            broken(events=(ClusterEvent("Node", Action.UPDATE_NODE_LABEL),), hint=None),
            "but its events do not cover that: the pod would wait in vain",
            id="event-is-missing",
        ),
    ],
)
def test_a_rejected_pod_must_come_back(check: str, plugin: type[Plugin], words: str) -> None:
    assert words in breach_of(plugin, check)


@pytest.mark.parametrize(
    ("check", "plugin", "words"),
    [
        pytest.param("pre_enqueue", broken(pre_enqueue=answering("no")), "pre_enqueue answered 'no'", id="pre-enqueue"),
        pytest.param("pre_enqueue", broken(pre_enqueue=now_and_then), "answers differently", id="pre-enqueue-changes"),
        pytest.param("sort_key", broken(Plugin, sort_key=mixed), "keys that cannot be compared", id="sort-key-types"),
        pytest.param("sort_key", broken(Plugin, sort_key=ever_later), "another key when it is asked again", id="clock"),
    ],
)
def test_a_hook_of_the_queue_answers_what_the_contract_knows(check: str, plugin: type[Plugin], words: str) -> None:
    assert words in breach_of(plugin, check)
