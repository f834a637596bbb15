"""The least rules: no more than was declared, no less, and always the same."""

import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scheduler_operator.desired.rbac import (
    PolicyRule,
    cluster_wide,
    lease_rules,
    merge_rules,
    namespaced,
    own_rules,
    uncovered_rules,
)
from scheduler_operator.render.outcome import required_rules
from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Rule, Target, permissions

PAGE = Path(__file__).resolve().parents[3] / "docs/endpoints.md"

WORDS = st.sampled_from(["pods", "nodes", "events"])
RULES = st.builds(
    Rule,
    api_groups=st.lists(st.sampled_from(["", "apps"]), min_size=1, max_size=2).map(tuple),
    resources=st.lists(WORDS, min_size=1, max_size=3).map(tuple),
    verbs=st.lists(st.sampled_from(["get", "list", "watch"]), min_size=1, max_size=3).map(tuple),
    resource_names=st.lists(st.sampled_from(["one", "two"]), max_size=2).map(tuple),
)


def allows(rules: list[PolicyRule], group: str, resource: str, verb: str, name: str) -> bool:
    return any(
        group in rule["apiGroups"]
        and resource in rule["resources"]
        and verb in rule["verbs"]
        and name in rule.get("resourceNames", [name])
        for rule in rules
    )


def policy_rules(rules: list[Rule]) -> list[PolicyRule]:
    return [
        {"apiGroups": rule.api_groups, "resources": rule.resources, "verbs": rule.verbs}
        | ({"resourceNames": rule.resource_names} if rule.resource_names else {})
        for rule in rules
    ]


@given(
    st.lists(RULES, max_size=6),
    st.sampled_from(["", "apps"]),
    WORDS,
    st.sampled_from(["get", "list", "watch"]),
    st.sampled_from(["one", "two", "three"]),
)
def test_merging_changes_nothing_about_what_is_allowed(
    rules: list[Rule], group: str, resource: str, verb: str, name: str
) -> None:
    assert allows(merge_rules(rules), group, resource, verb, name) == allows(
        policy_rules(rules), group, resource, verb, name
    )


@given(st.lists(RULES, max_size=6).flatmap(lambda rules: st.tuples(st.just(rules), st.permutations(rules))))
def test_the_order_in_which_rules_are_declared_does_not_matter(orders: tuple[list[Rule], list[Rule]]) -> None:
    declared, shuffled = orders
    assert merge_rules(shuffled) == merge_rules(declared) == merge_rules(declared + declared)


def test_resources_with_the_same_verbs_share_a_rule() -> None:
    rules = [Rule(("",), ("pods",), ("watch", "get")), Rule(("",), ("nodes",), ("get", "watch"))]
    assert merge_rules(rules) == [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "watch"]}]


def test_a_verb_granted_for_all_is_not_granted_again_by_name() -> None:
    rules = [Rule(("",), ("pods",), ("get",)), Rule(("",), ("pods",), ("get", "delete"), ("one",))]
    assert merge_rules(rules) == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"], "resourceNames": ["one"]},
    ]


def test_rules_of_a_namespace_stay_out_of_the_cluster_role() -> None:
    rules = [Rule(("",), ("pods",), ("get",)), Rule(("",), ("configmaps",), ("get",), ("prices",), "berth-system")]
    assert [rule["resources"] for rule in cluster_wide(rules)] == [["pods"]]
    assert [rule["resources"] for rule in namespaced("berth-system", rules)] == [["configmaps"]]
    assert namespaced("elsewhere", rules) == []


def test_a_scheduler_may_touch_its_own_lease_and_config_map_by_name_and_create_neither() -> None:
    rules = namespaced("berth-system", own_rules("berth-system", "berth-calm", "berth-calm.1"))
    assert {rule["resources"][0]: (rule.get("resourceNames"), rule["verbs"]) for rule in rules} == {
        "configmaps": (["berth-calm.1"], ["list", "watch"]),
        "events": (None, ["create"]),
        "leases": (["berth-calm"], ["get", "update"]),
    }


UNION = [
    {"apiGroups": ["", "apps"], "resources": ["pods", "deployments"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["prices", "rates"], "verbs": ["get"]},
    {"apiGroups": ["example.com"], "resources": ["*"], "verbs": ["*"]},
]


@pytest.mark.parametrize(
    ("rule", "missing"),
    [
        pytest.param(Rule(("",), ("pods",), ("get", "list")), [], id="held"),
        pytest.param(Rule(("apps",), ("deployments",), ("get", "watch")), ["watch"], id="one-verb-more"),
        pytest.param(Rule(("",), ("configmaps",), ("get",), ("prices",)), [], id="held-by-name"),
        pytest.param(Rule(("",), ("configmaps",), ("get",), ("prices", "x")), ["get"], id="one-name-more"),
        pytest.param(Rule(("",), ("configmaps",), ("get",)), ["get"], id="every-name"),
        pytest.param(Rule(("",), ("pods",), ("get",), ("a",)), [], id="fewer-names"),
        pytest.param(Rule(("example.com",), ("prices",), ("delete",)), [], id="held-by-a-wildcard"),
    ],
)
def test_what_nobody_has_granted_is_reported(rule: Rule, missing: list[str]) -> None:
    assert [verb for result in uncovered_rules([rule], UNION) for verb in result["verbs"]] == missing


@pytest.mark.parametrize("minor", catalog.SUPPORTED_MINORS)
def test_the_page_shows_what_a_scheduler_that_is_run_by_hand_needs(minor: str) -> None:
    (output,) = (
        text for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL) if "name: thrifty" in text
    )
    role, in_its_namespace = yaml.safe_load_all(output)
    default = config.default_profile(Target.parse(minor))
    rules = [*permissions.PYTHON_RULES, *permissions.EVENT_RULES, *required_rules(default, {})]
    assert _rights(role["rules"]) == _rights(cluster_wide(rules))
    expected = [*lease_rules("kube-system", "thrifty"), Rule(("coordination.k8s.io",), ("leases",), ("create",))]
    assert _rights(in_its_namespace["rules"]) == _rights(merge_rules(expected))


def _rights(granted: Iterable[PolicyRule]) -> set[tuple[str, ...]]:
    """Each right by itself, however they are put together."""
    return {
        right
        for rule in granted
        for right in product(rule["apiGroups"], rule["resources"], rule["verbs"], rule.get("resourceNames", [""]))
    }
