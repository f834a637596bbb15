"""What a change that a watch shows means for the cache and for the pods that wait.

The cache is written before anybody is woken, so that who wakes sees the change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from msgspec.structs import replace

from scheduler_runtime.api import Action, Event
from scheduler_runtime.framework import PodWithoutNode
from scheduler_runtime.kube.watch import Change, version_of
from scheduler_runtime.scheduling.pending import SchedulingQueue
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.objects import AnnotatedMeta, Node, Pod, PodSpec, QuantityError
from scheduler_runtime.state.objects.pod_requests import read_amounts

NOTHING = Action(0)


class ClusterUpdates:
    """Takes in the changes of nodes and pods, in the order in which the watches show them."""

    def __init__(
        self,
        cache: Cache,
        pending: SchedulingQueue,
        nominations: Nominations,
        profiles: Collection[str],
        *,
        on_gone: Callable[[Pod], None] = lambda _: None,
        on_settled: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``on_gone`` is told of each pod that is or was deleted, in case it waits for a permit.

        ``on_settled`` is told the uid of each pod that is bound or deleted: nothing keeps it waiting any more.
        """
        self._cache = cache
        self._pending = pending
        self._nominations = nominations
        self._profiles = profiles
        self._on_gone = on_gone
        self._on_settled = on_settled
        self.carries: Callable[[str], bool] = lambda _: False
        """Says of a uid whether a binding of that pod is under way."""
        self.pods_are_watched = False
        """Whether a plugin watches pods: those without a node are news as well then."""
        self._clock = clock

    def node(self, change: Change[Node]) -> None:
        """Take in a change of a node."""
        match change:
            case Change(old=None, new=Node() as new):
                self._cache.set_node(new)
                self._happened(Event("Node", Action.ADD, None, new))
            case Change(old=Node() as old, new=Node() as new):
                if (_named(old.metadata), old.spec, old.status) != (_named(new.metadata), new.spec, new.status):
                    self._cache.set_node(new)  # most updates of a node are heartbeats
                if action := node_actions(old, new):
                    self._happened(Event("Node", action, old, new))
            case Change(old=Node() as old):
                self._cache.remove_node(old.name)
                self._happened(Event("Node", Action.DELETE, old, None))

    def pod(self, change: Change[Pod]) -> None:
        """Take in a change of a pod, whichever scheduler it belongs to."""
        old, new = change.old, change.new
        if new is None:
            if old is not None:
                self._gone(old)
        elif new.spec.node_name:
            self._bound(old, new)
        else:
            self._unbound(old, new)
            if self.pods_are_watched:
                self._tell_of_unbound(old, new)

    def take_in(self, pod: Pod) -> None:
        """A pod without a node, which was known before, is ours from now on. To nobody is that news."""
        self._unbound(None, pod)

    def _gone(self, pod: Pod) -> None:
        self._pending.remove(pod.uid)
        self._on_gone(pod)
        self._on_settled(pod.uid)
        awaited = self._nominations.node_of(pod) if pod.spec.scheduler_name in self._profiles else ""
        self._nominations.forget(pod.uid)
        if self._free(pod.uid):
            return
        if awaited:
            self._not_awaited(pod, awaited, is_gone=True)
        elif self.pods_are_watched:
            self._happened(PodWithoutNode("Pod", Action.DELETE, pod, None))

    def _free(self, uid: str) -> bool:
        """Count the pod on no node any more, and wake those whom its room may help; return whether it had one."""
        held = self._cache.remove(uid)
        if held:
            self._happened(Event("Pod", Action.DELETE, held.pod_on_node, None))
        return held is not None

    def _not_awaited(self, pod: Pod, node: str, *, is_gone: bool = False) -> None:
        """Room on ``node`` is not kept for ``pod`` any more. Only pods no more important had to leave it.

        That a pod ``is_gone`` may be news to any pod, for the plugins that watch pods.
        """
        nominated = replace(pod, status=replace(pod.status, nominated_node_name=node))
        event = Event("Pod", Action.DELETE, nominated, None)
        up_to_priority = None if is_gone and self.pods_are_watched else pod.spec.priority
        self._pending.happened(event, self._clock(), up_to_priority=up_to_priority)

    def _bound(self, old: Pod | None, new: Pod) -> None:
        """A pod has its node, by our binding or somebody else's."""
        self._pending.remove(new.uid)
        self._nominations.forget(new.uid)
        self._cache.add(new)
        if old is None or not old.spec.node_name:
            self._on_settled(new.uid)
            self._happened(Event("Pod", Action.ADD, None, new))
            return
        self._happened(Event("Pod", pod_actions(old, new) or Action.UPDATE, old, new))

    def _unbound(self, old: Pod | None, new: Pod) -> None:
        if old is not None and (old.spec.node_name or self._is_lost(old, new)):
            self._pending.remove(new.uid)
            self._free(new.uid)  # the API server has older data now, such as a backup that was restored
        if new.spec.scheduler_name not in self._profiles:
            return
        if not self._cache.is_assumed(new.uid):
            self._nominations.observe(old, new)
        now = self._clock()
        if self._cache.is_assumed(new.uid) and new.metadata.deletion_timestamp:
            self._leaves_on_its_way(new)
        elif new.uid in self._pending:
            action = _actions_of_a_waiting_pod(old, new) if old else NOTHING
            events = [Event("Pod", action, old, new)] if action else []
            self._pending.update(new, events, now)
        elif not new.metadata.deletion_timestamp:
            self._pending.add(new, new.spec.scheduler_name, now)
        if old is not None and old.status.nominated_node_name not in ("", new.status.nominated_node_name):
            self._not_awaited(old, old.status.nominated_node_name)

    def _tell_of_unbound(self, old: Pod | None, new: Pod) -> None:
        """Tell the plugins that watch pods. What the pod itself waits for was told already, if it is ours."""
        known = old if old and not old.spec.node_name else None
        action = _news_of_unbound(known, new) if known else Action.ADD
        if action:
            is_told = known is None or bool(_actions_of_a_waiting_pod(known, new))
            event = PodWithoutNode("Pod", action, known, new)
            self._pending.happened(event, self._clock(), by=new.uid if is_told else "")

    def _is_lost(self, old: Pod, new: Pod) -> bool:
        """Whether a binding that succeeded, and that no watch has shown, has been forgotten by the API server."""
        is_told_anew = 0 < version_of(new) <= version_of(old)
        return is_told_anew and self._cache.is_assumed(new.uid) and not self.carries(new.uid)

    def _leaves_on_its_way(self, pod: Pod) -> None:
        """The pod is being deleted, so no binding of it can succeed any more: its room is free already now."""
        self._pending.remove(pod.uid)
        self._on_gone(pod)
        self._free(pod.uid)

    def _happened(self, event: Event) -> None:
        self._pending.happened(event, self._clock())


