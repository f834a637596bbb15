"""Requests of pods that are resized in place, against each version's sums written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scheduler_runtime.catalog import Target
from scheduler_runtime.state.objects import Pod, ResizeRules, decode_pod, decode_pod_list

Amounts = dict[str, int]
STATUSES = ("containerStatuses", "initContainerStatuses", "resources", "allocatedResources")
V1_35, V1_36, V1_37 = (ResizeRules.of(Target.parse(version)) for version in ("1.35", "1.36", "1.37"))

CPU = st.integers(0, 4).map(str)
LISTS = st.one_of(st.none(), st.fixed_dictionaries({"cpu": CPU}, optional={"memory": CPU}))
HAS = st.fixed_dictionaries({}, optional={"resources": st.builds(lambda one: {"requests": one} if one else {}, LISTS)})


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """Pods of up to four containers, each of which may have a status that says other than its spec."""
    spec: dict[str, Any] = {"containers": [], "initContainers": []}
    status: dict[str, Any] = {"containerStatuses": [], "initContainerStatuses": []}
    for number in range(draw(st.integers(1, 4))):
        place = draw(st.sampled_from(["containers", "initContainers"]))
        container = {"name": f"c{number}", "resources": {"requests": draw(LISTS)}}
        if place == "initContainers" and draw(st.booleans()):
            container["restartPolicy"] = "Always"
        spec[place].append(container)
        if draw(st.booleans()):
            kind = "containerStatuses" if place == "containers" else "initContainerStatuses"
            status[kind].append({"name": f"c{number}", "allocatedResources": draw(LISTS), **draw(HAS)})
    if draw(st.booleans()):
        spec["resources"] = {"requests": draw(LISTS)}
    if draw(st.booleans()):
        status |= {"allocatedResources": draw(LISTS), **draw(HAS)}
    if draw(st.booleans()):
        reason = draw(st.sampled_from(["Infeasible", "Deferred"]))
        status["conditions"] = [{"type": "PodResizePending", "reason": reason}]
    return {"metadata": {"name": "p", "uid": "u"}, "spec": spec, "status": status}


def numbers(amounts: dict[str, str] | None) -> Amounts:
    return {name: int(text) for name, text in (amounts or {}).items()}


def largest(*several: Amounts) -> Amounts:
    return {name: max(one.get(name, 0) for one in several) for one in several for name in one}


def plus(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def summed(pod: dict[str, Any], takes: Callable[[dict[str, Any], dict[str, Any] | None], Amounts]) -> Amounts:
    """The containers that run together, or the largest moment before they do."""
    statuses = {
        one["name"]: one for kind in ("containerStatuses", "initContainerStatuses") for one in pod["status"][kind]
    }
    together: Amounts = {}
    sidecars: Amounts = {}
    moments: Amounts = {}
    for container in pod["spec"]["containers"]:
        together = plus(together, takes(container, statuses.get(container["name"])))
    for container in pod["spec"]["initContainers"]:
        amounts = takes(container, statuses.get(container["name"]))
        moment = plus(sidecars, amounts)
        if "restartPolicy" in container:
            together, sidecars = plus(together, amounts), moment
        moments = largest(moments, moment)
    return largest(together, moments)


def requested(container: dict[str, Any], _: dict[str, Any] | None = None) -> Amounts:
    return numbers(container["resources"]["requests"])


def before_1_37(pod: dict[str, Any], infeasible: bool, pod_level: bool) -> Amounts:
    def takes(container: dict[str, Any], status: dict[str, Any] | None) -> Amounts:
        ends = "restartPolicy" not in container and container in pod["spec"]["initContainers"]
        if ends or status is None or "resources" not in status:
            return requested(container)
        has = numbers(status["resources"].get("requests")), numbers(status["allocatedResources"])
        return largest(*has) if infeasible else largest(requested(container), *has)

    total, level = summed(pod, takes), numbers((pod["spec"].get("resources") or {}).get("requests"))
    if level and pod_level and "resources" in pod["status"]:
        has = numbers(pod["status"]["resources"].get("requests")), numbers(pod["status"]["allocatedResources"])
        effective = largest(*has) if infeasible else largest(level, *has)
        level = {name: effective.get(name, 0) for name in level}
    return {**total, **level}


def since_1_37(pod: dict[str, Any], infeasible: bool) -> Amounts:
    def allocated(container: dict[str, Any], status: dict[str, Any] | None) -> Amounts:
        if status and status["allocatedResources"] is not None:
            return numbers(status["allocatedResources"])
        return {} if infeasible else requested(container)

    def there(container: dict[str, Any], status: dict[str, Any] | None) -> Amounts:
        has = numbers((status or {}).get("resources", {}).get("requests"))
        return has or allocated(container, status)

    status = pod["status"]
    of_pod = (status.get("resources") or {}).get("requests"), status.get("allocatedResources")
    sums = [summed(pod, allocated), summed(pod, there)] if None in of_pod else [numbers(one) for one in of_pod]
    total, level = (
        largest(*([] if infeasible else [summed(pod, requested)]), *sums),
        numbers((pod["spec"].get("resources") or {}).get("requests")),
    )
    if level and "resources" in status:
        level = largest(*([] if infeasible else [level]), *(numbers(one) for one in of_pod))
    return {**total, **level}


@settings(max_examples=150, deadline=None)
@given(pods())
def test_each_version_adds_up_as_it_does(raw_pod: dict[str, Any]) -> None:
    infeasible = raw_pod["status"].get("conditions", [{}])[0].get("reason") == "Infeasible"
    raw = msgspec.json.encode(raw_pod)

    def amounts_by(rules: ResizeRules) -> Amounts:
        amounts = decode_pod(raw, rules).requests.amounts
        return {name: amount // 1000 if name == "cpu" else amount for name, amount in amounts.items()}

    has_status = any(raw_pod["status"].get(name) for name in STATUSES)
    assume(has_status or not infeasible)  # 1.37 then counts nothing, though nothing says that it has nothing.
    assert amounts_by(V1_35) == before_1_37(raw_pod, infeasible, pod_level=False)
    assert amounts_by(V1_36) == before_1_37(raw_pod, infeasible, pod_level=True)
    assert amounts_by(V1_37) == since_1_37(raw_pod, infeasible)


TWO = {
    "metadata": {"name": "p", "uid": "u"},
    "spec": {
        "containers": [
            {"name": "a", "resources": {"requests": {"cpu": "3"}}},
            {"name": "b", "resources": {"requests": {"cpu": "1"}}},
        ]
    },
    "status": {
        "containerStatuses": [
            {"name": "a", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}},
            {"name": "b", "allocatedResources": {"cpu": "3"}, "resources": {"requests": {"cpu": "3"}}},
        ]
    },
}


@pytest.mark.parametrize(("resizing", "cpu"), [(V1_36, 6000), (V1_37, 4000)])
def test_containers_that_trade_what_they_have_count_twice_before_1_37(resizing: ResizeRules, cpu: int) -> None:
    assert decode_pod_list(msgspec.json.encode({"items": [TWO]}), resizing).items[0].requests.amounts == {"cpu": cpu}


def test_what_a_waiting_pod_counts_for_in_scores_is_what_it_asks_for() -> None:
    assert decode_pod(msgspec.json.encode(TWO), V1_36).requests.pending["cpu"] == 4000


def test_a_status_that_cannot_be_read_is_told_to_who_asks() -> None:
    broken = {**TWO, "status": {"containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "lots"}}}]}}
    pod: Pod = decode_pod(msgspec.json.encode(broken), V1_37)
    with pytest.raises(ValueError, match=r"status.containerStatuses\[a\].resources.requests\[cpu\]: 'lots' is not"):
        _ = pod.requests
