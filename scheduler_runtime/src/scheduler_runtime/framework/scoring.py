"""Which of the feasible nodes is best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from ..api import SKIP, Cycle, Ints, Mask, NodeTable, Pod
from .calls import Hook, checked_normalised, checked_scores
from .kept import Kept


@dataclass(frozen=True, slots=True)
class Scorer:
    """A plugin at the score point."""

    score: Hook
    normalize: Hook | None
    weight: int


def pre_score(
    hooks: Iterable[Hook], pod: Pod, nodes: NodeTable, cycle: Cycle, states: Mapping[str, Any]
) -> tuple[dict[str, Any], set[str]]:
    """Run every ``pre_score``: the states for scoring, and the plugins that have nothing to say."""
    scoring = dict(states)
    skipped: set[str] = set()
    for hook in hooks:
        answer = hook(pod, nodes, cycle)
        if answer is SKIP:
            skipped.add(hook.plugin)
        else:
            scoring[hook.plugin] = answer
    return scoring, skipped


def plugin_scores(scorer: Scorer, pod: Pod, nodes: NodeTable, state: Any, kept: Kept) -> Ints:
    """The normalised scores of one plugin, not yet weighted."""
    scores = kept.scores(scorer.score, pod, nodes, state)
    if scorer.normalize is None:
        return checked_normalised(scorer.score, scores, nodes.feasible)
    normalised = scorer.normalize(pod, nodes, scores, state)
    checked_scores(scorer.normalize, normalised, nodes.feasible)
    return checked_normalised(scorer.normalize, normalised, nodes.feasible)


def total_scores(scorers: Iterable[Scorer], pod: Pod, nodes: NodeTable, states: Mapping[str, Any], kept: Kept) -> Ints:
    """The weighted sum over the plugins."""
    total = np.zeros(len(nodes), np.int64)
    for scorer in scorers:
        scores = plugin_scores(scorer, pod, nodes, states.get(scorer.score.plugin), kept)
        total += scores if scorer.weight == 1 else scores * scorer.weight
    return total


def best_row(total: Ints, feasible: Mask, random: Random) -> int:
    """A feasible row of the highest total, any of them with equal chance."""
    inside = total if np.count_nonzero(feasible) == len(feasible) else np.where(feasible, total, -1)
    ties = (inside == inside.max()).nonzero()[0]
    return int(ties[0] if len(ties) == 1 else ties[random.randrange(len(ties))])
