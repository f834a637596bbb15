"""Pods that disruption budgets protect."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler_runtime.plugins.defaultpreemption.candidates import Budgets
from scheduler_runtime.state.objects import PodDisruptionBudget
from tests.support.preempting import budget, pod

BOTH = {"app": "foo", "tier": "web"}


def budgets(*raw_budgets: dict[str, Any], counts_all: bool = True) -> Budgets:
    return Budgets([msgspec.convert(one, PodDisruptionBudget) for one in raw_budgets], counts_all=counts_all)


def test_a_budget_protects_those_beyond_what_it_allows() -> None:
    pods = [pod(name, labels=BOTH) for name in "abc"]
    assert budgets(budget("b", 1, app="foo")).protected(pods) == [False, True, True]


def test_pods_elsewhere_without_labels_or_with_others_are_not_protected() -> None:
    elsewhere = budget("b", 0, app="foo") | {"metadata": {"name": "b", "namespace": "other"}}
    assert budgets(elsewhere).protected([pod("a", labels=BOTH)]) == [False]
    assert budgets(budget("b", 0, app="foo")).protected([pod("a"), pod("b", labels={"app": "bar"})]) == [False, False]


@pytest.mark.parametrize(
    "selector",
    [
        pytest.param(None, id="none"),
        pytest.param({}, id="empty"),
        pytest.param({"matchExpressions": [{"key": "app", "operator": "Near"}]}, id="of-the-future"),
    ],
)
def test_a_budget_without_a_selector_that_can_be_read_protects_nothing(selector: Any) -> None:
    raw_budget = budget("b", 0) | {"spec": {"selector": selector}}
    assert budgets(raw_budget).protected([pod("a", labels=BOTH)]) == [False]


@pytest.mark.parametrize(("counts_all", "is_second_protected"), [(True, True), (False, False)])
def test_since_1_37_a_protected_pod_does_not_count_against_further_budgets(
    counts_all: bool, is_second_protected: bool
) -> None:
    both = budgets(budget("first", 0, tier="web"), budget("second", 1, app="foo"), counts_all=counts_all)
    pods = [pod("a", labels=BOTH), pod("b", labels={"app": "foo"}), pod("c", labels={"app": "foo"})]
    assert both.protected(pods) == [True, is_second_protected, True]
