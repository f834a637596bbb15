"""Berth decides as the real kube-scheduler does: same nodes, scores, texts, victims, on clusters that chance makes.

``make oracle`` asks about hundreds of clusters for each version. A cluster on which they differ is printed as YAML and
kept in a file: ``DECIDING_CLUSTER=file`` asks about it again. ``DECIDING_SEED`` makes other clusters.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Target
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.state.objects import decode_node
from tests.oracle.deciding.document import PROFILES, document
from tests.oracle.deciding.exceptions import EXCEPTIONS, Exempt
from tests.oracle.deciding.judging import Judge
from tests.oracle.deciding.making.clusters import Cluster, clusters
from tests.oracle.deciding.making.directed import DIRECTED, features_are_missing, node, pod, preemption_is_under_way
from tests.oracle.deciding.making.themes import THEMES, Theme
from tests.oracle.deciding.ours import Ours
from tests.oracle.deciding.reasons import OUT_OF_REACH, REASONS
from tests.oracle.deciding.tally import Tally
from tests.oracle.deciding.theirs import theirs

Object = dict[str, Any]

FULL = "DECIDING_FULL" in os.environ
COMPARING = "TaintTolerationComparisonOperators"
SAMPLE = {("1.35", ""): 24, ("1.36", ""): 48}
WHOLE = {("1.35", ""): 160, ("1.36", ""): 500, ("1.37", ""): 100, ("1.37", COMPARING): 50}
COUNTS = WHOLE if FULL else SAMPLE
"""How many clusters are made up of each version, and with which feature gate turned on."""
AGAIN = os.environ.get("DECIDING_CLUSTER", "")
SEED = int(os.environ.get("DECIDING_SEED", "0"))
NOWHERE = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter", "nodeCacheCapable": True}
VOLUMES = "VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone"
SETTINGS: Mapping[str, Any] = {
    "database": None,
    "phases": [Phase.generate],
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
}
PRINTED = 5
"""Differing clusters that are written out."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(
            (minor, gate),
            marks=pytest.mark.cluster(kubernetes=minor, binaries=("kube-scheduler",)),
            id=f"{minor}-{gate}" if gate else minor,
        )
        for minor, gate in COUNTS
    ],
)
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    minor, gate = request.param
    target = Target.parse(minor, {gate: True} if gate else {})
    with theirs(target, tmp_path_factory.mktemp("kube-scheduler")) as real:
        yield Judge(target, real, Ours(real.document, target))


def agree(judge: Judge, cluster: Cluster) -> None:
    """Fail, with the cluster, unless both decide the same."""
    if lines := judge.differences(cluster):
        pytest.fail("\n".join((*lines, str(cluster))))


