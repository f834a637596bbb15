"""Prices of nodes, from a ConfigMap that somebody keeps current: price-cap keeps pods off what costs too much."""

from collections.abc import Hashable, Iterator, Mapping

import numpy as np
from pydantic import PositiveFloat

from scheduler_runtime.api import (
    Action,
    ClusterEvent,
    Cycle,
    NodeTable,
    Plugin,
    PluginArgs,
    Pod,
    Reject,
    Scores,
    Watch,
    lowest_is_best,
)

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
PRICES = Watch("v1", "ConfigMap", namespace="berth-system", name="node-prices")


class PriceCap(Plugin):
    """Keeps pods off nodes that cost too much, and prefers the cheapest of the rest."""

    class Args(PluginArgs):
        max_hourly_price: PositiveFloat = 10.0

    watches = (PRICES,)
    events = (
        ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),
        ClusterEvent("ConfigMap", Action.ADD | Action.UPDATE),
    )
    row_local = True
    looks_at_pods = False

    def signature(self, pod: Pod) -> Hashable:
        return ()  # It looks at nothing of a pod.

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Mapping[str, str]:
        prices = self.handle.get(PRICES)
        return prices.data if prices else {}

    def filter(self, pod: Pod, nodes: NodeTable, prices: Mapping[str, str]) -> Iterator[Reject]:
        price = nodes.label(INSTANCE_TYPE).map(prices, missing=np.inf)
        yield Reject(np.isinf(price), "node has no known price", resolvable=False)
        too_expensive = np.isfinite(price) & (price > self.args.max_hourly_price)
        yield Reject(too_expensive, "node costs more than the profile allows", resolvable=False)

    def score(self, pod: Pod, nodes: NodeTable, prices: Mapping[str, str]) -> Scores:
        return nodes.label(INSTANCE_TYPE).map(prices, missing=np.inf)

    normalize_score = lowest_is_best
