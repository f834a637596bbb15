"""Whatever happens in whatever order, no pod is lost, and none waits that could be placed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from scheduler_runtime.catalog import Action, ClusterEvent
from scheduler_runtime.pending import Entry, Pending, Place

PLUGINS = ("A", "B", "Gate")


@dataclass(frozen=True)
class Pod:
    uid: str
    needs: frozenset[str]


@dataclass(frozen=True)
class Opened:
    """What plugin ``resource`` waits for has come true."""

    resource: str
    action: Action = Action.ADD


@dataclass(frozen=True)
class Shut:
    plugin: str


class World:
    """A cluster of three doors. A pod can be placed when every door it needs is open."""

    def __init__(self) -> None:
        self.open: set[str] = set()

    def closed_to(self, pod: Pod) -> set[str]:
        return {plugin for plugin in pod.needs if plugin not in self.open}

    def pre_enqueue(self, pod: Pod) -> Shut | None:
        return Shut("Gate") if "Gate" in self.closed_to(pod) else None

    def sort_key(self, entry: Entry) -> Any:
        return entry.added_at

    def events(self) -> Mapping[str, Iterable[ClusterEvent]]:
        return {plugin: (ClusterEvent(plugin, Action.ADD),) for plugin in PLUGINS}

    def hint(self, plugin: str, event: Any, pod: Pod) -> bool:
        return bool(event.resource == plugin)


class PendingMachine(RuleBasedStateMachine):
    """Attempts look at the world when they begin and answer later, as they do when a permit waits."""

    pods = Bundle("pods")
    attempts = Bundle("attempts")

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.pending = Pending({"p": self.world})
        self.alive: dict[str, Pod] = {}
        self.in_flight: set[str] = set()
        self.now = 0.0
        self.made = 0

    @rule(target=pods, needs=st.frozensets(st.sampled_from(PLUGINS)))
    def create(self, needs: frozenset[str]) -> Pod:
        self.made += 1
        pod = self.alive[f"{self.made}"] = Pod(f"{self.made}", needs)
        self.pending.add(pod, "p", self.now)
        return pod

    @rule(pod=consumes(pods))
    def delete(self, pod: Pod) -> None:
        self.alive.pop(pod.uid, None)
        self.in_flight.discard(pod.uid)
        self.pending.remove(pod.uid)

    @rule(pod=pods)
    def change(self, pod: Pod) -> None:
        if pod.uid in self.pending:
            self.pending.update(pod, [Opened("nothing")], self.now)

    @rule(plugin=st.sampled_from(PLUGINS))
    def open_door(self, plugin: str) -> None:
        self.world.open.add(plugin)
        self.pending.happened(Opened(plugin), self.now)

    @rule(plugin=st.sampled_from(PLUGINS))
    def close_door(self, plugin: str) -> None:
        self.world.open.discard(plugin)

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0, 31.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(target=attempts)
    def begin(self) -> Any:
        entry = self.pending.take(self.now)
        if entry is None:
            return multiple()
        assert entry.uid in self.alive
        assert entry.uid not in self.in_flight
        self.in_flight.add(entry.uid)
        return entry.uid, frozenset(self.world.closed_to(self.alive[entry.uid]))

    @rule(attempt=consumes(attempts), bind_fails=st.booleans())
    def end(self, attempt: tuple[str, frozenset[str]], bind_fails: bool) -> None:
        uid, closed = attempt
        if uid not in self.in_flight:
            return
        self.in_flight.discard(uid)
        if closed:
            self.pending.park(uid, closed, self.now)
        elif bind_fails:
            self.pending.settle(uid)
            self.pending.retry(uid, self.now)
        else:
            self.bound(uid)

    @rule(attempt=consumes(attempts))
    def fail(self, attempt: tuple[str, frozenset[str]]) -> None:
        uid, _ = attempt
        if uid in self.in_flight:
            self.in_flight.discard(uid)
            self.pending.retry(uid, self.now)

    def bound(self, uid: str) -> None:
        self.pending.settle(uid)
        self.pending.remove(uid)
        del self.alive[uid]

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        places = {entry.uid: entry.place for entry in self.pending.entries()}
        assert places.keys() == self.alive.keys()
        assert {uid for uid, place in places.items() if place is Place.IN_FLIGHT} == self.in_flight
        away = {uid for uid, place in places.items() if place in (Place.PARKED, Place.GATED)}
        assert {uid for index in self.pending._parked.values() for uid in index} == away
        assert len(self.pending._kept) == 0 or self.in_flight

    def teardown(self) -> None:
        """Without any further event, what can be placed is placed as soon as its backoff is over."""
        for uid in list(self.in_flight):
            self.pending.retry(uid, self.now)
        waiting = {uid for uid, pod in self.alive.items() if not self.world.closed_to(pod)}
        self.now += 10.001
        while entry := self.pending.take(self.now):
            waiting.discard(entry.uid)
            self.pending.settle(entry.uid)
        assert not waiting


TestNoPodIsLost = PendingMachine.TestCase
TestNoPodIsLost.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