@pytest.mark.timeout(3600)
def test_random_clusters(judge: Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge.tally = Tally()
    failed: list[str] = []
    total = COUNTS[judge.target.minor, "".join(judge.target.feature_gates)]
    for number, theme in enumerate(THEMES):
        count = total * (number + 1) // len(THEMES) - total * number // len(THEMES)
        failed += differing(judge, theme, count, tmp_path) if count else []
    with capsys.disabled():
        print(f"\n{judge.target}: {judge.tally}")  # noqa: T201 - what was tried is worth seeing whenever it runs
    assert not failed, "\n\n".join((f"{len(failed)} clusters with DECIDING_SEED={SEED}", *failed[:PRINTED]))
    assert [words for words in OUT_OF_REACH if judge.tally.has_met(words)] == []
    if FULL and not SEED and not judge.target.feature_gates:  # Fewer clusters, or others, may leave somebody out.
        assert judge.tally.idle(IN_TREE) == [
            *(["NodeDeclaredFeatures never rejected"] if not judge.target.enabled("NodeDeclaredFeatures") else []),
            "NodeName never rejected",  # A pod that has a node is no scheduler's to decide about.
        ]


def differing(judge: Judge, theme: Theme, count: int, directory: Path) -> list[str]:
    """Make up ``count`` clusters about ``theme``; describe those on which the two differ."""
    reports: list[str] = []

    @seed(SEED)
    @settings(max_examples=count, **SETTINGS)
    @given(clusters(theme, tuple(PROFILES), judge.target, SEED))
    def decided(cluster: Cluster) -> None:
        if differences := judge.differences(cluster):
            path = directory / f"{theme.name.replace(' ', '-')}-{len(reports)}.yaml"
            path.write_text(str(cluster))
            reports.append("\n".join((f"DECIDING_CLUSTER={path}", *differences, str(cluster))))

    decided()
    return reports


if AGAIN:

    def test_a_cluster_again(judge: Judge) -> None:
        agree(judge, Cluster.read(Path(AGAIN).read_text()))


@pytest.mark.timeout(300)
def test_every_reason_is_met(judge: Judge) -> None:
    judge.tally = Tally()
    for make in DIRECTED.values():
        agree(judge, make())
    if judge.target.enabled("NodeDeclaredFeatures"):
        agree(judge, features_are_missing())
    judge.tally.texts += [gated(judge), preempting(judge)]
    expected = [reason for reason in REASONS if judge.target.version.at_least(reason.since)]
    assert judge.tally.unseen(expected) == []


@pytest.mark.parametrize("exempt", EXCEPTIONS, ids=[exception.make.__name__ for exception in EXCEPTIONS])
def test_every_exception_is_one(judge: Judge, exempt: Exempt) -> None:
    assert judge.differences(exempt.make())


def gated(judge: Judge) -> str:
    """Why a pod with gates is kept out of the queue, in the words of both."""
    coming = pod("new-0", schedulingGates=[{"name": "example.com/a"}, {"name": "example.com/b"}])
    with judge.theirs.having(Cluster("gates", incoming=[coming])):
        stored = judge.theirs.offer(coming)
        reason = judge.theirs.gate(stored, "SchedulingGates")
        assert reason == judge.ours.gate(stored)
    return reason


def preempting(judge: Judge) -> str:
    """Why a pod for which room is being made is kept out of the queue, in the words of both."""
    cluster = preemption_is_under_way()
    with judge.theirs.having(cluster):
        judge.ours.look(judge.theirs.administrator)
        stored = judge.theirs.offer(cluster.incoming[0])
        assert judge.ours.decide(stored)[0].nominated == "node-0"
        reason = judge.theirs.gate(stored, "DefaultPreemption")
        assert reason == judge.ours.gate(stored)
    return reason


@pytest.mark.parametrize(
    ("spec", "need"),
    [
        pytest.param(
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
            f"{VOLUMES} (spec.volumes[*].persistentVolumeClaim)",
            id="a-claim",
        ),
        pytest.param(
            {"resourceClaims": [{"name": "r", "resourceClaimName": "c"}]},
            "DynamicResources (spec.resourceClaims)",
            id="a-device",
        ),
    ],
)
def test_what_only_absent_plugins_can_judge_waits(spec: Object, need: str) -> None:
    target = Target.parse(catalog.NEWEST_MINOR)
    ours = Ours(document(Path("nowhere"), NOWHERE), target)
    coming = pod("new-0", **spec)
    coming["metadata"]["uid"] = "1"
    ours.see(decode_node(json.dumps(node(0))))
    decision, _ = ours.decide(coming)
    assert decision.message.startswith(f"pod needs {need}, which Berth does not have yet: ")


def test_every_exception_is_in_the_documentation_and_nothing_else_is() -> None:
    page = Path("docs/compared.md").read_text()
    table = page.partition("## Decisions")[2].partition("## ")[0]
    rows = re.findall(r"^\| (.+?) \|.*\| (.+?) \|$", table, re.MULTILINE)
    assert rows[1:] == [(exception.what, exception.why) for exception in EXCEPTIONS]
