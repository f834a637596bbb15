"""The promises of the plugin contract, on clusters whose pods have affinity."""

from __future__ import annotations

import pytest

from scheduler_runtime import testing
from scheduler_runtime.plugins.interpodaffinity import InterPodAffinity
from tests.scheduler_runtime.plugins.interpodaffinity.clusters import namespace, pod, preferred, required, term

EVERYWHERE = {**term("zone", app="x"), "namespaceSelector": {"matchLabels": {"team": "t"}}}
PODS = [
    pod("plain", {"app": "x"}),
    pod("alone", {"app": "x"}, affinity=required("podAntiAffinity", term(app="x"))),
    pod("together", {"app": "x"}, affinity=required("podAffinity", term("zone", app="x"))),
    pod("likes", {"app": "y"}, affinity=preferred("podAffinity", 5, term("zone", app="x"))),
    pod("shy", {"app": "y"}, "red", affinity=required("podAntiAffinity", EVERYWHERE)),
]


@pytest.mark.parametrize("version", ["v1.35.4", "v1.37.1"])
def test_it_keeps_what_the_contract_promises(version: str) -> None:
    nodes = [testing.node(f"node-{number}", labels={"zone": zone}) for number, zone in enumerate("abab")]
    labelled = [namespace("red", {"team": "t"}), namespace("default", {"team": "t"})]
    testing.check(InterPodAffinity, nodes=nodes, pods=PODS, objects=labelled, version=version)
