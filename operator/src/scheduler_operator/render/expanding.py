"""What each profile of a document means, and in a few words how that differs from the default."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from scheduler_operator.resources.text_limits import truncate
from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Declaration, Rule, Target, Version
from scheduler_runtime.config import EffectiveProfile

LONGEST_SUMMARY = 1024


def rules(effective: EffectiveProfile, others: Mapping[str, Declaration]) -> tuple[Rule, ...]:
    """The permissions that the enabled plugins need, of those that are known."""
    known = [(others.get(name) or catalog.find(name), effective.args.get(name)) for name in effective.names]
    return tuple(rule for plugin, args in known if plugin for rule in plugin.rules_for(args))


def unused_arguments(plugin: str, args: Mapping[str, Any], others: Mapping[str, Declaration]) -> str:
    """Why the ``args`` of a known plugin have no effect; empty when it takes arguments, or was given none."""
    declared = others.get(plugin)
    takes = declared.args is not None if declared else plugin in catalog.IN_TREE_ARGS
    return "" if takes or not set(args) - _HEADER else f"{plugin} takes no arguments"


_HEADER = frozenset({"apiVersion", "kind"})
"""What the arguments of upstream's plugins may carry beside their fields."""


def summary(effective: EffectiveProfile, target: Target) -> str:
    """How the plugins differ from the default ones: ``+Added -Removed -Partly(filter) Weighed=5``."""
    before = _usual(target.version, tuple(sorted(target.feature_gates.items())))
    after = _by_plugin(effective)
    words = [word for name in {**after, **before} for word in _words(name, before.get(name, {}), after.get(name, {}))]
    return truncate(" ".join(words) or "default", LONGEST_SUMMARY)


@lru_cache(maxsize=16)
def _usual(version: Version, gates: tuple[tuple[str, bool], ...]) -> dict[str, dict[str, int]]:
    """What a profile that says nothing has, as :func:`_by_plugin`."""
    return _by_plugin(config.default_profile(Target(version, dict(gates))))


def _by_plugin(effective: EffectiveProfile) -> dict[str, dict[str, int]]:
    """The points of each plugin, and its weight there."""
    found: dict[str, dict[str, int]] = {}
    for point, plugins in effective.points.items():
        for plugin in plugins:
            found.setdefault(plugin.name, {})[point] = plugin.weight
    return found


def _words(name: str, before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[str]:
    weight = after.get("score", 0)
    if not after:
        yield f"-{name}"
    elif not before:
        yield f"+{name}={weight}" if weight > 1 else f"+{name}"
    else:
        if gone := [point for point in before if point not in after]:
            yield f"-{name}({','.join(gone)})"
        if added := [point for point in after if point not in before]:
            yield f"+{name}({','.join(added)})"
        if weight and before.get("score", weight) != weight:
            yield f"{name}={weight}"
