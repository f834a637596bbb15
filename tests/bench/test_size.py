"""The made-up cluster that memory is measured on, and what is said of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from bench.cluster.api import nodes
from bench.cluster.prefilled_nodes import AGENTS, APPS, IMAGES_REPORTED, residents, statuses, with_images
from bench.size import POD_TEMPLATE, Longest, Size, lines, parse_options, template
from bench.workloads import NODE_TEMPLATE
from scheduler_runtime.state.objects import Pod, decode_pod

NODES, PODS = 50, 50 * (AGENTS + 4)


def living() -> list[Pod]:
    """Those pods as a scheduler reads them, once they run."""
    of, result = template(POD_TEMPLATE), list[Pod]()
    for (path, body), (status_path, status) in zip(residents(of, PODS, NODES), statuses(of, PODS, NODES), strict=True):
        result.append(decode_pod(json.dumps(json.loads(body) | json.loads(status))))
        assert status_path == f"{path}/{result[-1].name}/status"
    return result


def test_what_lives_on_the_nodes_is_spread_evenly_over_them() -> None:
    assert set(Counter(pod.spec.node_name for pod in living()).values()) == {AGENTS + 4}


def test_every_node_has_a_pod_of_both_daemon_sets_and_the_others_are_of_many_apps() -> None:
    owners = Counter((owner.kind, owner.name) for pod in living() for owner in pod.metadata.owner_references)
    agents = [count for (kind, _), count in owners.items() if kind == "DaemonSet"]
    assert agents == [NODES] * AGENTS
    assert len(owners) == AGENTS + min(APPS, 4 * NODES)


def test_pods_run_with_what_they_ask_for_and_differ_as_those_of_a_cluster_do() -> None:
    pods = living()
    assert {pod.status.phase for pod in pods} == {"Running"}
    assert all(status.resources for pod in pods for status in pod.status.container_statuses)
    assert {pod.requests.amounts["cpu"] for pod in pods} == set(range(50, 50 + AGENTS + APPS))
    unready = [pod for pod in pods if any(condition.status == "False" for condition in pod.status.conditions)]
    assert len(unready) == PODS // 50
    assert len({volume["name"] for volume in volumes()}) == PODS


def volumes() -> Iterator[dict[str, Any]]:
    for _, body in residents(template(POD_TEMPLATE), PODS, NODES):
        yield from json.loads(body)["spec"]["volumes"]


def test_nodes_have_images_of_which_neighbours_have_most() -> None:
    requests = with_images(nodes(template(NODE_TEMPLATE), 2, None))
    one, other = ({image["names"][0] for image in json.loads(body)["status"]["images"]} for _, body in requests)
    assert len(one) == len(other) == IMAGES_REPORTED
    assert IMAGES_REPORTED / 2 < len(one & other) < IMAGES_REPORTED


def test_the_report_has_the_most_memory_and_the_median_time() -> None:
    sizes = [Size("berth", seconds, memory) for seconds, memory in ((1.0, 90), (9.0, 200), (2.0, 80))]
    output = list(lines(parse_options(["--nodes", "7"]), sizes, Longest((48.4, 0), (3, 2))))
    assert output[0].startswith("7 nodes, 30000 pods")
    assert output[1].split() == ["berth", "peak", "200", "MB", "first", "bind", "after", "2.0", "s"]
    assert output[2].endswith("while starting: 48 ms (of the collector: under 10 ms)")
