"""What every plugin promises, a function each. ``declaring`` looks at the class, the others ask an object of it."""

from .answers import in_play, normalising, order, purity, states
from .around import permit, post_filter, pre_bind_flight, pre_enqueue, reserving, sort_key, taking_back
from .case import Case, Check
from .keeping import looks_at_pods, memory, row_local, shared_states, signature
from .rows import after_rejecting, filter_row, score_row, trial
from .waking import events, hints, waking

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
