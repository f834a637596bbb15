"""Nominations by our own decisions and by a pod's status."""

from __future__ import annotations

from typing import Any

from scheduler_runtime.api import Pod
from scheduler_runtime.state.nominations import Nominations
from tests.support.preempting import HIGH, LOW, MID, pod


def nominated_pod(node: str, name: str = "p", priority: int = LOW) -> Pod:
    status: dict[str, Any] = {"nominatedNodeName": node} if node else {}
    return pod(name, priority, status=status)


def nominated(nominations: Nominations) -> dict[str, list[str]]:
    return {node: [pod.name for pod in nominations.nominated_to(node)] for node in nominations.nodes}


def test_nobody_is_nominated_at_first() -> None:
    nominations = Nominations()
    assert not nominations
    assert nominations.node_of(nominated_pod("")) == ""
    assert nominations.nominated_to("a") == ()


def test_a_decision_is_known_before_the_status_says_it() -> None:
    nominations = Nominations()
    nominations.nominate(nominated_pod(""), "a")
    assert nominations.node_of(nominated_pod("")) == "a"
    nominations.observe(nominated_pod(""), nominated_pod(""))
    assert nominated(nominations) == {"a": ["p"]}


def test_a_status_that_changes_overrides_a_decision() -> None:
    nominations = Nominations()
    nominations.nominate(nominated_pod(""), "a")
    nominations.observe(nominated_pod(""), nominated_pod("b"))
    assert nominated(nominations) == {"b": ["p"]}
    nominations.observe(nominated_pod("b"), nominated_pod(""))
    assert not nominations


def test_a_status_that_does_not_change_overrides_nothing() -> None:
    nominations = Nominations()
    nominations.observe(None, nominated_pod("a"))
    nominations.nominate(nominated_pod("a"), "b")
    nominations.observe(nominated_pod("a"), nominated_pod("a"))
    assert nominated(nominations) == {"b": ["p"]}


def test_a_nomination_that_was_taken_back_stays_so_until_the_status_says_another() -> None:
    nominations = Nominations()
    nominations.observe(None, nominated_pod("a"))
    nominations.clear(nominated_pod("a"))
    assert nominations.node_of(nominated_pod("a")) == ""
    nominations.observe(nominated_pod("a"), nominated_pod(""))
    nominations.observe(nominated_pod(""), nominated_pod("b"))
    assert nominated(nominations) == {"b": ["p"]}


def test_a_pod_is_remembered_as_it_was_last_seen() -> None:
    nominations = Nominations()
    nominations.nominate(nominated_pod("", priority=LOW), "a")
    nominations.observe(nominated_pod(""), nominated_pod("", priority=HIGH))
    assert [pod.spec.priority for pod in nominations.nominated_to("a")] == [HIGH]


def test_a_forgotten_pod_leaves_nothing_behind() -> None:
    nominations = Nominations()
    nominations.nominate(nominated_pod(""), "a")
    nominations.forget("p")
    nominations.forget("p")
    assert not nominations
    nominations.clear(nominated_pod(""))
    assert not nominations._decided


def test_room_is_left_for_pods_that_are_at_least_as_important_and_others() -> None:
    nominations = Nominations()
    for name, priority in (("low", LOW), ("mid", MID), ("high", HIGH)):
        nominations.nominate(nominated_pod("", name, priority), "a")
    assert [pod.name for pod in nominations.competing_with(nominated_pod("", "x", MID), "a")] == ["mid", "high"]
    assert [pod.name for pod in nominations.competing_with(nominated_pod("", "mid", MID), "a")] == ["high"]
    assert nominations.competing_with(nominated_pod("", "x", MID), "b") == []
