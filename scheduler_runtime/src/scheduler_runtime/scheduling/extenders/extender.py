"""One extender: whom it looks after, what it is asked, and what its answers mean."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec

from scheduler_runtime.api import MAX_SCORE, Pod, Reject, Victims
from scheduler_runtime.config import Extender as Written
from scheduler_runtime.scheduling.extenders import messages
from scheduler_runtime.scheduling.extenders.http_calls import Address, ExtenderClient, ExtenderError, shown
from scheduler_runtime.scheduling.extenders.raw_objects import RawObjects

BEST_SCORE = 10
"""Of extenders; they score from 0."""


PodsOn = Callable[[str], Iterable[Pod] | None]
"""The pods on the node of a name; None when there is no such node."""


class Extender:
    """A service that has a say where some pods go."""

    def __init__(self, written: Written, originals: RawObjects) -> None:
        """Raises OSError or ValueError when its certificates cannot be used."""
        self.written = written
        self.name = shown(written.url_prefix)
        self.is_ignorable = written.ignorable
        self._calls = ExtenderClient(Address.of(written))
        self._originals = originals
        self._managed = frozenset(resource.name for resource in written.managed_resources)

    @property
    def has_a_say(self) -> bool:
        """Whether it is asked before a pod is placed, and not only to bind it."""
        written = self.written
        return bool(written.filter_verb or written.prioritize_verb or written.preempt_verb)

    def looks_after(self, pod: Pod) -> bool:
        """Whether ``pod`` asks for one of its resources; if it has none, it looks after all pods."""
        return not self._managed or any(name in self._managed for name in _resources(pod))

    async def filter(self, pod: Pod, names: Sequence[str]) -> tuple[list[str], dict[str, Reject]]:
        """Which of the nodes do, and why others do not. Raises ExtenderError or OriginalError."""
        answer = await self._ask_about_nodes(self.written.filter_verb, pod, names, messages.read_filter)
        if answer.Error:
            raise self._calls.address.failed(self.written.filter_verb, f": {answer.Error}")
        failed, unresolvable = answer.FailedNodes or {}, answer.FailedAndUnresolvableNodes or {}
        rejects = {name: Reject(True, reason) for name, reason in failed.items()}
        rejects |= {name: Reject(True, reason, resolvable=False) for name, reason in unresolvable.items()}
        return self._allowed(answer, frozenset(names)), rejects

    def _allowed(self, answer: messages.FilterAnswer, asked: frozenset[str]) -> list[str]:
        if self.written.node_cache_capable and answer.NodeNames is not None:
            names = list(answer.NodeNames)
        else:
            names = [node.metadata.name for node in (answer.Nodes.items if answer.Nodes else None) or ()]
        for name in names:
            if name not in asked:
                problem = f'claims a filtered node "{name}" which is not found in the input node list'
                raise ExtenderError(f'extender "{self.name}" {problem}')
        return names

    async def prioritize(self, pod: Pod, names: Sequence[str]) -> list[tuple[str, int]]:
        """What is added to the scores of nodes. Raises ExtenderError or OriginalError."""
        scores = await self._ask_about_nodes(self.written.prioritize_verb, pod, names, messages.read_scores)
        factor = self.written.weight * (MAX_SCORE // BEST_SCORE)
        return [(each.Host or "", (each.Score or 0) * factor) for each in scores]

    async def preempt(self, pod: Pod, candidates: Sequence[Victims], pods_on: PodsOn) -> list[Victims]:
        """Which of ``candidates`` do, perhaps with other victims. Raises ExtenderError or OriginalError."""
        whole = None
        if not self.written.node_cache_capable:
            whole = await self._originals.pods([victim for each in candidates for victim in each.pods])
            candidates = _still_there(candidates, whole)
            if not candidates:
                return []
        question = messages.victims_question(await self._originals.pod(pod), candidates, whole)
        told = await self._ask(self.written.preempt_verb, question, messages.read_victims)
        known = {each.node: {victim.uid: victim for victim in each.pods} for each in candidates}
        return [
            Victims(node, self._victims(node, victims, known.get(node, {}), pods_on), victims.NumPDBViolations or 0)
            for node, victims in told.items()
            if self._has_victims(node, victims)
        ]

    def _has_victims(self, node: str, victims: messages.NodeVictims) -> bool:
        if victims.Pods:
            return True
        if not self.is_ignorable:
            problem = f': expected at least one victim pod on node "{node}"'
            raise self._calls.address.failed(self.written.preempt_verb, problem)
        return False

    def _victims(
        self, node: str, victims: messages.NodeVictims, known: Mapping[str, Pod], pods_on: PodsOn
    ) -> list[Pod]:
        """The pods it means; those that are gone since it was asked need not be preempted any more."""
        there = pods_on(node)
        if there is None and not known:
            raise ExtenderError(f"extender: {self.name} claims to preempt pods on node: {node}, which is not there")
        by_uid = {pod.uid: pod for pod in there or ()}
        uids = [victim.UID or "" for victim in victims.Pods or ()]
        for uid in uids:
            if uid not in by_uid and uid not in known:
                problem = f"claims to preempt pod (UID: {uid}) on node: {node}, but the pod is not found on that node"
                raise ExtenderError(f"extender: {self.name} {problem}")
        return [by_uid[uid] for uid in uids if uid in by_uid]

    async def bind(self, pod: Pod, node: str, before_send: Callable[[], None]) -> None:
        """Have it bind ``pod``; what ``before_send`` raises is raised. Raises ExtenderError."""
        question = messages.binding_question(pod, node)
        problem = await self._ask(self.written.bind_verb, question, messages.read_binding, before_send)
        if problem:
            raise self._calls.address.failed(self.written.bind_verb, f": {problem}")

    def close(self) -> None:
        """Keep no connection to it open any more."""
        self._calls.close()

    async def _ask_about_nodes(
        self, verb: str, pod: Pod, names: Sequence[str], read: Callable[[bytes], messages.T]
    ) -> messages.T:
        text = await self._originals.pod(pod)
        if self.written.node_cache_capable:
            return await self._ask(verb, messages.nodes_question(text, None, names), read)
        nodes = list(self._originals.nodes(names).values())
        return await self._ask(verb, messages.nodes_question(text, nodes, None), read)

    async def _ask(
        self,
        verb: str,
        question: bytes,
        read: Callable[[bytes], messages.T],
        before_send: Callable[[], None] | None = None,
    ) -> messages.T:
        answer = await self._calls.post(verb, question, before_send)
        try:
            return read(answer)
        except msgspec.MsgspecError as error:
            raise self._calls.address.failed(verb, f": its answer cannot be read: {error}") from error


def needs_nodes(written: Written) -> bool:
    """Whether an extender is told of nodes as objects."""
    return not written.node_cache_capable and bool(written.filter_verb or written.prioritize_verb)


def _still_there(candidates: Iterable[Victims], there: Container[str]) -> list[Victims]:
    """``candidates`` without the victims that are gone; where none is left, nobody has to be preempted."""
    left = [replace(each, pods=[pod for pod in each.pods if pod.uid in there]) for each in candidates]
    return [each for each in left if each.pods]


def _resources(pod: Pod) -> Iterable[str]:
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        if container.resources is not None:
            yield from container.resources.requests or ()
            yield from container.resources.limits or ()
