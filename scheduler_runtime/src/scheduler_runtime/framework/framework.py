"""One profile at work: decide about a pod, then run the plugins around its binding."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from random import Random
from time import perf_counter
from types import MappingProxyType
from typing import Any

from ..api import (
    ALLOW,
    CLEAR,
    PARALLEL,
    SERIAL,
    SKIP,
    Answer,
    ClusterEvent,
    Event,
    Nomination,
    Plugin,
    Pod,
    QueueEntry,
    Reject,
    Wait,
)
from ..catalog import Target, Version
from ..config import EffectiveProfile
from ..plugins import IN_TREE
from ..wire import QuantityError
from .calls import Hook
from .deciding import Attempt, Nowhere
from .enabled import Enabled
from .helping import ask_for_help
from .keys import Keys
from .measuring import PRE_FILTER, SAMPLED_EVERY, Times, rejection_status
from .missing import JUDGED_BY, explain, needed_but_missing
from .outcomes import Assumes, BindError, Flights, Gate, Placed, PluginError, RegistrationError, Unschedulable
from .pace import Pace
from .registration import register
from .services import Services, Surroundings
from .waiting import MAX_WAIT_SECONDS, Waiting

logger = logging.getLogger(__name__)

NO_NODES = "no nodes available to schedule pods"
_TAKEN_BACK = Nomination(CLEAR)


class Framework:
    """The plugins of one profile, called in the profile's order.

    ``schedule`` is synchronous and does no I/O. What it returns as placed must end in ``post_bind`` or in
    ``unreserve``; until then the pod is assumed on its node.
    """

    def __init__(
        self,
        profile: EffectiveProfile,
        services: Services,
        version: Version,
        seed: int | None = None,
        classes: Mapping[str, type[Plugin]] = IN_TREE,
        feature_gates: Mapping[str, bool] = MappingProxyType({}),
    ) -> None:
        """Make the plugins of ``profile`` from ``classes``. Raises RegistrationError when one cannot be used.

        ``feature_gates`` are those that do not have the version's default.
        """
        self.profile = profile
        self.version = version
        self._around = Surroundings(services, Target(version, feature_gates), Random(seed))  # noqa: S311 - ties, not secrets
        self._plugins = register(profile, classes, self._around)
        self._missing = _missing(profile, self._plugins)
        self._times = Times(services.measures, profile.scheduler_name)
        self._decisions = 0
        self._pace = Pace(name for name in self._plugins if name not in IN_TREE)
        enabled = Enabled(profile, self._plugins, services.measures, self._pace)
        self._pre_enqueue = enabled.hooks("preEnqueue", "pre_enqueue")
        self._sort_key = Keys(enabled.queue_sort())
        self.hooks = enabled.choosing()
        self.nominations = services.nominations
        self.classes = self._around.classes = enabled.classes(self.hooks)
        self._decider = enabled.decider(self.hooks, self.classes, self.nominations, self._around.random)
        self._timed = self._decider.timed(services.measures)
        self._watched = enabled.watched_by_kept()
        self._post_filter = enabled.post_filters(version)
        self._reserve = enabled.hooks("reserve", "reserve")
        self._unreserve = tuple(reversed(enabled.hooks("reserve", "unreserve")))
        self._permit = enabled.hooks("permit", "permit")
        self._flight = {hook.plugin: hook for hook in enabled.hooks("preBind", "pre_bind_flight")}
        self._pre_bind = enabled.hooks("preBind", "pre_bind")
        self._bind = enabled.hooks("bind", "bind")
        self._post_bind = enabled.hooks("postBind", "post_bind")
        if not self._bind:
            raise RegistrationError(f"profile {profile.scheduler_name}: none of its bind plugins is in this build")

    def succeed(self, before: Framework) -> None:
        """Take the place of ``before``, whose pods that wait for a permit now wait for the plugins of this profile.

        One that waits for a plugin which is not asked for permits any more is not held by it any longer.
        """
        self._around.waiting = before._around.waiting  # shared, as the tasks that wait still go by ``before``
        asked = {hook.plugin for hook in self._permit}
        for waiting in tuple(self._around.waiting.values()):
            for plugin in waiting.held_by - asked:
                waiting.allow(plugin)

    # Around the queue.

    def pre_enqueue(self, pod: Pod) -> Gate | None:
        """The first plugin that keeps ``pod`` out of the queue. Raises PluginError."""
        for hook in self._pre_enqueue:
            began = perf_counter()
            reject = hook(pod)
            if reject is not None:
                self._times.since("PreEnqueue", began, rejection_status(resolvable=False))
                return Gate(hook.plugin, _rejection(hook, reject).reason)
            self._times.since("PreEnqueue", began)
        return None

    def sort_key(self, entry: QueueEntry) -> Any:
        """Where ``entry`` stands in the queue: the smallest key is next. Raises PluginError."""
        return self._sort_key(entry)

    def events(self) -> Mapping[str, tuple[ClusterEvent, ...]]:
        """For each plugin, the events after which a pod it rejected is worth another attempt."""
        return MappingProxyType({name: each.declaration.events for name, each in self._plugins.items()})

    def hint(self, plugin: str, event: Event, pod: Pod) -> bool:
        """Whether ``event`` may make ``pod`` schedulable, which ``plugin`` rejected. A plugin that fails says yes."""
        registered = self._plugins.get(plugin)
        if registered is None or "hint" not in registered.hooks:
            return True
        try:
            return registered.plugin.hint(event, pod) is not SKIP
        except Exception:  # A pod must not be left behind because a hint failed.
            logger.exception("hint failed", extra={"plugin": plugin, "pod": pod.key})
            return True

    def changed(self, resource: str) -> None:
        """Objects of ``resource`` changed: forget what plugins that watch them said."""
        if resource in self._watched:
            self.classes.forget()

    # The decision.

    def schedule(self, pod: Pod, cluster: Assumes) -> Placed | Unschedulable:
        """Choose a node and assume ``pod`` there, or say why there is none.

        Raises PluginError, with everything as it was.
        """
        self._around.table = cluster.table
        try:
            outcome = self._decide(pod, cluster)
        except Exception:
            self.nominations.nominate(pod, "")
            raise
        finally:
            self._around.table = None
            self._pace.decided()
        if isinstance(outcome, Unschedulable) and outcome.nomination:
            node = outcome.nomination.node
            self.nominations.nominate(pod, node if isinstance(node, str) else "")
        return outcome

    def _decide(self, pod: Pod, cluster: Assumes) -> Placed | Unschedulable:
        table = cluster.table
        unfit = self._unfit(pod, len(table))
        if unfit is not None:
            return unfit
        attempt = Attempt(pod, table)
        self._decisions += 1
        decider = self._decider if self._decisions % SAMPLED_EVERY else self._timed
        row = decider.choose(attempt)
        for point, seconds in attempt.seconds.items():
            self._times.note(point, seconds, _outcome(point, row))
        if isinstance(row, Nowhere):
            return self._help(attempt, row)
        return self._place(pod, table.names[row], attempt.states, cluster)

    def _unfit(self, pod: Pod, size: int) -> Unschedulable | None:
        """Pods about which the plugins need not be asked, and could not answer."""
        if not size:
            return Unschedulable(pod, NO_NODES, frozenset(), _TAKEN_BACK)
        missing = needed_but_missing(pod, self._missing)
        if missing:
            return Unschedulable(pod, explain(missing), frozenset(missing))
        try:
            _ = pod.requests
        except QuantityError as error:
            return Unschedulable(pod, f"0/{size} nodes are available: {error}.", frozenset({"NodeResourcesFit"}))
        return None

    def _help(self, attempt: Attempt, nowhere: Nowhere) -> Unschedulable:
        """Ask the plugins what would help a pod that no node takes."""
        verdicts = nowhere.diagnosis.verdicts
        self._around.trials = self._decider.trials(attempt)
        began = perf_counter()
        try:
            helped = ask_for_help(self._post_filter, attempt.pod, nowhere.nodes, verdicts, attempt.cycle)
        finally:
            self._around.trials = None
        if self._post_filter:
            has_node = helped.nomination is not None and isinstance(helped.nomination.node, str)
            self._times.since("PostFilter", began, "Success" if has_node else rejection_status(resolvable=True))
        message = nowhere.diagnosis.message(helped.reasons)
        waits_for = frozenset(nowhere.diagnosis.waits_for)
        return Unschedulable(attempt.pod, message, verdicts.plugins, helped.nomination, waits_for)

    def _place(self, pod: Pod, node: str, states: Mapping[str, Any], cluster: Assumes) -> Placed | Unschedulable:
        cluster.assume(pod, node)
        self.nominations.forget(pod.uid)
        placed = Placed(pod, node, states)
        try:
            rejected = self._reserve_and_permit(placed)
        except PluginError:
            self.unreserve(placed)
            cluster.forget(pod)
            raise
        if isinstance(rejected, Placed):
            return rejected
        self.unreserve(placed)
        cluster.forget(pod)
        return rejected

    def _reserve_and_permit(self, placed: Placed) -> Placed | Unschedulable:
        return self._reserved(placed) or self._permitted(placed)

    def _reserved(self, placed: Placed) -> Unschedulable | None:
        began = perf_counter()
        for hook in self._reserve:
            reject = hook(placed.pod, placed.node, placed.states.get(hook.plugin))
            if reject is not None:
                self._times.since("Reserve", began, rejection_status(resolvable=True))
                return _rejected_by(hook.plugin, _rejection(hook, reject).reason, placed.pod)
        if self._reserve:
            self._times.since("Reserve", began)
        return None

    def _permitted(self, placed: Placed) -> Placed | Unschedulable:
        began = perf_counter()
        waits: dict[str, float] = {}
        for hook in self._permit:
            match hook(placed.pod, placed.node, placed.states.get(hook.plugin)):
                case answer if answer is ALLOW:
                    continue
                case Wait(seconds):
                    waits[hook.plugin] = _at_most(MAX_WAIT_SECONDS, hook, seconds)
                case answer:
                    self._times.since("Permit", began, rejection_status(resolvable=True))
                    return _rejected_by(hook.plugin, _rejection(hook, answer).reason, placed.pod)
        if self._permit:
            self._times.since("Permit", began, "Wait" if waits else "Success")
        if not waits:
            return placed
        self._around.waiting[placed.pod.uid] = Waiting(placed.pod, waits)
        return Placed(placed.pod, placed.node, placed.states, MappingProxyType(waits))

    # In the background.

    async def wait_on_permit(self, placed: Placed) -> Unschedulable | None:
        """Wait until every plugin allows the pod; the answer is why one did not. Raises BindError if called back."""
        waiting = self._around.waiting.get(placed.pod.uid)
        if waiting is None:
            return None
        try:
            rejected = await waiting.wait()
        finally:
            del self._around.waiting[placed.pod.uid]
        if waiting.preempted_by:
            raise BindError(waiting.preempted_by, "waiting on permit for pod: preempted")
        return None if rejected is None else _rejected_by(*rejected, placed.pod)

    def call_back(self, pod: Pod, plugin: str) -> bool:
        """Take back the placement of ``pod`` because ``plugin`` needs its room, if it waits for a permit."""
        waiting = self._around.waiting.get(pod.uid)
        if waiting is None:
            return False
        if self.version.at_least("1.36"):
            return waiting.preempt(plugin)
        waiting.reject(plugin, "preempted")
        return True

    @property
    def announces(self) -> bool:
        """Whether a pod's status is to say which node it is about to have, while that takes a while."""
        return self._around.target.enabled("NominatedNodeNameForExpectation")

    def flights(self, placed: Placed) -> Flights:
        """Ask who has something to prepare for this binding, and how. Raises BindError."""
        flights = {hook.plugin: self._flight_of(hook, placed) for hook in self._pre_bind}
        return {plugin: flight for plugin, flight in flights.items() if flight is not SKIP}

    async def pre_bind(self, placed: Placed, flights: Flights) -> Unschedulable | None:
        """Prepare the binding: plugins that agreed to it run beside each other.

        The answer is why one of them rejected the pod. Raises BindError.
        """
        began, status = perf_counter(), "Error"
        try:
            rejected = await self._pre_bind_in_order(placed, flights)
            status = rejection_status(resolvable=True) if rejected else "Success"
            return rejected
        finally:
            self._times.since("PreBind", began, status)

    async def _pre_bind_in_order(self, placed: Placed, flights: Flights) -> Unschedulable | None:
        together: list[Hook] = []
        for hook in self._pre_bind:
            if hook.plugin not in flights:
                continue
            if flights[hook.plugin] is PARALLEL:
                together.append(hook)
                continue
            for hooks in (together, [hook]):
                if rejected := await self._pre_bind_all(hooks, placed):
                    return rejected
            together = []
        return await self._pre_bind_all(together, placed)

    def _flight_of(self, hook: Hook, placed: Placed) -> Answer:
        flight = self._flight.get(hook.plugin)
        if flight is None:
            return SERIAL
        try:
            answer: Answer = flight(placed.pod, placed.node, placed.states.get(hook.plugin))
        except PluginError as error:
            raise BindError(hook.plugin, f"running PreBindPreFlight {hook.plugin!r}: {error}") from error
        if answer not in (SKIP, SERIAL, PARALLEL):
            raise BindError(hook.plugin, f"pre_bind_flight answered {answer!r}; wanted is SKIP, SERIAL or PARALLEL")
        return answer

    async def _pre_bind_all(self, hooks: Iterable[Hook], placed: Placed) -> Unschedulable | None:
        outcomes = await asyncio.gather(*(self._pre_bind_one(hook, placed) for hook in hooks), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return next((outcome for outcome in outcomes if isinstance(outcome, Unschedulable)), None)

    async def _pre_bind_one(self, hook: Hook, placed: Placed) -> Unschedulable | None:
        try:
            reject = await hook.run(placed.pod, placed.node, placed.states.get(hook.plugin))
            return None if reject is None else _rejected_by(hook.plugin, _rejection(hook, reject).reason, placed.pod)
        except Exception as error:
            raise BindError(hook.plugin, f'running PreBind plugin "{hook.plugin}": {error}') from error

    async def bind(self, placed: Placed) -> None:
        """Let the first plugin that does not pass bind the pod. Raises BindError."""
        began = perf_counter()
        for hook in self._bind:
            try:
                answer = await hook.run(placed.pod, placed.node, placed.states.get(hook.plugin))
            except Exception as error:
                self._times.since("Bind", began, "Error")
                raise BindError(hook.plugin, f'running Bind plugin "{hook.plugin}": {error}') from error
            if answer is None:
                self._times.since("Bind", began)
                return
            if answer is not SKIP:
                raise BindError(hook.plugin, f'running Bind plugin "{hook.plugin}": {_unknown(hook, answer)}')
        raise BindError("", "every bind plugin passed the pod on")

    def post_bind(self, placed: Placed) -> None:
        """Tell the plugins that the pod is bound. One that fails does not keep it from the others."""
        self._tell("PostBind", self._post_bind, placed)

    def unreserve(self, placed: Placed) -> None:
        """Tell the plugins, last first, that the pod is not going to its node. One that fails keeps nothing back."""
        self._around.waiting.pop(placed.pod.uid, None)
        self.nominations.nominate(placed.pod, "")
        self._tell("Unreserve", self._unreserve, placed)

    def _tell(self, point: str, hooks: Collection[Hook], placed: Placed) -> None:
        began = perf_counter()
        for hook in hooks:
            try:
                hook(placed.pod, placed.node, placed.states.get(hook.plugin))
            except PluginError:
                logger.exception("plugin failed", extra={"plugin": hook.plugin, "pod": placed.pod.key})
        if hooks:
            self._times.since(point, began)


def _outcome(point: str, row: int | Nowhere) -> str:
    """The status of a point before the choice: only what rejects the pod as a whole fails, as upstream has it."""
    if point == PRE_FILTER and isinstance(row, Nowhere) and row.diagnosis.rejection:
        return rejection_status(resolvable=not row.diagnosis.outright)
    return "Success"


def _missing(profile: EffectiveProfile, present: Iterable[str]) -> Mapping[str, Any]:
    enabled = [plugin.name for plugin in profile.points.get("filter", ())]
    return {name: JUDGED_BY[name] for name in enabled if name in JUDGED_BY and name not in present}


def _rejection(hook: Hook, answer: object) -> Reject:
    if not isinstance(answer, Reject):
        raise _unknown(hook, answer)
    if not isinstance(answer.reason, str):
        raise hook.error(f"it gave {answer.reason!r} as a reason; wanted is text")
    return answer


def _unknown(hook: Hook, answer: object) -> PluginError:
    return hook.error(f"it answered {answer!r}, which is not one of its answers")


def _at_most(longest: float, hook: Hook, seconds: object) -> float:
    if not isinstance(seconds, int | float) or not seconds > 0:
        raise hook.error(f"it waits {seconds!r} seconds; wanted is a number above 0")
    return min(seconds, longest)


def _rejected_by(plugin: str, reason: str, pod: Pod) -> Unschedulable:
    """Upstream words a rejection after the choice of a node as if that node had been the only one."""
    return Unschedulable(pod, f"0/1 nodes are available: 1 {reason}.", frozenset({plugin}), _TAKEN_BACK)
