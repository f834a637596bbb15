"""The extenders of a profile, asked in turn, and the factory that creates them for a document."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from scheduler_runtime.api import Consulted, Pod, Reject, Victims
from scheduler_runtime.config import ExtenderConfig
from scheduler_runtime.framework import (
    ExtenderAnswers,
    FilterAnswer,
    FilterQuestion,
    Question,
    RegistrationError,
    ScoreQuestion,
    VictimQuestion,
)
from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.watch import Reflector
from scheduler_runtime.scheduling.extenders.extender import Extender, PodsOn, needs_nodes
from scheduler_runtime.scheduling.extenders.http_calls import ExtenderError
from scheduler_runtime.scheduling.extenders.raw_objects import RawObjects
from scheduler_runtime.scheduling.recent_failures import RecentFailures
from scheduler_runtime.state.table import Table

logger = logging.getLogger(__name__)

Reflectors = Collection[Reflector[Any]]
T = TypeVar("T")


class BindingGuard(Protocol):
    """The part of ``BindingSender`` that guards bindings made by extenders."""

    def check_fence(self) -> None:
        """Raise FencedError when this process does not surely lead."""
        ...

    async def is_bound(self, pod: Pod, node: str) -> bool:
        """Return whether ``pod`` is on ``node``. Raises PodGoneError, AlreadyBoundError or FencedError."""
        ...


class ExtenderChain:
    """The extenders of one profile. Those that must not be ignored are asked first, as upstream asks them."""

    def __init__(
        self, extenders: Iterable[Extender], raw_objects: RawObjects, binds: BindingGuard, recent: RecentFailures
    ) -> None:
        self._extenders = sorted(extenders, key=lambda extender: extender.is_ignorable)
        self._raw_objects = raw_objects
        self._binds = binds
        self._recent = recent
        self.scoring = 0
        """How many of them are scoring nodes at this moment."""

    @property
    def filter_or_score(self) -> bool:
        """Return whether one of them filters or scores nodes, whichever pods it looks after."""
        return any(extender.config.filter_verb or extender.config.prioritize_verb for extender in self._extenders)

    def are_interested_in(self, pod: Pod) -> bool:
        """Return whether one of them has a say in where ``pod`` goes."""
        return any(extender.is_asked_before_placing and extender.is_interested_in(pod) for extender in self._extenders)

    def choose_victims(self, pod: Pod) -> bool:
        """Return whether one of them has a say in whom ``pod`` preempts."""
        return any(extender.config.preempt_verb and extender.is_interested_in(pod) for extender in self._extenders)

    async def answer(self, question: Question, pod: Pod, answers: ExtenderAnswers, table: Table) -> ExtenderAnswers:
        """Return ``answers`` with those to ``question``.

        Raises ExtenderError when an extender fails that must not be ignored, or RawObjectError.
        """
        match question:
            case FilterQuestion(is_nominated_node=True):
                try:
                    answer = await self._filter(question, pod)
                except ExtenderError as error:
                    # As upstream's evaluateNominatedNode: if this fails, the other nodes are looked at.
                    logger.warning("the nominated node is ignored", extra={"pod": pod.key, "because": str(error)})
                    answer = FilterAnswer(question, frozenset())
                return replace(answers, nominated_node=answer)
            case FilterQuestion():
                answer = await self._filter(question, pod)
                return ExtenderAnswers(answers.nominated_node, answer, rounds=answers.rounds + 1)
            case ScoreQuestion(nodes):
                return replace(answers, scores=await self._score(pod, nodes))
            case VictimQuestion(candidates):

                def pods_on(node: str) -> Iterable[Pod] | None:
                    row = table.row(node)
                    return None if row is None else table.pods(row)

                return replace(answers, victims=await self._choose_victims(pod, candidates, pods_on))

    async def _filter(self, question: FilterQuestion, pod: Pod) -> FilterAnswer:
        extenders = self._extenders_for(pod, lambda config: config.filter_verb)
        if any(needs_nodes(extender.config) for extender in extenders):
            question = replace(question, nodes=await self._raw_objects.wait_for_nodes(question.nodes))
        names, rejects = list(question.nodes), dict[str, Reject]()
        # One after the other: each is asked about the nodes that those before it have left.
        for extender in extenders:
            if not names:
                break
            try:
                names, new_rejects = await self._noting(extender.filter(pod, names), extender, pod)
            except ExtenderError as error:
                self._ignore(extender, error, pod)
            else:
                rejects |= new_rejects
        return FilterAnswer(question, frozenset(names), rejects)

    async def _score(self, pod: Pod, names: Sequence[str]) -> Counter[str]:
        """Ask all of them at once. As upstream, an extender that fails has no say, ignorable or not."""

        async def score(extender: Extender) -> list[tuple[str, int]]:
            self.scoring += 1
            try:
                return await self._noting(extender.prioritize(pod, names), extender, pod, is_ignored=True)
            finally:
                self.scoring -= 1

        extenders = self._extenders_for(pod, lambda config: config.prioritize_verb)
        scores: Counter[str] = Counter()
        for outcome in await asyncio.gather(*map(score, extenders), return_exceptions=True):
            if isinstance(outcome, ExtenderError):
                logger.info("scores are ignored", extra={"pod": pod.key, "because": str(outcome)})
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                for name, points in outcome:
                    scores[name] += points
        return scores

    async def _choose_victims(self, pod: Pod, candidates: Sequence[Victims], pods_on: PodsOn) -> Consulted:
        for extender in self._extenders_for(pod, lambda config: config.preempt_verb):
            try:
                answer = extender.preempt(pod, candidates, pods_on)
                candidates = await self._noting(answer, extender, pod, is_ignored=True)
            except ExtenderError as error:
                if not extender.is_ignorable:
                    # As upstream: preemption ends, but the pod is unschedulable, and its attempt not an error.
                    return Consulted(problem=str(error))
                self._ignore(extender, error, pod)
            if not candidates:
                break
        return Consulted(candidates)

    async def bind(self, pod: Pod, node: str) -> bool:
        """Have ``pod`` bound by the extender that binds such pods; return whether there is one.

        Raises ExtenderError, FencedError when this process does not lead, and PodGoneError or AlreadyBoundError when
        there is nothing to bind any more.
        """
        for extender in self._extenders_for(pod, lambda config: config.bind_verb):
            try:
                await self._noting(extender.bind(pod, node, self._binds.check_fence), extender, pod)
            except ExtenderError as error:
                # The extender may have bound the pod although its answer was lost: binding again would fail.
                if error.sent and await self._binds.is_bound(pod, node):
                    return True
                self._ignore(extender, error, pod)
            else:
                return True
        return False

    async def _noting(self, answer: Awaitable[T], extender: Extender, pod: Pod, *, is_ignored: bool = False) -> T:
        """Return what ``extender`` answers about ``pod``, and note whether it fails.

        ``is_ignored`` if the pod can be placed without this answer, whatever the document says of the extender.
        """
        is_ignored = is_ignored or extender.is_ignorable
        try:
            result = await answer
        except ExtenderError as error:
            self._recent.extender_failed(pod, extender.name, error, is_ignored=is_ignored)
            raise
        self._recent.extender_answered(pod, extender.name, is_ignored=is_ignored)
        return result

    def close(self) -> None:
        """Keep no connection to any of them open any more."""
        for extender in self._extenders:
            extender.close()

    def _extenders_for(self, pod: Pod, verb: Callable[[ExtenderConfig], str]) -> list[Extender]:
        return [extender for extender in self._extenders if verb(extender.config) and extender.is_interested_in(pod)]

    def _ignore(self, extender: Extender, error: Exception, pod: Pod) -> None:
        """Go on without an extender that failed, if it may be ignored; otherwise raises ``error``."""
        if not extender.is_ignorable:
            raise error
        logger.warning("an extender is ignored", extra={"pod": pod.key, "because": str(error)})


class ExtenderFactory:
    """Creates extenders for documents; owns the copies of pods and nodes that they share.

    For a document without extenders nothing is watched, and nothing is connected to.
    """

    def __init__(
        self, client: Client, binds: BindingGuard, recent: RecentFailures, configs: Sequence[ExtenderConfig] = ()
    ) -> None:
        """``configs`` are the extenders of the first document: nodes are read as they need it."""
        self._raw_objects = RawObjects(client)
        self._binds = binds
        self._recent = recent
        self._chains: list[ExtenderChain] = []
        self.adopt(self.create_reflectors(configs), configs)

    def build(self, configs: Sequence[ExtenderConfig]) -> ExtenderChain:
        """Return the extenders of a profile that has some. Raises RegistrationError."""
        extenders = []
        for config in configs:
            try:
                extenders.append(Extender(config, self._raw_objects))
            except (OSError, ValueError) as error:
                name = config.shown_url
                raise RegistrationError(f"extender {name}: its tlsConfig cannot be used: {error}") from error
        self._chains.append(ExtenderChain(extenders, self._raw_objects, self._binds, self._recent))
        return self._chains[-1]

    @property
    def scoring(self) -> int:
        """The number of extenders that are scoring nodes at this moment."""
        return sum(chain.scoring for chain in self._chains)

    # The copy of the nodes. Another document is taken over as in ``WatchedObjects``.

    @property
    def reflectors(self) -> Reflectors:
        """The reflectors that have to run for the copies to be true."""
        return self._raw_objects.reflectors

    def create_reflectors(self, configs: Sequence[ExtenderConfig]) -> Reflectors:
        """Return what has to run besides, for the extenders of another document."""
        if self.reflectors or not any(map(needs_nodes, configs)):
            return ()
        return (self._raw_objects.create_nodes_reflector(),)

    def adopt(self, reflectors: Reflectors, configs: Sequence[ExtenderConfig]) -> Reflectors:
        """Read nodes as the extenders of ``configs`` need it; return the reflectors that need not run any longer.

        ``reflectors`` are what ``create_reflectors`` returned. Takes effect at once and cannot fail.
        """
        before = self.reflectors
        if not any(map(needs_nodes, configs)):
            self._raw_objects.read_nodes_from(None)
            return before
        for reflector in reflectors:
            self._raw_objects.read_nodes_from(reflector)
        return ()

    def close_others(self, in_force: Iterable[object]) -> None:
        """End the connections of all extenders that are not ``in_force``. To be called in the event loop."""
        # A pod on its way may still be bound by an extender of the old document: its client then connects anew.
        stay = set(in_force)
        for chain in self._chains:
            if chain not in stay:
                chain.close()
        self._chains = [chain for chain in self._chains if chain in stay]

    def close(self) -> None:
        """End all connections."""
        self.close_others(())
