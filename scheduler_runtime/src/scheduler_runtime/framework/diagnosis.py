"""The reasons against nodes in one decision: for the pod's message, for preemption, and for the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from scheduler_runtime.api import Mask, Reject, Verdicts
from scheduler_runtime.framework.hook import Hook, check_resolvable
from scheduler_runtime.kube.events import MESSAGE_BYTES, truncate_note


class Diagnosis:
    """The reasons against nodes in one decision: for the pod's message, for preemption, and for the queue."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.unresolvable: Mask = np.zeros(size, np.bool_)
        """The nodes on which evicting pods would not help."""
        self.reasons: Counter[str] = Counter()
        self.plugins: set[str] = set()
        self.pending_plugins: set[str] = set()
        """Those of ``plugins`` that wait for something they started themselves."""
        self.rejection = ""
        """The reason against the pod as a whole, before any node was looked at."""
        self.ended_by: frozenset[str] = frozenset()
        """The plugin whose ``pre_filter`` rejected the pod for good, so that those after it did not run."""
        self.restriction_reason = ""
        """The reason of the nodes that a Restrict of ``pre_filter`` took out of play."""

    def reject_pod(self, plugin: str, reason: str, *, resolvable: bool) -> None:
        """Note that by ``plugin`` no node comes into question. That is for good if eviction would not help."""
        self.plugins.add(plugin)
        self.rejection = reason
        self.unresolvable = np.full(self.size, not resolvable)
        if not resolvable:
            self.ended_by = frozenset([plugin])

    def restrict(self, plugins: Iterable[str], allowed: Mask) -> None:
        """Note that by ``plugins`` only the ``allowed`` rows come into question."""
        self.plugins.update(plugins)
        excluded = self.size - int(np.count_nonzero(allowed))
        if excluded:
            self.restriction_reason = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]"
            self.reasons[self.restriction_reason] += excluded
            self.add_unresolvable(~allowed)

    def add_unresolvable(self, rows: Mask) -> None:
        """Note that evicting pods from ``rows`` would not help."""
        self.unresolvable = self.unresolvable | rows

    def reject_rows(self, hook: Hook, rows: Mask, reject: Reject) -> None:
        """Note why the plugin of ``hook`` rejects ``rows``, which were in play. Raises PluginError."""
        check_resolvable(hook, reject.resolvable, self.size)
        count = int(np.count_nonzero(rows))
        if count:
            self.reasons[reject.reason] += count
            self._note_plugin(hook.plugin, reject)
            if reject.resolvable is not True:
                self.add_unresolvable(rows & ~np.asarray(reject.resolvable))

    def reject_row(self, plugin: str, row: int, rejects: Iterable[Reject]) -> None:
        """Note why ``plugin`` rejects one row."""
        for reject in rejects:
            self.reasons[reject.reason] += 1
            self._note_plugin(plugin, reject)
            if not reject.resolvable:
                self._set_unresolvable(row, value=True)

    def reject_restricted_row(self, plugin: str, row: int, rejects: Iterable[Reject]) -> None:
        """Note why ``plugin`` rejects a row that a Restrict had taken out of play and was asked about all the same.

        Upstream evaluates the nominated node whatever PreFilter returned (evaluateNominatedNode), and what the filters
        say of it there replaces the reason of the restriction.
        """
        self.reasons[self.restriction_reason] -= 1
        self.reasons += Counter()  # drops a reason whose count is 0
        self._set_unresolvable(row, value=False)
        self.reject_row(plugin, row, rejects)

    def _set_unresolvable(self, row: int, *, value: bool) -> None:
        # A copy, as for all masks (see ``decision_hooks``): a plugin may hold the one that it was given.
        self.unresolvable = self.unresolvable.copy()
        self.unresolvable[row] = value

    def _note_plugin(self, plugin: str, reject: Reject) -> None:
        self.plugins.add(plugin)
        if reject.pending:
            self.pending_plugins.add(plugin)

    @property
    def verdicts(self) -> Verdicts:
        """The argument of ``post_filter``."""
        return Verdicts(self.unresolvable, frozenset(self.plugins), self.ended_by)

    def message(self, afterwards: Sequence[str] = ()) -> str:
        """Return the text of the pod's event: upstream's FitError (framework/types.go), letter for letter."""
        text = f"0/{self.size} nodes are available:"
        if self.rejection:
            text += f" {self.rejection}."
        else:
            # Sorted as text, as upstream does: "10 x" comes before "2 y".
            histogram = sorted(f"{count} {reason}" for reason, count in self.reasons.items())
            text += f" {', '.join(histogram)}." if histogram else ""
        text = f"{text} {', '.join(afterwards)}" if afterwards else text
        return truncate_note(text, MESSAGE_BYTES)  # an extender may have a reason of its own for each of 15,000 nodes
