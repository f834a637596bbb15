"""Namespaces, which affinity terms may select by their labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scheduler_runtime.api import Handle, Watch
from scheduler_runtime.state.table import PodSelector, PodTerm, hold

NAMESPACES: Final = Watch("v1", "Namespace")
_NOBODY = PodSelector(frozenset(), ())


class Namespaces:
    """What the cluster's namespaces are called, and how they are labelled."""

    def __init__(self, handle: Handle, *, asks_the_unlabelled: bool) -> None:
        """``asks_the_unlabelled``: see :meth:`selector`."""
        self._handle = handle
        self._asks_the_unlabelled = asks_the_unlabelled

    @property
    def revision(self) -> int:
        """A number that changes with them."""
        return self._handle.revision(NAMESPACES)

    def labels_of(self, name: str) -> Mapping[str, str]:
        """The labels of one namespace. One that does not exist has none."""
        found = self._handle.find(NAMESPACES, name)
        return (found.metadata.labels or {}) if found is not None else {}

    def selector(self, term: PodTerm) -> PodSelector:
        """The pods that ``term``, of a pod that is to be placed, speaks of in the namespaces that there are now.

        Before 1.37 upstream, having found the namespaces, goes on to ask the term about one without any labels, and if
        it would select that, the term speaks of pods in every namespace (mergeAffinityTermNamespacesIfNotEmpty).
        """
        wanted = term.namespace_requirements
        if term.requirements is None:
            return _NOBODY
        if wanted is None:
            return PodSelector(term.namespaces, term.requirements)
        if not wanted or (self._asks_the_unlabelled and hold(wanted, {})):
            return PodSelector(None, term.requirements)
        every = (each.metadata for each in self._handle.list(NAMESPACES))
        selected = (each.name for each in every if hold(wanted, each.labels or {}))
        return PodSelector(term.namespaces.union(selected), term.requirements)
