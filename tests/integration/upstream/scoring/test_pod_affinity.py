"""upstream: test/integration/scheduler/scoring, pods that would rather be near others or apart from them."""

from __future__ import annotations

import pytest

from devcluster import Cluster
from tests.integration.upstream.support import Object, node, pod, profile_scoring_by, world
from tests.integration.upstream.written import PREFERRED, term

pytestmark = pytest.mark.cluster

KEY = "node-topologykey"
FOO_A = {"foo": "", "bar": "a"}


def preferring(*weighted: tuple[int, Object], kind: str = "podAffinity") -> Object:
    return {kind: {PREFERRED: [{"weight": weight, "podAffinityTerm": term} for weight, term in weighted]}}


def domains(count: int, *values: int) -> list[Object]:
    """Nodes in the domains of these values, and two in none when there are ten."""
    in_domains = [node(f"node{n}", {KEY: f"topologyvalue{value}"}) for n, value in enumerate(values, start=1)]
    return in_domains + [node(f"other-node{n}") for n in range(1, count - len(values) + 1)]


def one_per_node(*bars: str) -> list[Object]:
    labels = [{"foo": "", "bar": bar} for bar in bars]
    return [pod(f"pod{n}", labels=label, nodeName=f"node{n}") for n, label in enumerate(labels, start=1)]


TWELVE = domains(12, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4)
SIX = domains(6, 0, 1, 2, 0, 1, 2)
TWO = domains(2, 0, 1)
ATTRACTOR = pod("attractor-pod", labels={"service": "S1"}, nodeName="node1")
TO_S1 = "service in (S1, S3)"


def keyed(key: str, kind: str = "podAffinity") -> Object:
    """A term in which the pod's label ``bar`` takes part, and for affinity a weaker one that does not know of it."""
    strong, weak = term(KEY, "foo", **{key: ["bar"]}), term(KEY, "bar in (hoge)")
    return preferring((50, strong), *([(10, weak)] if kind == "podAffinity" else []), kind=kind)


ANTI = "podAntiAffinity"


@pytest.mark.parametrize(
    ("affinity", "elsewhere", "others", "nodes", "expected"),
    [
        pytest.param(preferring((50, term(KEY, TO_S1))), False, [ATTRACTOR], TWELVE, {1, 6}, id="pod-affinity"),
        pytest.param(
            preferring((50, term(KEY, TO_S1, namespaceSelector={}))),
            True,
            [ATTRACTOR],
            TWELVE,
            {1, 6},
            id="with-namespace-selector",
        ),
        pytest.param(
            keyed("matchLabelKeys", ANTI), False, one_per_node("fuga", "a"), TWO, {1}, id="anti-matchLabelKeys"
        ),
        pytest.param(
            keyed("mismatchLabelKeys", ANTI), False, one_per_node("fuga", "a"), TWO, {2}, id="anti-mismatchLabelKeys"
        ),
        pytest.param(
            keyed("matchLabelKeys"), False, one_per_node("hoge", "hoge", "a"), SIX, {3, 6}, id="matchLabelKeys"
        ),
        pytest.param(
            keyed("mismatchLabelKeys"), False, one_per_node("a", "a", "hoge"), SIX, {3, 6}, id="mismatchLabelKeys"
        ),
    ],
)
async def test_pod_affinity_scoring(
    server: Cluster, affinity: Object, elsewhere: bool, others: list[Object], nodes: list[Object], expected: set[int]
) -> None:
    async with world(server) as there:
        await there.create_nodes(*nodes)
        if elsewhere:
            await there.create_namespace(f"{there.namespace}-others", team="team1")
        where = {"namespace": there.others[-1]}
        await there.create_pods(*({**other, "metadata": {**other["metadata"], **where}} for other in others))
        async with there.scheduling(profiles=[profile_scoring_by("InterPodAffinity", "InterPodAffinity")]):
            await there.create_pod(pod("incoming", labels=FOO_A, affinity=affinity))
            assert await there.scheduled("incoming") in {f"node{number}" for number in expected}
