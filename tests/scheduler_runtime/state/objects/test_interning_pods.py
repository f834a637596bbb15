"""Pods of one template share what they have in common, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler_runtime.state.objects import Affinity, Pod, QuantityError, decode_pod, decode_pod_list
from scheduler_runtime.state.objects.interning import MAX_RUN_STATES, MIN_CLEANUP, SharedSpecs
from scheduler_runtime.state.objects.pod_requests import BY_CONTAINER, ResizeRules

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def raw(name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": name}, "spec": spec, **more}


def decoded(name: str, spec: dict[str, Any], **more: Any) -> Pod:
    return decode_pod(msgspec.json.encode(raw(name, spec, **more)))


def of(cpu: str) -> dict[str, Any]:
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}


def running(cpu: str, **more: Any) -> dict[str, Any]:
    """The status of a pod whose container has that."""
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    return {**ready, "containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **more}


def daemon(node: str) -> dict[str, Any]:
    """A pod of a DaemonSet, for that node, of which there is to be one in each zone."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    apart = [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "d"}}}]
    nodes, pods = {REQUIRED: {"nodeSelectorTerms": [{"matchFields": fields}]}}, {REQUIRED: apart}
    return {**of("1"), "affinity": {"nodeAffinity": nodes, "podAntiAffinity": pods}}


def test_pods_of_one_template_share_their_spec_and_their_needs() -> None:
    one, other = decoded("a", of("100m")), decoded("b", of("100m"))
    assert one.spec is other.spec
    assert one.requests is other.requests
    assert (one.name, other.name) == ("a", "b")


def test_a_pod_with_a_node_keeps_it_and_shares_the_rest() -> None:
    pending, bound = decoded("a", of("100m")), decoded("b", {**of("100m"), "nodeName": "n"})
    assert (pending.spec.node_name, bound.spec.node_name) == ("", "n")
    assert bound.spec.containers is pending.spec.containers
    assert bound.requests is pending.requests


def test_pods_of_one_owner_share_what_they_are_labelled_with() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "w", "controller": True}
    more = {"namespace": "shop", "labels": {"app": "web"}, "annotations": {"a": "1"}, "ownerReferences": [owner]}
    one, other = (decoded(name, of("1"), metadata={"name": name, "uid": name, **more}).metadata for name in "ab")
    assert (one.name, other.name) == ("a", "b")
    assert one.labels is other.labels
    assert (one.annotations is other.annotations, one.owner_references is other.owner_references) == (True, True)


def test_pods_of_one_owner_with_annotations_of_their_own_share_the_rest() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "w"}
    more = {"labels": {"app": "web"}, "ownerReferences": [owner]}
    every = [{"name": "p", "annotations": {"address": name}, **more} for name in ("10.0.0.1", "10.0.0.2")]
    one, other = (decoded("p", of("1"), metadata=metadata).metadata for metadata in every)
    assert (one.annotations, other.annotations) == ({"address": "10.0.0.1"}, {"address": "10.0.0.2"})
    assert one.labels is other.labels


def test_pods_with_other_labels_keep_them() -> None:
    one, other = (decoded(name, of("1"), metadata={"name": name, "labels": {"app": name}}) for name in "ab")
    assert (one.labels, other.labels) == ({"app": "a"}, {"app": "b"})


def test_pods_whose_volumes_have_names_of_their_own_share_their_spec() -> None:
    volumes = [{"volumes": [{"name": f"kube-api-access-{name}", "projected": {}}]} for name in ("x7k2p", "9qz4m")]
    one, other = (decoded("p", {**of("100m"), **more}) for more in volumes)
    assert one.spec is other.spec


def test_pods_of_a_daemon_set_share_all_but_their_node() -> None:
    one, other = (decoded(name, daemon(name)) for name in "ab")
    bound = decoded("c", {**daemon("c"), "nodeName": "c"}, status=running("1"))
    assert one.spec.containers is other.spec.containers is bound.spec.containers
    assert one.requests is other.requests
    assert one.terms is other.terms is bound.terms
    assert [pod.spec.node_name for pod in (one, other, bound)] == ["", "", "c"]
    for pod in (one, other, bound):
        assert pod.spec.affinity == msgspec.convert(daemon(pod.name)["affinity"], Affinity)


