"""Checks of the hooks around the queue: ``pre_enqueue``, ``sort_key``, and the events and hints that requeue a pod."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_runtime.api import QUEUE, SKIP, Action, Event, Node, QueueEntry, Reject, declaration_of
from scheduler_runtime.scheduling.cluster_updates import node_actions
from scheduler_runtime.testing.checks.case import Case, PluginUnderTest
from scheduler_runtime.testing.formatting import brief
from scheduler_runtime.testing.scenes import SceneChange

_CHANGES_FOR_A_REJECTED_POD = 4
"""Several, because few changes help a pod."""


def pre_enqueue(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """``pre_enqueue`` returns None or a Reject, the same each time.

    It runs each time the pod could become active, so it must not count how often it runs.
    """
    if not plugin.has("pre_enqueue"):
        return
    answer, again = (case.driver.run("pre_enqueue", case.pod) for _ in range(2))
    if answer is not None and not isinstance(answer, Reject):
        yield f"pre_enqueue answered {brief(answer)}; answer None to let the pod in, or Reject.pod(reason)"
    elif answer != again:
        yield "pre_enqueue answers differently when it is asked again; it must not remember pods, nor use chance"


def sort_key(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """Any two keys of ``sort_key`` can be compared, and a pod has the same key each time.

    The queue stores the key with the pod: a key that depends on the clock would be that of another moment.
    """
    if not plugin.has("sort_key"):
        return
    entries = [QueueEntry(case.random_objects.pod(), float(number), number) for number in range(1, 5)]
    keys = [case.driver.run("sort_key", entry) for entry in entries]
    try:
        sorted(keys)
    except TypeError as error:
        yield f"sort_key gives keys that cannot be compared ({error}); give every pod a tuple of the same types"
        return
    if keys != [case.driver.run("sort_key", entry) for entry in entries]:
        yield "sort_key gives a pod another key when it is asked again; it must not use clock or chance"


def events(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """A plugin that rejects pods declares the events after which they are worth another attempt.

    A rejected pod waits for such an event; without any it waits until the scheduler tries old pods again.
    """
    if declaration_of(plugin.kind).events:
        return
    driver = case.driver
    rejects = plugin.has("pre_enqueue") and driver.run("pre_enqueue", case.pod) is not None
    answers = driver.record(case.pod, case.cluster)
    if rejects or answers.pod_rejection or any(answers.reasons.values()):
        yield (
            "it rejects, and declares no events: only time brings its pods back, after five minutes; set events = "
            '(ClusterEvent("Node", Action.ADD), …) to what can change its answer'
        )


def hints(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """``hint`` returns QUEUE or SKIP for every event that the plugin declares.

    True and False are refused: neither of them shows a reader whether the pod waits on.
    """
    if not plugin.has("hint"):
        return
    change = case.random_objects.change(case.scene)
    for event in _declared_events(plugin, change):
        answer = case.driver.run("hint", event, case.pod)
        if answer not in (QUEUE, SKIP):
            yield f"hint answered {brief(answer)} to {event.action!r} of {event.resource}; answer QUEUE or SKIP"


def requeueing(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """A change after which a node is no longer rejected is a declared event, and the hint answers QUEUE to it.

    The other way round is no breach: an attempt in vain costs time, a pod that nobody tries again costs the pod.
    """
    if not (declaration_of(plugin.kind).events and plugin.has("filter")):
        return
    driver = plugin.new_driver()
    before = driver.record(case.pod, case.cluster)
    if not any(before.reasons.values()):
        return
    for _ in range(_CHANGES_FOR_A_REJECTED_POD):
        change = case.random_objects.change(case.scene)
        after = plugin.new_driver().record(case.pod, change.scene.cluster())
        accepted = [name for name in sorted(after.reasons) if not after.rejects(name)]
        # A node that the pod now fits: it was rejected before, or is new.
        helped = next((name for name in accepted if before.rejects(name) or name not in before.reasons), "")
        if not helped:
            continue
        declared = list(_declared_events(plugin, change))
        if plugin.has("hint"):
            is_requeued = any(driver.run("hint", event, case.pod) is not SKIP for event in declared)
        else:
            is_requeued = bool(declared)
        if not is_requeued:
            cause = "its hint answers SKIP" if declared else "its events do not cover that"
            yield (
                f"{change.words}, after which it no longer rejects {helped}, but {cause}: the pod would wait in vain; "
                "add the event, and let hint answer QUEUE to it"
            )


def _declared_events(plugin: PluginUnderTest, change: SceneChange) -> Iterator[Event]:
    """Return the events of ``change`` that the plugin declares, as the scheduler would make them."""
    for old, new in change.events:
        resource = "Node" if isinstance(old or new, Node) else "Pod"
        if isinstance(old, Node) and isinstance(new, Node):
            event = Event(resource, node_actions(old, new) or Action.UPDATE, old, new)
        else:
            event = Event(resource, Action.ADD if old is None else Action.DELETE, old, new)
        if any(declared.covers(event.resource, event.action) for declared in declaration_of(plugin.kind).events):
            yield event
