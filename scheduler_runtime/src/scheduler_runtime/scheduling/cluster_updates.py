"""Changes of nodes, pods and watched objects: what each means for the cache and for the pods that wait.

reflectors ──► node, pod, object ──► cache ──► queue: the event, for the pods that wait for such a change
                                 └─► nominations, permits, conditions of pods that are bound or deleted

The cache is written before anybody is woken, so that whoever is woken sees the change.

What goes wrong with one object stays with that object: nothing of it is left half done, and what was raised goes on to
its reflector, which names it, counts it and shows its next version as that of any object. A node is left out, so that
no pod is placed on it. A pod that waits is left out of the queue, and its condition says so. A pod on a node counts
there with its requests alone, without labels, ports or affinity, or at least as one pod.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from msgspec.structs import replace

from scheduler_runtime.api import Action, Event
from scheduler_runtime.framework import FailureLog, PodWithoutNode
from scheduler_runtime.kube.watch import Change, version_of
from scheduler_runtime.scheduling.pending import SchedulingQueue
from scheduler_runtime.scheduling.reporting.pod_reporter import SCHEDULER_ERROR
from scheduler_runtime.scheduling.watched_objects import NODE, POD, WatchRevisions
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.objects import AnnotatedMeta, Container, Node, Pod, PodSpec, QuantityError
from scheduler_runtime.state.objects.pod_requests import read_amounts

logger = logging.getLogger(__name__)

NO_ACTION = Action(0)


class HoldsAnswers(Protocol):
    """A framework, as far as changes concern it: it holds cached answers of plugins."""

    def invalidate_for(self, resource: str) -> None:
        """Forget answers of plugins that watch this resource."""
        ...


class PermitWaits(Protocol):
    """The pods on their way to a node, some of which wait for a permit."""

    def __contains__(self, uid: object) -> bool: ...

    def stop_waiting(self, pod: Pod) -> None:
        """End the wait for the permit of a pod, if it waits for one."""
        ...


class WaitReports(Protocol):
    """The conditions that are written about waiting pods."""

    def withdraw(self, uid: str) -> None:
        """Write no more about why the pod waits."""
        ...

    def write_unscheduled(self, pod: Pod, reason: str, message: str) -> None:
        """Write why the pod waits."""
        ...


class ClusterUpdates:
    """Applies changes in the order in which the watches show them."""

    def __init__(  # noqa: PLR0913 - parts that are wired together in one place
        self,
        cache: Cache,
        queue: SchedulingQueue,
        nominations: Nominations,
        frameworks: Mapping[str, HoldsAnswers],
        underway: PermitWaits,
        reporter: WaitReports,
        revisions: WatchRevisions,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``frameworks`` are by the names of our profiles: a pod of any other scheduler counts only on its node."""
        self._cache = cache
        self._queue = queue
        self._nominations = nominations
        self._frameworks = frameworks
        self._underway = underway
        self._reporter = reporter
        self._revisions = revisions
        self._clock = clock
        self.failures = FailureLog(logger)
        self._nodes_set_aside: set[str] = set()
        """The names of nodes whose last version was not taken in."""
        self._pods_set_aside: set[str] = set()
        """The uids of pods whose last version was not taken in."""

    # What the reflectors show

    def object(self, event: Event) -> None:
        """Apply a change of an object that plugins watch beyond pods and nodes."""
        self._invalidate(event.resource)
        self._wake(event, self._clock())

    def node(self, change: Change[Node]) -> None:
        """Apply a change of a node. Raises whatever goes wrong with it, after which the node is left out."""
        node = change.new or change.old
        if node is not None and node.name in self._nodes_set_aside:
            self._nodes_set_aside.discard(node.name)
            change = Change(None, change.new)  # to everybody here it is a new one
        try:
            self._apply_node(change)
        except Exception:
            if change.new is not None:
                self._nodes_set_aside.add(change.new.name)
                if self._cache.table.row(change.new.name) is not None:
                    self._cache.remove_node(change.new.name)
            raise

    def pod(self, change: Change[Pod]) -> None:
        """Apply a change of a pod, whichever scheduler it belongs to. Raises whatever goes wrong with it."""
        pod = change.new or change.old
        if pod is not None and pod.metadata.uid in self._pods_set_aside:
            self._pods_set_aside.discard(pod.metadata.uid)  # also if its deletion fails: nobody shows the pod again
            if change.new is not None:
                change = Change(None, change.new)
        try:
            self._apply_pod(change)
        except Exception as error:
            if change.new is not None:
                self._set_pod_aside(change.new, error)
            raise

    def _set_pod_aside(self, pod: Pod, error: Exception) -> None:
        """Leave nothing of ``pod`` half done."""
        uid = pod.metadata.uid
        self._pods_set_aside.add(uid)
        if pod.spec.node_name:
            self._queue.remove(uid)
            self._nominations.forget(uid)
            try:
                self._cache.add(_only_with_requests(pod))
            except Exception:  # noqa: BLE001 - then it counts as one pod, whatever it requests
                self._cache.add(replace(_only_with_requests(pod), spec=PodSpec(node_name=pod.spec.node_name)))
        elif uid not in self._underway:  # otherwise the pod has its room, and its binding goes on
            self._queue.remove(uid)
            self._nominations.forget(uid)
            self._cache.remove(uid)
            if pod.spec.scheduler_name in self._frameworks:
                message = f"this version of the pod cannot be taken in: {type(error).__name__}: {error}"
                self._reporter.write_unscheduled(pod, SCHEDULER_ERROR, message)

    def _wake(self, event: Event, now: float, *, caused_by: str = "", up_to_priority: int | None = None) -> None:
        """Wake the pods that wait for ``event``. If that fails they are woken by time."""
        try:
            self._queue.on_event(event, now, caused_by=caused_by, up_to_priority=up_to_priority)
        except Exception as error:  # noqa: BLE001 - the change itself is taken in
            self.failures.log("waking pods failed", error, resource=event.resource)

    def _apply_node(self, change: Change[Node]) -> None:
        if self._revisions.include_nodes and self._revisions.count_change(NODE, change):
            self._invalidate("Node")
        match change:
            case Change(old=None, new=Node() as new):
                self._cache.set_node(new)
                self._wake(Event("Node", Action.ADD, None, new), self._clock())
            case Change(old=Node() as old, new=Node() as new):
                if (
                    (old.spec, old.status) != (new.spec, new.status)
                    or (old.metadata.labels or {}) != (new.metadata.labels or {})
                    or (old.metadata.annotations or {}) != (new.metadata.annotations or {})
                ):  # most updates of a node are heartbeats, which the cache does not count
                    self._cache.set_node(new)
                if action := node_actions(old, new):
                    self._wake(Event("Node", action, old, new), self._clock())
            case Change(old=Node() as old, new=None):
                self._cache.remove_node(old.name)
                self._wake(Event("Node", Action.DELETE, old, None), self._clock())

    def _apply_pod(self, change: Change[Pod]) -> None:
        if self._revisions.include_pods and self._revisions.count_change(POD, change):
            self._invalidate("Pod")
        old, new = change.old, change.new
        if new is None:
            if old is not None:
                self._on_deleted(old)
        elif new.spec.node_name:
            self._on_bound(old, new)
        else:
            self._on_waiting(old, new)
            if self._revisions.include_pods:
                self._wake_watchers_of_waiting_pods(old, new)

    def _invalidate(self, resource: str) -> None:
        for framework in self._frameworks.values():
            framework.invalidate_for(resource)

    # Other profiles

    def change_profiles(self, changed: Collection[str], added: Collection[str], pods: Iterable[Pod]) -> None:
        """Go by the frameworks as they are by now; of these profiles some were ``changed`` or removed, or ``added``.

        ``pods`` are all pods that exist: those of an added profile were nobody's until now, and come to wait. Takes
        effect at once and cannot fail, so that it can stand between two decisions.
        """
        orphans = self._queue.change_profiles(changed, self._clock())
        if orphans:
            names = sorted({pod.spec.scheduler_name for pod in orphans})
            logger.warning("pods wait for profiles that are gone", extra={"pods": len(orphans), "profiles": names})
        for pod in orphans:
            self._underway.stop_waiting(pod)
            self._nominations.forget(pod.metadata.uid)
            self._reporter.withdraw(pod.metadata.uid)
        if not added:
            return
        for pod in pods:
            if pod.spec.scheduler_name in added and not pod.spec.node_name:
                try:
                    self._on_waiting(None, pod)  # no event: the pod itself is not new to anybody
                except Exception as error:  # noqa: BLE001 - the others of its profile come to wait
                    self.failures.log("a pod of an added profile cannot be taken in", error, pod=pod.key)
                    self._set_pod_aside(pod, error)
                if self._cache.is_assumed(pod.metadata.uid):
                    self._queue.mark_binding(pod.metadata.uid)  # it was ours before, and is on its way since then

    # The life of a pod

    def _on_waiting(self, old: Pod | None, new: Pod) -> None:
        """A pod without a node came or changed."""
        if old is not None and self._has_lost_its_node(old, new):
            self._queue.remove(new.metadata.uid)
            self._release_node(new.metadata.uid)
        if new.spec.scheduler_name not in self._frameworks:
            return
        is_assumed = self._cache.is_assumed(new.metadata.uid)
        if not is_assumed:  # once it is assumed its nomination is over, whatever its status still contains
            self._nominations.observe(old, new)
        if is_assumed and new.metadata.deletion_timestamp:
            # No binding of a pod that is being deleted can succeed, so its room is free already now.
            self._queue.remove(new.metadata.uid)
            self._underway.stop_waiting(new)
            self._release_node(new.metadata.uid)
        elif new.metadata.uid in self._queue:
            action = _waiting_pod_actions(old, new) if old else NO_ACTION
            events = [Event("Pod", action, old, new)] if action else []
            self._queue.update(new, events, self._clock())
        elif not new.metadata.deletion_timestamp:
            self._queue.add(new, new.spec.scheduler_name, self._clock())
        if old is not None and old.status.nominated_node_name not in ("", new.status.nominated_node_name):
            self._wake_for_dropped_nomination(old, old.status.nominated_node_name)

    def _has_lost_its_node(self, old: Pod, new: Pod) -> bool:
        """Return whether the API server shows a pod without the node that it had: its data is older than before.

        As after a backup was restored. The pod had a node by its spec, or by a binding of ours that succeeded, and
        that no watch has shown: then it is assumed, not being bound any more, and comes in an older version.
        """
        if old.spec.node_name:
            return True
        is_older = 0 < version_of(new) <= version_of(old)
        return is_older and self._cache.is_assumed(new.metadata.uid) and new.metadata.uid not in self._underway

    def _on_bound(self, old: Pod | None, new: Pod) -> None:
        """A pod has its node, by our binding or somebody else's."""
        self._queue.remove(new.metadata.uid)
        self._nominations.forget(new.metadata.uid)
        self._cache.add(new)  # confirms the pod if it was assumed
        if old is None or not old.spec.node_name:
            self._reporter.withdraw(new.metadata.uid)
            self._wake(Event("Pod", Action.ADD, None, new), self._clock())
        else:
            self._wake(Event("Pod", pod_actions(old, new) or Action.UPDATE, old, new), self._clock())

    def _on_deleted(self, pod: Pod) -> None:
        self._queue.remove(pod.metadata.uid)
        self._underway.stop_waiting(pod)
        self._reporter.withdraw(pod.metadata.uid)
        nominated = self._nominations.node_of(pod) if pod.spec.scheduler_name in self._frameworks else ""
        self._nominations.forget(pod.metadata.uid)
        # One event only: a pod that had a node, or room reserved for it, is gone from there.
        if self._release_node(pod.metadata.uid):
            return
        if nominated:
            self._wake_for_dropped_nomination(pod, nominated, is_deleted=True)
        elif self._revisions.include_pods:
            self._wake(PodWithoutNode("Pod", Action.DELETE, pod, None), self._clock())

    def _release_node(self, uid: str) -> bool:
        """Count the pod on no node any more, and wake the pods that its room may help; return whether it had a node."""
        placed = self._cache.remove(uid)
        if placed is None:
            return False
        self._wake(Event("Pod", Action.DELETE, placed.pod_on_node, None), self._clock())
        return True

    def _wake_for_dropped_nomination(self, pod: Pod, node: str, *, is_deleted: bool = False) -> None:
        """Wake the pods that had to leave room on ``node`` to ``pod``, which is not nominated there any more.

        Only pods of its priority or a lower one had to, so no others are woken. A deleted pod, though, may concern any
        pod whose plugins watch pods.
        """
        on_its_node = replace(pod, status=replace(pod.status, nominated_node_name=node))
        event = Event("Pod", Action.DELETE, on_its_node, None)
        up_to_priority = None if is_deleted and self._revisions.include_pods else pod.spec.priority
        self._wake(event, self._clock(), up_to_priority=up_to_priority)

    def _wake_watchers_of_waiting_pods(self, old: Pod | None, new: Pod) -> None:
        """Wake the pods whose plugins watch pods also while these have no node, such as gangs that fill up.

        The pod itself has had the event already (``queue.update``), if the event was one for it.
        """
        before = old if old and not old.spec.node_name else None
        if before is None:
            action = Action.ADD
        else:
            # Annotations and owners count too. The status does not: we write it ourselves after each failed attempt.
            is_same = _without_version(before) == _without_version(new)
            action = pod_actions(before, new) or (NO_ACTION if is_same else Action.UPDATE)
        if action:
            had_event = before is None or bool(_waiting_pod_actions(before, new))
            event = PodWithoutNode("Pod", action, before, new)
            self._wake(event, self._clock(), caused_by=new.metadata.uid if had_event else "")


