"""Which pods are nominated where: what is decided here, and what a pod's status says."""

from __future__ import annotations

from typing import Any

from scheduler_runtime.api import Pod
from scheduler_runtime.state.nominations import Nominations
from tests.support.preempting import HIGH, LOW, MID, pod


def said(node: str, name: str = "p", priority: int = LOW) -> Pod:
    status: dict[str, Any] = {"nominatedNodeName": node} if node else {}
    return pod(name, priority, status=status)


def nominated(nominations: Nominations) -> dict[str, list[str]]:
    return {node: [each.name for each in nominations.nominated_to(node)] for node in nominations.nodes}


def test_nobody_is_nominated_at_first() -> None:
    nominations = Nominations()
    assert not nominations
    assert nominations.node_of(said("")) == ""
    assert nominations.nominated_to("a") == ()


def test_a_decision_is_known_before_the_status_says_it() -> None:
    nominations = Nominations()
    nominations.nominate(said(""), "a")
    assert nominations.node_of(said("")) == "a"
    nominations.observe(said(""), said(""))
    assert nominated(nominations) == {"a": ["p"]}


def test_a_status_that_changes_overrides_a_decision() -> None:
    nominations = Nominations()
    nominations.nominate(said(""), "a")
    nominations.observe(said(""), said("b"))
    assert nominated(nominations) == {"b": ["p"]}
    nominations.observe(said("b"), said(""))
    assert not nominations


def test_a_status_that_does_not_change_overrides_nothing() -> None:
    nominations = Nominations()
    nominations.observe(None, said("a"))
    nominations.nominate(said("a"), "b")
    nominations.observe(said("a"), said("a"))
    assert nominated(nominations) == {"b": ["p"]}


def test_a_nomination_that_was_taken_back_stays_so_until_the_status_says_another() -> None:
    nominations = Nominations()
    nominations.observe(None, said("a"))
    nominations.nominate(said("a"), "")
    assert nominations.node_of(said("a")) == ""
    nominations.observe(said("a"), said(""))
    nominations.observe(said(""), said("b"))
    assert nominated(nominations) == {"b": ["p"]}


def test_a_pod_is_remembered_as_it_was_last_seen() -> None:
    nominations = Nominations()
    nominations.nominate(said("", priority=LOW), "a")
    nominations.observe(said(""), said("", priority=HIGH))
    assert [each.spec.priority for each in nominations.nominated_to("a")] == [HIGH]


def test_a_forgotten_pod_leaves_nothing_behind() -> None:
    nominations = Nominations()
    nominations.nominate(said(""), "a")
    nominations.forget("p")
    nominations.forget("p")
    assert not nominations
    nominations.nominate(said(""), "")
    assert not nominations._decided


def test_room_is_left_for_pods_that_are_at_least_as_important_and_others() -> None:
    nominations = Nominations()
    for name, priority in (("low", LOW), ("mid", MID), ("high", HIGH)):
        nominations.nominate(said("", name, priority), "a")
    assert [each.name for each in nominations.competing_with(said("", "x", MID), "a")] == ["mid", "high"]
    assert [each.name for each in nominations.competing_with(said("", "mid", MID), "a")] == ["high"]
    assert nominations.competing_with(said("", "x", MID), "b") == []
