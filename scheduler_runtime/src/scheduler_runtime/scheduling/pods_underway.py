"""Pods on their way to a node, from the decision to the end of their binding, and how many of them there may be.

                     preempt, stop waiting       preempt
                            │                       │
    decided ──► start ──► permit ──────────────► pre_bind ──► bind ──► bound
                            │                       │          │
                            └───────────────────────┴──────────┴─────► given up: the room is free again

The loop, the outbox, preemption and the changes of the cluster all have to know something of these pods, so what
is under way is recorded here, apart from ``BindingCycle``, which does the work.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from scheduler_runtime.framework import Framework, PreemptedError, Progress
from scheduler_runtime.scheduling.io_batching import CROWD
from scheduler_runtime.state.objects import Pod

T = TypeVar("T")

SENDING = 64
"""How many bindings are sent at a time."""
BACKLOG = 4 * SENDING
"""How many pods may be on their way before decisions wait: deciding is faster than the API server can bind."""


class BindingSlots:
    """A count of the pods on their way to a node, and the limits from which on others give way to them.

    Decisions wait while the backlog is full. The outbox sends with a single sender while all ``sending`` slots are
    taken. While the way is ``crowded``, responses and watch lines are handled together (see ``io_batching``).
    """

    def __init__(self, sending: int = SENDING, backlog: int = BACKLOG, crowd: int = CROWD) -> None:
        self.sending = asyncio.Semaphore(sending)
        self.crowded = asyncio.Event()
        self._backlog = backlog
        self._crowd = crowd
        self._pods = 0
        self.has_room = asyncio.Event()
        """Set while there are few enough pods under way to decide about another."""
        self.has_room.set()

    @property
    def are_taken(self) -> bool:
        """Whether any pod is on its way, but for those that wait for a permit."""
        return self._pods > 0

    def take(self) -> None:
        """Count one more pod."""
        self._pods += 1
        if self._pods >= self._backlog:
            self.has_room.clear()
        if self._pods >= self._crowd:
            self.crowded.set()

    def give_back(self) -> None:
        """Count one pod less."""
        self._pods -= 1
        if self._pods < self._backlog:
            self.has_room.set()
        if self._pods < self._crowd:
            self.crowded.clear()


@dataclass(slots=True)
class _Binding:
    """The way of one pod to its node."""

    task: asyncio.Task[None]
    framework: Framework
    """The framework that placed the pod. The profile may have another one meanwhile."""
    waits_for_permit: bool = False
    preparation: asyncio.Future[Any] | None = None
    """Its pre_bind, while that runs."""
    preempted_by: str = ""
    """The plugin that preempted the pod while it was prepared."""
    is_abandoned: bool = False
    """Whether we end its way ourselves: its cancellation is no failure of a plugin."""


class PodsUnderway:
    """The tasks of pods that have a node and are not bound yet, and of the work that makes room for others.

    Each pod takes one of the ``slots``, but for the time in which it waits for a permit: gangs that wait for their
    last member must not keep that member from being decided about.
    """

    def __init__(self, slots: BindingSlots, progress: Progress) -> None:
        """``progress`` is where the frameworks note what each pod waits for."""
        self._slots = slots
        self._progress = progress
        self._bindings: dict[str, _Binding] = {}
        self._making_room: set[asyncio.Task[None]] = set()
        self.unfinished: tuple[str, ...] = ()
        """The names of the tasks that ``finish`` cancelled, with what they waited for."""

    def __len__(self) -> int:
        """Return how many pods are on their way, including those that wait for a permit."""
        return len(self._bindings)

    def __contains__(self, uid: object) -> bool:
        """Return whether the pod with this uid is on its way to its node."""
        return uid in self._bindings

    def start(self, pod: Pod, framework: Framework, binding: Coroutine[Any, Any, None]) -> None:
        """Run ``binding``, which brings ``pod`` to the node that ``framework`` chose, as a task of its own."""
        uid = pod.metadata.uid
        # Counted now and not when the task first runs: many decisions may follow before that.
        task = asyncio.create_task(binding, name=f"bind {pod.key}")
        self._bindings[uid] = _Binding(task, framework)
        self._slots.take()
        task.add_done_callback(partial(self._on_binding_done, uid))

    def _on_binding_done(self, uid: str, task: asyncio.Task[None]) -> None:
        binding = self._bindings.get(uid)
        # The pod may have been decided about anew before this callback ran: then the entry is that of a newer task.
        if binding is not None and binding.task is task:
            del self._bindings[uid]
        self._slots.give_back()

    # Where a pod can be stopped

    @property
    def waiting_for_permit(self) -> list[str]:
        """The uids of the pods that wait for a permit."""
        return [uid for uid, binding in self._bindings.items() if binding.waits_for_permit]

    def begin_permit_wait(self, uid: str) -> None:
        """Note that the pod waits for a permit: until ``end_permit_wait`` it takes no slot and can be stopped."""
        self._bindings[uid].waits_for_permit = True
        self._slots.give_back()

    def end_permit_wait(self, uid: str) -> None:
        """Note that the pod waits no longer, however that ended."""
        self._bindings[uid].waits_for_permit = False
        self._slots.take()

    async def run_unless_preempted(self, uid: str, preparation: Coroutine[Any, Any, T]) -> T:
        """Return what ``preparation``, the pre_bind of this pod, returns. Raises PreemptedError.

        The preparation is a task of its own, so that only it is cancelled and the pod's own task can give its room
        back. A plugin that ignores the cancellation changes nothing: the pod is preempted all the same.
        """
        binding = self._bindings[uid]
        binding.preparation = work = asyncio.ensure_future(preparation)
        result: T | None = None
        try:
            result = await work
        except asyncio.CancelledError:
            if not binding.preempted_by:
                raise
        finally:
            binding.preparation = None
        if binding.preempted_by:
            raise PreemptedError(binding.preempted_by, f"preempted by {binding.preempted_by}")
        return result  # type: ignore[return-value]  # only a pod that was preempted has no result

    def preempt(self, pod: Pod, plugin: str) -> bool:
        """Send a pod that is not bound yet back to the queue, because ``plugin`` needs its room.

        Return whether it was not too late. Nothing has to be sent to the API server then. Before 1.36 only pods that
        wait for a permit can be preempted so (KEP-5501 and upstream's framework/preemption).
        """
        binding = self._bindings.get(pod.metadata.uid)
        if binding is None:
            return False
        if binding.framework.binding.preempt_waiting_pod(pod, plugin):
            return True
        if binding.preparation is None or not binding.framework.version.at_least("1.36"):
            return False
        # Noted first: the cancellation alone does not tell a pod that is preempted from one that is abandoned.
        binding.preempted_by = plugin
        binding.preparation.cancel()
        return True

    def stop_waiting(self, pod: Pod) -> None:
        """End the wait for the permit of a pod that is deleted or not ours any more.

        A pod whose binding has begun is left alone: the API server decides how that ends.
        """
        binding = self._bindings.get(pod.metadata.uid)
        if binding is not None and binding.waits_for_permit:
            binding.is_abandoned = True
            binding.task.cancel()

    def is_abandoned(self, uid: str) -> bool:
        """Return whether the pod's task was cancelled by ``stop_waiting`` or ``finish``, and not by a plugin."""
        binding = self._bindings.get(uid)
        return binding is not None and binding.is_abandoned

    # What makes room for others, and the end of the process

    def start_making_room(self, pod: Pod, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work``, which makes room for ``pod``, beside the decisions; ``finish`` waits for it too."""
        task = asyncio.create_task(work, name=f"make room for {pod.key}")
        self._making_room.add(task)
        task.add_done_callback(self._making_room.discard)

    async def finish(self, seconds: float) -> bool:
        """Wait at most ``seconds`` until all bindings have ended and room is made; cancel what is left.

        Return whether nothing was left. The request of a binding that is cancelled may have been sent, and is
        carried out then: whoever leads next must not decide before that is certain.
        """
        for binding in self._bindings.values():
            if binding.waits_for_permit:  # a permit may be minutes away, and nothing is lost: the pod is not bound yet
                binding.is_abandoned = True
                binding.task.cancel()
        under_way = {*(binding.task for binding in self._bindings.values()), *self._making_room}
        if not under_way:
            return True
        _, late = await asyncio.wait(under_way, timeout=seconds)
        # Described before anything is cancelled: a cancelled hook is not in ``progress`` any more.
        progress = self._progress.describe(time.monotonic())
        uids = {binding.task: uid for uid, binding in self._bindings.items()}
        unfinished = []
        for task in sorted(late, key=asyncio.Task.get_name):
            steps = progress.get(uids.get(task, ""))
            unfinished.append(f"{task.get_name()} ({', '.join(steps)})" if steps else task.get_name())
        self.unfinished = tuple(unfinished)
        for binding in self._bindings.values():
            binding.is_abandoned = True
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return not late