def test_pods_with_the_same_affinity_share_it_wherever_they_are() -> None:
    affinity = daemon("n")["affinity"]
    affinity["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] = [
        {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    ]
    one, other = (decoded(name, {**of("1"), "affinity": affinity, "nodeName": name}) for name in "ab")
    assert one.spec.affinity is other.spec.affinity


def test_pods_that_ask_for_something_else_share_nothing() -> None:
    assert decoded("a", of("100m")).requests.amounts == {"cpu": 100}
    assert decoded("b", of("200m")).requests.amounts == {"cpu": 200}


def test_what_running_pods_have_is_not_what_those_that_wait_ask_for() -> None:
    assert decoded("a", of("100m")).requests.amounts == {"cpu": 100}
    assert decoded("b", of("100m"), status=running("300m")).requests.amounts == {"cpu": 300}
    assert decoded("c", of("100m")).requests.amounts == {"cpu": 100}


def test_pods_of_one_template_that_run_share_what_their_status_says_of_it() -> None:
    one, other = (decoded(name, of("100m"), status=running("100m", nominatedNodeName=name)) for name in "ab")
    assert (one.status.nominated_node_name, other.status.nominated_node_name) == ("a", "b")
    assert one.requests is other.requests
    assert one.status.conditions is other.status.conditions
    assert one.status.container_statuses is other.status.container_statuses


def test_pods_that_do_not_run_alike_share_nothing_of_it() -> None:
    one, other = (decoded("a", of("100m"), status=running(cpu)) for cpu in ("200m", "300m"))
    assert [item.requests.amounts for item in (one, other)] == [{"cpu": 200}, {"cpu": 300}]
    never = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
    too_much = [decoded("a", of("900m"), status=running("200m", conditions=item)) for item in ([], [never])]
    assert [item.requests.amounts for item in too_much] == [{"cpu": 900}, {"cpu": 200}]


def test_what_a_running_pod_takes_is_added_up_as_the_version_does() -> None:
    containers = [{"name": name, "resources": {"requests": {"cpu": cpu}}} for name, cpu in (("c", "1"), ("d", "3"))]
    swapped = [{**one, "name": other["name"]} for one, other in zip(containers, reversed(containers), strict=True)]
    specs, raw_pod = SharedSpecs(), raw("a", {"containers": containers}, status={"containerStatuses": swapped})
    cpu = [
        specs.share(msgspec.convert(raw_pod, Pod), rules).requests.amounts
        for rules in (BY_CONTAINER, ResizeRules(True))
    ]
    assert cpu == [{"cpu": 6000}, {"cpu": 4000}]


@pytest.mark.parametrize(
    ("of_pod", "more_status", "cpu"),
    [
        (None, {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}, 3000),
        (None, {"initContainerStatuses": [{"name": "i", "resources": {"requests": {"cpu": "4"}}}]}, 5000),
        ({"requests": {"cpu": "2"}}, {"resources": {"requests": {"cpu": "5"}}}, 5000),
        ({"requests": {"cpu": "2"}}, {"allocatedResources": {"cpu": "6"}}, 6000),
    ],
)
def test_every_field_that_tells_what_a_pod_takes_counts(of_pod: Any, more_status: dict[str, Any], cpu: int) -> None:
    spec = {**of("1"), "initContainers": [{"name": "i", "restartPolicy": "Always"}], "resources": of_pod}
    usual = running("1", resources={"requests": {"cpu": "1"}}, allocatedResources={"cpu": "1"})
    specs = SharedSpecs()
    for _ in range(2):
        specs.share(msgspec.convert(raw("a", spec, status=usual), Pod), BY_CONTAINER)
        resized = specs.share(msgspec.convert(raw("b", spec, status={**usual, **more_status}), Pod), BY_CONTAINER)
        assert resized.requests.amounts == {"cpu": cpu}


def run(specs: SharedSpecs, number: int) -> Pod:
    """A pod of one template that runs with so many thousandths of a processor."""
    return specs.share(msgspec.convert(raw("p", of("1m"), status=running(f"{number}m")), Pod), BY_CONTAINER)


def test_of_one_template_the_ways_to_run_that_most_pods_have_are_remembered() -> None:
    specs = SharedSpecs()
    usual = [run(specs, 1) for _ in range(3)]
    others = [run(specs, number) for number in range(2, 100)]
    assert [pod.requests.amounts["cpu"] for pod in others] == list(range(2, 100))
    (template,) = specs._templates.values()
    assert len(template.run_states) == MAX_RUN_STATES
    assert run(specs, 1).requests is usual[0].requests


def test_ways_to_run_that_no_pod_has_any_more_are_forgotten_while_the_template_stays() -> None:
    specs = SharedSpecs()
    stays = run(specs, 1)
    for number in range(2, 10):
        run(specs, number)
    (template,) = specs._templates.values()
    assert len(template.run_states) <= 2
    assert run(specs, 1).requests is stays.requests


def test_what_cannot_be_read_takes_no_room_from_what_can() -> None:
    specs = SharedSpecs()
    pods = [run(specs, number) for number in range(1, MAX_RUN_STATES + 1)]
    unreadable = msgspec.convert(raw("p", of("1m"), status=running("lots")), Pod)
    assert specs.share(unreadable, BY_CONTAINER).derived is None
    assert all(run(specs, number).requests is pod.requests for number, pod in enumerate(pods, 1))


def test_what_cannot_be_read_is_told_for_each_pod() -> None:
    for name, amount in (("a", "lots"), ("b", "lots"), ("c", "1" * 5000)):
        pod = decoded(name, of(amount))
        with pytest.raises(QuantityError, match=amount[:9]):
            _ = pod.requests


def test_the_pods_of_a_list_share_as_well() -> None:
    page = decode_pod_list(msgspec.json.encode({"items": [raw("a", of("1")), raw("b", of("1"))]}))
    assert page.items[0].spec is page.items[1].spec


def test_what_is_like_nothing_else_because_nobody_owns_it_is_not_remembered() -> None:
    one, other = (decoded(name, of("1"), metadata={"name": name, "labels": {"app": "x"}}) for name in "ab")
    assert one.labels == other.labels
    assert one.labels is not other.labels


@pytest.mark.parametrize(("owner", "runs"), [(None, False), ("web", False), (None, True)])
def test_what_no_pod_has_any_more_is_forgotten(owner: str | None, runs: bool) -> None:
    specs = SharedSpecs()

    def pod(number: int) -> Pod:
        owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{owner}-{number}", "uid": f"{number}"}]
        metadata = {"name": f"p{number}", "labels": {"app": f"{number}"}, "ownerReferences": owners if owner else []}
        status = running(f"{number}m") if runs else {}
        decoded_pod = msgspec.convert(raw("p", of(f"{number}m"), metadata=metadata, status=status), Pod)
        return specs.share(decoded_pod, BY_CONTAINER)

    stays = [pod(number) for number in range(4 * MIN_CLEANUP)]
    in_use = len(specs._templates) + len(specs._owners)
    for number in range(4 * MIN_CLEANUP, 20 * MIN_CLEANUP):
        pod(number)
    assert in_use < len(specs._templates) + len(specs._owners) <= in_use * 5 // 4 + 1
    for number, pod_in_use in enumerate(stays):
        again = pod(number)
        assert again.spec is pod_in_use.spec
        assert again.requests is pod_in_use.requests
        assert (again.labels is pod_in_use.labels) == bool(owner)


@pytest.mark.parametrize("place", ["spec", "labels"])
def test_what_is_large_is_forgotten_sooner(place: str) -> None:
    specs, megabyte = SharedSpecs(), "x" * 1_000_000
    for number in range(30):
        spec = {"containers": [{"name": "c", "image": f"{number}{megabyte if place == 'spec' else ''}"}]}
        labels = {"app": f"{number}{megabyte if place == 'labels' else ''}"}
        metadata = {"name": "p", "labels": labels, "ownerReferences": [{"name": "o", "uid": f"{number}"}]}
        specs.share(msgspec.convert(raw("p", spec, metadata=metadata), Pod), BY_CONTAINER)
    assert sum(map(len, [*specs._templates, *specs._owners])) < 4_000_000


def test_what_many_pods_have_is_kept() -> None:
    specs = SharedSpecs()
    pods = [specs.share(msgspec.convert(raw("p", of(f"{number}m")), Pod), BY_CONTAINER) for number in range(3000)]
    for number, pod in enumerate(pods):
        assert specs.share(msgspec.convert(raw("q", of(f"{number}m")), Pod), BY_CONTAINER).spec is pod.spec
