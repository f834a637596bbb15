"""The extension points of a decision: pre_filter, filter, post_filter, pre_score, score and normalize_score.

Filtering finds the nodes that a pod can be on and the reasons against the others, and asks for help for a pod that fits
nowhere; scoring finds the best of the feasible nodes. Upstream's RunFilterPlugins and the like (runtime/framework.go).

One rule holds for the nodes in play: they are ``nodes.feasible`` of the decision's NodeTable and nothing else, and a
mask that stands there is never written to. Rejecting rows puts another mask in its place. So a plugin, a sample or a
cache may hold on to a mask that it saw.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from scheduler_runtime.api import (
    CLEAR,
    SKIP,
    Consult,
    Ints,
    Mask,
    NodeTable,
    Nomination,
    Pod,
    Reject,
    Restrict,
    Scores,
    Verdicts,
)
from scheduler_runtime.framework.decision_state import DecisionState
from scheduler_runtime.framework.diagnosis import Diagnosis
from scheduler_runtime.framework.hook import (
    Hook,
    caught_exceptions,
    check_normalized_scores,
    check_rows,
    check_scores,
    collect_rejections,
)


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


@dataclass(frozen=True, slots=True)
class DecisionHooks:
    """The hooks that choose a node."""

    pre_filter: Sequence[Hook]
    filter: Sequence[Hook]
    pre_score: Sequence[Hook]
    score: Sequence[Scorer]

    def without(self, plugins: Collection[str]) -> DecisionHooks:
        """Return the hooks of the other plugins."""
        return DecisionHooks(
            [hook for hook in self.pre_filter if hook.plugin not in plugins],
            [hook for hook in self.filter if hook.plugin not in plugins],
            [hook for hook in self.pre_score if hook.plugin not in plugins],
            [scorer for scorer in self.score if scorer.score.plugin not in plugins],
        )


def run_pre_filter_plugins(
    hooks: Sequence[Hook], decision: DecisionState, nodes: NodeTable, diagnosis: Diagnosis
) -> None:
    """Run every ``pre_filter`` that has not answered yet; those of ``nodes`` stay in play that they leave.

    The states and the plugins whose filter does not run are in ``decision`` afterwards. Raises PluginError.
    """
    answers = decision.pre_filter_answers
    restrictions: dict[str, frozenset[str]] = {}
    states: dict[str, Any] = {}
    skipped: set[str] = set()
    decision.states, decision.skipped = states, skipped
    for hook in hooks:
        plugin = hook.plugin
        match answers[plugin] if plugin in answers else hook(decision.pod, nodes, decision.cycle):
            case answer if answer is SKIP:
                skipped.add(plugin)
            case Reject() as reject:
                is_resolvable = reject.resolvable is True
                diagnosis.reject_pod(plugin, reject.reason, resolvable=is_resolvable)
                if reject.pending:
                    diagnosis.pending_plugins.add(plugin)
                nodes.feasible = np.zeros(diagnosis.size, np.bool_)
                if not is_resolvable:
                    # As upstream, UnschedulableAndUnresolvable ends it, and Unschedulable lets the others run.
                    return
            # Each restriction alone may leave nodes while all together leave none: that ends it, too.
            case Restrict(state, node_names):
                states[plugin] = state
                names: object = node_names  # An author may have given anything.
                if isinstance(names, str) or not (
                    isinstance(names, Collection) and all(isinstance(name, str) for name in names)
                ):
                    raise hook.error(f"it restricts the nodes to {names!r}; expected are names of nodes")
                restrictions[plugin] = frozenset(names)
                if not frozenset.intersection(*restrictions.values()):
                    first, *others = sorted(restrictions)
                    several = f"plugin(s) [{' '.join((first, *others))}] simultaneously"
                    reason = f"node(s) didn't satisfy {several if others else f'plugin {first}'}"
                    diagnosis.plugins.update(restrictions)
                    diagnosis.reject_pod(plugin, reason, resolvable=False)
                    nodes.feasible = np.zeros(diagnosis.size, np.bool_)
                    return
            case state:
                states[plugin] = state
    if restrictions and not diagnosis.rejection:
        allowed = np.zeros(diagnosis.size, np.bool_)
        for name in frozenset.intersection(*restrictions.values()):
            row = nodes.row(name)
            if row is not None:
                allowed[row] = True
        diagnosis.restrict(restrictions, allowed)
        nodes.feasible = nodes.feasible & allowed


def run_filter_plugins(
    hooks: Iterable[Hook],
    decision: DecisionState,
    nodes: NodeTable,
    note: Callable[[Hook, Mask, Reject], None] | None = None,
) -> None:
    """Run the filters in order; each sees in ``nodes.feasible`` the rows that all before it left.

    ``note`` gets each Reject with those of its rows that were in play. A filter that has yielded in this decision
    already is not run again. Raises PluginError.
    """
    looked_at: Mask | None = None
    for hook in hooks:
        plugin = hook.plugin
        if plugin in decision.skipped:
            continue
        if nodes.feasible is not looked_at:
            if not np.count_nonzero(nodes.feasible):
                return
            looked_at = nodes.feasible
        # It is there when the quick way gave up after filtering, and all plugins have to be asked for the reasons.
        rejects = decision.rejections.get(plugin)
        if rejects is None:
            rejects = collect_rejections(hook, decision.pod, nodes, decision.states.get(plugin))
            decision.rejections[plugin] = rejects
        # Several reasons of one plugin against a row all count: each is compared with the rows in play before it.
        before = rest = looked_at
        for reject in rejects:
            rows = check_rows(hook, reject.rows, len(before))
            if note is not None:
                rows = rows & before
                note(hook, rows, reject)
            if np.count_nonzero(rows):
                rest = rest & ~rows
        nodes.feasible = rest


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """The new nominated node of a pod that fits nowhere, None when the old one stays, and the plugins' reasons."""

    nomination: Nomination | None
    reasons: Sequence[str]
    consult: Consult | None = None
    """The victims about which extenders have to be asked first."""


