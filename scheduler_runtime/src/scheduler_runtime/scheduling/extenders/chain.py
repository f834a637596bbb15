"""The extenders of a profile, asked in turn."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from scheduler_runtime.api import Consulted, Pod, Reject, Victims
from scheduler_runtime.config import Extender as Written
from scheduler_runtime.framework import (
    ExtenderAnswers,
    FilterAnswer,
    FilterQuestion,
    Question,
    ScoreQuestion,
    VictimQuestion,
)
from scheduler_runtime.scheduling.extenders.extender import Extender, PodsOn, needs_nodes
from scheduler_runtime.scheduling.extenders.http_calls import ExtenderError
from scheduler_runtime.scheduling.extenders.raw_objects import RawObjects
from scheduler_runtime.state.table import Table

logger = logging.getLogger(__name__)


class Binds(Protocol):
    """What has to be known of bindings that others make."""

    def check_fence(self) -> None:
        """Raise FencedError when this process does not surely lead."""
        ...

    async def is_bound(self, pod: Pod, node: str) -> bool:
        """Whether ``pod`` is on ``node``. Raises GoneError, TakenError or FencedError."""
        ...


class ExtenderChain:
    """Those that may not be passed over are asked first, as upstream asks them."""

    def __init__(self, extenders: Iterable[Extender], originals: RawObjects, binds: Binds) -> None:
        self._extenders = sorted(extenders, key=lambda each: each.is_ignorable)
        self._originals = originals
        self._binds = binds
        self.scoring = 0
        """How many of them are being asked how good nodes are."""

    @property
    def weigh_nodes(self) -> bool:
        """Whether one of them is asked which nodes do, or how good they are, whichever pods it looks after."""
        return any(each.written.filter_verb or each.written.prioritize_verb for each in self._extenders)

    def concern(self, pod: Pod) -> bool:
        """Whether one of them has a say in where ``pod`` goes."""
        return any(each.has_a_say and each.looks_after(pod) for each in self._extenders)

    def weigh_victims(self, pod: Pod) -> bool:
        """Whether one of them has a say in whom ``pod`` preempts."""
        return any(each.written.preempt_verb and each.looks_after(pod) for each in self._extenders)

    async def answer(self, asks: Question, pod: Pod, advice: ExtenderAnswers, table: Table) -> ExtenderAnswers:
        """``advice``, with what they say to ``asks``. Raises ExtenderError or OriginalError."""
        match asks:
            case FilterQuestion(is_nominated_node=True):
                return replace(advice, nominated_node=await self._own(asks, pod))
            case FilterQuestion():
                return ExtenderAnswers(advice.nominated_node, await self._filter(asks, pod), rounds=advice.rounds + 1)
            case ScoreQuestion(nodes):
                return replace(advice, scores=await self._scores(pod, nodes))
            case VictimQuestion(candidates):
                return replace(advice, victims=await self._victims(pod, candidates, partial(_pods_on, table)))

    async def _own(self, asks: FilterQuestion, pod: Pod) -> FilterAnswer:
        """As upstream: if one of them fails, the other nodes are looked at."""
        try:
            return await self._filter(asks, pod)
        except ExtenderError as error:
            logger.warning("the nominated node is passed over", extra={"pod": pod.key, "because": str(error)})
            return FilterAnswer(asks, frozenset())

    async def _filter(self, asks: FilterQuestion, pod: Pod) -> FilterAnswer:
        extenders = self._asked(pod, lambda written: written.filter_verb)
        if any(needs_nodes(each.written) for each in extenders):
            asks = replace(asks, nodes=await self._originals.known(asks.nodes))
        names, rejects = list(asks.nodes), dict[str, Reject]()
        for each in extenders:
            if not names:
                break
            try:
                names, said = await each.filter(pod, names)
            except ExtenderError as error:
                self._pass_over(each, error, pod)
            else:
                rejects |= said
        return FilterAnswer(asks, frozenset(names), rejects)

    async def _scores(self, pod: Pod, names: Sequence[str]) -> Counter[str]:
        """As upstream: who fails has no say."""
        asked = [
            self._scored_by(each, pod, names) for each in self._asked(pod, lambda written: written.prioritize_verb)
        ]
        scores: Counter[str] = Counter()
        for outcome in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(outcome, ExtenderError):
                logger.info("scores are passed over", extra={"pod": pod.key, "because": str(outcome)})
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                for name, score in outcome:
                    scores[name] += score
        return scores

    async def _scored_by(self, extender: Extender, pod: Pod, names: Sequence[str]) -> list[tuple[str, int]]:
        self.scoring += 1
        try:
            return await extender.prioritize(pod, names)
        finally:
            self.scoring -= 1

    async def _victims(self, pod: Pod, candidates: Sequence[Victims], pods_on: PodsOn) -> Consulted:
        for each in self._asked(pod, lambda written: written.preempt_verb):
            try:
                candidates = await each.preempt(pod, candidates, pods_on)
            except ExtenderError as error:
                if not each.is_ignorable:
                    return Consulted(problem=str(error))
                self._pass_over(each, error, pod)
            if not candidates:
                break
        return Consulted(candidates)

    async def bind(self, pod: Pod, node: str) -> bool:
        """Have ``pod`` bound by the one that binds such pods; whether there is one.

        Raises ExtenderError, FencedError when this process does not lead, and GoneError or TakenError when it is found
        out that there is nothing to bind any more.
        """
        for each in self._asked(pod, lambda written: written.bind_verb):
            try:
                await each.bind(pod, node, self._binds.check_fence)
            except ExtenderError as error:
                if error.sent and await self._binds.is_bound(pod, node):
                    return True
                self._pass_over(each, error, pod)
            else:
                return True
        return False

    def close(self) -> None:
        """Keep no connection to any of them open any more."""
        for each in self._extenders:
            each.close()

    def _asked(self, pod: Pod, verb: Callable[[Written], str]) -> list[Extender]:
        return [each for each in self._extenders if verb(each.written) and each.looks_after(pod)]

    def _pass_over(self, extender: Extender, error: Exception, pod: Pod) -> None:
        """Go on without one that failed, if it may be passed over; otherwise raises ``error``."""
        if not extender.is_ignorable:
            raise error
        logger.warning("an extender is passed over", extra={"pod": pod.key, "because": str(error)})


def _pods_on(table: Table, node: str) -> Iterable[Pod] | None:
    row = table.row(node)
    return None if row is None else table.pods(row)
