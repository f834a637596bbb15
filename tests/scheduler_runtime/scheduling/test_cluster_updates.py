"""Effects of cluster changes on the cache and on waiting pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import force_setattr, replace

from scheduler_runtime.api import Action, ClusterEvent, Event, Watch
from scheduler_runtime.framework import PodWithoutNode
from scheduler_runtime.kube.watch import Change
from scheduler_runtime.scheduling.cluster_updates import ClusterUpdates
from scheduler_runtime.scheduling.pending import QueuedPod, QueuePlace, SchedulingQueue
from scheduler_runtime.scheduling.watched_objects import WatchRevisions
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.objects import Container, Node, Pod, ResourceRequirements
from scheduler_runtime.testing import node, pod

PODS = Watch("v1", "Pod")


@dataclass
class Profile:
    """One plugin that hears of everything and keeps what it heard."""

    received: list[Event] = field(default_factory=list)

    @property
    def queue(self) -> Profile:
        return self

    def pre_enqueue(self, pod: Pod) -> None:
        return None

    def sort_key(self, entry: Any) -> float:
        return float(entry.added_at)

    @property
    def events(self) -> Mapping[str, Iterable[ClusterEvent]]:
        return {"All": (ClusterEvent("*", Action.ALL),)}

    def hint(self, plugin: str, event: Any, pod: Pod) -> bool:
        self.received.append(event)
        return True

    def invalidate_for(self, resource: str) -> None:
        """Nothing is remembered here that a change could make wrong."""


@dataclass
class Underway:
    """The pods whose binding is under way, and those that were no longer to wait for a permit."""

    uids: set[str] = field(default_factory=set)
    stopped: list[str] = field(default_factory=list)

    def __contains__(self, uid: object) -> bool:
        return uid in self.uids

    def stop_waiting(self, pod: Pod) -> None:
        self.stopped.append(pod.name)


@dataclass
class Reporter:
    """The pods about whose waiting nothing was to be written any more."""

    withdrawn: list[str] = field(default_factory=list)
    waiting: list[tuple[str, str, str]] = field(default_factory=list)
    """The pods about whose waiting something was written, with the reason and the message."""

    def withdraw(self, uid: str) -> None:
        self.withdrawn.append(uid)

    def write_unscheduled(self, pod: Pod, reason: str, message: str) -> None:
        self.waiting.append((pod.name, reason, message))


class Updated:
    """The updates, and everything behind them. One pod is parked, so that events have somebody to wake."""

    def __init__(self) -> None:
        self.profile = Profile()
        self.cache = Cache()
        self.queue = SchedulingQueue({"ours": self.profile})
        self.nominations = Nominations()
        self.underway = Underway()
        self.reporter = Reporter()
        self.revisions = WatchRevisions()
        self.updates = ClusterUpdates(
            self.cache,
            self.queue,
            self.nominations,
            {"ours": self.profile},
            self.underway,
            self.reporter,
            self.revisions,
            clock=lambda: 0.0,
        )
        self.queue.add(ours("parked"), "ours", -100)
        self.park()

    def park(self) -> None:
        self.queue.activate(["uid-of-parked"], -100)
        while entry := self.queue.take(-100):
            self.queue.park(entry.uid, ["All"], -100)

    def see(self, old: Pod | None, new: Pod | None) -> None:
        self.updates.pod(Change(old, new))

    def see_node(self, old: Node | None, new: Node | None) -> None:
        self.updates.node(Change(old, new))

    @property
    def happened(self) -> list[tuple[str, Action]]:
        return [(event.resource, event.action) for event in self.profile.received]

    def entry(self, name: str) -> QueuedPod | None:
        return next((entry for entry in self.queue.entries() if entry.pod.name == name), None)


def ours(name: str = "a", **spec: Any) -> Pod:
    return pod(name, {"cpu": "1"}, schedulerName="ours", **spec)


def on(node_name: str, one: Pod) -> Pod:
    return replace(one, spec=replace(one.spec, node_name=node_name))


@pytest.fixture
def there() -> Updated:
    return Updated()


def test_an_unbound_pod_of_ours_waits_and_wakes_nobody(there: Updated) -> None:
    there.see(None, ours())
    entry = there.entry("a")
    assert entry is not None
    assert entry.place is QueuePlace.ACTIVE
    assert there.happened == []


def test_an_unbound_pod_of_another_scheduler_is_none_of_our_business(there: Updated) -> None:
    there.see(None, pod("b", {"cpu": "1"}))
    assert (there.entry("b"), len(there.cache), there.happened) == (None, 0, [])


def test_a_bound_pod_of_another_scheduler_counts_on_its_node(there: Updated) -> None:
    there.see_node(None, node("n"))
    there.see(None, on("n", pod("b", {"cpu": "1"})))
    assert int(there.cache.table.requested("cpu")[0]) == 1000


def test_a_pod_bound_by_anybody_leaves_the_queue_and_confirms(there: Updated) -> None:
    there.see(None, ours())
    there.cache.assume(ours(), "n")
    there.see(ours(), on("n", ours()))
    assert there.entry("a") is None
    assert not there.cache.is_assumed("uid-of-a")
    assert there.reporter.withdrawn == ["uid-of-a"]
    assert there.happened == [("Pod", Action.ADD)]


def test_a_pod_that_ends_gives_back_its_room_and_wakes_the_others(there: Updated) -> None:
    there.see(None, on("n", ours()))
    there.park()
    there.profile.received.clear()
    there.see(on("n", ours()), None)
    assert (len(there.cache), there.underway.stopped) == (0, ["a"])
    assert there.happened == [("Pod", Action.DELETE)]
    parked = there.entry("parked")
    assert parked is not None
    assert parked.place is QueuePlace.ACTIVE


def test_an_assumed_pod_that_is_deleted_gives_back_its_room_at_once(there: Updated) -> None:
    there.see(None, ours())
    there.cache.assume(ours(), "n")
    there.see(ours(), None)
    assert (len(there.cache), there.entry("a"), there.underway.stopped) == (0, None, ["a"])
    assert there.reporter.withdrawn == ["uid-of-a"]
    assert there.happened == [("Pod", Action.DELETE)]
    (event,) = there.profile.received
    assert isinstance(event.old, Pod)
    assert event.old.spec.node_name == "n"


def test_an_assumed_pod_that_begins_to_end_gives_back_its_room_at_once(there: Updated) -> None:
    there.see_node(None, node("n"))
    there.see(None, ours())
    there.cache.assume(ours(), "n")
    there.profile.received.clear()
    there.park()
    ending = replace(ours(), metadata=replace(ours().metadata, deletion_timestamp="2026-01-01T00:00:00Z"))
    there.see(ours(), ending)
    assert (there.underway.stopped, there.entry("a"), len(there.cache)) == (["a"], None, 0)
    assert there.happened == [("Pod", Action.DELETE)]
    there.see(ending, None)
    assert (there.entry("a"), there.happened) == (None, [("Pod", Action.DELETE)])


def test_a_pod_that_an_older_state_shows_without_its_node_waits_again(there: Updated) -> None:
    there.see(None, on("n", ours()))
    there.park()
    there.profile.received.clear()
    there.see(on("n", ours()), ours())
    entry = there.entry("a")
    assert entry is not None
    assert (entry.place, len(there.cache)) == (QueuePlace.ACTIVE, 0)
    assert there.happened == [("Pod", Action.DELETE)]


@pytest.mark.parametrize(
    ("versions", "carried", "waits_again"),
    [
        pytest.param(("7", "7"), False, True, id="told-anew-after-its-binding"),
        pytest.param(("7", "5"), False, True, id="older-than-before"),
        pytest.param(("7", "7"), True, False, id="its-binding-is-under-way"),
        pytest.param(("7", "8"), False, False, id="news-from-before-its-binding"),
    ],
)
def test_an_assumed_pod_whose_binding_was_forgotten_waits_again(
    there: Updated, versions: tuple[str, str], carried: bool, waits_again: bool
) -> None:
    before, after = (
        replace(ours(), metadata=replace(ours().metadata, resource_version=version)) for version in versions
    )
    there.see(None, before)
    there.queue.take(0.0)
    there.cache.assume(before, "n1")
    there.queue.mark_binding(before.uid)
    if carried:
        there.underway.uids.add(before.uid)
    there.see(before, after)
    entry = there.entry("a")
    assert entry is not None
    assert (entry.place is QueuePlace.ACTIVE, there.cache.is_assumed(before.uid)) == (waits_again, not waits_again)


def test_a_pod_of_another_scheduler_that_loses_its_node_counts_there_no_more(there: Updated) -> None:
    other = pod("b", {"cpu": "1"})
    there.see(None, on("n", other))
    there.see(on("n", other), other)
    assert (len(there.cache), there.entry("b")) == (0, None)


def test_a_waiting_pod_that_is_deleted_wakes_nobody(there: Updated) -> None:
    there.see(None, ours())
    there.see(ours(), None)
    assert (there.entry("a"), there.happened) == (None, [])


def test_a_pod_created_again_under_its_name_is_another_pod(there: Updated) -> None:
    again = replace(ours(), metadata=replace(ours().metadata, uid="second"))
    there.see(None, on("n", ours()))
    there.see(on("n", ours()), None)
    there.see(None, again)
    entry = there.entry("a")
    assert entry is not None
    assert (entry.uid, entry.attempts, len(there.cache)) == ("second", 0, 0)


def test_a_pod_that_is_being_deleted_does_not_come_to_wait(there: Updated) -> None:
    leaving = replace(ours(), metadata=replace(ours().metadata, deletion_timestamp="2026-01-01T00:00:00Z"))
    there.see(None, leaving)
    assert there.entry("a") is None


def test_a_change_of_a_waiting_pod_is_an_event_for_its_own_plugins(there: Updated) -> None:
    parked = ours("parked")
    tolerant = ours("parked", tolerations=[{"operator": "Exists"}])
    there.see(parked, tolerant)
    assert there.happened == [("Pod", Action.UPDATE_POD_TOLERATION)]
    entry = there.entry("parked")
    assert entry is not None
    assert (entry.place, entry.pod) == (QueuePlace.ACTIVE, tolerant)


def test_a_change_that_matters_to_nobody_wakes_nobody(there: Updated) -> None:
    there.see_node(None, node("n"))
    there.park()
    there.profile.received.clear()
    there.see_node(node("n"), node("n"))
    there.see(ours("parked"), ours("parked"))
    assert there.happened == []


def test_any_other_change_is_an_event_for_who_registered_every_change(there: Updated) -> None:
    gated = ours("parked", schedulingGates=[{"name": "wait"}])
    there.see(ours("parked"), gated)
    there.see(None, on("n", ours()))
    there.park()
    there.see(on("n", ours()), on("n", ours()))
    assert there.happened == [("Pod", Action.UPDATE), ("Pod", Action.UPDATE)]


def test_a_removed_node_is_no_row_any_more(there: Updated) -> None:
    there.see_node(None, node("n"))
    there.park()
    there.see_node(node("n"), None)
    assert (len(there.cache.table), there.happened) == (0, [("Node", Action.ADD), ("Node", Action.DELETE)])


def nominated(node_name: str, one: Pod) -> Pod:
    return replace(one, status=replace(one.status, nominated_node_name=node_name))


def test_a_nomination_in_a_status_lasts_until_the_pod_is_bound_or_deleted(there: Updated) -> None:
    there.see(None, nominated("n", ours()))
    there.see(None, nominated("n", ours("b")))
    assert [one.name for one in there.nominations.nominated_to("n")] == ["a", "b"]
    there.see(nominated("n", ours()), on("n", ours()))
    there.see(nominated("n", ours("b")), None)
    assert not there.nominations


def test_nominations_of_other_schedulers_are_none_of_our_business(there: Updated) -> None:
    there.see(None, nominated("n", pod("b", {"cpu": "1"})))
    assert not there.nominations


@pytest.mark.parametrize("afterwards", ["other", "", None])
def test_room_that_is_free_again_wakes_those_it_was_reserved_from(there: Updated, afterwards: str | None) -> None:
    before = nominated("n", ours(priority=-1))
    there.see(None, before)
    there.see(before, None if afterwards is None else nominated(afterwards, before))
    assert there.happened == []  # who waits is more important
    before = nominated("n", ours("b", priority=1))
    there.see(None, before)
    there.see(before, None if afterwards is None else nominated(afterwards, before))
    assert there.happened == [("Pod", Action.DELETE)]


def test_a_pod_on_its_way_to_a_node_is_not_nominated_by_old_news(there: Updated) -> None:
    there.see(None, ours())
    there.cache.assume(ours(), "n")
    there.see(ours(), nominated("n", ours()))
    assert not there.nominations


def test_room_is_not_reserved_for_a_pod_that_went_before_its_status_named_the_node(there: Updated) -> None:
    one = ours("b", priority=1)
    there.see(None, one)
    there.nominations.nominate(one, "n")
    there.see(one, None)
    (event,) = there.profile.received
    assert (event.action, event.old.status.nominated_node_name) == (Action.DELETE, "n")


def test_who_watches_pods_hears_of_those_without_a_node_too(there: Updated) -> None:
    there.revisions.add(PODS)
    relabelled = pod("b", {"cpu": "1"}, labels={"job": "x"})
    for old, new in [(None, pod("b", {"cpu": "1"})), (pod("b", {"cpu": "1"}), relabelled), (relabelled, None)]:
        there.see(old, new)
        there.park()
    assert there.happened == [("Pod", Action.ADD), ("Pod", Action.UPDATE_POD_LABEL), ("Pod", Action.DELETE)]
    assert all(isinstance(event, PodWithoutNode) for event in there.profile.received)


def test_a_change_of_the_status_of_a_waiting_pod_is_no_event_for_who_watches_pods(there: Updated) -> None:
    there.revisions.add(PODS)
    rewritten = replace(nominated("n", ours("b")), metadata=replace(ours("b").metadata, resource_version="9"))
    there.see(ours("b"), rewritten)
    assert there.happened == []


def test_a_change_of_a_waiting_pod_is_one_event_for_its_own_plugins_that_watch_pods(there: Updated) -> None:
    there.revisions.add(PODS)
    gated = ours("parked", schedulingGates=[{"name": "wait"}])
    there.see(ours("parked"), gated)
    assert there.happened == [("Pod", Action.UPDATE)]


def test_an_annotation_of_a_waiting_pod_is_an_event_for_its_own_plugins_that_watch_pods(there: Updated) -> None:
    there.revisions.add(PODS)
    noted = replace(ours("parked"), metadata=replace(ours("parked").metadata, annotations={"size": "3"}))
    there.see(ours("parked"), noted)
    assert there.happened == [("Pod", Action.UPDATE)]


def test_a_pod_that_gives_back_its_room_goes_only_once_for_who_watches_pods(there: Updated) -> None:
    there.revisions.add(PODS)
    there.see_node(None, node("n"))
    there.see(None, ours())
    there.cache.assume(ours(), "n")
    there.park()
    there.profile.received.clear()
    there.see(ours(), None)
    assert there.happened == [("Pod", Action.DELETE)]


@pytest.mark.parametrize("priority", [0, 100])
def test_a_pod_that_goes_while_room_is_reserved_for_it_is_one_event_for_pods_of_any_priority(priority: int) -> None:
    there = Updated()
    there.revisions.add(PODS)
    there.see(ours("parked"), ours("parked", priority=priority))
    waiting = nominated("n", ours())
    there.see(None, waiting)
    there.park()
    there.profile.received.clear()
    there.see(waiting, None)
    assert there.happened == [("Pod", Action.DELETE)]


def test_a_pod_that_becomes_ours_is_no_event(there: Updated) -> None:
    there.revisions.add(PODS)
    there.updates.change_profiles((), {"ours"}, [ours()])
    assert (there.entry("a") is not None, there.happened) == (True, [])


class Poison(dict[str, Any]):
    """A map that can be decoded, and that raises when something is looked up in it."""

    def _raise(self, *_: Any) -> Any:
        raise RecursionError("poison")

    get = items = _raise


def poisoned(name: str, **spec: Any) -> Pod:
    """A pod whose requests raise something else than a QuantityError."""
    one = ours(name, **spec)
    containers = (Container("c", resources=ResourceRequirements(requests=Poison(cpu="1"))),)
    return replace(one, spec=replace(one.spec, containers=containers), derived=None)


def test_a_pod_on_a_node_that_cannot_be_taken_in_counts_as_one_pod_until_its_next_version(there: Updated) -> None:
    there.see_node(None, node("n"))
    before = there.cache.table.requested("cpu").tolist()
    with pytest.raises(RecursionError):
        there.see(None, on("n", poisoned("a")))
    assert there.cache.table.pod_counts.tolist() == [1]
    assert there.cache.table.requested("cpu").tolist() == before
    there.see(on("n", poisoned("a")), on("n", ours("a")))
    assert there.cache.table.requested("cpu").tolist() == [1000]
    there.see(on("n", ours("a")), None)
    assert (there.cache.table.pod_counts.tolist(), len(there.cache)) == ([0], 0)


def test_a_pod_on_a_node_whose_next_version_cannot_be_taken_in_is_counted_once(there: Updated) -> None:
    there.see_node(None, node("n"))
    there.see(None, on("n", ours("a")))
    with pytest.raises(RecursionError):
        there.see(on("n", ours("a")), on("n", poisoned("a")))
    assert (there.cache.table.pod_counts.tolist(), len(there.cache)) == ([1], 1)
    there.see(on("n", poisoned("a")), None)
    assert (there.cache.table.pod_counts.tolist(), len(there.cache)) == ([0], 0)
    assert there.cache.table.requested("cpu").tolist() == [0]


def test_a_pod_whose_deletion_cannot_be_taken_in_is_whole_and_not_remembered(
    there: Updated, monkeypatch: pytest.MonkeyPatch
) -> None:
    there.see_node(None, node("n"))
    with pytest.raises(RecursionError):
        there.see(None, on("n", poisoned("a")))
    with monkeypatch.context() as patched:
        patched.setattr("scheduler_runtime.state.table.table.host_ports", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            there.see(on("n", poisoned("a")), None)
    assert not there.updates._pods_set_aside
    assert (there.cache.table.pod_counts.tolist(), len(there.cache)) == ([1], 1)
    there.see(on("n", poisoned("a")), None)
    assert (there.cache.table.pod_counts.tolist(), len(there.cache)) == ([0], 0)


def test_a_pod_whose_affinity_cannot_be_taken_in_still_takes_what_it_requests(there: Updated) -> None:
    there.see_node(None, node("n"))
    bad = on("n", ours("a", affinity={"podAffinity": {}}))
    force_setattr(bad, "terms", Poison())
    with pytest.raises(RecursionError):
        there.see(None, bad)
    assert there.cache.table.requested("cpu").tolist() == [1000]


def test_a_waiting_pod_that_cannot_be_taken_in_says_so_and_waits_when_it_can(
    there: Updated, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(there.profile, "pre_enqueue", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            there.see(None, ours())
    assert there.entry("a") is None
    assert there.reporter.waiting == [
        ("a", "SchedulerError", "this version of the pod cannot be taken in: ZeroDivisionError: division by zero")
    ]
    there.see(ours(), ours())
    entry = there.entry("a")
    assert entry is not None
    assert entry.place is QueuePlace.ACTIVE


def test_no_pod_is_placed_on_a_node_that_cannot_be_taken_in(there: Updated) -> None:
    def bad(one: Node) -> Node:
        return replace(one, status=replace(one.status, allocatable=Poison(cpu="1")))

    there.see_node(None, node("n"))
    there.see_node(None, node("other"))
    there.see(None, on("n", ours("a")))
    with pytest.raises(RecursionError):
        there.see_node(node("n"), bad(node("n")))
    assert there.cache.table.names == ["other"]
    there.see_node(bad(node("n")), node("n"))
    assert sorted(there.cache.table.names) == ["n", "other"]
    assert sum(there.cache.table.pod_counts.tolist()) == 1
    with pytest.raises(RecursionError):
        there.see_node(node("n"), bad(node("n")))
    there.see_node(bad(node("n")), None)
    assert there.cache.table.names == ["other"]


def test_a_change_is_taken_in_whatever_waking_others_ends_in(there: Updated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(there.profile, "hint", lambda *_: 1 / 0)
    there.see_node(None, node("n"))
    there.see(None, on("n", ours("b")))
    assert there.cache.table.pod_counts.tolist() == [1]


def test_a_pod_that_cannot_be_taken_in_keeps_no_other_from_its_new_profile(
    there: Updated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pre_enqueue(one: Pod) -> None:
        if one.name == "bad":
            raise ZeroDivisionError

    monkeypatch.setattr(there.profile, "pre_enqueue", pre_enqueue)
    there.updates.change_profiles((), ("ours",), [ours("bad"), ours("good")])
    assert there.entry("bad") is None
    assert there.entry("good") is not None
    assert [name for name, _, _ in there.reporter.waiting] == ["bad"]
