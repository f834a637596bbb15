"""upstream: test/integration/scheduler/filters, pods that must be near others or apart from them."""

from __future__ import annotations

from typing import Any

import pytest

from devcluster import Cluster
from tests.integration.upstream.support import Object, World, node, nodes, pod, world
from tests.integration.upstream.written import apart, near, term

pytestmark = pytest.mark.cluster

SCAN, S1 = {"service": "securityscan"}, {"security": "S1"}
EXISTS_AND_IS_SCAN = term("region", "service in (securityscan), service notin (WrongValue)")
EXISTS_AND_IS_OTHER = term("region", "service in (securityscan2), service notin (WrongValue)")
EXISTS = term("region", "service, !wrongkey")
NEAR_SCANS = near(term("region", "service in (securityscan, value2)"))
AWAY_FROM_ANTIVIRUS = apart(term("node", "service in (antivirusscan, value2)"))


def incoming(labels: dict[str, str], *affinities: Object, memory: str = "", **spec: Any) -> Object:
    affinity = {key: value for affinity in affinities for key, value in affinity.items()}
    return pod("fakename", {"memory": memory} if memory else {}, labels=labels, affinity=affinity, **spec)


def there_already(name: str = "fakename2", labels: dict[str, str] = SCAN, **more: Any) -> Object:
    memory = more.pop("memory", "")
    return pod(name, {"memory": memory} if memory else {}, labels=labels, **{"nodeName": "testnode-0", **more})


def merged(key: str, value: str, others: list[Object], *, is_near: bool) -> Any:
    """A pod whose label ``bar`` takes part in its selector."""
    how = near if is_near else apart
    memory = "1G" if is_near else ""
    wanting = incoming(
        {"foo": "", "bar": value}, how(term("node" if is_near else "zone", "foo", **{key: ["bar"]})), memory=memory
    )
    return wanting, others


def labelled(*values: str) -> list[Object]:
    return [there_already(f"pod{n}", {"foo": "", "bar": value}) for n, value in enumerate(values, start=2)]


def full(value: str) -> Object:
    """A pod with nobody else's room left on its node."""
    return there_already("pod1", {"foo": "", "bar": value}, memory="1G", nodeName="anothernode-0")


