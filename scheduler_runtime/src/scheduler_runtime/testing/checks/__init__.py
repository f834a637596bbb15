"""What every plugin promises, a function each. ``declaring`` looks at the class, the others ask an object of it."""

from scheduler_runtime.testing.checks.answers import in_play, normalising, order, purity, states
from scheduler_runtime.testing.checks.caching import looks_at_pods, memory, row_local, shared_states, signature
from scheduler_runtime.testing.checks.case import Case, Check
from scheduler_runtime.testing.checks.outside_decision import (
    permit,
    post_filter,
    pre_bind_flight,
    pre_enqueue,
    reserving,
    sort_key,
    taking_back,
)
from scheduler_runtime.testing.checks.requeueing import events, hints, waking
from scheduler_runtime.testing.checks.rows import after_rejecting, filter_row, score_row, trial

__all__ = ["CHECKS", "Case"]

CHECKS: tuple[Check, ...] = (
    purity,
    order,
    states,
    in_play,
    normalising,
    memory,
    filter_row,
    score_row,
    trial,
    after_rejecting,
    shared_states,
    row_local,
    looks_at_pods,
    signature,
    events,
    hints,
    waking,
    pre_enqueue,
    sort_key,
    post_filter,
    taking_back,
    reserving,
    permit,
    pre_bind_flight,
)
"""In the order in which to mend what breaks them: a plugin that says this once and that another time breaks most."""
