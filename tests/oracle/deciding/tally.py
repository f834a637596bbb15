"""Tally of what the clusters of a run made the plugins do: it shows when one of them was never tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scheduler_runtime.api import Plugin, hooks_of
from scheduler_runtime.framework.explanation import Explanation
from tests.oracle.deciding.comparing import best
from tests.oracle.deciding.decision import Decision
from tests.oracle.deciding.reasons import Reason


@dataclass(slots=True)
class Tally:
    """Counts over the decisions of a run."""

    clusters: Counter[str] = field(default_factory=Counter)
    """By theme."""
    outcomes: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    scored: Counter[str] = field(default_factory=Counter)
    decided: Counter[str] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)
    """Everything that kube-scheduler said about why a pod goes nowhere."""

    def note(self, theirs: Decision, explanation: Explanation) -> None:
        """Count one decision on which both agree."""
        self.outcomes[_outcome(theirs)] += 1
        self.rejected.update(explanation.rejected.keys())
        for plugin, scores in explanation.scores.items():
            if len(set(scores.values())) > 1:
                self.scored[plugin] += 1
                self.decided[plugin] += _best_without(scores, theirs) != best(theirs.totals, theirs.feasible)
        self.texts += filter(None, (theirs.message, theirs.gate))

    def has_met(self, words: str) -> bool:
        """Whether kube-scheduler ever said ``words``."""
        return any(words in text for text in self.texts)

    def unseen(self, reasons: Iterable[Reason]) -> list[Reason]:
        """Those of ``reasons`` that kube-scheduler never gave."""
        return [reason for reason in reasons if not any(reason.is_in(text) for text in self.texts)]

    def idle(self, plugins: Mapping[str, type[Plugin]]) -> list[str]:
        """What some of ``plugins`` could have done to the decisions, and never did."""
        deeds = (
            ("rejected", "filter", self.rejected),
            ("scored", "score", self.scored),
            ("decided", "score", self.decided),
        )
        return sorted(
            f"{name} never {did}"
            for did, hook, counted in deeds
            for name, kind in plugins.items()
            if hook in hooks_of(kind) and not counted[name]
        )

    def __str__(self) -> str:
        plugins = sorted({*self.rejected, *self.scored})
        rows = [(name, self.rejected[name], self.scored[name], self.decided[name]) for name in plugins]
        lines = [
            f"{sum(self.clusters.values())} clusters, {sum(self.outcomes.values())} decisions: {dict(self.outcomes)}"
        ]
        lines.append(f"{'plugin':34} {'rejected':>9} {'scored':>9} {'decided':>9}")
        lines += [f"{name:34} {rejected:9} {scored:9} {decided:9}" for name, rejected, scored, decided in rows]
        return "\n".join(lines)


def _outcome(decision: Decision) -> str:
    if decision.node:
        return "placed" if len(decision.feasible) > 1 else "placed on the only node"
    return "preempting" if decision.victims else "unschedulable"


def _best_without(scores: Mapping[str, int], theirs: Decision) -> frozenset[str]:
    others = {node: total - scores.get(node, 0) for node, total in theirs.totals.items()}
    return best(others, theirs.feasible)
