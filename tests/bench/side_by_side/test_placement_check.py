"""Each kind of wrong placement is reported, and right ones are not."""

from __future__ import annotations

from typing import Any

import pytest

from bench.side_by_side.placement_check import amount, faults

Object = dict[str, Any]
ZONE, HOST = "zone", "kubernetes.io/hostname"
GREEN = {"labelSelector": {"matchLabels": {"color": "green"}}}


def node(name: str, zone: str = "one", cpu: str = "4", pods: str = "110") -> Object:
    return {
        "metadata": {"name": name, "labels": {HOST: name, ZONE: zone}},
        "status": {"allocatable": {"cpu": cpu, "memory": "32Gi", "pods": pods}},
    }


def pod(on: str, *, color: str = "green", cpu: str = "100m", **spec: Any) -> Object:
    return {
        "metadata": {"name": f"pod-on-{on}", "namespace": "here", "labels": {"color": color}},
        "spec": {"nodeName": on, "containers": [{"resources": {"requests": {"cpu": cpu}}}], **spec},
    }


def required(kind: str, term: Object) -> Object:
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


AVOIDS = required("podAntiAffinity", {**GREEN, "topologyKey": HOST})
NEEDS = required("podAffinity", {**GREEN, "topologyKey": ZONE})
SPREAD: Object = {
    "topologySpreadConstraints": [{**GREEN, "topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
}
PINNED: Object = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]
            }
        }
    }
}
NODES = [node("a"), node("b"), node("c", zone="two")]


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([pod("a", cpu="4"), pod("b", cpu="4000m")], id="full-nodes"),
        pytest.param([pod("", cpu="9")], id="a-pod-without-a-node"),
        pytest.param([pod("a", **AVOIDS), pod("b", **AVOIDS), pod("a", color="red")], id="avoided-pods-elsewhere"),
        pytest.param([pod("a", **NEEDS)], id="the-first-of-its-kind"),
        pytest.param([pod("a", **NEEDS), pod("b", **NEEDS)], id="needed-pods-in-the-zone"),
        pytest.param([pod("a", **SPREAD), pod("b", **SPREAD), pod("c", **SPREAD)], id="even-enough"),
        pytest.param([pod("b", **PINNED)], id="on-the-node-it-names"),
    ],
)
def test_rightly_placed(pods: list[Object]) -> None:
    assert faults(NODES, pods) == []


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        pytest.param([pod("z")], "do not exist", id="a-node-that-is-not-there"),
        pytest.param([pod("a", cpu="2"), pod("a", cpu="2001m")], "node a has 4 cpu", id="overcommitted"),
        pytest.param([pod("a", **AVOIDS), pod("a")], "here/pod-on-a shares its", id="avoided-pod-on-the-node"),
        pytest.param([pod("a", **NEEDS), pod("c", **NEEDS)], "without the pods it needs", id="second-alone-elsewhere"),
        pytest.param([pod("a", color="red", **NEEDS)], "without the pods it needs", id="not-of-the-kind-it-needs"),
        pytest.param([pod("a", **SPREAD), pod("b", **SPREAD)], "skew over zone is 2", id="skewed"),
        pytest.param([pod("a", **PINNED)], "asks for ['b'] and is on a", id="not-on-the-node-it-names"),
    ],
)
def test_wrongly_placed(pods: list[Object], words: str) -> None:
    wrong = faults(NODES, pods)
    assert wrong
    assert all(words in fault for fault in wrong)


def test_too_many_pods_overcommit_a_node() -> None:
    assert faults([node("a", pods="1")], [pod("a"), pod("a")]) == ["node a has 1 pods and pods that ask for 2"]


def test_of_many_faults_a_few_are_listed_and_the_rest_counted() -> None:
    pods = [pod("a", **AVOIDS) for _ in range(9)]
    assert faults(NODES, pods)[-1] == "and 4 more like it"


def test_a_selector_that_cannot_be_judged_is_an_error() -> None:
    term = {"labelSelector": {"matchExpressions": []}, "topologyKey": HOST}
    with pytest.raises(ValueError, match="cannot be judged"):
        faults(NODES, [pod("a", **required("podAntiAffinity", term))])


@pytest.mark.parametrize(
    ("quantity", "expected"), [("100m", 0.1), ("4", 4), (9, 9), ("500Mi", 500 * 2**20), ("90k", 90000)]
)
def test_amounts(quantity: str | int, expected: float) -> None:
    assert amount(quantity) == pytest.approx(expected)