def _only_with_requests(pod: Pod) -> Pod:
    """A pod that takes what ``pod`` takes of its node, and has nothing else by which others could find it."""
    spec, metadata = pod.spec, pod.metadata
    containers = tuple(Container(one.name, resources=one.resources) for one in spec.containers)
    sidecars = tuple(
        Container(one.name, resources=one.resources, restart_policy=one.restart_policy) for one in spec.init_containers
    )
    return Pod(
        AnnotatedMeta(metadata.name, metadata.namespace, metadata.uid, metadata.resource_version),
        PodSpec(
            node_name=spec.node_name,
            priority=spec.priority,
            containers=containers,
            init_containers=sidecars,
            overhead=spec.overhead,
            resources=spec.resources,
        ),
    )


# What changed: upstream's pkg/scheduler/framework/events.go


def node_actions(old: Node, new: Node) -> Action:
    """Return which of the things that matter to plugins differ between two versions of a node."""
    action = NO_ACTION
    before, after = old.status.allocatable, new.status.allocatable
    if before != after:
        try:
            offers_the_same = read_amounts(before, "") == read_amounts(after, "")  # however they are written
        except QuantityError:
            offers_the_same = False
        if not offers_the_same:
            action |= Action.UPDATE_NODE_ALLOCATABLE
    if old.status.declared_features != new.status.declared_features:
        action |= Action.UPDATE_NODE_DECLARED_FEATURE
    if old.status.conditions != new.status.conditions and _conditions(old) != _conditions(new):
        action |= Action.UPDATE_NODE_CONDITION
    if (old.metadata.labels or {}) != (new.metadata.labels or {}):
        action |= Action.UPDATE_NODE_LABEL
    if (old.metadata.annotations or {}) != (new.metadata.annotations or {}):
        action |= Action.UPDATE_NODE_ANNOTATION
    if old.spec.taints != new.spec.taints or (old.spec.unschedulable and not new.spec.unschedulable):
        action |= Action.UPDATE_NODE_TAINT  # cordoning alone is no event: it helps no pod
    return action


