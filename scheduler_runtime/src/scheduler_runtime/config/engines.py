"""What runs by a document: upstream's kube-scheduler, or Berth's own scheduler, which has fewer plugins."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Literal

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration

Engine = Literal["Python", "KubeScheduler", "UpstreamImage"]
"""``UpstreamImage`` is a kube-scheduler as upstream ships it; ``KubeScheduler`` may be one with more plugins."""


def missing_plugins(engine: Engine, plugins: Iterable[str], declared: Container[str] = ()) -> tuple[str, ...]:
    """Those of ``plugins`` that ``engine`` does not have, once each and in their order.

    A kube-scheduler lacks none of Kubernetes. ``declared`` are the plugins that do not come with the engine: whether
    somebody brings them to it is not asked here.
    """
    if engine != "Python":
        return ()
    return tuple(name for name in dict.fromkeys(plugins) if catalog.find(name) is None and name not in declared)


def python_only_plugins(engine: Engine, plugins: Iterable[str], declared: Mapping[str, Declaration]) -> tuple[str, ...]:
    """Those of ``plugins`` for which ``engine`` does not even start, once each and in their order.

    They are the ones in Python, when a kube-scheduler is to run them.
    """
    if engine == "Python":
        return ()
    return tuple(name for name in dict.fromkeys(plugins) if name in declared and declared[name].python_only)
