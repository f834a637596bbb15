"""Which of the feasible nodes is best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from scheduler_runtime.api import SKIP, Cycle, Ints, NodeTable, Pod, Scores
from scheduler_runtime.framework.hook import Hook, checked_normalised, checked_scores
from scheduler_runtime.framework.point_metrics import Measures, timed


@dataclass(frozen=True, slots=True)
class Scorer:
    """A plugin at the score point."""

    score: Hook
    normalize: Hook | None
    weight: int

    def timed(self, measures: Measures) -> Scorer:
        """The same, with a clock beside each hook."""
        normalize = self.normalize and timed(self.normalize, measures)
        return Scorer(timed(self.score, measures), normalize, self.weight)

    @property
    def keeps_equal(self) -> bool:
        """Whether nodes of equal scores certainly have equal scores after normalising."""
        return self.normalize is None or getattr(self.normalize.run, "keeps_equal", False)


def pre_score(
    hooks: Iterable[Hook], pod: Pod, nodes: NodeTable, cycle: Cycle, states: Mapping[str, Any]
) -> tuple[Mapping[str, Any], set[str]]:
    """Run every ``pre_score``: the states for scoring, and the plugins that have nothing to say."""
    scoring: dict[str, Any] = {}
    skipped: set[str] = set()
    for hook in hooks:
        answer = hook(pod, nodes, cycle)
        if answer is SKIP:
            skipped.add(hook.plugin)
        else:
            scoring[hook.plugin] = answer
    return ({**states, **scoring} if scoring else states), skipped


def plugin_scores(scorer: Scorer, pod: Pod, nodes: NodeTable, state: Any) -> Ints:
    """The normalised scores of one plugin, not yet weighted. Raises PluginError."""
    return _normalised(scorer, pod, nodes, scorer.score(pod, nodes, state), state)


def _normalised(scorer: Scorer, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:
    scores = checked_scores(scorer.score, scores, nodes.feasible)
    if scorer.normalize is None:
        return checked_normalised(scorer.score, scores, nodes.feasible)
    normalised = scorer.normalize(pod, nodes, scores, state)
    normalised = checked_scores(scorer.normalize, normalised, nodes.feasible)
    return checked_normalised(scorer.normalize, normalised, nodes.feasible)


def relative_scores(scorer: Scorer, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:
    """What ``scores`` that were kept are worth among the feasible nodes, weighted. Raises PluginError."""
    return _weighted(_normalised(scorer, pod, nodes, scores, state), scorer.weight)


def total_scores(scorers: Iterable[Scorer], pod: Pod, nodes: NodeTable, states: Mapping[str, Any]) -> Ints:
    """The weighted sum over the plugins. Raises PluginError."""
    total: Ints | None = None
    for scorer in scorers:
        scores = _weighted(plugin_scores(scorer, pod, nodes, states.get(scorer.score.plugin)), scorer.weight)
        total = scores if total is None else total + scores
    return np.zeros(len(nodes), np.int64) if total is None else total


def _weighted(scores: Ints, weight: int) -> Ints:
    return scores if weight == 1 else scores * weight


def best_row(ranked: Ints, random: Random) -> int:
    """A row of the highest number, any of them with equal chance."""
    ties = (ranked == ranked.item(ranked.argmax())).nonzero()[0]
    return int(ties[0] if len(ties) == 1 else ties[random.randrange(len(ties))])
