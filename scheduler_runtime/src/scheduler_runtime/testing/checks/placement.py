"""Checks of the hooks after the filters: ``post_filter``, ``reserve`` and ``unreserve``, ``permit``, ``pre_bind``."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler_runtime.api import ALLOW, PARALLEL, SERIAL, SKIP, Nomination, Plugin, Reject, Verdicts, Wait
from scheduler_runtime.testing.builders import Cluster
from scheduler_runtime.testing.checks.case import Case, PluginUnderTest
from scheduler_runtime.testing.driver import difference, mask_of
from scheduler_runtime.testing.formatting import brief

_FROM_THE_FRAMEWORK = ("args", "handle")
"""Attributes of a plugin that the framework sets."""
_MISSING = object()


def post_filter(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """``post_filter`` returns one of its answers, and the pods in the table are the same afterwards.

    A pod that it takes off a node for good is one that the scheduler no longer counts there: the node is overcommitted.
    """
    if not plugin.has("post_filter"):
        return
    driver, cluster = plugin.new_driver(), case.cluster
    before = _pods_by_node(cluster)
    with driver.failed_decision(case.pod, cluster) as nodes:
        verdicts = Verdicts(mask_of(nodes, ()), frozenset({plugin.name}))
        answer = driver.run("post_filter", case.pod, nodes, verdicts, {})
    match answer:
        case Nomination():
            # Nobody awaits the work that frees the node: without this, Python warns of a coroutine that never ran.
            if inspect.iscoroutine(answer.work):
                answer.work.close()
        case None | Reject():
            pass
        case _:
            is_iterable = isinstance(answer, Iterable) and not isinstance(answer, str)
            if not is_iterable or not all(isinstance(reason, str) for reason in answer):
                yield f"post_filter answered {brief(answer)}; answer a Nomination, a Reject, a list of reasons, or None"
    if before != _pods_by_node(cluster):
        yield "post_filter changed which pods are in the table; try changes in a with of handle.what_if"


def _pods_by_node(cluster: Cluster) -> Mapping[str, object]:
    table = cluster.table
    return {name: sorted(pod.uid for pod in table.pods(row)) for row, name in enumerate(table.names)}


def reserve(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """``unreserve`` undoes ``reserve`` as far as answers show it, also when it runs twice.

    When a placement fails, it runs for every plugin, also for those whose ``reserve`` did not run.
    """
    if not plugin.has("reserve", "unreserve"):
        return
    driver, cluster, node = plugin.new_driver(), case.cluster, case.random.choice(case.scene.names)
    state = case.state(driver)
    before = driver.record(case.pod, cluster)
    if plugin.has("reserve"):
        answer = driver.run("reserve", case.pod, node, state)
        if answer is not None and not isinstance(answer, Reject):
            yield f"reserve answered {brief(answer)}; answer None to go on, or Reject.pod(reason)"
    if plugin.has("unreserve"):
        driver.run("unreserve", case.pod, node, state)
        driver.run("unreserve", case.pod, node, state)
    if words := difference(before, driver.record(case.pod, cluster)):
        yield (
            f"after reserve and unreserve it answers differently ({words}); unreserve must undo all of reserve, and "
            "nothing when it runs again"
        )


def missing_unreserve(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """A plugin whose ``reserve`` changes an attribute has an ``unreserve``.

    Without it, what is reserved for a pod whose binding fails stays reserved until the scheduler restarts.
    """
    if not plugin.has("reserve") or plugin.has("unreserve"):
        return
    driver = plugin.new_driver()
    state = case.state(driver)
    snapshot = AttributeSnapshot.take(driver.plugin)
    driver.run("reserve", case.pod, case.scene.names[0], state)
    if changed := snapshot.first_change(driver.plugin):
        yield (
            f"reserve changes self.{changed}, and nothing undoes that when the placement is undone; "
            "write unreserve, an empty one if the change is to stay"
        )


def permit(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """``permit`` returns ALLOW, a Reject or a Wait.

    None is no answer, although it is one in other hooks: whoever forgets a return does not let a pod through.
    """
    if not plugin.has("permit"):
        return
    answer = case.driver.run("permit", case.pod, case.scene.names[0], case.state(case.driver))
    if answer is ALLOW or isinstance(answer, Reject):
        return
    if not isinstance(answer, Wait) or answer.timeout_seconds <= 0:
        yield (
            f"permit answered {brief(answer)}; "
            "answer ALLOW, Reject.pod(reason) or Wait(timeout_seconds) with more than 0"
        )


def pre_bind_flight(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """``pre_bind_flight`` returns SKIP, SERIAL or PARALLEL."""
    if not plugin.has("pre_bind_flight"):
        return
    answer = case.driver.run("pre_bind_flight", case.pod, case.scene.names[0], case.state(case.driver))
    if answer not in (SKIP, SERIAL, PARALLEL):
        yield f"pre_bind_flight answered {brief(answer)}; answer SKIP, SERIAL or PARALLEL"


@dataclass(frozen=True, slots=True)
class AttributeSnapshot:
    """Copies of the attributes of a plugin object, to find the one that a hook changed.

    Only attributes that equal their copies are compared. A client, a lock or a file does not: nothing is known of it.
    """

    copies: Mapping[str, Any]
    incomparable: frozenset[str]

    @classmethod
    def take(cls, plugin: Plugin) -> AttributeSnapshot:
        """Copy the attributes of ``plugin`` as they are now."""
        copies: dict[str, Any] = {}
        attributes = {name: value for name, value in vars(plugin).items() if name not in _FROM_THE_FRAMEWORK}
        for name, value in attributes.items():
            with suppress(Exception):  # deepcopy refuses a lock, a file, a client: nothing in which reserving counts.
                if _are_equal(value, copy := deepcopy(value)):
                    copies[name] = copy
        return cls(copies, frozenset(attributes) - copies.keys())

    def first_change(self, plugin: Plugin) -> str:
        """Return the name of the first attribute that is another now; empty when there is none."""
        for name, value in vars(plugin).items():
            is_compared = name not in _FROM_THE_FRAMEWORK and name not in self.incomparable
            if is_compared and not _are_equal(value, self.copies.get(name, _MISSING)):
                return name
        return ""


def _are_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal; False where they cannot be compared."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False
