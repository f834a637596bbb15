"""The messages that docs/plugins.md shows are the ones that there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.plugins.price_cap.price_cap import INSTANCE_TYPE, PriceCap
from scheduler_runtime import config, testing
from scheduler_runtime.api import Consult, NodePlugin, Plugin, Reject, declaration_of, lowest_is_best
from scheduler_runtime.catalog import Target
from scheduler_runtime.framework import PluginError

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/plugins.md").read_text()
PROFILE = {"plugins": {"multiPoint": {"enabled": [{"name": "PriceCap"}]}}}
PRICES = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"namespace": "berth-system", "name": "node-prices"},
    "data": {"small": "cheap"},
}


def price_cap(**parts: Any) -> type[Plugin]:
    return type("PriceCap", (Plugin,), parts)


@pytest.mark.parametrize(
    ("plugin", "nodes"),
    [
        pytest.param(PriceCap, 2, id="raises"),
        pytest.param(price_cap(filter=lambda *_: [Reject(np.ones(3, np.bool_), "x")]), 5000, id="another-length"),
        pytest.param(price_cap(score=lambda *_: [1, 2]), 2, id="a-list"),
        pytest.param(price_cap(filter=lambda *_: None), 2, id="no-yield"),
        pytest.param(type("PriceCap", (NodePlugin,), {"filter_node": lambda *_: 5}), 2, id="no-text"),
        pytest.param(
            price_cap(score=lambda *_: np.array([np.nan, 1]), normalize_score=lowest_is_best), 2, id="not-a-number"
        ),
        pytest.param(price_cap(score=lambda *_: np.array([101, 1])), 2, id="out-of-range"),
        pytest.param(price_cap(permit=lambda *_: None), 2, id="no-answer"),
        pytest.param(
            price_cap(filter=lambda *_: [Reject(True, "x")], post_filter=lambda *_: Consult([])), 2, id="uninvited"
        ),
    ],
)
def test_a_mistake_looks_as_the_page_says(plugin: type[Plugin], nodes: int) -> None:
    labels = {INSTANCE_TYPE: "small"}
    cluster = testing.Cluster(*(testing.node(f"node-{number}", labels=labels) for number in range(nodes)))
    decides = testing.framework(PROFILE, plugin, objects=testing.Objects(PRICES))
    with pytest.raises(PluginError) as failed:
        decides.schedule(testing.pod("p"), cluster)
    assert f"`{failed.value}`" in PAGE


def test_arguments_that_do_not_fit_are_refused_as_the_page_says() -> None:
    text = (ROOT / "examples/plugins/price_cap/config.yaml").read_text()
    document = config.load(text.replace("maxHourlyPrice", "maxHourlyPrize"))
    assert not isinstance(document, config.Problems)
    declared = {"PriceCap": declaration_of(PriceCap)}
    refused = config.expand_profiles(document, Target.parse("v1.36.4"), declared)
    assert isinstance(refused, config.Problems)
    assert f"`config.yaml: {refused}`" in PAGE
