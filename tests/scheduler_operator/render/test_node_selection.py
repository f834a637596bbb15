"""``spec.nodes`` in the document: what NodeAffinity adds to every pod."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_runtime import config
from tests.scheduler_operator.builders import document, problems, profile, rendered


def terms(result: Any) -> Any:
    (entry,) = result["profiles"][0]["pluginConfig"]
    required = entry["args"]["addedAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return required["nodeSelectorTerms"]


def test_nodes_become_the_affinity_that_node_affinity_adds_to_every_pod() -> None:
    selector = {"matchLabels": {"pool": "batch"}, "matchExpressions": [{"key": "gpu", "operator": "DoesNotExist"}]}
    assert terms(document(profile(nodes=selector))) == [
        {
            "matchExpressions": [
                {"key": "pool", "operator": "In", "values": ["batch"]},
                {"key": "gpu", "operator": "DoesNotExist"},
            ]
        }
    ]


def test_nodes_narrow_every_term_that_added_affinity_has_already() -> None:
    own = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]} for zone in ("a", "b")]
    args = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": own}}}
    scheduler_profile = profile(
        nodes={"matchLabels": {"pool": "batch"}}, pluginConfig=[{"name": "NodeAffinity", "args": args}]
    )
    pool = {"key": "pool", "operator": "In", "values": ["batch"]}
    assert terms(document(scheduler_profile)) == [
        {"matchExpressions": [*term["matchExpressions"], pool]} for term in own
    ]


@pytest.mark.parametrize("selector", [{}, {"matchLabels": {}}, {"matchExpressions": []}])
def test_an_empty_selector_means_every_node(selector: dict[str, Any]) -> None:
    filters_not = {"filter": {"disabled": [{"name": "NodeAffinity"}]}}
    assert document(profile(nodes=selector)) == document(profile())
    assert document(profile(nodes=selector, plugins=filters_not)) == document(profile(plugins=filters_not))


@pytest.mark.parametrize("empty", [{}, {"matchExpressions": []}])
def test_a_term_that_matches_no_node_does_not_come_to_match_some(empty: dict[str, Any]) -> None:
    args = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [empty]}}}
    entry = {"name": "NodeAffinity", "args": args}
    scheduler_profile = profile(
        nodes={"matchLabels": {"pool": "batch"}}, pluginConfig=[entry], allow="NodesContradictAffinity"
    )
    assert terms(document(scheduler_profile)) == [empty]


ODD: Any = "odd"


@pytest.mark.parametrize(
    "added",
    [
        ODD,
        {"requiredDuringSchedulingIgnoredDuringExecution": ODD},
        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": ODD}},
        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [ODD]}},
        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": ODD}]}},
    ],
)
def test_what_is_wrong_in_added_affinity_is_reported_where_its_author_has_it(added: Any) -> None:
    args = {"addedAffinity": added}
    scheduler_profile = profile(
        nodes={"matchLabels": {"a": "b"}}, pluginConfig=[{"name": "NodeAffinity", "args": args}]
    )
    assert all(
        problem.path.startswith("spec.pluginConfig[0].args.addedAffinity")
        for problem in problems(scheduler_profile).problems
    )


@settings(max_examples=25)
@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.from_regex(r"[a-z]{0,8}", fullmatch=True)))
def test_whatever_labels_nodes_asks_for_the_document_loads(match_labels: dict[str, str]) -> None:
    text = rendered(profile(nodes={"matchLabels": match_labels})).text
    assert isinstance(config.load(text), config.Document)
