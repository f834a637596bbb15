"""/metrics/resources, compared with the pods of the API server."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.soak.metrics.expected import Truth, exactly
from bench.soak.metrics.generic import ROUNDED
from bench.soak.metrics.scrape import Scrape

ASKED = "kube_pod_resource_request"


def doubts_about_resources(scrape: Scrape, truth: Truth) -> Iterator[str]:
    """Doubt what the page says that pods ask for. Only the leader's has something; no pod of a soak has a limit."""
    said = scrape.by(ASKED, "node", "resource")
    asks = truth.asks if truth.leads else {}
    for of in sorted({*said, *asks}):
        node, resource = of
        if not math.isclose(said[of], asks.get(of, 0), rel_tol=ROUNDED):
            yield from exactly(f"{ASKED} of {resource} on {node or 'no node'}", said[of], asks.get(of, 0))
    for name in sorted({scrape.family(name) for name, _ in scrape.numbers} - {ASKED}):
        yield f"{name} is on /metrics/resources, and nobody judges it"
