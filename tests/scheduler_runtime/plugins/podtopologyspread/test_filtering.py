"""Hard constraints: rejected nodes and the reasons."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import SKIP, Node, Pod, Taint
from scheduler_runtime.framework import Placed, Unschedulable
from scheduler_runtime.state.table import LabelColumn
from scheduler_runtime.state.table.node_columns import NodeColumns
from scheduler_runtime.state.table.table import TableReader
from tests.scheduler_runtime.plugins.podtopologyspread.clusters import (
    ZONE,
    all_nodes,
    constraint,
    filter_verdicts,
    labelled,
    scored,
    spreading,
    verdicts,
)
from tests.scheduler_runtime.plugins.podtopologyspread.naive import HOSTNAME, NO_LABEL, UNEVEN

EVERYTHING: dict[str, Any] = {"labelSelector": {}}
A = {"app": "a"}


def nodes_of(*zones: str) -> list[Node]:
    """A node for each zone, without one where it is empty."""
    return [testing.node(f"node-{at}", labels={ZONE: zone} if zone else {}) for at, zone in enumerate(zones)]


def zoned(*zones: str) -> testing.Cluster:
    return testing.Cluster(*nodes_of(*zones))


def incoming(*constraints: dict[str, Any], labels: dict[str, str] | None = None, **spec: Any) -> Pod:
    return labelled(
        testing.pod("incoming", topologySpreadConstraints=constraints, **spec), A if labels is None else labels
    )


def fill(
    cluster: testing.Cluster, *numbers: int, labels: dict[str, str] | None = None, **metadata: Any
) -> testing.Cluster:
    """Put so many pods on each node, in the order of the table."""
    for row, number in enumerate(numbers):
        for index in range(number):
            name = f"pod-{row}-{index}-{len(cluster.table.pods(row))}"
            pod = labelled(testing.pod(name), A if labels is None else labels, **metadata)
            cluster.place(pod, cluster.table.names[row])
    return cluster


@pytest.mark.parametrize(
    ("constraints", "cluster", "expected"),
    [
        pytest.param([constraint()], fill(zoned("a", "b"), 1, 0), [UNEVEN, None], id="the-emptier-zone"),
        pytest.param([constraint()], fill(zoned("a", "a", "b"), 1, 0, 1), [None] * 3, id="even"),
        pytest.param([constraint(skew=2)], fill(zoned("a", "b"), 1, 0), [None, None], id="skew-of-2"),
        pytest.param([constraint()], zoned("a", ""), [None, NO_LABEL], id="no-zone"),
        pytest.param([constraint()], zoned("", ""), [NO_LABEL, NO_LABEL], id="no-zones-at-all"),
        pytest.param([constraint(minDomains=3)], fill(zoned("a", "b"), 1, 1), [UNEVEN] * 2, id="too-few-zones"),
        pytest.param([constraint(minDomains=2)], fill(zoned("a", "b"), 1, 1), [None] * 2, id="enough-zones"),
        pytest.param(
            [constraint(), constraint("rack")], fill(zoned("a", "b"), 1, 0), [NO_LABEL, NO_LABEL], id="nowhere-to-count"
        ),
        pytest.param(
            [constraint(), constraint(HOSTNAME)],
            fill(zoned("a", "a", "b", "b"), 1, 0, 1, 0),
            [UNEVEN, None, UNEVEN, None],
            id="both-hold",
        ),
        pytest.param(
            [constraint(**EVERYTHING)], fill(zoned("a", "b"), 3, 0), [None] * 2, id="everything-counts-as-none"
        ),
        pytest.param([constraint(labelSelector=None)], fill(zoned("a", "b"), 3, 0), [None] * 2, id="nothing"),
        pytest.param(
            [constraint()],
            fill(zoned("a", "b"), 3, 0, deletion_timestamp="2026-01-01T00:00:00Z"),
            [None] * 2,
            id="pods-being-deleted",
        ),
        pytest.param([constraint()], fill(zoned("a", "b"), 3, 0, namespace="other"), [None] * 2, id="other-namespaces"),
    ],
)
def test_filter(constraints: list[Any], cluster: testing.Cluster, expected: list[Any]) -> None:
    assert filter_verdicts(spreading(), incoming(*constraints), cluster) == expected


def test_the_first_constraint_a_node_fails_gives_the_reason() -> None:
    cluster = fill(
        testing.Cluster(*(testing.node(f"n{at}", labels={ZONE: zone, "rack": "1"}) for at, zone in enumerate("ab"))), 1
    )
    cluster.table.set_node(testing.node("n2", labels={ZONE: "a"}))
    cluster.table.set_node(testing.node("n3", labels={"rack": "1"}))
    verdicts = filter_verdicts(spreading(), incoming(constraint(), constraint("rack", skew=9)), cluster)
    assert verdicts == [UNEVEN, None, UNEVEN, NO_LABEL]


def test_a_pod_that_does_not_select_itself_fits_where_one_more_would_not() -> None:
    cluster = fill(zoned("a", "b"), 1, 0)
    assert filter_verdicts(spreading(), incoming(constraint(), labels={"app": "b"}), cluster) == [None, None]
    assert filter_verdicts(spreading(), incoming(constraint()), cluster) == [UNEVEN, None]


@pytest.mark.parametrize("action", ["DoNotSchedule", "ScheduleAnyway"])
def test_of_labels_that_no_node_has_one_is_looked_at(action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Users may write thousands of constraints: what each costs must not grow with the number of the others."""
    looked_at: list[str] = []
    label = NodeColumns.label

    def recording(columns: NodeColumns, key: str) -> LabelColumn:
        looked_at.append(key)
        return label(columns, key)

    monkeypatch.setattr(NodeColumns, "label", recording)
    few_rows_with = TableReader.few_rows_with

    def recording_few(table: TableReader, key: str) -> list[int] | None:
        looked_at.append(key)
        return few_rows_with(table, key)

    monkeypatch.setattr(TableReader, "few_rows_with", recording_few)
    many = [constraint(f"key-{number}", whenUnsatisfiable=action) for number in range(200)]
    outcome = testing.framework().schedule(incoming(*many), zoned("a", "b"))
    assert isinstance(outcome, Unschedulable if action == "DoNotSchedule" else Placed)
    assert len(looked_at) < 10


