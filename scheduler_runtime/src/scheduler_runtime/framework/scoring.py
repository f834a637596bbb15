"""The best of the feasible nodes: the extension points pre_score, score and normalize_score, and the choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from random import Random
from typing import Any

from scheduler_runtime.api import SKIP, Ints, NodeTable, Pod, Scores
from scheduler_runtime.framework.decision_state import DecisionState
from scheduler_runtime.framework.hook import Hook
from scheduler_runtime.framework.hook_answers import check_normalized_scores, check_scores


@dataclass(frozen=True, slots=True)
class Scorer:
    """A plugin at the score point."""

    score: Hook
    normalize: Hook | None
    weight: int

    @property
    def keeps_equal(self) -> bool:
        """True if nodes of equal scores certainly have equal scores after normalizing."""
        return self.normalize is None or getattr(self.normalize.run, "keeps_equal", False)

    def normalized(self, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:
        """Return ``scores`` as they compare on the feasible nodes, from 0 to 100. Raises PluginError."""
        scores = check_scores(self.score, scores, nodes.feasible)
        if self.normalize is None:
            return check_normalized_scores(self.score, scores, nodes.feasible)
        result = check_scores(self.normalize, self.normalize(pod, nodes, scores, state), nodes.feasible)
        return check_normalized_scores(self.normalize, result, nodes.feasible)

    def weighted(self, scores: Ints) -> Ints:
        """Return ``scores`` times the plugin's weight."""
        return scores if self.weight == 1 else scores * self.weight


def run_pre_score_plugins(
    hooks: Iterable[Hook], decision: DecisionState, nodes: NodeTable
) -> tuple[Mapping[str, Any], AbstractSet[str]]:
    """Run every ``pre_score``; return the states for scoring, and the plugins whose score does not run.

    Raises PluginError.
    """
    states: dict[str, Any] = {}
    skipped: set[str] = set()
    for hook in hooks:
        answer = hook(decision.pod, nodes, decision.cycle)
        if answer is SKIP:
            skipped.add(hook.plugin)
        else:
            states[hook.plugin] = answer
    return ({**decision.states, **states} if states else decision.states), skipped


def run_score_plugins(
    scorers: Iterable[Scorer], pod: Pod, nodes: NodeTable, states: Mapping[str, Any], skipped: AbstractSet[str]
) -> Ints | None:
    """Return the weighted sum of all plugins but the ``skipped``, None if none is left. Raises PluginError."""
    total: Ints | None = None
    for scorer in scorers:
        hook = scorer.score
        if hook.plugin in skipped:
            continue
        state = states.get(hook.plugin)
        scores = scorer.weighted(scorer.normalized(pod, nodes, hook(pod, nodes, state), state))
        total = scores if total is None else total + scores
    return total


def select_row(total: Ints, random: Random) -> int:
    """Return a row of the highest number, any of them with equal chance: upstream's selectHost."""
    # argmax and item cost less than max for arrays of this size.
    ties = (total == total.item(total.argmax())).nonzero()[0]
    return int(ties[0] if len(ties) == 1 else ties[random.randrange(len(ties))])
