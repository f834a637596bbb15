"""The promises of every plugin, a function each; ``declaration`` looks at the class, the others run its hooks."""

from scheduler_runtime.testing.checks.answers import (
    feasible_nodes,
    filter_row,
    filter_without_state,
    normalize_score,
    order,
    purity,
    score_row,
    states,
    what_if,
)
from scheduler_runtime.testing.checks.caching import looks_at_pods, row_local, shared_states, signature, stale_memory
from scheduler_runtime.testing.checks.case import Case, Check, PluginUnderTest
from scheduler_runtime.testing.checks.placement import missing_unreserve, permit, post_filter, pre_bind_flight, reserve
from scheduler_runtime.testing.checks.queueing import events, hints, pre_enqueue, requeueing, sort_key

__all__ = ["CHECKS", "Case", "PluginUnderTest"]

CHECKS: tuple[Check, ...] = (
    purity,
    order,
    states,
    feasible_nodes,
    normalize_score,
    stale_memory,
    filter_row,
    score_row,
    what_if,
    filter_without_state,
    shared_states,
    row_local,
    looks_at_pods,
    signature,
    events,
    hints,
    requeueing,
    pre_enqueue,
    sort_key,
    post_filter,
    missing_unreserve,
    reserve,
    permit,
    pre_bind_flight,
)
"""The checks in the order in which to fix what they find.

A plugin that answers the same question in two ways breaks most of the later checks as well, so ``purity`` is first.
"""
