"""The made-up cluster that memory is measured on, and what is said of it."""

from __future__ import annotations

import json
from collections import Counter

from bench.size import APPS, POD_TEMPLATE, Longest, Size, bound_pods, lines, parsed, template


def test_bound_pods_are_spread_evenly_over_the_nodes_and_the_apps() -> None:
    pods = [json.loads(body) for _, body in bound_pods(template(POD_TEMPLATE), 3 * APPS, 50)]
    assert set(Counter(pod["spec"]["nodeName"] for pod in pods).values()) == {6}
    assert set(Counter(pod["metadata"]["labels"]["app"] for pod in pods).values()) == {3}


def test_the_most_memory_of_all_starts_and_the_middle_of_their_times_are_said() -> None:
    sizes = [Size("berth", seconds, memory) for seconds, memory in ((1.0, 90), (9.0, 200), (2.0, 80))]
    said = list(lines(parsed(["--nodes", "7"]), sizes, Longest((48.4, 0), (3, 2))))
    assert said[0].startswith("7 nodes, 30000 pods")
    assert said[1].split() == ["berth", "peak", "200", "MB", "first", "bind", "after", "2.0", "s"]
    assert said[2].endswith("while starting: 48 ms (of the collector: 0 ms)")
