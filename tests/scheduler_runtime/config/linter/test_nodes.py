"""Selector terms that some node can match, judged by trying every value that could matter."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_runtime.catalog.args import NodeSelectorRequirement, NodeSelectorTerm
from scheduler_runtime.config.linter.nodes import can_match
from tests.support.linting import args, places

VALUES = ("a", "b", "3", "5")
REQUIREMENTS = st.one_of(
    st.builds(
        NodeSelectorRequirement,
        key=st.just("k"),
        operator=st.sampled_from(["In", "NotIn"]),
        values=st.sampled_from([values for size in (1, 2, 3) for values in combinations(VALUES, size)]),
    ),
    st.builds(NodeSelectorRequirement, key=st.just("k"), operator=st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(
        NodeSelectorRequirement,
        key=st.just("k"),
        operator=st.sampled_from(["Gt", "Lt"]),
        values=st.sampled_from([("2",), ("3",), ("4",), ("6",)]),
    ),
)


def matches(label: str | None, condition: NodeSelectorRequirement) -> bool:
    """One condition on a node that has this value of the label, or none: Kubernetes' rules, naively."""
    match condition.operator:
        case "In":
            return label in condition.values
        case "NotIn":
            return label not in condition.values
        case "Exists":
            return label is not None
        case "DoesNotExist":
            return label is None
    if label is None or not label.isdigit():
        return False
    bound = int(condition.values[0])
    return int(label) > bound if condition.operator == "Gt" else int(label) < bound


@given(st.lists(REQUIREMENTS, min_size=1, max_size=4))
def test_a_term_is_possible_exactly_when_some_value_meets_it(condition: list[NodeSelectorRequirement]) -> None:
    candidates = (None, *VALUES, *map(str, range(10)), "something-else")
    some = any(all(matches(label, condition) for condition in condition) for label in candidates)
    assert can_match(NodeSelectorTerm(match_expressions=tuple(condition))) is some


def required(*terms: str) -> str:
    listed = ", ".join(f"{{{term}}}" for term in terms)
    affinity = f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{listed}]}}"
    return args("NodeAffinity", f"addedAffinity: {{{affinity}}}")


BATCH = "matchExpressions: [{key: pool, operator: In, values: [batch]}]"
NEVER = "matchExpressions: [{key: pool, operator: Exists}, {key: pool, operator: DoesNotExist}]"
PLACE = "pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param(required(), "NodesContradictAffinity", id="no-term"),
        pytest.param(required(""), "NodesContradictAffinity", id="empty-term"),
        pytest.param(required(NEVER), "NodesContradictAffinity", id="contradiction"),
        pytest.param(required(NEVER, BATCH), "NodesIgnoredBySpread", id="another-term"),
        pytest.param(required(BATCH), "NodesIgnoredBySpread", id="possible"),
        pytest.param(
            required("matchFields: [{key: metadata.nmae, operator: In, values: [a]}]"),
            "NodesContradictAffinity",
            id="no-such-field",
        ),
        pytest.param(
            required("matchFields: [{key: metadata.name, operator: In, values: [a]}]"),
            "NodesIgnoredBySpread",
            id="a-node-by-name",
        ),
    ],
)
def test_what_is_required_of_nodes(text: str, code: str) -> None:
    assert places(text) == [f"{code} {PLACE}"]


def test_nobody_looks_at_it_without_the_filter() -> None:
    off = "preFilter: {disabled: [{name: NodeAffinity}]}, filter: {disabled: [{name: NodeAffinity}]}"
    text = required(NEVER).replace("plugins: {}", f"plugins: {{{off}}}")
    assert places(text) == ["FilterRemoved plugins.filter.disabled[0]", f"ArgsIgnored {PLACE}"]