@pytest.mark.parametrize(
    ("wanting", "others", "fits"),
    [
        pytest.param(incoming(S1, near(term("region", "!security"))), [], False, id="requirement-nobody-meets"),
        pytest.param(incoming(S1, near(term("region", "security in (securityscan)"))), [], False, id="not-matching"),
        pytest.param(incoming(S1, NEAR_SCANS), [there_already()], True, id="in-matches-the-existing-pod"),
        pytest.param(
            incoming(S1, near(term("region", "service notin (securityscan3, value3)"))),
            [there_already()],
            True,
            id="not-in-matches-the-existing-pod",
        ),
        pytest.param(
            incoming(S1, near(term("region", "service in (securityscan, value2)", namespaces=["diff-namespace"]))),
            [there_already(namespace="ns2")],
            False,
            id="different-namespaces",
        ),
        pytest.param(
            incoming(SCAN, near(term("region", "service in (antivirusscan, value2)"))),
            [there_already()],
            False,
            id="unmatching-selector",
        ),
        pytest.param(
            incoming(S1, near(EXISTS, EXISTS_AND_IS_SCAN)), [there_already()], True, id="multiple-affinities-match"
        ),
        pytest.param(
            incoming(S1, near(EXISTS, EXISTS_AND_IS_OTHER)), [there_already()], False, id="requirements-are-anded"
        ),
        pytest.param(
            incoming(S1, NEAR_SCANS, AWAY_FROM_ANTIVIRUS), [there_already()], True, id="affinity-and-anti-affinity"
        ),
        pytest.param(
            incoming(S1, NEAR_SCANS, AWAY_FROM_ANTIVIRUS),
            [there_already(affinity=AWAY_FROM_ANTIVIRUS)],
            True,
            id="affinity-anti-affinity-and-symmetry",
        ),
        pytest.param(
            incoming(S1, NEAR_SCANS, apart(term("zone", "service in (securityscan, value2)"))),
            [there_already()],
            False,
            id="affinity-but-not-anti-affinity",
        ),
        pytest.param(
            incoming(SCAN, NEAR_SCANS, AWAY_FROM_ANTIVIRUS),
            [there_already(affinity=apart(term("zone", "service in (securityscan, value3)")))],
            False,
            id="anti-affinity-but-not-symmetry",
        ),
        pytest.param(
            incoming(SCAN, near(term("region", "service notin (securityscan, value2)"))),
            [there_already(nodeName="machine2")],
            False,
            id="own-label-and-the-existing-pods",
        ),
        pytest.param(
            incoming(SCAN),
            [there_already(affinity=apart(term("zone", "service in (securityscan, value2)")))],
            False,
            id="symmetry-of-an-existing-pod-is-respected",
        ),
        pytest.param(
            incoming(SCAN),
            [there_already(affinity=apart(term("zone", "service notin (securityscan, value2)")))],
            True,
            id="symmetry-of-an-existing-pod-is-satisfied",
        ),
        pytest.param(
            incoming({}, apart(term("region", "foo in (abc)")), nodeSelector={"region": "r1"}),
            [there_already("other", {"foo": "abc"})],
            False,
            id="nodes-of-one-domain",
        ),
        pytest.param(
            *merged("matchLabelKeys", "a", labelled("fuga", "hoge"), is_near=False), True, id="anti-matchLabelKeys"
        ),
        pytest.param(
            *merged("mismatchLabelKeys", "a", labelled("a", "a"), is_near=False), True, id="anti-mismatchLabelKeys"
        ),
        pytest.param(
            *merged("matchLabelKeys", "a", [full("a"), *labelled("hoge", "fuga")], is_near=True),
            False,
            id="matchLabelKeys",
        ),
        pytest.param(
            *merged("mismatchLabelKeys", "a", [full("fuga"), *labelled("a", "a")], is_near=True),
            False,
            id="mismatchLabelKeys",
        ),
    ],
)
async def test_inter_pod_affinity(server: Cluster, wanting: Object, others: list[Object], fits: bool) -> None:
    async with world(server) as there:
        room = {"memory": "1G"}
        await there.create_nodes(
            node("testnode-0", {"region": "r1", "zone": "z11", "node": "n1"}, allocatable=room),
            node("anothernode-0", {"region": "r1", "zone": "z11", "node": "n2"}, allocatable=room),
        )
        await create_in_namespaces(there, *others)
        async with there.scheduling():
            await there.create_pod(wanting)
            await (there.scheduled("fakename") if fits else there.unschedulable("fakename"))


async def create_in_namespaces(there: World, *pods: Object) -> None:
    """Create the pods, those of another namespace in one of that name with the case's own before it."""
    for team, number in (("team1", 2), ("team2", 3)):
        await there.create_namespace(f"{there.namespace}-ns{number}", team=team, case=there.namespace)
    for item in pods:
        metadata = dict(item["metadata"])
        if "namespace" in metadata:
            metadata["namespace"] = f"{there.namespace}-{metadata['namespace']}"
        await there.create_pod({**item, "metadata": metadata})


@pytest.mark.parametrize(
    ("namespace", "fits"),
    [
        pytest.param("ns2", True, id="MatchingNamespaces"),
        pytest.param("ns3", False, id="MismatchingNamespaces"),
    ],
)
async def test_inter_pod_affinity_with_namespace_selector(server: Cluster, namespace: str, fits: bool) -> None:
    async with world(server) as there:
        await there.create_nodes(*nodes(2, "testnode", labels={"region": "r1", "zone": "z11"}))
        await create_in_namespaces(there, there_already(namespace=namespace))
        teams = {"matchExpressions": [{"key": "team", "operator": "In", "values": ["team1"]}]}
        affinity = near(term("region", "service in (securityscan)", namespaceSelector=teams))
        async with there.scheduling():
            await there.create_pod(pod("pod-ns-selector", affinity=affinity))
            await (there.scheduled("pod-ns-selector") if fits else there.unschedulable("pod-ns-selector"))
