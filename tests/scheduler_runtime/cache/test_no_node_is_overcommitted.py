"""Whatever the API server does and in whatever order it is told, no node gets more than it has by what we decided.

An API server in miniature keeps pods and a log of what happened; a watch shows the log late, twice, or is listed anew.
Bindings are under way meanwhile, succeed, are refused, are lost, or only their answer is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from scheduler_runtime.api import Action, ClusterEvent, Event
from scheduler_runtime.cache import Cache
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.client import Client
from scheduler_runtime.credentials import Credentials
from scheduler_runtime.intake import Intake
from scheduler_runtime.nominations import Nominations
from scheduler_runtime.pending import Pending, Place
from scheduler_runtime.testing import node, pod
from scheduler_runtime.watches import Change, Reflector, pods
from scheduler_runtime.wire import Pod, Resizing

NODES = ("one", "two")
THEIRS = "two"
"""The node on which another scheduler puts pods without asking."""
CORES = 4000
PICK = st.integers(0, 99)
MOSTLY = st.sampled_from([True, True, True, False])
NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
FREED = (ClusterEvent("Pod", Action.DELETE), ClusterEvent("Node", Action.ADD))


class Profile:
    """Pods are taken as they come; those that fit nowhere wait for room."""

    def pre_enqueue(self, pod: Pod) -> None:
        return None

    def sort_key(self, entry: Any) -> float:
        return float(entry.added_at)

    def events(self) -> Mapping[str, Iterable[ClusterEvent]]:
        return {"Fit": FREED}

    def hint(self, plugin: str, event: Any, pod: Pod) -> bool:
        return True


@dataclass
class ApiServer:
    """Pods by name, and everything that happened to them."""

    pods: dict[str, Pod] = field(default_factory=dict)
    log: list[tuple[str, Pod | None]] = field(default_factory=list)
    made: int = 0

    def write(self, name: str, changed: Pod | None) -> None:
        if changed is None:
            del self.pods[name]
        else:
            version = str(len(self.log) + 1)
            self.pods[name] = changed = replace(changed, metadata=replace(changed.metadata, resource_version=version))
        self.log.append((name, changed))

    def create(self, name: str, cores: int, scheduler: str = "ours", node_name: str = "") -> None:
        self.made += 1
        made = pod(name, {"cpu": str(cores)}, schedulerName=scheduler, nodeName=node_name)
        self.write(name, replace(made, metadata=replace(made.metadata, uid=f"{name}-{self.made}")))

    def bind(self, wanted: Pod, node_name: str) -> bool:
        found = self.pods.get(wanted.name)
        if found is None or found.uid != wanted.uid or found.spec.node_name or found.metadata.deletion_timestamp:
            return False
        self.write(wanted.name, on(node_name, found))
        return True


@dataclass
class Binding:
    """One that is under way."""

    pod: Pod
    node: str


def on(node_name: str, one: Pod) -> Pod:
    return replace(one, spec=replace(one.spec, node_name=node_name))


def version_of(one: Pod) -> int:
    return int(one.metadata.resource_version)


def cores_of(one: Pod) -> int:
    return int(one.requests.amounts["cpu"])


class Overcommitting(RuleBasedStateMachine):
    """Everything between the watch and the binding is the real thing."""

    def __init__(self) -> None:
        super().__init__()
        self.server = ApiServer()
        self.cache = Cache()
        self.pending = Pending({"ours": Profile()})
        self.intake = Intake(self.cache, self.pending, Nominations(), {"ours"}, clock=lambda: self.now)
        kind = pods(Resizing.of(Target(Version.parse("v1.36.4"), {})))
        self.copy = Reflector(kind, Client(Credentials("http://unasked"), "test"), self.intake.pod)
        self.seen = 0
        self.now = 0.0
        self.bindings: dict[str, Binding] = {}
        self.nodes = set(NODES)
        for name in NODES:
            self.intake.node(Change(None, node(name, cpu="4")))

    # The cluster

    @rule(name=NAMES, cores=st.integers(1, 3))
    def pod_is_created(self, name: str, cores: int) -> None:
        if name not in self.server.pods:
            self.server.create(name, cores)

    @rule(cores=st.lists(st.integers(2, 3), min_size=2, max_size=4))
    def pods_are_created_and_decided_about(self, cores: list[int]) -> None:
        for name, each in zip("abcd", cores, strict=False):
            self.pod_is_created(name, each)
        self.watch_shows(len(self.server.log))
        for _ in cores:
            self.decide()

    @precondition(lambda self: self.server.pods)
    @rule(pick=PICK)
    def pod_is_deleted(self, pick: int) -> None:
        self.server.write(self.some_pod(pick).name, None)

    @precondition(lambda self: self.server.pods)
    @rule(pick=PICK)
    def pod_begins_to_end(self, pick: int) -> None:
        one = self.some_pod(pick)
        ending = replace(one.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
        self.server.write(one.name, replace(one, metadata=ending))

    @rule()
    def another_scheduler_places_a_pod(self) -> None:
        if "foreign" not in self.server.pods:
            self.server.create("foreign", 1, "theirs", THEIRS)

    @precondition(lambda self: self.server.pods)
    @rule(pick=PICK)
    def another_scheduler_takes_our_pod(self, pick: int) -> None:
        self.server.bind(self.some_pod(pick), THEIRS)

    @precondition(lambda self: self.server.pods and self.seen == len(self.server.log))
    @rule(pick=PICK)
    def the_server_forgets_a_binding(self, pick: int) -> None:
        one = self.some_pod(pick)
        if one.spec.node_name and one.uid not in self.bindings:
            self.server.write(one.name, on("", one))

    @rule(name=st.sampled_from(NODES))
    def node_comes_or_goes(self, name: str) -> None:
        if name in self.nodes:
            self.intake.node(Change(node(name, cpu="4"), None))
        else:
            self.intake.node(Change(None, node(name, cpu="4")))
        self.nodes ^= {name}

    # The watch

    @rule(events=st.integers(1, 4))
    def watch_shows(self, events: int) -> None:
        for name, changed in self.server.log[self.seen : self.seen + events]:
            self.take(name, changed)
        self.seen = min(self.seen + events, len(self.server.log))

    @precondition(lambda self: self.seen)
    @rule(back=st.integers(1, 3))
    def watch_repeats(self, back: int) -> None:
        for name, changed in self.server.log[max(self.seen - back, 0) : self.seen]:
            if changed is not None:
                self.take(name, changed)

    @rule()
    def everything_is_listed_again(self) -> None:
        for one in self.server.pods.values():
            self.copy._put(self.copy.kind.key(one), one)
        for key in self.copy.objects.keys() - {self.copy.kind.key(one) for one in self.server.pods.values()}:
            self.copy._remove(key)
        self.seen = len(self.server.log)

    def take(self, name: str, changed: Pod | None) -> None:
        """As a reflector takes the lines of a stream: what is older than what it has is passed over."""
        key = self.copy.kind.key(changed or pod(name))
        known = self.copy.objects.get(key)
        if changed is None:
            if known is not None:
                self.copy._remove(key)
        elif self.is_new(changed) if known is None else version_of(known) < version_of(changed):
            self.copy._put(key, changed)

    def is_new(self, changed: Pod) -> bool:
        """A stream does not repeat the beginning of a pod whose end it has shown."""
        gone = [number for number, (name, what) in enumerate(self.server.log) if name == changed.name and what is None]
        return not any(version_of(changed) <= number < self.seen for number in gone)

    # What we do

    @rule(seconds=st.sampled_from([0.5, 3.0, 20.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def decide(self) -> None:
        entry = self.pending.take(self.now)
        if entry is None:
            return
        name = next((name for name in sorted(self.nodes) if self.free(name) >= cores_of(entry.pod)), "")
        if not name:
            self.pending.park(entry.uid, ["Fit"], self.now)
            return
        self.cache.assume(entry.pod, name)
        self.pending.settle(entry.uid)
        self.bindings[entry.uid] = Binding(entry.pod, name)

    @precondition(lambda self: self.bindings)
    @rule(pick=PICK, arrives=MOSTLY, answered=MOSTLY)
    def binding_is_sent(self, pick: int, arrives: bool, answered: bool) -> None:
        binding = list(self.bindings.values())[pick % len(self.bindings)]
        if arrives:
            self.server.bind(binding.pod, binding.node)
        if answered:
            self.answered(binding)

    def answered(self, binding: Binding) -> None:
        """The answer, or the pod that is read when there was none, says whether it is bound."""
        del self.bindings[binding.pod.uid]
        found = self.server.pods.get(binding.pod.name)
        if found is not None and found.uid == binding.pod.uid and found.spec.node_name == binding.node:
            return
        self.cache.forget(binding.pod)
        self.pending.retry(binding.pod.uid, self.now)
        freed = Event("Pod", Action.DELETE, on(binding.node, binding.pod), None)
        self.pending.happened(freed, self.now, by=binding.pod.uid)

    def free(self, name: str) -> int:
        row = self.cache.table.row(name)
        assert row is not None
        return CORES - int(self.cache.table.requested("cpu")[row])

    def some_pod(self, pick: int) -> Pod:
        return list(self.server.pods.values())[pick % len(self.server.pods)]

    # What holds

    @invariant()
    def no_node_has_more_than_it_can_bear(self) -> None:
        for name in set(NODES) - {THEIRS}:
            there = [cores_of(one) for one in self.server.pods.values() if one.spec.node_name == name]
            assert sum(there) <= CORES
            assert name not in self.nodes or self.free(name) >= 0

    @invariant()
    def what_is_assumed_is_on_its_way_or_bound(self) -> None:
        for held in self.cache.all():
            if held.assumed and held.pod.uid not in self.bindings:
                assert any(what and what.uid == held.pod.uid and what.spec.node_name for _, what in self.server.log)

    def teardown(self) -> None:
        """Once everything is answered and seen, we know what the API server knows, and no pod is lost."""
        for binding in list(self.bindings.values()):
            self.answered(binding)
        self.watch_shows(len(self.server.log) + 1)
        there = {one.uid: one.spec.node_name for one in self.server.pods.values() if one.spec.node_name}
        assert {held.pod.uid: held.node for held in self.cache.all()} == there
        assert not any(held.assumed for held in self.cache.all())
        ours = [one for one in self.server.pods.values() if not one.spec.node_name and one.name != "foreign"]
        waiting = {entry.uid: entry.place for entry in self.pending.entries()}
        assert not {Place.BINDING, Place.IN_FLIGHT} & set(waiting.values())
        assert waiting.keys() >= {one.uid for one in ours if not one.metadata.deletion_timestamp}
        assert waiting.keys() <= {one.uid for one in ours}


TestNoNodeIsOvercommitted = Overcommitting.TestCase
TestNoNodeIsOvercommitted.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
