"""Which nodes a pod can be on, and the words for why it cannot be on the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scheduler_runtime.api import SKIP, Cycle, Mask, NodeTable, Pod, Reject, Restrict, Verdicts
from scheduler_runtime.framework.hook import Hook, checked_resolvable, checked_rows, rejections


class Diagnosis:
    """What is found out about one pod while its nodes are filtered."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.feasible: Mask = np.ones(size, np.bool_)
        self.unresolvable: Mask = np.zeros(size, np.bool_)
        self.reasons: Counter[str] = Counter()
        self.plugins: set[str] = set()
        self.waits_for: set[str] = set()
        """Those of ``plugins`` that wait for something they started themselves."""
        self.rejection = ""
        """Why the pod as a whole was rejected before any node was looked at."""
        self.outright: frozenset[str] = frozenset()
        self.left_out = ""
        """The reason of the nodes that ``pre_filter`` took out of play."""

    def reject_pod(self, plugins: Iterable[str], reason: str, *, resolvable: bool) -> None:
        """No node comes into question, for one reason."""
        self.plugins.update(plugins)
        self.rejection = reason
        self.feasible[:] = False
        self.unresolvable[:] = not resolvable

    def reject_rows(self, plugin: str, rows: Mask, reject: Reject) -> bool:
        """Note why ``plugin`` rejects ``rows``, of which only the feasible count; return whether any did."""
        count = int(np.count_nonzero(rows))
        if not count:
            return False
        self.reasons[reject.reason] += count
        self._blame(plugin, reject)
        if reject.resolvable is not True:
            self.unresolvable |= rows & ~np.asarray(reject.resolvable)
        return True

    def reject_row(self, plugin: str, row: int, rejects: Iterable[Reject]) -> None:
        """Note why ``plugin`` rejects one row."""
        for reject in rejects:
            self._blame(plugin, reject)
            self.reasons[reject.reason] += 1
            if not reject.resolvable:
                self.unresolvable[row] = True

    def reject_left_out(self, plugin: str, row: int, rejects: Iterable[Reject]) -> None:
        """Note why ``plugin`` rejects a row that was out of play already and was asked about all the same."""
        self.reasons[self.left_out] -= 1
        self.reasons += Counter()  # without those that are down to nothing
        self.unresolvable[row] = False
        self.reject_row(plugin, row, rejects)

    def _blame(self, plugin: str, reject: Reject) -> None:
        self.plugins.add(plugin)
        if reject.pending:
            self.waits_for.add(plugin)

    @property
    def verdicts(self) -> Verdicts:
        """For ``post_filter``."""
        return Verdicts(self.unresolvable, frozenset(self.plugins), self.outright)

    def message(self, afterwards: Sequence[str] = ()) -> str:
        """The text of the pod's event: upstream's FitError, letter for letter."""
        text = f"0/{self.size} nodes are available:"
        if self.rejection:
            text += f" {self.rejection}."
        else:
            # Sorted as text, as upstream does: "10 x" comes before "2 y".
            histogram = sorted(f"{count} {reason}" for reason, count in self.reasons.items())
            text += f" {', '.join(histogram)}." if histogram else ""
        return f"{text} {', '.join(afterwards)}" if afterwards else text


def pre_filter(
    hooks: Sequence[Hook], pod: Pod, nodes: NodeTable, cycle: Cycle, diagnosis: Diagnosis, answers: Mapping[str, Any]
) -> tuple[dict[str, Any], set[str]]:
    """Run every ``pre_filter``: the states for the filters, and the plugins whose filter is left out.

    ``answers`` has what some plugins answered already; they are not asked again.
    """
    states: dict[str, Any] = {}
    skipped: set[str] = set()
    restricting: dict[str, frozenset[str]] = {}
    for hook in hooks:
        match answers[hook.plugin] if hook.plugin in answers else hook(pod, nodes, cycle):
            case answer if answer is SKIP:
                skipped.add(hook.plugin)
            case Reject() as reject:
                resolvable = reject.resolvable is True
                diagnosis.reject_pod([hook.plugin], reject.reason, resolvable=resolvable)
                diagnosis.waits_for.update([hook.plugin] if reject.pending else [])
                if not resolvable:
                    diagnosis.outright = frozenset([hook.plugin])
                    return states, skipped
            case Restrict(state, node_names):
                states[hook.plugin] = state
                restricting[hook.plugin] = _names(hook, node_names)
                if not frozenset.intersection(*restricting.values()):
                    diagnosis.reject_pod(restricting, _nowhere(restricting), resolvable=False)
                    diagnosis.outright = frozenset([hook.plugin])
                    return states, skipped
            case state:
                states[hook.plugin] = state
    if restricting and not diagnosis.rejection:
        _restrict(restricting, nodes, diagnosis)
    return states, skipped


def _names(hook: Hook, names: object) -> frozenset[str]:
    if isinstance(names, Collection) and not isinstance(names, str) and all(isinstance(name, str) for name in names):
        return frozenset(names)
    raise hook.error(f"it restricts the nodes to {names!r}; wanted are names of nodes")


def _nowhere(restricting: Iterable[str]) -> str:
    names = sorted(restricting)
    if len(names) == 1:
        return f"node(s) didn't satisfy plugin {names[0]}"
    return f"node(s) didn't satisfy plugin(s) [{' '.join(names)}] simultaneously"


def _restrict(restricting: Mapping[str, frozenset[str]], nodes: NodeTable, diagnosis: Diagnosis) -> None:
    allowed = np.zeros(diagnosis.size, np.bool_)
    for name in frozenset.intersection(*restricting.values()):
        row = nodes.row(name)
        if row is not None:
            allowed[row] = True
    excluded = diagnosis.size - int(np.count_nonzero(allowed))
    diagnosis.plugins.update(restricting)
    if excluded:
        diagnosis.left_out = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(restricting))}]"
        diagnosis.reasons[diagnosis.left_out] += excluded
        diagnosis.unresolvable |= ~allowed
        diagnosis.feasible &= allowed


def run_filters(
    hooks: Iterable[Hook],
    pod: Pod,
    nodes: NodeTable,
    states: Mapping[str, Any],
    diagnosis: Diagnosis,
    yielded: Mapping[str, Iterable[Reject]],
) -> None:
    """Run the filters in order; each sees the nodes that all before it left.

    ``yielded`` has what some filters said already; they are not asked again.
    """
    for hook in hooks:
        rejected: Mask | None = None
        found = yielded.get(hook.plugin)
        for reject in rejections(hook, pod, nodes, states.get(hook.plugin)) if found is None else found:
            rows = checked_rows(hook, reject.rows, diagnosis.size) & diagnosis.feasible
            checked_resolvable(hook, reject.resolvable, diagnosis.size)
            if diagnosis.reject_rows(hook.plugin, rows, reject):
                rejected = rows if rejected is None else rejected | rows
        if rejected is not None:
            diagnosis.feasible &= ~rejected
            if not np.count_nonzero(diagnosis.feasible):
                return
