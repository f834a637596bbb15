"""What every plugin promises, a function each. ``declaring`` looks at the class, the others ask an object of it."""

from .answers import in_play, normalising, order, purity, states
from .around import permit, post_filter, pre_bind_flight, pre_enqueue, reserving, sort_key
from .case import Case, Check
from .keeping import looks_at_pods, memory, row_local, shared_states, signature
from .rows import filter_row, score_row, trial
from .waking import events, hints, waking

__all__ = ["CHECKS", "Case"]

CHECKS: tuple[Check, ...] = (
    order,
    purity,
    states,
    in_play,
    normalising,
    memory,
    row_local,
    shared_states,
    looks_at_pods,
    signature,
    filter_row,
    score_row,
    trial,
    events,
    hints,
    waking,
    pre_enqueue,
    sort_key,
    post_filter,
    reserving,
    permit,
    pre_bind_flight,
)
