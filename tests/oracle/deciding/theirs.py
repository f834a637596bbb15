"""The real kube-scheduler, beside a real API server, asked about one made-up cluster after another."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import devcluster
from devcluster import Spec
from scheduler_runtime.catalog import Target
from tests.oracle.deciding.decision import Decision, shortened
from tests.oracle.deciding.document import document
from tests.oracle.deciding.making.clusters import Cluster
from tests.oracle.deciding.making.words import NAMESPACES
from tests.support.administrator import PLURALS, Administrator, Followed, collection, path
from tests.support.deciding_scheduler import DecidingScheduler, deciding_scheduler
from tests.support.eventually import eventually
from tests.support.noop_extender import NoopExtender

Object = dict[str, Any]

DISABLED_ADMISSION = "ServiceAccount,TaintNodesByCondition,Priority,RuntimeClass"
"""Without the last two a pod may have a priority and an overhead of its own, with no class that gives it those."""
GATE = [{"name": "example.com/not-yet"}]
PODS, EVENTS = "/api/v1/pods", "/apis/events.k8s.io/v1/events"
AT_ONCE = {
    "kind": "DeleteOptions",
    "apiVersion": "v1",
    "gracePeriodSeconds": 0,
    "propagationPolicy": "Background",
}
LATER = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 3600}


class Theirs:
    """One kube-scheduler and its API server."""

    def __init__(
        self,
        administrator: Administrator,
        scheduler: DecidingScheduler,
        extender: NoopExtender,
        followed: tuple[Followed, Followed],
        document: Object,
    ) -> None:
        self.document = document
        self.administrator = administrator
        self._scheduler = scheduler
        self._extender = extender
        self._pods, self._events = followed
        self._started = 0

    @contextmanager
    def having(self, cluster: Cluster) -> Iterator[None]:
        """Let the scheduler see ``cluster``, without the pods that come, until the end of the ``with``."""
        self._scheduler.forget()
        self._started = 0
        try:
            create = self.administrator.all_of
            create(self.administrator.create, cluster.others)
            create(self.administrator.create, cluster.nodes)
            create(self._run, cluster.pods)
            self._scheduler.wait("Add event for node", len(cluster.nodes))
            self._scheduler.wait("Add event for scheduled pod", len(cluster.pods))
            self._scheduler.wait("Delete event for scheduled pod", sum(map(_has_ended, cluster.pods)))
            self._scheduler.forget()
            yield
        finally:
            self._clear(cluster)

    def _run(self, pod: Object) -> None:
        metadata = {key: value for key, value in pod["metadata"].items() if key != "deletionTimestamp"}
        self.administrator.create({**pod, "metadata": metadata})
        if "deletionTimestamp" in pod["metadata"]:
            self.administrator.request("DELETE", f"{collection(pod)}/{metadata['name']}", LATER)

    def offer(self, pod: Object) -> Object:
        """Create ``pod`` for the scheduler to decide about, and return it as it is decided about."""
        if "status" not in pod:
            return self.administrator.create(pod)
        # Nobody may look at it before it has its status.
        spec = {**pod["spec"], "schedulingGates": GATE}
        self.administrator.create({**pod, "spec": spec})
        return self.administrator.patch(pod, {"spec": {"schedulingGates": []}})

    def change(self, node: Object) -> None:
        """Let ``node`` appear, or be another from now on. Pods that wait are deleted, as they might be tried again."""
        for pod in map(json.loads, self.administrator.items(PODS)):
            if not pod["spec"].get("nodeName"):
                self.administrator.request("DELETE", path({"kind": "Pod", **pod}), AT_ONCE)
        self._scheduler.forget()
        before = self.administrator.find(node)
        if before is None:
            self.administrator.create(node)
            self._scheduler.wait("Add event for node", 1)
            return
        spec = {"unschedulable": None, "taints": None, **node["spec"]}
        labelled = self.administrator.patch(node, {"spec": spec, "metadata": {"labels": node["metadata"]["labels"]}})
        sized = self.administrator.patch(node, {"status": node["status"]}, "/status")
        versions = {version["metadata"]["resourceVersion"] for version in (before, labelled, sized)}
        self._scheduler.wait("Update event for node", len(versions) - 1)

    def gate(self, pod: Object, plugin: str) -> str:
        """What ``plugin`` says to keep ``pod``, which was offered, out of the queue."""
        key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"

        def reason() -> str:
            return self._scheduler.logged(key).gates.get(plugin, "")

        return eventually(reason, 20, every=0.01)

    def decision(self, pod: Object) -> Decision:
        """What becomes of ``pod``, which was offered."""
        key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        states = self._pods.states
        decided = self._pods.wait(lambda _: next(filter(None, map(_decided, states.get(key, ()))), None))
        logged = self._scheduler.logged(key)
        condition = _condition(decided)
        message = condition.get("message", "") if condition["status"] == "False" else ""
        decision = Decision(
            pod=key,
            node=decided["spec"].get("nodeName", ""),
            feasible=self._extender.feasible.get(pod["metadata"]["uid"], frozenset()),
            scores=logged.scores,
            totals=logged.totals,
            message=message,
            note=self._note(pod["metadata"]["uid"], message) if message else "",
            nominated=decided["status"].get("nominatedNodeName", ""),
            victims={node: frozenset(victims) for node, victims in logged.victims.items()},
        )
        self._settle(decision, pod)
        return decision

    def _note(self, uid: str, message: str) -> str:
        """The event of the attempt that the condition's ``message`` is of: the pod may have been tried again since."""
        notes: list[str] = []

        def of_this_attempt(events: dict[str, Object]) -> bool:
            about = [event for event in events.values() if event["regarding"].get("uid") == uid]
            notes[:] = [event["note"] for event in about if event["reason"] == "FailedScheduling"]
            return shortened(message) in notes

        with contextlib.suppress(TimeoutError):
            self._events.wait(of_this_attempt, 5)
            return shortened(message)
        return "; ".join(notes)

    def _settle(self, decision: Decision, pod: Object) -> None:
        """Wait until what was decided is done, so that the next pod meets it."""
        if decision.node:
            self._scheduler.wait("Add event for scheduled pod", 1)
            self._begin(pod)
        before = pod.get("status", {}).get("nominatedNodeName", "")
        if decision.nominated and decision.nominated != before:
            victims = decision.victims.get(decision.nominated, frozenset())
            self._pods.wait(lambda pods: all(_is_leaving(pods.get(victim)) for victim in victims))
        self._scheduler.forget()

    def _begin(self, pod: Object) -> None:
        """Do what a node does: of pods that have not started yet, preemption may take any first."""
        self._started += 1
        status = {"phase": "Running", "startTime": f"2026-01-01T00:01:{self._started:02}Z"}
        self.administrator.patch(pod, {"status": status}, "/status")
        key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        self._scheduler.wait_for(
            lambda line: line.says == "Update event for scheduled pod" and line.values["pod"] == key
        )

    def _clear(self, cluster: Cluster) -> None:
        pods = map(json.loads, self.administrator.items(PODS))
        bound = sum(bool(pod["spec"].get("nodeName")) and not _has_ended(pod) for pod in pods)
        nodes = len(self.administrator.items(PLURALS["Node"]))
        where = sorted({collection(item) for item in (*cluster.pods, *cluster.incoming, *cluster.others)})
        self.administrator.all_of(partial(self.administrator.request, "DELETE", body=AT_ONCE), where)
        self._pods.wait(lambda pods: not pods)
        self._scheduler.wait("Delete event for scheduled pod", bound)
        self.administrator.request("DELETE", PLURALS["Node"], AT_ONCE)
        self._scheduler.wait("Delete event for node", nodes)
        self._events.objects.clear()
        self._scheduler.forget()