def node_actions(old: Node, new: Node) -> Action:
    """Return which of the things that matter to plugins differ between two versions of a node."""
    action = NOTHING
    if not _equal_amounts(old, new):
        action |= Action.UPDATE_NODE_ALLOCATABLE
    if old.status.declared_features != new.status.declared_features:
        action |= Action.UPDATE_NODE_DECLARED_FEATURE
    if old.status.conditions != new.status.conditions and _conditions(old) != _conditions(new):
        action |= Action.UPDATE_NODE_CONDITION
    if old.labels != new.labels:
        action |= Action.UPDATE_NODE_LABEL
    if (old.metadata.annotations or {}) != (new.metadata.annotations or {}):
        action |= Action.UPDATE_NODE_ANNOTATION
    if old.spec.taints != new.spec.taints or (old.spec.unschedulable and not new.spec.unschedulable):
        action |= Action.UPDATE_NODE_TAINT  # Cordoning alone is no news: it helps no pod.
    return action


def _named(metadata: AnnotatedMeta) -> tuple[dict[str, str], dict[str, str]]:
    return metadata.labels or {}, metadata.annotations or {}


def _conditions(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


def _equal_amounts(old: Node, new: Node) -> bool:
    """Whether both offer the same, however it is written."""
    if old.status.allocatable == new.status.allocatable:
        return True
    try:
        return read_amounts(old.status.allocatable, "") == read_amounts(new.status.allocatable, "")
    except QuantityError:
        return False


def pod_actions(old: Pod, new: Pod) -> Action:
    """Return which of the things that plugins can ask for by name differ between two versions of a pod."""
    action = NOTHING
    if (old.metadata.labels or {}) != (new.metadata.labels or {}):
        action |= Action.UPDATE_POD_LABEL
    if old.spec.tolerations != new.spec.tolerations:
        action |= Action.UPDATE_POD_TOLERATION
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        action |= Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    if _scaled_down(old, new):
        action |= Action.UPDATE_POD_SCALE_DOWN
    return action


def _actions_of_a_waiting_pod(old: Pod, new: Pod) -> Action:
    """As for any pod; what only its status says, which we write ourselves, is no news."""
    return pod_actions(old, new) or (Action.UPDATE if old.spec != new.spec else NOTHING)


def _news_of_unbound(old: Pod, new: Pod) -> Action:
    """Also what its annotations or its owners say; not its status, which is written whenever it was tried in vain."""
    return pod_actions(old, new) or (Action.UPDATE if _unversioned(old) != _unversioned(new) else NOTHING)


def _unversioned(pod: Pod) -> tuple[AnnotatedMeta, PodSpec]:
    return replace(pod.metadata, resource_version="", generation=0), pod.spec


def _scaled_down(old: Pod, new: Pod) -> bool:
    """Whether some request became smaller. One that cannot be read now or before says nothing."""
    if (old.spec.containers, old.spec.resources, old.status) == (new.spec.containers, new.spec.resources, new.status):
        return False
    try:
        before, after = old.requests.amounts, new.requests.amounts
    except QuantityError:
        return False
    return any(after.get(resource, 0) < amount for resource, amount in before.items())
