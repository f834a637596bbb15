"""What brings a rejected pod back: events and hints."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_runtime.api import QUEUE, SKIP, Action, Event, Node, Pod, declaration_of
from scheduler_runtime.scheduling.cluster_events import node_actions
from scheduler_runtime.testing.checks.case import Case
from scheduler_runtime.testing.driver import Asked
from scheduler_runtime.testing.formatting import brief
from scheduler_runtime.testing.plugin_under_test import PluginUnderTest
from scheduler_runtime.testing.recorded_answers import RecordedAnswers
from scheduler_runtime.testing.scenes import Change

_CHANGES = 4
"""So many are tried with each pod that was rejected, because few of them help."""


def events(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """A plugin that rejects declares after which events it is worth asking again."""
    if declaration_of(subject.kind).events:
        return
    asked = case.asked
    gated = subject.has("pre_enqueue") and asked("pre_enqueue", case.pod) is not None
    said = asked.about_pod(case.pod, case.cluster)
    if gated or said.whole or any(said.reasons.values()):
        yield (
            "it rejects, and declares no events: only time brings its pods back, after five minutes; set events = "
            '(ClusterEvent("Node", Action.ADD), …) to what can change its mind'
        )


def hints(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """``hint`` answers QUEUE or SKIP to every event that was registered."""
    if not subject.has("hint"):
        return
    asked, change = case.asked, case.chance.change(case.scene)
    for event in _registered(subject, change):
        answer = asked("hint", event, case.pod)
        if answer not in (QUEUE, SKIP):
            yield f"hint answered {brief(answer)} to {event.action!r} of {event.resource}; answer QUEUE or SKIP"


def waking(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """A change after which a node is no longer rejected is an event, and the hint lets it through."""
    if not (declaration_of(subject.kind).events and subject.has("filter")):
        return
    asked = subject.fresh()
    before = asked.about_pod(case.pod, case.cluster)
    if not any(before.reasons.values()):
        return
    for _ in range(_CHANGES):
        yield from _woken_by(subject, asked, case, before)


def _woken_by(subject: PluginUnderTest, asked: Asked, case: Case, before: RecordedAnswers) -> Iterator[str]:
    change = case.chance.change(case.scene)
    after = subject.fresh().about_pod(case.pod, change.scene.cluster())
    helped = _newly_accepted(before, after)
    if helped and not _woken(subject, asked, change, case.pod):
        told = "its hint says SKIP" if any(_registered(subject, change)) else "its events do not cover that"
        yield (
            f"{change.words}, after which it rejects {helped} no more, but {told}: the pod would wait in vain; "
            "add the event, and let hint say QUEUE to it"
        )


def _newly_accepted(before: RecordedAnswers, after: RecordedAnswers) -> str:
    """A node that is rejected no more, or is there only now; empty when there is none."""
    accepted = (name for name in sorted(after.reasons) if not after.rejects(name))
    return next((name for name in accepted if before.rejects(name) or name not in before.reasons), "")


def _woken(subject: PluginUnderTest, asked: Asked, change: Change, pod: Pod) -> bool:
    registered = list(_registered(subject, change))
    if not subject.has("hint"):
        return bool(registered)
    return any(asked("hint", event, pod) is not SKIP for event in registered)


def _registered(subject: PluginUnderTest, change: Change) -> Iterator[Event]:
    """The events of ``change`` of which the plugin wants to hear."""
    for old, new in change.events:
        event = _event(old, new)
        if any(each.covers(event.resource, event.action) for each in declaration_of(subject.kind).events):
            yield event


def _event(old: Node | Pod | None, new: Node | Pod | None) -> Event:
    resource = "Node" if isinstance(old or new, Node) else "Pod"
    if isinstance(old, Node) and isinstance(new, Node):
        return Event(resource, node_actions(old, new) or Action.UPDATE, old, new)
    return Event(resource, Action.ADD if old is None else Action.DELETE, old, new)
