"""Made-up selectors of nodes and of pods."""

from __future__ import annotations

from tests.oracle.deciding.making.dice import Dice, Object
from tests.oracle.deciding.making.words import APPS, NAMESPACES, RACK, TIERS, ZONE, ZONES

NODE_LABELS = {
    ZONE: ZONES,
    RACK: ("r1", "r2", "r3"),
    "disk": ("ssd", "hdd"),
    "pool": ("batch", "web"),
    "no-such-label": ("x",),
}


def node_requirement(dice: Dice) -> Object:
    """A requirement on a label of a node."""
    if dice.chance(20):
        return {"key": "generation", "operator": dice.pick(("Gt", "Lt")), "values": [dice.pick(("4", "1", "100"))]}
    key = dice.pick((ZONE, "disk", RACK, "pool", "generation", "no-such-label"))
    operator = dice.pick(("In", "NotIn", "Exists", "DoesNotExist"))
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    return {"key": key, "operator": operator, "values": dice.some(NODE_LABELS.get(key, ("1", "5")), 1, 2)}


def node_term(dice: Dice, *, fields: int = 15) -> Object:
    """A term of a node selector."""
    term: Object = {}
    if dice.chance(3):
        return term  # matches nothing
    if dice.chance(90):
        term["matchExpressions"] = [node_requirement(dice) for _ in range(dice.number(1, 2))]
    if dice.chance(fields) or not term:
        operator = dice.pick(("In", "In", "NotIn"))
        name = f"node-{dice.number(0, 9)}"
        term["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [name]}]
    return term


def node_affinity(dice: Dice) -> Object:
    """Required and preferred terms."""
    affinity: Object = {}
    if dice.chance(60):
        terms = [node_term(dice) for _ in range(dice.number(1, 2))]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if dice.chance(60) or not affinity:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": dice.pick((1, 10, 50, 100)), "preference": node_term(dice, fields=5)}
            for _ in range(dice.number(1, 3))
        ]
    return affinity


def pod_labels(dice: Dice) -> Object:
    """Labels of a pod."""
    labels: Object = {}
    if dice.chance(85):
        labels["app"] = dice.pick(APPS)
    if dice.chance(50):
        labels["tier"] = dice.pick(TIERS)
    if dice.chance(25):
        labels["version"] = dice.pick(("1", "2"))
    return labels


def pod_selector(dice: Dice) -> Object:
    """A label selector of pods; now and then one that selects every pod."""
    if dice.chance(8):
        return {}
    if dice.chance(60):
        return {"matchLabels": {"app": dice.pick(APPS)}}
    return {"matchExpressions": [_pod_requirement(dice) for _ in range(dice.number(1, 2))]}


def _pod_requirement(dice: Dice) -> Object:
    key, values = dice.pick((("app", APPS), ("tier", TIERS), ("version", ("1", "2"))))
    operator = dice.pick(("In", "NotIn", "Exists", "DoesNotExist"))
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    return {"key": key, "operator": operator, "values": dice.some(values, 1, 2)}


def namespaces(dice: Dice) -> Object:
    """Which namespaces a term of pod affinity is about: mostly the pod's own."""
    match dice.number(0, 9):
        case 7:
            return {"namespaces": dice.some(tuple(NAMESPACES), 1, 2)}
        case 8:
            by_name = {"kubernetes.io/metadata.name": dice.pick(tuple(NAMESPACES))}
            by_team = {"team": dice.pick(("red", "blue", "green"))}
            return {"namespaceSelector": {"matchLabels": dice.pick((by_team, by_name))}}
        case 9:
            wide: Object = {"namespaceSelector": {}}
            return wide | ({"namespaces": ["beta"]} if dice.chance(30) else {})
        case _:
            return {}
