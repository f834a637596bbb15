"""Kubernetes' ways of matching, over all nodes at once and for one: node selectors, taints and tolerations."""

from scheduler_runtime.plugins.matching.node_selectors import (
    any_term_rows,
    is_sound,
    labelled_rows,
    matches,
    matching_rows,
    problem_in,
    sound_terms,
    term_matches,
    term_rows,
)
from scheduler_runtime.plugins.matching.tolerations import discouragements, keeps_away, tolerates, unknown_operator

__all__ = [
    "any_term_rows",
    "discouragements",
    "is_sound",
    "keeps_away",
    "labelled_rows",
    "matches",
    "matching_rows",
    "problem_in",
    "sound_terms",
    "term_matches",
    "term_rows",
    "tolerates",
    "unknown_operator",
]