def _decided(pod: Object) -> Object | None:
    """The pod, once it has a node or a reason why not."""
    condition = _condition(pod)
    has_node = bool(pod["spec"].get("nodeName"))
    return pod if has_node or condition.get("reason") in ("Unschedulable", "SchedulerError") else None


def _condition(pod: Object) -> Object:
    conditions = pod["status"].get("conditions", ())
    return next((condition for condition in conditions if condition["type"] == "PodScheduled"), {"status": "Unknown"})


def _has_ended(pod: Object) -> bool:
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def _is_leaving(pod: Object | None) -> bool:
    return pod is None or "deletionTimestamp" in pod["metadata"]


@contextmanager
def theirs(target: Target, directory: Path) -> Iterator[Theirs]:
    """A kube-scheduler of ``target``'s version at work, for the length of the ``with``."""
    minor = f"{target.version.major}.{target.version.minor}"
    served = {} if minor == "1.35" else {"UserNamespacesHostNetworkSupport": True}
    arguments = (f"--disable-admission-plugins={DISABLED_ADMISSION}", *_flag({**served, **target.feature_gates}))
    spec = Spec(kubernetes=minor, node="none", scheduler=False, controller_manager=False, apiserver_args=arguments)
    with ExitStack() as stack:
        cluster = stack.enter_context(devcluster.running(spec))
        administrator = stack.enter_context(Administrator(cluster))
        for name, labels in NAMESPACES.items():
            administrator.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
            )
        extender = stack.enter_context(NoopExtender.serving())
        text = document(cluster.kubeconfig, extender.configuration)
        binary = devcluster.binaries("kube-scheduler", kubernetes=minor)["kube-scheduler"]
        scheduler = stack.enter_context(deciding_scheduler(binary, text, directory, *_flag(target.feature_gates)))
        followed = [stack.enter_context(Followed(administrator, where)) for where in (PODS, EVENTS)]
        yield Theirs(administrator, scheduler, extender, (followed[0], followed[1]), text)


def _flag(gates: Mapping[str, bool]) -> tuple[str, ...]:
    """The command line's flag for ``gates``."""
    turned = ",".join(f"{gate}={str(on).lower()}" for gate, on in gates.items())
    return (f"--feature-gates={turned}",) if turned else ()
