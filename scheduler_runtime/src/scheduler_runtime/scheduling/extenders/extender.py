"""One extender: the pods it looks after, the questions it is asked, and the meaning of its answers.

The words of errors, and the rules for answers that make no sense, are those of pkg/scheduler/extender.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from scheduler_runtime.api import MAX_SCORE, Pod, Reject, Victims
from scheduler_runtime.config import ExtenderConfig
from scheduler_runtime.kube.events import truncate_note
from scheduler_runtime.scheduling.extenders import messages
from scheduler_runtime.scheduling.extenders.http_calls import (
    Address,
    ExtenderClient,
    ExtenderError,
)
from scheduler_runtime.scheduling.extenders.raw_objects import RawObjects

MAX_EXTENDER_SCORE = 10
"""Extenders score from 0 to 10, plugins from 0 to 100."""
PodsOn = Callable[[str], Iterable[Pod] | None]
"""The pods on the node of a name; None when there is no such node."""


class Extender:
    """A service that has a say where some pods go."""

    def __init__(self, config: ExtenderConfig, raw_objects: RawObjects) -> None:
        """Raises OSError or ValueError when its certificates cannot be used."""
        self.config = config
        self.name = config.shown_url
        self.is_ignorable = config.ignorable
        self._client = ExtenderClient(Address.of(config))
        self._raw_objects = raw_objects
        self._managed_resources = frozenset(resource.name for resource in config.managed_resources)

    @property
    def is_asked_before_placing(self) -> bool:
        """Return whether it is asked before a pod is placed, and not only to bind it."""
        config = self.config
        return bool(config.filter_verb or config.prioritize_verb or config.preempt_verb)

    def is_interested_in(self, pod: Pod) -> bool:
        """Return whether ``pod`` asks for one of the extender's resources; True for any pod if it has none.

        As upstream's IsInterested, by the requests and limits of all containers, init containers included.
        """
        managed = self._managed_resources
        if not managed:
            return True
        for container in (*pod.spec.containers, *pod.spec.init_containers):
            if container.resources is not None:
                resources = (*(container.resources.requests or ()), *(container.resources.limits or ()))
                if not managed.isdisjoint(resources):
                    return True
        return False

    async def filter(self, pod: Pod, names: Sequence[str]) -> tuple[list[str], dict[str, Reject]]:
        """Return the nodes that it allows, and why it rejects others. Raises ExtenderError or RawObjectError."""
        answer = await self._ask_about_nodes(self.config.filter_verb, pod, names, messages.read_filter)
        if answer.Error:
            raise self._client.address.failed(self.config.filter_verb, f": {answer.Error}")

        # As upstream, objects count where there are no names, also for an extender that was sent names.
        if self.config.node_cache_capable and answer.NodeNames is not None:
            allowed = list(answer.NodeNames)
        else:
            allowed = [node.metadata.name for node in (answer.Nodes.items if answer.Nodes else None) or ()]
        questioned = frozenset(names)
        for name in allowed:
            if name not in questioned:
                problem = f'claims a filtered node "{name}" which is not found in the input node list'
                raise ExtenderError(f'extender "{self.name}" {problem}')

        failed, unresolvable = answer.FailedNodes or {}, answer.FailedAndUnresolvableNodes or {}
        rejects = {name: Reject(True, truncate_note(reason)) for name, reason in failed.items()}
        rejects |= {
            name: Reject(True, truncate_note(reason), resolvable=False) for name, reason in unresolvable.items()
        }
        return allowed, rejects

    async def prioritize(self, pod: Pod, names: Sequence[str]) -> list[tuple[str, int]]:
        """Return what is added to the scores of nodes. Raises ExtenderError or RawObjectError."""
        scores = await self._ask_about_nodes(self.config.prioritize_verb, pod, names, messages.read_scores)
        factor = self.config.weight * (MAX_SCORE // MAX_EXTENDER_SCORE)
        return [(score.Host or "", (score.Score or 0) * factor) for score in scores]

    async def preempt(self, pod: Pod, candidates: Sequence[Victims], pods_on: PodsOn) -> list[Victims]:
        """Return those of ``candidates`` that it allows, perhaps with other victims.

        Raises ExtenderError or RawObjectError.
        """
        raw_pods = None
        if not self.config.node_cache_capable:
            raw_pods = await self._raw_objects.pods([victim for candidate in candidates for victim in candidate.pods])
            # Victims that do not exist any more cannot be sent; where none is left, nobody has to be preempted.
            existing = [
                replace(candidate, pods=[victim for victim in candidate.pods if victim.metadata.uid in raw_pods])
                for candidate in candidates
            ]
            candidates = [candidate for candidate in existing if candidate.pods]
            if not candidates:
                return []
        question = messages.victims_question(await self._raw_objects.pod(pod), candidates, raw_pods)
        answer = await self._ask(self.config.preempt_verb, question, messages.read_victims)
        proposed = {
            candidate.node: {victim.metadata.uid: victim for victim in candidate.pods} for candidate in candidates
        }

        allowed: list[Victims] = []
        for node, victims in answer.items():
            if victims.Pods:
                pods = self._find_victims(node, victims, proposed.get(node, {}), pods_on)
                allowed.append(Victims(node, pods, victims.NumPDBViolations or 0))
            elif not self.is_ignorable:
                problem = f': expected at least one victim pod on node "{node}"'
                raise self._client.address.failed(self.config.preempt_verb, problem)
        return allowed

    def _find_victims(
        self, node: str, victims: messages.NodeVictims, proposed: Mapping[str, Pod], pods_on: PodsOn
    ) -> list[Pod]:
        """Return the pods that it means. Those that ended since it was asked need not be preempted any more."""
        pods = pods_on(node)
        if pods is None and not proposed:
            raise ExtenderError(f"extender: {self.name} claims to preempt pods on node: {node}, which is not there")
        by_uid = {pod.metadata.uid: pod for pod in pods or ()}
        uids = [victim.UID or "" for victim in victims.Pods or ()]
        for uid in uids:
            if uid not in by_uid and uid not in proposed:
                problem = f"claims to preempt pod (UID: {uid}) on node: {node}, but the pod is not found on that node"
                raise ExtenderError(f"extender: {self.name} {problem}")
        return [by_uid[uid] for uid in uids if uid in by_uid]

    async def bind(self, pod: Pod, node: str, before_send: Callable[[], None]) -> None:
        """Have it bind ``pod``. Raises ExtenderError, and whatever ``before_send`` raises."""
        question = messages.binding_question(pod, node)
        problem = await self._ask(self.config.bind_verb, question, messages.read_binding, before_send)
        if problem:
            raise self._client.address.failed(self.config.bind_verb, f": {problem}")

    def close(self) -> None:
        """Keep no connection to it open any more."""
        self._client.close()

    async def _ask_about_nodes(
        self, verb: str, pod: Pod, names: Sequence[str], read: Callable[[bytes], messages.T]
    ) -> messages.T:
        raw_pod = await self._raw_objects.pod(pod)
        if self.config.node_cache_capable:
            return await self._ask(verb, messages.nodes_question(raw_pod, None, names), read)
        nodes = list(self._raw_objects.nodes(names).values())
        return await self._ask(verb, messages.nodes_question(raw_pod, nodes, None), read)

    async def _ask(
        self,
        verb: str,
        question: bytes,
        read: Callable[[bytes], messages.T],
        before_send: Callable[[], None] | None = None,
    ) -> messages.T:
        answer = await self._client.post(verb, question, before_send)
        try:
            return read(answer)
        except Exception as error:  # whatever it sent: nested a thousand deep it is a RecursionError
            problem = str(error) or type(error).__name__
            raise self._client.address.failed(verb, f": its answer cannot be read: {problem}") from error


def needs_nodes(config: ExtenderConfig) -> bool:
    """Return whether an extender is sent nodes as objects, not only their names."""
    return not config.node_cache_capable and bool(config.filter_verb or config.prioritize_verb)
