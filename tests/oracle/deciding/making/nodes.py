"""Made-up nodes."""

from __future__ import annotations

from tests.oracle.deciding.making.dice import Dice, Object
from tests.oracle.deciding.making.themes import Theme
from tests.oracle.deciding.making.words import (
    FEATURES,
    FPGA,
    GPU,
    HOSTNAME,
    HUGE,
    IMAGES,
    LEVELS,
    RACK,
    TAINTS,
    ZONE,
    ZONES,
)


def node(dice: Dice, theme: Theme, number: int) -> Object:
    """A node called after its ``number``."""
    name = f"node-{number}"
    spec: Object = {}
    if dice.chance(theme.tainted):
        spec["taints"] = _taints(dice, theme)
    if dice.chance(theme.unschedulable):
        spec["unschedulable"] = True
    status: Object = {"allocatable": _allocatable(dice, theme), "capacity": {}}
    if dice.chance(theme.images):
        status["images"] = [_image(dice, name) for name in dice.some(tuple(IMAGES), 1, 4)]
    if dice.chance(theme.features):
        status["declaredFeatures"] = sorted(dice.some(FEATURES))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": _labels(dice, theme, name)},
        "spec": spec,
        "status": status,
    }


def _labels(dice: Dice, theme: Theme, name: str) -> Object:
    labels: Object = {}
    if not dice.chance(theme.unlabelled):
        labels[HOSTNAME] = name
    if not dice.chance(theme.unlabelled):
        labels[ZONE] = dice.pick(ZONES)
    if dice.chance(50):
        labels[RACK] = f"r{dice.number(1, 3)}"
    if dice.chance(60):
        labels["disk"] = dice.pick(("ssd", "hdd"))
    if dice.chance(40):
        labels["generation"] = dice.pick(("1", "5", "12", "none"))
    if dice.chance(70):
        labels["pool"] = dice.pick(("batch", "web"))
    return labels


def _taints(dice: Dice, theme: Theme) -> list[Object]:
    taints = (*LEVELS, *TAINTS) if theme.comparing else TAINTS
    return list({(taint["key"], taint["effect"]): taint for taint in dice.some(taints, 1, 3)}.values())


def _allocatable(dice: Dice, theme: Theme) -> Object:
    allocatable = {
        "cpu": dice.pick(("6", "4", "8") if theme.full else ("4", "2", "8", "3500m", "1")),
        "memory": dice.pick(("6Gi", "8Gi", "5Gi") if theme.full else ("4Gi", "8Gi", "2Gi", "3000Mi", "16G")),
        "pods": str(dice.number(1, 6)) if dice.chance(theme.crowded) else "110",
    }
    if dice.chance(60):
        allocatable["ephemeral-storage"] = dice.pick(("20Gi", "5Gi"))
    if dice.chance(theme.devices):
        allocatable[dice.pick((GPU, FPGA))] = str(dice.number(0, 4))
    if dice.chance(theme.devices):
        allocatable[HUGE] = dice.pick(("128Mi", "64Mi"))
    return allocatable


def _image(dice: Dice, name: str) -> Object:
    full = name if ":" in name.rpartition("/")[2] else f"{name}:latest"
    names = [full, f"mirror.example/{full.rpartition('/')[2]}"] if dice.chance(30) else [full]
    return {"names": names, "sizeBytes": IMAGES[name]}