def run_post_filter_plugins(
    hooks: Sequence[Hook], decision: DecisionState, nodes: NodeTable, verdicts: Verdicts, *, may_consult: bool
) -> PostFilterResult:
    """Run plugin after plugin until one nominates a node, or declares that nothing helps. Raises PluginError.

    They ``may_consult`` extenders where there are some, and once.
    """
    if not hooks:
        return PostFilterResult(Nomination(CLEAR), ())  # Nobody makes room on a node that was nominated earlier.
    cleared: Nomination | None = None
    reasons: list[str] = []
    for hook in hooks:
        match hook(decision.pod, nodes, verdicts, decision.cycle):
            case Nomination(node=str() as node, reasons=texts) as nomination:
                if nodes.row(node) is None:
                    raise hook.error(f"it nominated {node!r}, which is no node")
                return PostFilterResult(nomination, _check_reasons(hook, texts))
            # CLEAR stands unless a later plugin nominates a node.
            case Nomination(reasons=texts) as cleared:
                reasons.extend(_check_reasons(hook, texts))
            case Consult() if not may_consult:
                raise hook.error("it answered Consult, but handle.consults(pod) is false or handle.consulted is there")
            case Consult() as consult:
                return PostFilterResult(None, (), consult)
            # As upstream: UnschedulableAndUnresolvable ends the point, Unschedulable lets the next plugin try.
            case Reject(reason=reason, resolvable=False):
                return PostFilterResult(None, _check_reasons(hook, (reason,)))
            case Reject(reason=reason):
                reasons.extend(_check_reasons(hook, (reason,)))
            case None:
                pass
            case answer:
                reasons.extend(_check_reasons(hook, answer))
    return PostFilterResult(cleared, reasons)


def _check_reasons(hook: Hook, answer: object) -> Sequence[str]:
    """Return the reasons if they are texts. Raises PluginError otherwise."""
    if not isinstance(answer, Iterable) or isinstance(answer, str):
        raise hook.error(f"it answered {answer!r}; expected are reasons, a Nomination or a Reject")
    try:
        texts = tuple(answer)
    except caught_exceptions() as error:  # It may be a generator, which runs only now.
        raise hook.error(error) from error
    for text in texts:
        if not isinstance(text, str):
            raise hook.error(f"it gave {text!r} as a reason; expected text")
    return texts


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
