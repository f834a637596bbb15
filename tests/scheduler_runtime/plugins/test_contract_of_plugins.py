"""Every plugin of this build keeps the contract, in each version that it knows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.plugins import IN_TREE

IN_POOL = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["1", "x"]}]}
RATHER_IN_POOL = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 9, "preference": IN_POOL}]}
RESTARTS_ALL = {"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}

EXAMPLES: Mapping[str, Any] = {
    "NodeName": {"pods": [testing.pod("p", nodeName="node-0")]},
    "NodeAffinity": {"pods": [testing.pod("p", affinity={"nodeAffinity": RATHER_IN_POOL})]},
    "NodeDeclaredFeatures": {"pods": [testing.pod("p", containers=[RESTARTS_ALL])]},
}
"""What chance does not bring out often enough."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", IN_TREE)
def test_a_plugin_keeps_the_contract(name: str) -> None:
    testing.check(IN_TREE[name], **EXAMPLES.get(name, {}))


@pytest.mark.thorough
def test_node_affinity_keeps_the_contract_also_with_an_affinity_of_the_profile() -> None:
    added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [IN_POOL]}, **RATHER_IN_POOL}
    testing.check(IN_TREE["NodeAffinity"], {"addedAffinity": added})


OFF_BY_DEFAULT = {("NodeDeclaredFeatures", "v1.35.0")}
OTHERS = [pair for pair in itertools.product(IN_TREE, ["v1.35.0", "v1.37.0"]) if pair not in OFF_BY_DEFAULT]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2, 5))
@pytest.mark.parametrize(("name", "version"), OTHERS)
def test_a_plugin_keeps_the_contract_in_other_versions(name: str, version: str, seed: int) -> None:
    testing.check(IN_TREE[name], version=version, seed=seed, **EXAMPLES.get(name, {}))