@pytest.mark.parametrize(
    ("policy", "spec", "expected"),
    [
        pytest.param({}, {"nodeSelector": {"pool": "x"}}, [None, None], id="affinity-is-honoured"),
        pytest.param(
            {"nodeAffinityPolicy": "Ignore"}, {"nodeSelector": {"pool": "x"}}, [UNEVEN, None], id="affinity-is-ignored"
        ),
        pytest.param({}, {}, [UNEVEN, None], id="taints-are-ignored"),
        pytest.param({"nodeTaintsPolicy": "Honor"}, {}, [None, None], id="taints-are-honoured"),
        pytest.param(
            {"nodeTaintsPolicy": "Honor"}, {"tolerations": [{"operator": "Exists"}]}, [UNEVEN, None], id="tolerated"
        ),
    ],
)
def test_only_nodes_that_count_make_domains(policy: dict[str, Any], spec: dict[str, Any], expected: list[Any]) -> None:
    tainted = testing.node("b", labels={ZONE: "b"}, taints=[Taint(key="t", effect="NoSchedule")])
    cluster = fill(testing.Cluster(testing.node("a", labels={ZONE: "a", "pool": "x"}), tainted), 1, 0)
    assert filter_verdicts(spreading(), incoming(constraint(**policy), **spec), cluster) == expected


