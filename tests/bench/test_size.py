"""The made-up cluster that memory is measured on, and what is said of it."""

from __future__ import annotations

import json
from collections import Counter

from bench.api import nodes
from bench.residents import APPS, IMAGES_TOLD, residents, statuses, with_images
from bench.size import POD_TEMPLATE, Longest, Size, lines, parsed, template
from bench.workloads import NODE_TEMPLATE


def test_what_lives_on_the_nodes_is_spread_evenly_over_them_and_the_apps() -> None:
    pods = [json.loads(body) for _, body in residents(template(POD_TEMPLATE), 3 * APPS, 50)]
    assert set(Counter(pod["spec"]["nodeName"] for pod in pods).values()) == {6}
    assert set(Counter(pod["metadata"]["labels"]["app"] for pod in pods).values()) == {3}


def test_everything_that_lives_on_a_node_runs_with_what_it_asks_for() -> None:
    of, paths = template(POD_TEMPLATE), list[str]()
    for path, body in statuses(of, 3, 2):
        paths.append(path)
        (container,) = json.loads(body)["status"]["containerStatuses"]
        assert container["resources"] == of["spec"]["containers"][0]["resources"]
    names = [json.loads(body)["metadata"]["name"] for _, body in residents(of, 3, 2)]
    assert paths == [f"/api/v1/namespaces/bound/pods/{name}/status" for name in names]


def test_nodes_have_images_of_which_neighbours_have_most() -> None:
    made = with_images(nodes(template(NODE_TEMPLATE), 2, None))
    one, other = ({each["names"][0] for each in json.loads(body)["status"]["images"]} for _, body in made)
    assert len(one) == len(other) == IMAGES_TOLD
    assert IMAGES_TOLD / 2 < len(one & other) < IMAGES_TOLD


def test_the_most_memory_of_all_starts_and_the_middle_of_their_times_are_said() -> None:
    sizes = [Size("berth", seconds, memory) for seconds, memory in ((1.0, 90), (9.0, 200), (2.0, 80))]
    said = list(lines(parsed(["--nodes", "7"]), sizes, Longest((48.4, 0), (3, 2))))
    assert said[0].startswith("7 nodes, 30000 pods")
    assert said[1].split() == ["berth", "peak", "200", "MB", "first", "bind", "after", "2.0", "s"]
    assert said[2].endswith("while starting: 48 ms (of the collector: 0 ms)")
