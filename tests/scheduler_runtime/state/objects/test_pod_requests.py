"""Requests of a pod: upstream's rule, container by container."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from scheduler_runtime.state.objects import Pod, QuantityError

MI = 1024 * 1024


def pod(spec: dict[str, Any], status: dict[str, Any] | None = None) -> Pod:
    raw = {"metadata": {"name": "p", "namespace": "d", "uid": "u"}, "spec": spec, "status": status or {}}
    return msgspec.convert(raw, Pod)


def container(**requests: str) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests}}


def sidecar(**requests: str) -> dict[str, Any]:
    return {**container(**requests), "restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": [container()]}, {}, id="nothing"),
        pytest.param(
            {"containers": [container(cpu="100m", memory="1Mi"), container(cpu="1", **{"example.com/gpu": "2"})]},
            {"cpu": 1100, "memory": MI, "example.com/gpu": 2},
            id="containers-add-up",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "initContainers": [container(cpu="3"), container(cpu="2")]},
            {"cpu": 3000},
            id="the-largest-init-container-counts",
        ),
        pytest.param(
            {
                "containers": [container(cpu="1")],
                "initContainers": [sidecar(cpu="1"), container(cpu="3"), sidecar(cpu="2")],
            },
            {"cpu": 4000},
            id="sidecars-run-beside-later-init-containers-and-containers",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "initContainers": [container(cpu="3"), sidecar(cpu="1")]},
            {"cpu": 3000},
            id="a-sidecar-started-later-is-not-there-yet",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "overhead": {"cpu": "250m", "memory": "1Mi"}},
            {"cpu": 1250, "memory": MI},
            id="overhead-is-added",
        ),
        pytest.param(
            {
                "containers": [container(cpu="1", **{"ephemeral-storage": "5"})],
                "resources": {"requests": {"cpu": "4", "memory": "2Mi", "ephemeral-storage": "9"}},
                "overhead": {"cpu": "1"},
            },
            {"cpu": 5000, "memory": 2 * MI, "ephemeral-storage": 5},
            id="pod-level-stands-above-containers-for-cpu-and-memory",
        ),
        pytest.param(
            {"containers": [container(memory="100m"), container(memory="100m")]},
            {"memory": 1},
            id="fractions-are-added-before-they-are-rounded",
        ),
        pytest.param(
            {"containers": [container(**{"hugepages-2Mi": "4Mi", "pods": "3", "made-up": "1"})]},
            {"hugepages-2Mi": 4 * MI},
            id="only-resources-that-schedulers-count",
        ),
    ],
)
def test_amounts(spec: dict[str, Any], expected: dict[str, int]) -> None:
    assert pod(spec).requests.amounts == expected


@pytest.mark.parametrize(
    ("spec", "scored", "pending"),
    [
        pytest.param({"containers": [container()]}, (100, 200 * MI), (100, 200 * MI), id="default"),
        pytest.param(
            {"containers": [container(), container(cpu="0", memory="1Mi")]},
            (100, 201 * MI),
            (100, 201 * MI),
            id="for-each-container-that-names-none",
        ),
        pytest.param(
            {"containers": [container()], "resources": {"requests": {"cpu": "2"}}},
            (2000, 200 * MI),
            (100, 200 * MI),
            id="pod-level-counts-once-the-pod-is-placed",
        ),
        pytest.param(
            {"containers": [container()], "overhead": {"cpu": "10m"}}, (110, 200 * MI), (110, 200 * MI), id="overhead"
        ),
    ],
)
def test_what_counts_in_scores(spec: dict[str, Any], scored: tuple[int, int], pending: tuple[int, int]) -> None:
    requests = pod(spec).requests
    assert (requests.scored_cpu, requests.scored_memory) == scored
    assert (requests.pending["cpu"], requests.pending["memory"]) == pending


RESIZING = {"name": "c", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}}


@pytest.mark.parametrize(
    ("requested", "conditions", "expected"),
    [
        pytest.param("1", [], 3000, id="the-largest-of-asked-allocated-and-actual"),
        pytest.param("9", [], 9000, id="asked-for-more"),
        pytest.param("9", [{"type": "PodResizePending", "reason": "Infeasible"}], 3000, id="more-is-infeasible"),
        pytest.param("9", [{"type": "PodResizePending", "reason": "Deferred"}], 9000, id="more-is-deferred"),
    ],
)
def test_a_pod_that_is_resized_in_place_takes_what_it_may_still_use(
    requested: str, conditions: list[dict[str, str]], expected: int
) -> None:
    status = {"containerStatuses": [RESIZING], "conditions": conditions}
    assert pod({"containers": [container(cpu=requested)]}, status).requests.amounts == {"cpu": expected}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": [container(), container(cpu="lots")]}, r"spec.containers\[1\].resources.requests\[cpu\]"),
        ({"initContainers": [container(cpu="lots")]}, r"spec.initContainers\[0\].resources.requests\[cpu\]"),
        ({"overhead": {"memory": "lots"}}, r"spec.overhead\[memory\]"),
        ({"resources": {"requests": {"cpu": "lots"}}}, r"spec.resources.requests\[cpu\]"),
    ],
)
def test_a_malformed_quantity_names_its_field(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(QuantityError, match=rf"^{field}: 'lots' is not a quantity"):
        _ = pod(spec).requests


def test_requests_are_computed_once() -> None:
    placed = pod({"containers": [container(cpu="1")]})
    assert placed.requests is placed.requests


def test_thousands_of_containers_and_resources_are_added_up_in_linear_time() -> None:
    resources = {f"example.com/r{number}": "1" for number in range(20_000)}
    many = [container(cpu="1m") for _ in range(8_000)]
    made = pod({"initContainers": [sidecar(**resources), *many], "containers": [container(**resources), *many]})
    began = time.thread_time()
    amounts = made.requests.amounts
    assert time.thread_time() - began < 5  # it was a minute
    assert (amounts["cpu"], amounts["example.com/r19999"]) == (8000, 2)
