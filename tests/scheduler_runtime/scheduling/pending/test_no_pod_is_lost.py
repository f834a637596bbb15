"""Sequences of any events: no pod is lost, and none waits that could be placed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scheduler_runtime.api import Action, ClusterEvent, Event, Pod, QueueEntry
from scheduler_runtime.framework import QueueGate
from scheduler_runtime.scheduling.pending import QueuedPod, QueuePlace, SchedulingQueue
from tests.scheduler_runtime.scheduling.pending.pods import pod as pod_called

PLUGINS = ("A", "B", "G")
PICK = st.integers(0, 99)


def needed_doors(pod: Pod) -> frozenset[str]:
    return frozenset(pod.metadata.labels or {})


def picked(uids: Iterable[str], pick: int) -> str:
    """One of ``uids``, chosen by a number that knows nothing of how many there are."""
    choices = list(uids)
    return choices[pick % len(choices)]


class World:
    """A cluster of three doors, of which G is a gate. A pod can be placed when every door it needs is open.

    The plugins that watch the doors are called after them and their own generation; each generation sorts otherwise.
    """

    def __init__(self) -> None:
        self.open: set[str] = set()
        self.generation = 0

    def plugin(self, door: str) -> str:
        return f"{door}{self.generation}"

    def closed_to(self, pod: Pod) -> set[str]:
        return {plugin for plugin in needed_doors(pod) if plugin not in self.open}

    @property
    def queue(self) -> World:
        return self

    def pre_enqueue(self, pod: Pod) -> QueueGate | None:
        return QueueGate(self.plugin("G"), "the door is closed") if "G" in self.closed_to(pod) else None

    def sort_key(self, entry: QueuedPod | QueueEntry) -> Any:
        return (-entry.added_at, "") if self.generation % 2 else entry.added_at

    @property
    def events(self) -> Mapping[str, Iterable[ClusterEvent]]:
        return {self.plugin(door): (ClusterEvent(door, Action.ADD),) for door in PLUGINS}

    def hint(self, plugin: str, event: Event, pod: Pod) -> bool:
        return bool(event.resource == plugin[0])


class PendingMachine(RuleBasedStateMachine):
    """Attempts look at the world when they begin and answer later, as they do when a permit waits."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.pending = SchedulingQueue({"p": self.world})
        self.alive: dict[str, Pod] = {}
        self.in_flight: dict[str, set[str]] = {}
        """The plugins whose doors were closed to each pod when its attempt began."""
        self.now = 0.0
        self.count = 0
        self.steps = 0
        self.opened_at = dict.fromkeys(PLUGINS, 0)
        self.began_at: dict[str, int] = {}

    @rule(needs=st.sampled_from(["A", "B", "AB", "ABG", "G"]))
    def create(self, needs: str) -> None:
        self.count += 1
        pod = self.alive[f"{self.count}"] = pod_called(f"{self.count}", labels=needs)
        self.began_at[pod.uid] = self.steps
        self.pending.add(pod, "p", self.now)

    @precondition(lambda self: self.alive)
    @rule(pick=PICK)
    def delete(self, pick: int) -> None:
        uid = picked(self.alive, pick)
        del self.alive[uid]
        self.in_flight.pop(uid, None)
        self.pending.remove(uid)

    @precondition(lambda self: self.alive)
    @rule(pick=PICK)
    def change(self, pick: int) -> None:
        self.pending.update(self.alive[picked(self.alive, pick)], [Event("nothing", Action.ADD)], self.now)

    @precondition(lambda self: self.alive)
    @rule(pick=PICK)
    def activate(self, pick: int) -> None:
        self.pending.activate([picked(self.alive, pick)], self.now)

    @rule(plugin=st.sampled_from(PLUGINS))
    def open_door(self, plugin: str) -> None:
        self.steps += 1
        self.opened_at[plugin] = self.steps
        self.world.open.add(plugin)
        self.pending.on_event(Event(plugin, Action.ADD), self.now)

    @rule(plugin=st.sampled_from(PLUGINS))
    def close_door(self, plugin: str) -> None:
        self.world.open.discard(plugin)

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0, 31.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def get_other_plugins(self) -> None:
        self.world.generation += 1
        assert self.pending.change_profiles({"p"}, self.now) == []

    @rule()
    def begin(self) -> None:
        entry = self.pending.take(self.now)
        if entry is not None:
            assert entry.uid not in self.in_flight
            active = [other for other in self.pending.entries() if other.place is QueuePlace.ACTIVE]
            assert all(self.world.sort_key(entry) <= self.world.sort_key(other) for other in active)
            self.began_at[entry.uid] = self.steps
            self.in_flight[entry.uid] = set(map(self.world.plugin, self.world.closed_to(self.alive[entry.uid])))

    @precondition(lambda self: self.in_flight)
    @rule(pick=PICK, outcome=st.sampled_from(["answer", "answer", "answer", "error", "bind fails"]))
    def end(self, pick: int, outcome: str) -> None:
        uid = picked(self.in_flight, pick)
        closed = self.in_flight.pop(uid)
        if outcome == "error":
            self.pending.retry(uid, self.now)
        elif closed:
            self.pending.park(uid, closed, self.now, {plugin for plugin in closed if plugin.startswith("B")})
        else:
            self.pending.mark_binding(uid)
            if outcome == "bind fails":
                self.pending.retry(uid, self.now)
            else:
                self.pending.remove(uid)
                del self.alive[uid]

    @rule(doors=st.lists(st.sampled_from(PLUGINS), min_size=1, max_size=3), pick=PICK)
    def attempt_while_doors_open_and_close(self, doors: list[str], pick: int) -> None:
        self.begin()
        for door in doors:
            self.open_door(door)
            self.close_door(door)
        if self.in_flight:
            self.end(pick, "answer")

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        places = {entry.uid: entry.place for entry in self.pending.entries()}
        assert places.keys() == self.alive.keys()
        assert {uid for uid, place in places.items() if place is QueuePlace.IN_FLIGHT} == self.in_flight.keys()
        away = {uid for uid, place in places.items() if place in (QueuePlace.PARKED, QueuePlace.GATED)}
        assert {entry.uid for entry in self.pending._parked} == away
        assert not self.pending.recorded_events() or self.in_flight

    @invariant()
    def nothing_is_parked_that_a_door_has_opened_for(self) -> None:
        for entry in self.pending.entries():
            if entry.place is QueuePlace.GATED:
                assert entry.gate[0] not in self.world.open
            if entry.place is QueuePlace.PARKED:
                assert entry.plugins <= self.world.events.keys(), "it waits for a plugin that is gone"
                assert not any(self.opened_at[plugin[0]] > self.began_at[entry.uid] for plugin in entry.plugins)

    def teardown(self) -> None:
        """Without any further event, what can be placed is placed as soon as its backoff is over."""
        for uid in list(self.in_flight):
            self.pending.retry(uid, self.now)
        waiting = {uid for uid, pod in self.alive.items() if not self.world.closed_to(pod)}
        self.now += 11.001
        while entry := self.pending.take(self.now):
            waiting.discard(entry.uid)
            self.pending.mark_binding(entry.uid)
        assert not waiting


TestNoPodIsLost = PendingMachine.TestCase
TestNoPodIsLost.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