def _conditions(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


def pod_actions(old: Pod, new: Pod) -> Action:
    """Return which of the things that plugins can register for by name differ between two versions of a pod."""
    action = NO_ACTION
    if (old.metadata.labels or {}) != (new.metadata.labels or {}):
        action |= Action.UPDATE_POD_LABEL
    if old.spec.tolerations != new.spec.tolerations:
        action |= Action.UPDATE_POD_TOLERATION
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        action |= Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    if _requests_less(old, new):
        action |= Action.UPDATE_POD_SCALE_DOWN
    return action


def _waiting_pod_actions(old: Pod, new: Pod) -> Action:
    """As for any pod. A change of nothing but its status, which we write ourselves, is no event for the pod."""
    return pod_actions(old, new) or (Action.UPDATE if old.spec != new.spec else NO_ACTION)


def _without_version(pod: Pod) -> tuple[AnnotatedMeta, PodSpec]:
    return replace(pod.metadata, resource_version="", generation=0), pod.spec


def _requests_less(old: Pod, new: Pod) -> bool:
    """Return whether some request became smaller. Requests that cannot be read, before or after, are not compared."""
    if (old.spec.containers, old.spec.resources, old.status) == (new.spec.containers, new.spec.resources, new.status):
        return False
    try:
        before, after = old.requests.amounts, new.requests.amounts
    except QuantityError:
        return False
    return any(after.get(resource, 0) < amount for resource, amount in before.items())