def test_tolerations_compare_numbers_while_the_gate_is_on() -> None:
    tainted = testing.node("b", labels={ZONE: "b"}, taints=[Taint(key="t", value="5", effect="NoSchedule")])
    cluster = fill(testing.Cluster(testing.node("a", labels={ZONE: "a"}), tainted), 1, 0)
    above_3 = [{"key": "t", "operator": "Gt", "value": "3"}]
    pod = incoming(constraint(nodeTaintsPolicy="Honor"), tolerations=above_3)
    gate = "TaintTolerationComparisonOperators"
    assert filter_verdicts(spreading(gates={gate: True}), pod, cluster) == [UNEVEN, None]
    assert filter_verdicts(spreading(gates={gate: False}), pod, cluster) == [None, None]


def test_match_label_keys_narrow_the_selector_while_the_gate_is_on() -> None:
    cluster = fill(zoned("a", "b"), 1, 0, labels={"app": "a", "version": "1"})
    newer = incoming(constraint(matchLabelKeys=["version"]), labels={"app": "a", "version": "2"})
    same = incoming(constraint(matchLabelKeys=["version"]), labels={"app": "a", "version": "1"})
    unlabelled = incoming(constraint(matchLabelKeys=["version"]))
    plugin = spreading()
    assert filter_verdicts(plugin, newer, cluster) == [None, None]
    assert filter_verdicts(plugin, same, cluster) == [UNEVEN, None]
    assert filter_verdicts(plugin, unlabelled, cluster) == [UNEVEN, None]
    assert filter_verdicts(spreading(gates={"MatchLabelKeysInPodTopologySpread": False}), newer, cluster) == [
        UNEVEN,
        None,
    ]


def test_removing_a_pod_that_is_being_deleted_counts_as_upstream_has_it() -> None:
    """It was not counted, and is taken off nevertheless: preemption sees one pod fewer than there are."""
    cluster = fill(fill(zoned("a", "b"), 2, 0), 1, deletion_timestamp="2026-01-01T00:00:00Z")
    plugin, pod, nodes = spreading(), incoming(constraint(skew=2)), all_nodes(cluster)
    state = plugin.pre_filter(pod, nodes, {})
    assert verdicts(list(plugin.filter(pod, nodes, state)), 2) == [UNEVEN, None]
    leaving = next(pod for pod in cluster.table.pods(0) if pod.metadata.deletion_timestamp)
    changed = plugin.remove_pod(pod, nodes, state.copy(), leaving, 0)
    assert verdicts(list(plugin.filter(pod, nodes, changed)), 2) == [None, None]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param(
            {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}},
            "spec.topologySpreadConstraints[1].labelSelector.matchExpressions[0].operator: 'Near' is not an operator; "
            "the operators are In, NotIn, Exists, DoesNotExist",
            id="operator",
        ),
        pytest.param(
            {"labelSelector": {"matchLabels": {"app": "a b"}}},
            "spec.topologySpreadConstraints[1].labelSelector.matchLabels[app]",
            id="value",
        ),
        pytest.param(
            {"whenUnsatisfiable": "Wait"},
            "spec.topologySpreadConstraints[1].whenUnsatisfiable: 'Wait' is not known; "
            "it is DoNotSchedule or ScheduleAnyway",
            id="when-unsatisfiable",
        ),
        pytest.param(
            {"nodeTaintsPolicy": "Soften"},
            "spec.topologySpreadConstraints[1].nodeTaintsPolicy: 'Soften' is not known; it is Honor or Ignore",
            id="policy",
        ),
        pytest.param(
            {"whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchExpressions": [{"key": "app"}]}},
            "spec.topologySpreadConstraints[1].labelSelector.matchExpressions[0].operator: '' is not an operator",
            id="soft",
        ),
    ],
)
def test_what_cannot_be_read_rejects_the_pod_by_name_of_the_field(fields: dict[str, Any], reason: str) -> None:
    outcome = testing.framework().schedule(incoming(constraint(), {**constraint(), **fields}), zoned("a", "b"))
    assert isinstance(outcome, Unschedulable)
    assert reason in outcome.message
    assert outcome.plugins == {"PodTopologySpread"}


