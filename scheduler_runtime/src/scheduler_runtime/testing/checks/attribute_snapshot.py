"""What an object of a plugin keeps in its attributes, so that it can be told whether a hook changed it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler_runtime.api import Plugin

_GIVEN = ("args", "handle")
_MISSING = object()


@dataclass(frozen=True, slots=True)
class AttributeSnapshot:
    """Copies of the attributes of a plugin, of those that equal their copies: of others nothing can be told."""

    copies: Mapping[str, Any]
    untold: frozenset[str]

    @classmethod
    def by(cls, plugin: Plugin) -> AttributeSnapshot:
        """What ``plugin`` keeps now."""
        own = {name: value for name, value in vars(plugin).items() if name not in _GIVEN}
        copies = {name: copied for name, value in own.items() if same(value, copied := _copied(value))}
        return cls(copies, frozenset(own) - copies.keys())

    def changed_in(self, plugin: Plugin) -> str:
        """The name of the first attribute that is another now; empty when none is."""
        for name, value in vars(plugin).items():
            if name not in (*_GIVEN, *self.untold) and not same(value, self.copies.get(name, _MISSING)):
                return name
        return ""


def _copied(value: Any) -> Any:
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - a lock, a file, a client: not what reserving is counted in
        return _MISSING


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, as far as they can be compared."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False
