"""Resource requests of generated pods."""

from __future__ import annotations

from dataclasses import replace

from tests.oracle.deciding.making.dice import Dice, Object
from tests.oracle.deciding.making.themes import Theme
from tests.oracle.deciding.making.words import FPGA, GPU, HUGE, IMAGES

SMALL = {"cpu": ("100m", "250m", "50m"), "memory": ("64Mi", "200Mi", "100M")}
LARGE = {"cpu": ("1", "2", "1500m", "500m", "3"), "memory": ("1Gi", "2Gi", "512Mi", "1500M")}
HUGE_PAGES = {"requests": {HUGE: "32Mi", "memory": "64Mi", "cpu": "1m"}, "limits": {HUGE: "32Mi"}}


def resources(dice: Dice, theme: Theme) -> Object:
    """The resources of a container; often none at all."""
    amounts = LARGE if dice.chance(theme.demanding) else SMALL
    requests: Object = {
        name: dice.pick(amounts[name]) for name in dice.some(("cpu", "memory"), 2 if theme.full else 0, 2)
    }
    if dice.chance(4):
        requests["ephemeral-storage"] = dice.pick(("1Gi", "6Gi", "30Gi"))
    limits: Object = {}
    if dice.chance(theme.devices // 2):
        device = dice.pick((GPU, FPGA))
        requests[device] = limits[device] = dice.pick(("1", "2", "3"))
    if requests and dice.chance(15):
        requests |= {name: "0" for name in ("cpu",) if dice.chance(30)}
        limits |= requests
    return {key: value for key, value in (("requests", requests), ("limits", limits)) if value}


def container(dice: Dice, theme: Theme, name: str) -> Object:
    """A container."""
    new: Object = {"name": name, "image": dice.pick(tuple(IMAGES)), "resources": resources(dice, theme)}
    if dice.chance(theme.devices // 8):
        new["resources"] = HUGE_PAGES
    return new


def containers(dice: Dice, theme: Theme) -> Object:
    """The containers of a pod, and what else its requests follow from."""
    unusual = dice.chance(theme.unusual)
    with_level = unusual and dice.chance(30)
    if with_level:  # The sum of the containers' may not be more.
        theme = replace(theme, demanding=0, devices=0)
    spec: Object = {"containers": [container(dice, theme, f"c{n}") for n in range(dice.pick((1, 1, 2)))]}
    if not unusual:
        return spec
    if dice.chance(60):
        spec["initContainers"] = [_init(dice, theme, n) for n in range(dice.number(1, 2))]
    if dice.chance(25):
        spec["overhead"] = {"cpu": "100m", "memory": "32Mi"}
    if with_level:
        spec["resources"] = {"requests": {"cpu": "4", "memory": dice.pick(("6Gi", "7Gi"))}}
    return spec


def _init(dice: Dice, theme: Theme, number: int) -> Object:
    new = container(dice, theme, f"i{number}")
    return new | ({"restartPolicy": "Always"} if dice.chance(50) else {})


def resized(dice: Dice, spec: Object) -> Object:
    """The status of a pod that is resized in place: it has or was given more or less than its spec says."""
    status: Object = {"containerStatuses": [_resized(dice, container) for container in spec["containers"]]}
    if dice.chance(30):
        reason = dice.pick(("Infeasible", "Deferred"))
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    if "resources" in spec and dice.chance(60):
        status["resources"] = {"requests": {"cpu": dice.pick(("5", "2")), "memory": "6500Mi"}}
        if dice.chance(70):
            status["allocatedResources"] = {"cpu": "3", "memory": dice.pick(("5Gi", "7500Mi"))}
    return status


def _resized(dice: Dice, container: Object) -> Object:
    status: Object = {"name": container["name"], "image": container["image"], "imageID": ""}
    status |= {"ready": True, "restartCount": 0}
    if dice.chance(80):
        status["resources"] = {"requests": {"cpu": dice.pick(("2", "10m")), "memory": "1Gi"}}
    if dice.chance(80):
        status["allocatedResources"] = {"cpu": dice.pick(("1", "3")), "memory": "700Mi"}
    return status