def test_the_message_counts_both_reasons() -> None:
    cluster = fill(zoned("a", "a", "", "b"), 1, 0, 0, 0)
    cluster.table.set_node(testing.node("node-3", pods="0", labels={ZONE: "b"}))
    outcome = testing.framework().schedule(incoming(constraint()), cluster)
    assert isinstance(outcome, Unschedulable)
    assert outcome.message.startswith(
        "0/4 nodes are available: 1 Too many pods, "
        "1 node(s) didn't match pod topology spread constraints (missing required label), "
        "2 node(s) didn't match pod topology spread constraints."
    )


POINTS = [
    {"preFilter": {"disabled": [{"name": "PodTopologySpread"}]}},
    {"preScore": {"disabled": [{"name": "PodTopologySpread"}]}},
]


@pytest.mark.parametrize("plugins", [{}, *POINTS], ids=["all", "without-pre-filter", "without-pre-score"])
def test_filter_and_score_also_work_without_the_hooks_before_them(plugins: dict[str, Any]) -> None:
    cluster = fill(zoned("a", "b", "c", "c"), 1, 1, 0, 0)
    template = incoming(constraint(), constraint(HOSTNAME, "ScheduleAnyway"))
    fill(cluster, 0, 0, 1, 0, labels={"app": "b"})
    decides = testing.framework({"plugins": plugins})
    for name in ("first", "second"):
        outcome = decides.schedule(labelled(template, A, name=name, uid=name), cluster)
        assert isinstance(outcome, Placed)
        assert outcome.node in ("node-2", "node-3")
        cluster.forget(outcome.pod)


def test_pods_without_constraints_are_not_looked_at() -> None:
    plugin, nodes, pod = spreading(), all_nodes(zoned("a")), testing.pod("plain")
    assert plugin.pre_filter(pod, nodes, {}) is SKIP
    assert plugin.pre_score(pod, nodes, {}) is SKIP


def test_one_kind_of_pod_in_two_clusters_is_not_mixed_up() -> None:
    """What is kept belongs to a table, however alike two of them are."""
    plugin, pod = spreading(), incoming(constraint(), constraint(HOSTNAME, "ScheduleAnyway"))
    for zones, numbers, expected in (
        ("ab", (1, 0), [UNEVEN, None]),
        ("ab", (0, 1), [None, UNEVEN]),
        ("aa", (0, 1), [None, None]),
    ):
        cluster = fill(zoned(*zones), *numbers)
        assert filter_verdicts(plugin, pod, cluster) == expected
        assert scored(plugin, pod, cluster, [True, True]) == [0 if number else 100 for number in numbers]


def test_kinds_of_pods_that_differ_in_the_nodes_they_may_use_are_told_apart() -> None:
    cluster = fill(testing.Cluster(testing.node("a", labels={ZONE: "a", "pool": "x"}), *nodes_of("b")), 1, 0)
    plugin = spreading()
    assert filter_verdicts(plugin, incoming(constraint()), cluster) == [UNEVEN, None]
    assert filter_verdicts(plugin, incoming(constraint(), nodeSelector={"pool": "x"}), cluster) == [None, None]


def test_many_changes_between_two_pods_of_a_kind_are_taken_in_together() -> None:
    plugin, pod, cluster = spreading(), incoming(constraint(skew=150)), zoned("a", "b")
    for more, expected in ((1, None), (149, UNEVEN), (3000, UNEVEN)):
        fill(cluster, more)
        assert filter_verdicts(plugin, pod, cluster) == [expected, None]


def test_counts_that_the_table_has_given_up_meanwhile_are_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler_runtime.state.table.pod_counts.MAX_BYTES", 1)
    plugin, pod, cluster = spreading(), incoming(constraint()), zoned("a", "b")
    others = incoming(constraint(labelSelector={"matchLabels": {"app": "b"}}))
    (moving,) = fill(cluster, 1).table.pods(0)
    assert filter_verdicts(plugin, pod, cluster) == [UNEVEN, None]
    filter_verdicts(plugin, others, cluster)
    cluster.table.remove_pod(moving, "node-0")
    cluster.place(moving, "node-1")
    assert filter_verdicts(plugin, pod, cluster) == [None, UNEVEN]
