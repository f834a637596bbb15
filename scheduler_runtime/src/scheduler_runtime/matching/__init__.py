"""Kubernetes' ways of matching, over all nodes at once and for one: node selectors, taints and tolerations."""

from .node_selectors import is_sound, labelled_rows, matches, matching_rows, problem_in, term_matches, term_rows
from .tolerations import discouragements, keeps_away, tolerates

__all__ = [
    "discouragements",
    "is_sound",
    "keeps_away",
    "labelled_rows",
    "matches",
    "matching_rows",
    "problem_in",
    "term_matches",
    "term_rows",
    "tolerates",
]
